-- Parses what stands between tags into bodies.

local bodies = require "liquid.body"
local errors = require "liquid.errors"
local parse_output = require("liquid.markup").output
local rstrip = require("liquid.text").rstrip

local block = {}

local find, match, sub, gsub, byte = string.find, string.match, string.sub, string.gsub, string.byte
local add, TAG, BLANK_TAG = bodies.add, bodies.TAG, bodies.BLANK_TAG

-- Bytes that are looked for. Numbers are constants to Lua, what `byte` gives is not.
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

-- Plain searches are much faster than patterns, so it is one byte that is looked for.

---Where an output ends: at the first brace that closes, whether or not a second follows, unless a tag begins before.
---@param source string
---@param first integer
---@return integer last
---@return boolean is_whole whether it ends with two braces
---@return integer|false|nil brace where the next one opens, if it is whole; false if there is none
---@return integer? before the byte before the two braces
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
  -- Where nothing closes any more no tag is to come either: the rest is one token, so that it is not searched again.
  if not last or byte(source, last) ~= CLOSE then last = #source end
  state.pos = last + 1
  return is_output and "output" or "tag", first, last
end

-- }======

-- Most letters are small, and Lua is faster at finding them in a range than in a class.
local TAG_NAME = "^%-?%s*([a-z%w_]+)%s*()"

-- How an output or a tag begins.
local TOKEN = "^{[{%%]"

-- How deep tags may be nested.
local MAX_DEPTH = 100

---@param state liquid.parse_state
---@return liquid.body
function block.new(state)
  return bodies.new(state.template)
end

---A text, without the space that a dash in the delimiters on its sides takes away.
---@param state liquid.parse_state
---@param body liquid.body
---@param first integer
---@param last integer
---@param after? integer the byte in the delimiter behind it that may be a dash
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

-- The expression of an output, where the next token begins, and where the next brace opens.
local function output_token(state, first, after)
  local source = state.source
  local last, is_whole, brace, before = output_end(source, first)
  if not is_whole then unfinished(state, "Variable", first, last, "/\\}\\}/") end
  local trim = before == DASH
  state.trim, state.pos = trim, last + 1
  local markup = sub(source, after == DASH and first + 3 or first + 2, trim and last - 3 or last - 2)
  return parse_output(state, markup, first), last + 1, brace
end

-- The node of a tag, where it stands, and what it is.
local function parse_tag(state, body, parse, markup, position)
  local node, blank, interrupts = parse(state, markup, position)
  if interrupts then body.interrupts = true end
  if blank then return node, position, BLANK_TAG end
  body.blank = false
  return node, position, TAG
end

local parse_lines, parse_tokens

-- The lines of a liquid tag belong to the body around it.
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

-- What has no name is not a tag, but shows as it is.
local function nameless(source, first, last)
  local name, from = match(source, "^%-?%s*(#)%s*()", first + 2)
  if name then return name, from end
  return sub(source, first, last), first
end

-- The name of a tag, its markup, and where that begins and ends.
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

-- The last text of what was read, and what was counted.
local function close(body, last, count, length, text)
  body.last, body.count, body.length = last, count, length
  if text then add(body, text, false) end
end

---What is told to be on another line than it is, by so many lines.
---@class liquid.stray
---@field first integer
---@field last integer
---@field by integer

-- Where the last line of a liquid tag ends, of those that are read: empty ones behind it are not.
local function last_of_lines(source, limit)
  while byte(source, limit) == NEWLINE do limit = limit - 1 end
  return limit
end

local function count_newlines(source, first, last)
  local _, count = gsub(sub(source, first, last), "\n", "")
  return count
end

-- The reference counts on from the lines of a liquid tag, wherever that ends, until it has read one more token.
local function note_stray(state, from, limit)
  local source, first, strays = state.source, state.pos, state.template.strays or {}
  if first <= #source and not find(source, TOKEN, first) then return end
  local before, last = strays[#strays], last_of_lines(source, limit)
  local lines = last < from and 0 or count_newlines(source, from, last) + 1
  local by = lines - count_newlines(source, from, first - 1)
  if before and from <= before.last then by = by + before.by end
  if by == 0 then return end
  local _, finish = find(source, byte(source, first + 1) == OPEN and "}}" or "%}", first, true)
  strays[#strays + 1] = { first = first, last = finish or first, by = by }
  state.template.strays = strays
end

-- A tag that is none of the body's: its name, its markup and its position. The lines of a liquid tag are the body's.
local function leave(state, body, name, markup, position, finish)
  if name ~= "liquid" then return name, markup, position end
  liquid_tag(state, body, position, finish)
  note_stray(state, position, finish)
  if find(state.source, TOKEN .. "%-", state.pos) then bodies.trim(body) end
  return parse_tokens(state, body)
end

-- This is where most of the time of parsing goes by. So what `bodies.add` does is written out, and counted in locals.
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

---Parses parts into a body, up to a tag that is none of its own.
---@param state liquid.parse_state
---@param body liquid.body
---@return string? tag, string? markup, integer? position of the tag; nil at the end
function block.parse(state, body)
  if state.limit then return parse_lines(state, body) end
  return parse_tokens(state, body)
end

---Raises: the tag does not belong here.
---@param state liquid.parse_state
---@param tag string
---@param name string the block's
---@param delimiter string that would end it
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

-- Where a block without an end was given up: at the end of the source, or on the line behind the last of a liquid tag.
local function end_of(state)
  local source, limit = state.source, state.limit
  if not limit then return #source + 1 end
  local last = last_of_lines(source, limit)
  return (find(source, "\n", last + 1, true) or last) + 1
end

---Raises: the block has no end.
---@param state liquid.parse_state
---@param name string
---@param position integer
function block.never_closed(state, name, position)
  errors.syntax(state, "'" .. name .. "' tag was never closed", position)
end

local no_branches = {}

---Parses a body up to the end of its block, or up to a tag that begins another.
---@param state liquid.parse_state
---@param name string
---@param body liquid.body
---@param branches? table<string, boolean> tags that begin another body
---@return string? tag nil where the block ends
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
