-- The codecs of payloads. The specs of streams run with each of them.
return {
  ["the core's codec"] = {},
  ["lua-cjson"] = { json = require "cjson" },
}
