-- A plugin that declares its outputs, and returns other ones on request.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "declared", version = "1.0.0" }

local OUTPUTS = {
  type = "object", required = { "count" },
  properties = { count = { type = "integer" }, names = { type = "array", items = { type = "string" } } },
}

local GIVEN = {
  right = { outputs = { count = 2 } },
  wrong = { outputs = { count = "two" } },
  none = { message = "nothing" },
  failed = { success = false, error = "no luck" },
  ["failed-wrong"] = { success = false, error = "no luck", outputs = {} },
}

plugin:operation("give", { outputs = OUTPUTS, params = {
  type = "object", required = { "what" }, properties = { what = { type = "string" } },
} }, function(args) return GIVEN[args.what] end)

plugin:operation("offer", { outputs = { type = "object", properties = OUTPUTS.properties } }, function()
  return "nothing to count"
end)

plugin:serve()
