-- The plugin protocol of Reginald, version 0, both sides, as two of its releases speak it: june and july.
-- docs/dialects/reginald.md lists the differences.

local lazy = require "pintle.lazy"

-- The handshake, and the methods that a host may send too early: the dialect refuses them itself.
local FIRST = { handshake = true, setupCommand = true, runCommand = true, validateTask = true, runTask = true }

---@type pintle.dialect
return {
  name = "reginald",
  framing = "header",
  ids = "integer",
  cancellation = false,
  recognises = function(method, _, framing) return framing == "header" and FIRST[method] == true end,
  host = lazy "pintle.dialect.reginald.host",
  plugin = lazy "pintle.dialect.reginald.plugin",
}
