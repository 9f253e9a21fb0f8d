-- The extension protocol of gevals, version 0.0.1, from both sides. What goes beyond it is in docs/extensions.md.

local lazy = require "pintle.lazy"

-- Others begin with "initialize" as well: MCP's has a date for a version and tells who the client is, Liquid's tells
-- a version and nothing else.
local function is_of_others(params)
  if type(params) ~= "table" then return false end
  local version = params.protocolVersion
  if type(version) == "string" and version:find "^%d%d%d%d%-%d%d%-%d%d$" then return true end
  return params.clientInfo ~= nil or params.version ~= nil and version == nil
end

---@type pintle.dialect
return {
  name = "gevals",
  framing = "line",
  codes = { cancelled = -32003 },
  cancellation = false, -- until it is agreed on
  recognises = function(method, params, framing)
    if framing ~= "line" then return false end
    if method == "initialize" then return not is_of_others(params) end
    return method == "execute" or method == "shutdown"
  end,
  host = lazy "pintle.dialect.gevals.host",
  plugin = lazy "pintle.dialect.gevals.plugin",
}
