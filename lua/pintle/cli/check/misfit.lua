-- Forms of values are JSON Schemas, each compiled once.

local schema = require "pintle.schema"

local compiled = setmetatable({}, { __mode = "k" })

---Whether a value has the form that a JSON Schema says.
---@param value any
---@param form table
---@return string? problem
return function(value, form)
  compiled[form] = compiled[form] or assert(schema.compile(form))
  local ok, err = compiled[form](value)
  return not ok and tostring(err) or nil
end
