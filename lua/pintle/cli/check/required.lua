-- What is required by a schema that a plugin has told, which may be no schema at all: then that has a probe of its own.

local envelope = require "pintle.cli.check.envelope"

---@param schema any
---@return string? name of the first argument that is required
return function(schema)
  local names = envelope.is_object(schema) and schema.required
  local first = type(names) == "table" and names[1]
  return type(first) == "string" and first or nil
end
