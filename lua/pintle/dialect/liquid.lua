-- The JSON-RPC protocol of Liquid template engines, version 1.0, both sides: docs/dialects/liquid.md.

local lazy = require "pintle.lazy"

-- The version is optional.
local function is_liquid_initialize(params)
  if type(params) ~= "table" or next(params) == nil then return "perhaps" end
  local version = params.protocolVersion == nil and params.version
  return type(version) == "string" and version:find "^%d+%.%d+$" ~= nil or version and "perhaps"
end

---@type pintle.dialect
return {
  name = "liquid",
  framing = "line",
  cancellation = false, -- the protocol has none
  ordered = true, big_integers = true, -- values are printed as they were sent
  recognises = function(method, params, framing)
    if framing ~= "line" then return false end
    if method == "initialize" then return is_liquid_initialize(params) end
    if method == "compile" then return type(params) == "table" and params.template ~= nil or "perhaps" end
    return (method == "render" or method == "quit") and "perhaps"
  end,
  declare = function(plugin, own)
    if own.compile or own.render then return require("pintle.dialect.liquid.plugin").declare_engine(plugin) end
  end,
  host = lazy "pintle.dialect.liquid.host",
  plugin = lazy "pintle.dialect.liquid.plugin",
}
