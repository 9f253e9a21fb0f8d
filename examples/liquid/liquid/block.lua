-- Splits the source of a template into tokens, and parses them into bodies.

local bodies = require "liquid.body"
local errors = require "liquid.errors"
local parse_output = require("liquid.markup").output
local rstrip = require("liquid.text").rstrip

local block = {}

local find, match, sub, gsub, byte = string.find, string.match, string.sub, string.gsub, string.byte
local add, TAG, BLANK_TAG = bodies.add, bodies.TAG, bodies.BLANK_TAG

-- Bytes as constants of the compiler, which the results of `byte` are not.
local DASH <const> = 0x2D
local OPEN <const> = 0x7B
local CLOSE <const> = 0x7D
local PERCENT <const> = 0x25
local NEWLINE <const> = 0x0A

-- {====== Tags by name ======

-- The modules of the standard tags. They are loaded when a template uses them.
local modules = {
  assign = "variables", capture = "variables", increment = "variables", decrement = "variables", cycle = "variables",
  ifchanged = "variables", echo = "variables", ["if"] = "conditions", unless = "conditions", case = "conditions",
  ["for"] = "loops", tablerow = "loops", ["break"] = "loops", continue = "loops", include = "partials",
  render = "partials", comment = "verbatim", doc = "verbatim", raw = "verbatim", ["#"] = "verbatim",
}

local delimiters = setmetatable({}, { __index = function(_, name) return "end" .. name end })
for name in pairs(modules) do delimiters[name] = "end" .. name end

-- Names that are not tags are false if templates often have them, so that they are not looked up in `modules`.
local parsers = { ["else"] = false, ["elsif"] = false, when = false, liquid = false }
for _, delimiter in pairs(delimiters) do parsers[delimiter] = false end

---A node writes to `out`, whose length is `n`, and returns the new length.
---@alias liquid.node fun(ctx: liquid.context, out: string[], n: integer): integer, liquid.error?

---A parser of a tag returns its node, whether the node is blank, that is, writes nothing but whitespace, and whether it
---can cause a break or continue.
---@alias liquid.parser fun(state: table, markup: string, position: integer): liquid.node, boolean?, boolean?

---The parsers of the standard tags, by name; false or nil for a name that is not a tag.
---@type table<string, liquid.parser|false>
block.parsers = setmetatable(parsers, {
  __index = function(_, name)
    local module = modules[name]
    if not module then return nil end
    local parse = require("liquid.tags." .. module)[name]
    parsers[name] = parse
    return parse
  end,
})

-- }======

-- {====== Tokens ======

-- These functions search for single bytes, because plain searches are much faster than patterns.

---The end of an output: the first closing brace, whether or not a second one follows, unless a tag begins before it.
---@param source string
---@param first integer
---@return integer last
---@return boolean is_complete whether it ends with two braces
---@return integer|false|nil brace of a complete output: the next opening brace, false if there is none
---@return integer? before of a complete output: the byte before the two braces
local function output_end(source, first)
  local close = find(source, "}", first + 2, true)
  if not close then return (find(source, "{%", first + 2, true) or first) + 1, false end
  local open = find(source, "{", first + 2, true)
  while open and open < close do
    if byte(source, open + 1) == PERCENT then
      local _, last = find(source, "%}", open + 2, true)
      return last or open + 1, false
    end
    open = find(source, "{", open + 1, true)
  end
  local before, _, second = byte(source, close - 1, close + 1)
  if second == CLOSE then return close + 1, true, open or false, before end
  return close, false
end

local function tag_end(source, first)
  local percent = find(source, "%}", first + 2, true)
  return percent and percent + 1
end

local function next_start(source, from)
  local at = find(source, "{", from, true)
  while at do
    local second = byte(source, at + 1)
    if second == OPEN or second == PERCENT then return at end
    at = find(source, "{", at + 1, true)
  end
end

local function line_token(state, first)
  local limit = state.limit
  if first > limit then return nil end
  local at = find(state.source, "\n", first, true)
  if not at or at > limit then
    state.pos = limit + 1
    return "line", first, limit
  end
  state.pos = at + 1
  return "line", first, at - 1
end

---The next token.
---@param state liquid.parse_state
---@return string? kind "text", "output", "tag" or "line"; nil at the end
---@return integer? first, integer? last
function block.shift(state)
  local first = state.pos
  if state.limit then return line_token(state, first) end
  local source = state.source
  if first > #source then return nil end
  local start = next_start(source, first)
  if start ~= first then
    local last = start and start - 1 or #source
    state.pos = last + 1
    return "text", first, last
  end
  local is_output = byte(source, first + 1) == OPEN
  local last = (is_output and output_end or tag_end)(source, first)
  -- Without another closing brace there is no further tag. The rest is one token, so that it is not searched again.
  if not last or byte(source, last) ~= CLOSE then last = #source end
  state.pos = last + 1
  return is_output and "output" or "tag", first, last
end

-- }======

