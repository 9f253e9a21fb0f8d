-- The codecs that a stream's payloads may go through: every spec of streams holds with each.
return {
  ["the core's codec"] = {},
  ["lua-cjson"] = { json = require "cjson" },
}
