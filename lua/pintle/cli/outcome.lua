-- What became of an operation, for people and for programs.

local bytes = require "pintle.bytes"
local indent = require("pintle.plugin.command").indent
local json = require("pintle.core").json

local outcomes = {}

-- {====== For programs ======

local function pick(from, names)
  local copy = {}
  for _, name in ipairs(names) do copy[name] = from[name] end
  return setmetatable(copy, json.order(names))
end

---@param outcome pintle.outcome
---@param parts any[] of its result that came before
---@return table
function outcomes.value(outcome, parts)
  local value = pick(outcome, { "success", "message", "error", "outputs", "result", "parts" })
  if #parts > 0 then value.parts = json.array(parts) end
  return value
end

---@param err pintle.error
---@return table
function outcomes.error_value(err)
  local value = pick(err, { "kind", "message", "code", "data", "exit", "stderr" })
  if value.stderr then value.stderr = json.array(table.move(value.stderr, 1, #value.stderr, 1, {})) end
  return { error = value }
end

-- }======

-- {====== For people ======

local function text_of(value)
  if bytes.is(value) then return tostring(value) end
  if type(value) == "string" then return value end
  return indent(json.encode(value))
end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

---At once, also where a program reads it: the rest may be a while in coming.
---@param part any
---@param console pintle.cli.console
function outcomes.show_part(part, console)
  console:tell(text_of(part))
  console:flush()
end

---The message and the outputs on stdout; why it failed on stderr.
---@param outcome pintle.outcome
---@param operation string
---@param console pintle.cli.console
function outcomes.show(outcome, operation, console)
  local message = outcome.message
  if not outcome.success then
    local reason = outcome.error or message or "it does not say why"
    console:complain(("%s failed: %s"):format(operation, reason))
    if message == reason then message = nil end
  end
  if message then console:tell(message) end
  for _, name in ipairs(sorted_names(outcome.outputs or {})) do
    console:tell(("%s: %s"):format(name, text_of(outcome.outputs[name])))
  end
  local is_told = outcome.message or next(outcome.outputs or {})
  if not is_told and outcome.result ~= nil then console:tell(text_of(outcome.result)) end
end

-- }======

return outcomes
