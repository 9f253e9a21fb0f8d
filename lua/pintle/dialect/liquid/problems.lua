-- The errors of engines and of drops, as they are sent.

local errors = require "pintle.error"
local json = require("pintle.core").json
local valid = require "pintle.dialect.liquid.text"

local RENDER_ERROR = -32001
local PROBLEM = json.order { "type", "message", "line" }
local DATA = json.order { "type", "line" }

---What is wrong with a template. The message is sent as it is.
---@class pintle.liquid.problem
---@field type string "syntax_error" or "parse_error" where it does not compile
---@field message string
---@field line? integer

local problems = {}

---@param told any a `pintle.liquid.problem`, or a text
---@param kind string the type where it tells none
---@return pintle.liquid.problem
function problems.described(told, kind)
  if type(told) ~= "table" then told = { message = told } end
  local message = valid(tostring(told.message))
  return setmetatable({ type = told.type or kind, message = message, line = told.line }, PROBLEM)
end

---@param all any[]?
---@return pintle.liquid.problem[]
function problems.listed(all)
  local list = json.array()
  for i, told in ipairs(all or {}) do list[i] = problems.described(told, "render_error") end
  return list
end

---Whether it is an error of the protocol already.
---@param err any
---@return boolean
function problems.is_error(err) return type(err) == "table" and (err.code or err.kind) ~= nil end

---The error that a render which failed is answered with.
---@param err any
---@return pintle.error|table
function problems.failure(err)
  if problems.is_error(err) then return err end
  local told = problems.described(err, "render_error")
  local data = setmetatable({ type = told.type, line = told.line }, DATA)
  return { code = RENDER_ERROR, message = told.message, data = data }
end

-- Messages that reveal the program: those with a source position, and those of Lua's runtime without one.
local REVEALING_MESSAGES = {
  "^[^\n]-:%d+: ", "^attempt to ", "^bad argument #", "stack overflow", "^not enough memory", "stack traceback:",
  "^[%w_.]+: 0x%x+$",
}

---The message that a template is shown of an error that an object raised.
---@param raised any
---@return string message, string? cause the original text, if the message is only "internal"
function problems.of_object(raised)
  local text = errors.text(raised)
  if raised == nil then return "internal", text end
  for _, pattern in ipairs(REVEALING_MESSAGES) do
    if text:find(pattern) then return "internal", text end
  end
  return text
end

return problems
