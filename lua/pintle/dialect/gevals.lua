-- The extension protocol of gevals, version 0.0.1, from both sides. What goes beyond it is in docs/extensions.md.

local lazy = require "pintle.lazy"

-- Others begin with "initialize" as well, but with versions of another form.
local function has_version(params)
  local version = type(params) == "table" and params.protocolVersion
  return type(version) == "string" and version:find "^%d+%.%d+%.%d+" ~= nil
end

---@type pintle.dialect
return {
  name = "gevals",
  framing = "line",
  codes = { cancelled = -32003 },
  cancellation = false, -- until it is agreed on
  recognises = function(method, params, framing)
    if framing ~= "line" then return false end
    if method == "initialize" then return has_version(params) or "perhaps" end
    return method == "execute" or method == "shutdown" and "perhaps"
  end,
  host = lazy "pintle.dialect.gevals.host",
  plugin = lazy "pintle.dialect.gevals.plugin",
}
