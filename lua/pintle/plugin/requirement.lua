-- What a plugin needs of the system, looked for when it matters: before an operation runs.

local core = require "pintle.core"
local errors = require "pintle.error"

local requirement = {}

local function is_there(found, command, path)
  local key = command .. "\0" .. (path or "")
  found[key] = found[key] or core.which(command, path) ~= nil
  return found[key]
end

---Looks for all commands. What was found once is not looked for again.
---@param found table<string, boolean> where that is remembered
---@param requirements pintle.requirement[]
---@param path? string directories to look in: the PATH unless told
---@return true?, pintle.error? err of the kind "requirement"
function requirement.check(found, requirements, path)
  for _, required in ipairs(requirements) do
    local command = required.command
    if not is_there(found, command, path) then
      local message = ("Requirement not met: the command %q is not in PATH"):format(command)
      return nil, errors.new("requirement", message, { data = { command = command } })
    end
  end
  return true
end

return requirement
