-- What became of an operation. A Reginald host is answered {} whatever an operation has to say, so that goes to the
-- log, where people see it: as the last message before the answer, with the id of the request among its fields. By that
-- our own host finds it again, also when several run at once. A failure is an error, and says all by itself.

local errors = require "pintle.error"
local json = require("pintle.core").json

local FIELDS = json.order { "request", "outcome", "outputs" }

local outcome = {}

-- {====== The plugin's side ======

---What to log of one that succeeded.
---@param operation string
---@param id pintle.id? of the request
---@param made pintle.outcome
---@return string? message nil if there is nothing to say
---@return table? fields
function outcome.message(operation, id, made)
  if not made.message and not made.outputs then return nil end
  return made.message or operation .. " succeeded", setmetatable({
    request = math.type(id) == "integer" and id or nil,
    outcome = made.message and "message" or "outputs",
    outputs = made.outputs,
  }, FIELDS)
end

-- Only what the text does not tell already.
local function data_of(made, text)
  local message = made.message ~= text and made.message or nil
  if not message and not made.outputs then return nil end
  return { message = message, outputs = made.outputs }
end

---What to answer for one that failed.
---@param operation string
---@param made pintle.outcome
---@param code integer
---@return pintle.error
function outcome.failure(operation, made, code)
  local text = made.error or made.message or operation .. " failed"
  return errors.new("remote", text, { code = code, data = data_of(made, text) })
end

-- }======

-- {====== The host's side ======

local function outputs_of(value)
  if type(value) == "string" then value = json.decode(value) end
  return json.kind(value) == "object" and value or nil
end

---The outcome in a log message, if it is one.
---@param message string
---@param fields any
---@return pintle.outcome?
function outcome.of_message(message, fields)
  if fields.outcome ~= "message" and fields.outcome ~= "outputs" then return nil end
  return {
    success = true, message = fields.outcome == "message" and message or nil, outputs = outputs_of(fields.outputs),
  }
end

---The outcome in an error that says that an operation has failed.
---@param err pintle.error
---@return pintle.outcome
function outcome.of_failure(err)
  local data = json.kind(err.data) == "object" and err.data or {}
  return {
    success = false, error = err.message,
    message = type(data.message) == "string" and data.message or err.message, outputs = outputs_of(data.outputs),
  }
end

-- }======

return outcome
