-- What became of an operation, as one plain value: for protocols that leave the form of a result open.

local errors = require "pintle.error"
local json = require("pintle.core").json

local outcomes = {}

local VALUE = json.order { "message", "outputs" }

---What a plugin sends: the message alone where there is nothing else, and null where there is not even that.
---@param outcome pintle.outcome one that succeeded
---@return any
function outcomes.value(outcome)
  if outcome.outputs then
    return setmetatable({ message = outcome.message, outputs = outcome.outputs }, VALUE)
  end
  return outcome.message == nil and json.null or outcome.message
end

local KINDS = { message = "string", outputs = "object" }

-- Whether it was a plugin of pintle's that said this.
local function is_own(value)
  if json.kind(value) ~= "object" then return false end
  for name, member in pairs(value) do
    if json.kind(member) ~= KINDS[name] then return false end
  end
  return true
end

---What a host makes of what it has received. Other programs answer in other ways, so the value itself is in it, too.
---@param value any
---@return pintle.outcome
function outcomes.read(value)
  local outcome = { success = true, result = value }
  if type(value) == "string" then
    outcome.message = value
  elseif is_own(value) then
    outcome.message, outcome.outputs = value.message, value.outputs
  end
  return outcome
end

---What a plugin sends of an operation that failed, where that is an error. What there is to say besides is in the data.
---@param outcome pintle.outcome
---@param code integer
---@return pintle.error
function outcomes.failure(outcome, code)
  local problem = outcome.error or outcome.message or "the operation failed"
  local message = outcome.message ~= problem and outcome.message or nil
  local has_more = message or outcome.outputs
  local data = has_more and outcomes.value { message = message, outputs = outcome.outputs } or nil
  return errors.new("invalid", problem, { code = code, data = data })
end

---What a host makes of that.
---@param err pintle.error
---@return pintle.outcome
function outcomes.read_failure(err)
  local outcome = outcomes.read(err.data)
  outcome.success, outcome.error, outcome.message = false, err.message, outcome.message or err.message
  return outcome
end

return outcomes
