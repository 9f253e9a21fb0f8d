-- What a plugin as a whole is configured with, checked as if it were the arguments of an operation.

local manifests = require "pintle.manifest"

local NAME = "config"

---Checks values against a schema, and fills in its defaults.
---@param schema table|boolean
---@param values table
---@return table?, pintle.error?
return function(schema, values)
  local holder, err = manifests.read { name = NAME, version = false, operations = { [NAME] = { params = schema } } }
  if not holder then return nil, err end
  return holder:check(NAME, values)
end
