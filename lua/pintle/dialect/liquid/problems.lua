-- What an engine says is wrong with a template, and what a drop says is wrong with it, as they are sent.

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

-- Texts that Lua makes: with a place in the program, or of what it could not do where it knows of no place.
local TEXTS_OF_LUA = {
  "^[^\n]-:%d+: ", "^attempt to ", "^bad argument #", "stack overflow", "^not enough memory", "stack traceback:",
  "^[%w_.]+: 0x%x+$",
}

---What a template is told of an error that an object raised: its text, unless that is of Lua's making.
---@param raised any
---@return string message, string? cause what is for the host alone
function problems.of_object(raised)
  local text = errors.text(raised)
  if raised == nil then return "internal", text end
  for _, pattern in ipairs(TEXTS_OF_LUA) do
    if text:find(pattern) then return "internal", text end
  end
  return text
end

return problems
