-- What was probably meant, where an operation is asked for that does not exist.

local jsonrpc = require "pintle.jsonrpc"

local suggestion = {}

---@param err pintle.error of the kind "invalid"
---@param manifest pintle.manifest
---@return string message with what would have worked
function suggestion.message(err, manifest)
  local name = type(err.data) == "table" and err.data.suggestion
  if name then return ("%s; did you mean %s?"):format(err.message, name) end
  if err.code == jsonrpc.METHOD_NOT_FOUND and err.kind == "invalid" and #manifest.names > 0 then
    return ("%s; there are %s"):format(err.message, table.concat(manifest.names, ", "))
  end
  return err.message
end

return suggestion
