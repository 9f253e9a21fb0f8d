-- Schemas: every document is compiled or rejected with a message, and every value is accepted or rejected, in bounded
-- time.
-- Input: a schema, a line end, and values, one a line.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.loaded["pintle.core"] = core -- luacheck: globals core

local json = core.json -- luacheck: globals core
local schemas = require "pintle.schema"

local LIMITS = { steps = 20000 }

local function validate_values(validate, lines)
  for line in lines do
    local value = json.decode(line)
    if value ~= nil then
      local ok, err = validate(value)
      assert(ok or type(err) == "table" and type(err.message) == "string")
      validate:defaults(value)
    end
  end
end

return function(input)
  local lines = input:gmatch "[^\n]+"
  local document = json.decode(lines() or "")
  if document == nil then return end
  local validate, message = schemas.compile(document, { formats = true, limits = LIMITS })
  if validate then return validate_values(validate, lines) end
  assert(type(message) == "string")
end
