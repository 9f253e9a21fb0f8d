-- The plugin protocol of Reginald, version 0, as two of its releases speak it: june and july. docs/dialects/reginald.md
-- tells how they differ. Both sides.

local lazy = require "pintle.lazy"

---@type pintle.dialect
return {
  name = "reginald",
  framing = "header",
  ids = "integer",
  cancellation = false,
  recognises = function(method, _, framing) return method == "handshake" and framing == "header" end,
  host = lazy "pintle.dialect.reginald.host",
  plugin = lazy "pintle.dialect.reginald.plugin",
}