-- Most letters are in lower case, and Lua matches a range faster than a class.
local TAG_NAME = "^%-?%s*([a-z%w_]+)%s*()"

-- The begin of an output or a tag.
local TOKEN = "^{[{%%]"

-- The maximum nesting depth of tags.
local MAX_DEPTH = 100

---@param state liquid.parse_state
---@return liquid.body
function block.new(state)
  return bodies.new(state.template)
end

---A text without the whitespace that dashes in the delimiters around it remove.
---@param state liquid.parse_state
---@param body liquid.body
---@param first integer
---@param last integer
---@param after? integer the byte of the next delimiter that may be a dash
---@return string
local function read_text(state, body, first, last, after)
  local source = state.source
  if state.trim then
    state.trim = false
    first = find(source, "[^%s%z]", first) or last + 1
    if first > last then return "" end
  end
  local text = sub(source, first, last)
  if after == DASH then
    text = rstrip(text)
    if text ~= "" then body.blank = false end
  elseif body.blank and find(text, "%S") then
    body.blank = false
  end
  return text
end

local function unfinished(state, kind, first, last, ending)
  errors.syntax(state, kind .. " '" .. sub(state.source, first, last)
    .. "' was not properly terminated with regexp: " .. ending, first)
end

-- Returns the expression of an output, the position of the next token and that of the next opening brace.
local function output_token(state, first, after)
  local source = state.source
  local last, is_complete, brace, before = output_end(source, first)
  if not is_complete then unfinished(state, "Variable", first, last, "/\\}\\}/") end
  local trim = before == DASH
  state.trim, state.pos = trim, last + 1
  local markup = sub(source, after == DASH and first + 3 or first + 2, trim and last - 3 or last - 2)
  return parse_output(state, markup, first), last + 1, brace
end

-- Returns the node of a tag, its position and its kind.
local function parse_tag(state, body, parse, markup, position)
  local node, blank, interrupts = parse(state, markup, position)
  if interrupts then body.interrupts = true end
  if blank then return node, position, BLANK_TAG end
  body.blank = false
  return node, position, TAG
end

local parse_lines, parse_tokens

-- Parses the lines of a liquid tag into the body around it.
local function liquid_tag(state, body, position, finish)
  local pos, limit = state.pos, state.limit
  state.pos, state.limit = position, finish
  state.depth = state.depth + 1
  if state.depth > MAX_DEPTH then error(errors.new("stack_level_error", "Nesting too deep"), 0) end
  local tag, _, at = parse_lines(state, body)
  state.depth = state.depth - 1
  if tag then block.unknown_tag(state, tag, "liquid", "%}", at) end
  state.pos, state.limit = pos, limit
end

function parse_lines(state, body)
  local source = state.source
  while true do
    local kind, first, last = block.shift(state)
    if not kind then return nil end
    local line = sub(source, first, last)
    if find(line, "%S") then
      local name, at = match(line, "^%s*([%w_]+)%s*()")
      if not name then name, at = match(line, "^%s*(#)%s*()") end
      if not name then return line, line, first end
      local parse = state.parsers[name]
      if parse then
        add(body, false, parse_tag(state, body, parse, sub(line, at), first + at - 1))
      elseif name == "liquid" then
        liquid_tag(state, body, first + at - 1, last)
      else
        return name, sub(line, at), first + at - 1
      end
    end
  end
end

-- A tag without a name: an inline comment, or an unknown tag with the whole token as its name.
local function nameless(source, first, last)
  local name, from = match(source, "^%-?%s*(#)%s*()", first + 2)
  if name then return name, from end
  return sub(source, first, last), first
end

-- Returns the name of a tag, its markup, and the first and last position of the markup.
local function read_tag(state, first)
  local source = state.source
  local percent = find(source, "%}", first + 2, true)
  if not percent then unfinished(state, "Tag", first, first + 1, "/\\%\\}/") end
  local trim = byte(source, percent - 1) == DASH
  state.pos, state.trim = percent + 2, trim
  local name, from = match(source, TAG_NAME, first + 2)
  if not name then name, from = nameless(source, first, percent + 1) end
  local to = trim and percent - 2 or percent - 1
  return name, to < from and "" or sub(source, from, to), from, to
end

-- Stores the counts of `parse_tokens` in the body and adds the last text.
local function close(body, last, count, length, text)
  body.last, body.count, body.length = last, count, length
  if text then add(body, text, false) end
end

---A part of the source whose line in error messages is not its real line.
---@class liquid.shifted_lines
---@field first integer
---@field last integer
---@field by integer the difference in lines

-- The end of the last line of a liquid tag that is not empty.
local function last_of_lines(source, limit)
  while byte(source, limit) == NEWLINE do limit = limit - 1 end
  return limit
end

local function count_newlines(source, first, last)
  local _, count = gsub(sub(source, first, last), "\n", "")
  return count
end

