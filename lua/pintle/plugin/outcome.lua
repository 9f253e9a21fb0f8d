-- What an operation returns, as its dialect is given it.
--
--   "text", true, nothing            it succeeded
--   { message =, outputs = }         it succeeded
--   nil, "text"                      it failed; the text is the message and the error
--   nil, { message =, error =, outputs = }   it failed
--   nil, err                         a protocol error: a pintle.error, or any table with a code and a message
--
-- Anything else is a mistake of the author, and raises.

local errors = require "pintle.error"

local outcome = {}

local MEMBERS = { success = "boolean", message = "string", error = "string", outputs = "table" }

local function blame(operation, format, ...)
  error(("operation %q returned %s"):format(operation, format:format(...)), 0)
end

local function check_members(operation, given)
  for name, value in pairs(given) do
    local expected = MEMBERS[name]
    if not expected then
      blame(operation, "a table with %q; it may have message, error and outputs", tostring(name))
    elseif type(value) ~= expected then
      blame(operation, "%s as its %s, which has to be a %s", type(value), name, expected)
    end
  end
end

local function of_table(operation, given, success)
  check_members(operation, given)
  if given.success ~= nil then success = given.success end
  local message, problem = given.message, given.error
  if not success then message, problem = message or problem, problem or message end
  return { success = success, message = message, error = problem, outputs = given.outputs }
end

local function of_failure(operation, err)
  if err == nil then return { success = false } end
  if type(err) == "string" then return { success = false, message = err, error = err } end
  if type(err) ~= "table" then blame(operation, "nil and a %s; a string or a table says what is wrong", type(err)) end
  if errors.is(err) or err.code ~= nil then return nil, err end
  return of_table(operation, err, false)
end

---@param operation string its name
---@param result any what its function returned first
---@param err any what it returned second
---@return pintle.outcome?, pintle.error|table? err
function outcome.of(operation, result, err)
  if result == true or result == nil and err == nil then return { success = true } end
  if not result then return of_failure(operation, err) end
  if type(result) == "string" then return { success = true, message = result } end
  if type(result) == "table" then return of_table(operation, result, true) end
  blame(operation, "a %s; it may return a string, a table with message and outputs, true or nothing", type(result))
end

return outcome
