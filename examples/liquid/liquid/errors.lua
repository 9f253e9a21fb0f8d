-- Errors and their messages: "Liquid error (snippet line 3): divided by 0".
--
-- A function that can fail returns `nil, err`. Only errors that end the compilation or the render are raised.

local errors = {}

---@class liquid.error
---@field type string "syntax_error", "argument_error", "zero_division_error", …
---@field message string without the prefix
---@field line? integer
---@field template_name? string the name of the template or partial with the error
---@field markup? string the markup with the error, as it is shown
---@field cause? any of an internal error: the raised value, for the program only
local error_metatable = { __name = "liquid.error" }
error_metatable.__index = error_metatable

local prefixes = { syntax_error = "Liquid syntax error", parse_error = "Liquid syntax error" }

---The names of the classes in the reference.
local class_names = {
  syntax_error = "SyntaxError", argument_error = "ArgumentError", zero_division_error = "ZeroDivisionError",
  file_system_error = "FileSystemError", stack_level_error = "StackLevelError", memory_error = "MemoryError",
  undefined_variable = "UndefinedVariable", undefined_filter = "UndefinedFilter",
  undefined_drop_method = "UndefinedDropMethod", float_domain_error = "FloatDomainError",
  disabled_error = "DisabledError", context_error = "ContextError", internal_error = "InternalError",
}

---Errors that are recorded but not written.
errors.silent = { undefined_variable = true, undefined_filter = true, undefined_drop_method = true }

---@param kind string
---@param message string
---@return liquid.error
function errors.new(kind, message)
  return setmetatable({ type = kind, message = message }, error_metatable)
end

---@param message string
---@return nil, liquid.error
function errors.argument(message)
  return nil, errors.new("argument_error", message)
end

---@param value any
---@return boolean
function errors.is(value)
  return getmetatable(value) == error_metatable
end

---An error whose message reveals nothing about the program.
---@param cause any the raised value
---@return liquid.error
function errors.internal(cause)
  local err = errors.new("internal_error", "internal")
  err.cause = cause
  return err
end

-- Messages that reveal the program: those with a source position, and those of Lua's runtime without one.
local revealing_messages = {
  "^[^\n]-:%d+: ", "^attempt to ", "^bad argument #", "stack overflow", "^not enough memory", "stack traceback:",
  "^[%w_.]+: 0x%x+$",
}

local function is_for_templates(message)
  if type(message) ~= "string" then return false end
  for _, pattern in ipairs(revealing_messages) do
    if message:find(pattern) then return false end
  end
  return true
end

---The error of a drop that failed. A string, or the `message` of a table, is shown to the template; anything else, and
---a message of Lua's runtime, is an internal error.
---@param failure any the raised or returned error
---@return liquid.error
function errors.of_object(failure)
  if errors.is(failure) then return failure end
  local message = failure
  if type(failure) == "table" then message = rawget(failure, "message") end
  if not is_for_templates(message) then return errors.internal(failure) end
  return errors.new("standard_error", message)
end

local interruptions = { cancelled = true, timeout = true, closed = true }

---Whether a raised error must not be caught: pintle raises such errors to stop a cancelled or timed-out request.
---@param raised any
---@return boolean
function errors.is_interruption(raised)
  local metatable = type(raised) == "table" and getmetatable(raised)
  return type(metatable) == "table" and metatable.__name == "pintle.error" and interruptions[raised.kind] or false
end

---The name of the class of an error in the reference: "Liquid::ArgumentError".
---@param err liquid.error
---@return string
function errors.class_name(err)
  return "Liquid::" .. (class_names[err.type] or "StandardError")
end

---The message and the markup with the error.
---@param err liquid.error
---@return string
function errors.message(err)
  return err.markup and err.message .. " " .. err.markup or err.message
end

---The whole message, with prefix and position.
---@param err liquid.error
---@return string
function errors.sentence(err)
  local where = ""
  if err.line then
    where = " (" .. (err.template_name and err.template_name .. " " or "") .. "line " .. err.line .. ")"
  end
  return (prefixes[err.type] or "Liquid error") .. where .. ": " .. errors.message(err)
end

error_metatable.__tostring = errors.sentence

-- The real line of a position.
local function lines_before(source, position)
  local line, from = 1, 1
  while true do
    local at = source:find("\n", from, true)
    if not at or at >= position then return line end
    line, from = line + 1, at + 1
  end
end

---The line of a position in error messages, from 1.
---@param template liquid.template
---@param position integer
---@return integer
function errors.line_at(template, position)
  local line = lines_before(template.source, position)
  for _, part in ipairs(template.shifted_lines or {}) do
    if part.first <= position and position <= part.last then return line + part.by end
  end
  return line
end

---A markup as error messages show it.
---@param markup string
---@return string
function errors.shown_markup(markup)
  return 'in "' .. markup:match("^%s*(.-)%s*$") .. '"'
end

---Parses the markup of a tag. Unless parsing is lax, syntax errors show all of the markup.
---@param state liquid.parse_state
---@param markup string
---@param position integer
---@param read fun(state: liquid.parse_state, markup: string, position: integer): any, any
---@return any, any the results of `read`
function errors.within_tag(state, markup, position, read)
  if state.mode == "lax" then return read(state, markup, position) end
  state.tag_markup = markup
  local first, second = read(state, markup, position)
  state.tag_markup = nil
  return first, second
end

---Adds the current position and markup of the parser to an error without them.
---@param err liquid.error
---@param state liquid.parse_state
function errors.place(err, state)
  if state.tag_markup then err.markup = errors.shown_markup(state.tag_markup) end
  err.template_name = err.template_name or state.template.name
  if state.template.line_numbers and not err.line then err.line = errors.line_at(state.template, state.pos - 1) end
end

---Raises a syntax error at a position of the source that is being compiled.
---@param state liquid.parse_state
---@param message string
---@param position? integer
---@param markup? string the markup as it is shown
function errors.syntax(state, message, position, markup)
  local err = errors.new("syntax_error", message)
  err.markup = markup
  err.template_name = state.template.name
  if state.template.line_numbers and position then err.line = errors.line_at(state.template, position) end
  error(err, 0)
end

return errors