-- The reference counts lines on from those of a liquid tag until it has read one more token, so error messages for that
-- token have a wrong line.
local function note_shifted_lines(state, from, limit)
  local source, first, shifted_lines = state.source, state.pos, state.template.shifted_lines or {}
  if first <= #source and not find(source, TOKEN, first) then return end
  local before, last = shifted_lines[#shifted_lines], last_of_lines(source, limit)
  local lines = last < from and 0 or count_newlines(source, from, last) + 1
  local by = lines - count_newlines(source, from, first - 1)
  if before and from <= before.last then by = by + before.by end
  if by == 0 then return end
  local _, finish = find(source, byte(source, first + 1) == OPEN and "}}" or "%}", first, true)
  shifted_lines[#shifted_lines + 1] = { first = first, last = finish or first, by = by }
  state.template.shifted_lines = shifted_lines
end

-- Returns the name, markup and position of a tag that ends the body. A liquid tag does not: its lines become part of
-- the body, and parsing continues.
local function leave(state, body, name, markup, position, finish)
  if name ~= "liquid" then return name, markup, position end
  liquid_tag(state, body, position, finish)
  note_shifted_lines(state, position, finish)
  if find(state.source, TOKEN .. "%-", state.pos) then bodies.trim(body) end
  return parse_tokens(state, body)
end

-- Most of the parsing time is spent here, so `bodies.add` is written out, and its counts are locals.
function parse_tokens(state, body)
  local source, first, parts, known_parsers = state.source, state.pos, body.parts, state.parsers
  local last, count, length = body.last, body.count, body.length
  local start = find(source, "{", first, true)
  while start do
    local code, after = byte(source, start + 1, start + 2)
    if code == OPEN or code == PERCENT then
      local text = start > first and read_text(state, body, first, start - 1, after)
      local call, position, kind
      if code == OPEN then
        position, kind, body.blank = start, false, false
        call, first, start = output_token(state, start, after)
      else
        local name, markup, at, finish = read_tag(state, start)
        local parse = known_parsers[name]
        if not parse then
          close(body, last, count, length, text)
          return leave(state, body, name, markup, at, finish)
        end
        call, position, kind = parse_tag(state, body, parse, markup, at)
        first = state.pos
        start = find(source, "{", first, true)
      end
      last = last + 4
      parts[last] = text
      parts[last + 1] = call
      parts[last + 2] = position
      parts[last + 3] = kind
      count = count + 1
      if text then count, length = count + 1, length + #text end
    else
      start = find(source, "{", start + 1, true)
    end
  end
  state.pos = #source + 1
  close(body, last, count, length, first <= #source and read_text(state, body, first, #source))
end

---Parses into a body, up to a tag that does not belong to it.
---@param state liquid.parse_state
---@param body liquid.body
---@return string? tag, string? markup, integer? position of the tag; nil at the end
function block.parse(state, body)
  if state.limit then return parse_lines(state, body) end
  return parse_tokens(state, body)
end

---Raises the error of a tag that does not belong into a block.
---@param state liquid.parse_state
---@param tag string
---@param name string the name of the block
---@param delimiter string the tag that ends the block
---@param position integer
function block.unknown_tag(state, tag, name, delimiter, position)
  local message
  if tag == "else" then
    message = name .. " tag does not expect 'else' tag"
  elseif sub(tag, 1, 3) == "end" then
    message = "'" .. tag .. "' is not a valid delimiter for " .. name .. " tags. use " .. delimiter
  else
    message = "Unknown tag '" .. tag .. "'"
  end
  errors.syntax(state, message, position)
end

-- The position of the error for a block without an end: the end of the source, or the line after a liquid tag.
local function end_of(state)
  local source, limit = state.source, state.limit
  if not limit then return #source + 1 end
  local last = last_of_lines(source, limit)
  return (find(source, "\n", last + 1, true) or last) + 1
end

---Raises the error of a block without an end.
---@param state liquid.parse_state
---@param name string
---@param position integer
function block.never_closed(state, name, position)
  errors.syntax(state, "'" .. name .. "' tag was never closed", position)
end

local no_branches = {}

---Parses a body up to the end of its block, or up to a tag that begins another body of the block.
---@param state liquid.parse_state
---@param name string
---@param body liquid.body
---@param branches? table<string, boolean> tags that begin another body
---@return string? tag nil at the end of the block
---@return string? markup, integer? position
function block.section(state, name, body, branches)
  if state.depth >= MAX_DEPTH then error(errors.new("stack_level_error", "Nesting too deep"), 0) end
  state.depth = state.depth + 1
  local tag, markup, position = (state.limit and parse_lines or parse_tokens)(state, body)
  state.depth = state.depth - 1
  if not tag then return block.never_closed(state, name, end_of(state)) end
  local delimiter = delimiters[name]
  if tag == delimiter then return nil end
  if (branches or no_branches)[tag] then return tag, markup, position end
  block.unknown_tag(state, tag, name, delimiter, position)
end

return block
