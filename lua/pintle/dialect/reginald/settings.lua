-- Values that belong to no operation as it is declared, checked as if they were the arguments of one: what a plugin as
-- a whole is configured with, or arguments that may be incomplete.

local manifests = require "pintle.manifest"

---Checks values against a schema, and fills in its defaults.
---@param schema table|boolean
---@param values table
---@param name? string what they are called in a complaint: "config"
---@return table?, pintle.error?
return function(schema, values, name)
  name = name or "config"
  local holder, err = manifests.read { name = name, version = false, operations = { [name] = { params = schema } } }
  if not holder then return nil, err end
  return holder:check(name, values)
end
