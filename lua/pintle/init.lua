-- The face of pintle: nothing but names.

local core = require "pintle.core"

---@class pintle
local pintle = {
  ---The wire codec by itself.
  json = core.json,
  ---The value that stands for JSON's null; it is `cjson.null`.
  null = core.json.null,
  ---Marks a list, so that it is sent as `[…]` even when it is empty.
  array = core.json.array,
  ---A value kept as its JSON text and sent on as it stands.
  raw = core.json.raw,
}

return pintle
