-- The outcome of an operation as one JSON value: for protocols that do not define the form of a result.

local errors = require "pintle.error"
local json = require("pintle.core").json

local outcomes = {}

local VALUE = json.order { "message", "outputs" }

---The result that a plugin sends: an object if there are outputs; otherwise the message, or null without one.
---@param outcome pintle.outcome of an operation that succeeded
---@return any
function outcomes.value(outcome)
  if outcome.outputs then
    return setmetatable({ message = outcome.message, outputs = outcome.outputs }, VALUE)
  end
  return outcome.message == nil and json.null or outcome.message
end

local KINDS = { message = "string", outputs = "object" }

-- Whether a result has the form that pintle plugins send.
local function outcome_has_pintle_form(value)
  if json.kind(value) ~= "object" then return false end
  for name, member in pairs(value) do
    if json.kind(member) ~= KINDS[name] then return false end
  end
  return true
end

---Reads a received result. Other programs send results of other forms, so the outcome has the value itself, too.
---@param value any
---@return pintle.outcome
function outcomes.read(value)
  local outcome = { success = true, result = value }
  if type(value) == "string" then
    outcome.message = value
  elseif outcome_has_pintle_form(value) then
    outcome.message, outcome.outputs = value.message, value.outputs
  end
  return outcome
end

---The error response for an operation that failed. Its data has the outputs, and a message that differs from the error.
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

---Reads such an error response.
---@param err pintle.error
---@return pintle.outcome
function outcomes.read_failure(err)
  local outcome = outcomes.read(err.data)
  outcome.success, outcome.error, outcome.message = false, err.message, outcome.message or err.message
  return outcome
end

return outcomes
