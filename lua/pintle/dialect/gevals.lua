-- The extension protocol of gevals, version 0.0.1, both sides. docs/extensions.md describes what pintle adds to it.

local lazy = require "pintle.lazy"

-- Other protocols have "initialize" as well, but their versions look different.
local function has_gevals_version(params)
  local version = type(params) == "table" and params.protocolVersion
  return type(version) == "string" and version:find "^%d+%.%d+%.%d+" ~= nil
end

---@type pintle.dialect
return {
  name = "gevals",
  version = "0.0.1",
  framing = "line",
  codes = { cancelled = -32003 },
  repeated = "context",
  cancellation = false, -- until both sides have agreed on it
  recognises = function(method, params, framing)
    if framing ~= "line" then return false end
    if method == "initialize" then return has_gevals_version(params) or "perhaps" end
    return method == "execute" or method == "shutdown" and "perhaps"
  end,
  host = lazy "pintle.dialect.gevals.host",
  plugin = lazy "pintle.dialect.gevals.plugin",
}
