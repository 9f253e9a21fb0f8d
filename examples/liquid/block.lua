-- Parses what stands between tags into bodies.

local bodies = require "liquid.body"
local errors = require "liquid.errors"
local output = require "liquid.output"
local scanner = require "liquid.scanner"
local space = require "liquid.space"
local tags = require "liquid.tags"

local block = {}

local find, match, sub, byte = string.find, string.match, string.sub, string.byte
local next_start, output_end, tag_end = scanner.next_start, scanner.output_end, scanner.tag_end
local add, TAG, BLANK_TAG = bodies.add, bodies.TAG, bodies.BLANK_TAG
local rstrip = space.rstrip
local DASH, OPEN = byte("-"), byte("{")

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
---@param dash boolean whether the delimiter behind it has one
---@return string
local function read_text(state, body, first, last, dash)
  local source = state.source
  if state.trim then
    state.trim = false
    first = find(source, "[^%s%z]", first) or last + 1
    if first > last then return "" end
  end
  local text = sub(source, first, last)
  if dash then
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

-- Gives where the next token begins, and the next brace if it is known.
local function output_token(state, body, text, first, dash)
  local source = state.source
  local last, is_whole, brace = output_end(source, first)
  if not is_whole then unfinished(state, "Variable", first, last, "/\\}\\}/") end
  local from, to = dash == DASH and first + 3 or first + 2, last - 2
  local trim = to > first + 1 and byte(source, to) == DASH
  if trim then to = to - 1 end
  state.trim, state.pos, body.blank = trim, last + 1, false
  add(body, text, output.parse(state, sub(source, from, to), first), first)
  return last + 1, brace
end

local function add_tag(state, body, text, parse, markup, position)
  local node, blank, interrupts = parse(state, markup, position)
  if not blank then body.blank = false end
  if interrupts then body.interrupts = true end
  add(body, text, node, position, blank and BLANK_TAG or TAG)
end

local parse_lines

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
    local kind, first, last = scanner.shift(state)
    if not kind then return nil end
    local line = sub(source, first, last)
    if find(line, "%S") then
      local name, at = match(line, "^%s*([%w_]+)%s*()")
      if not name then name, at = match(line, "^%s*(#)%s*()") end
      if not name then return line, line, first end
      local parse = tags.parser(name)
      if parse then
        add_tag(state, body, false, parse, sub(line, at), first + at - 1)
      elseif name == "liquid" then
        liquid_tag(state, body, first + at - 1, last)
      else
        return name, sub(line, at), first + at - 1
      end
    end
  end
end

-- The name of a tag, its markup, and where that stands. Without a name it is not a tag, but shows as it is.
local function read_tag(state, first, dash)
  local source = state.source
  local last = tag_end(source, first)
  if not last then unfinished(state, "Tag", first, first + 1, "/\\%\\}/") end
  state.pos = last + 1
  local start = dash == DASH and first + 3 or first + 2
  local name, from = match(source, "^%s*([%w_]+)%s*()", start)
  if not name then name, from = match(source, "^%s*(#)%s*()", start) end
  local to, trim = last - 2, byte(source, last - 2) == DASH
  state.trim = trim
  if not name then return sub(source, first, last), "", first end
  if trim and to >= from then to = to - 1 end
  return name, sub(source, from, to), from, to
end

-- Gives the name, the markup and its position of a tag that does not belong into the body.
local function tag_token(state, body, text, first, dash)
  local name, markup, position, finish = read_tag(state, first, dash)
  local parse = tags.parser(name)
  if parse then return add_tag(state, body, text, parse, markup, position) end
  if text then add(body, text, false) end
  if name ~= "liquid" then return name, markup, position end
  liquid_tag(state, body, position, finish)
end

local function parse_tokens(state, body)
  local source, first, brace = state.source, state.pos, nil
  while true do
    local start, code, dash = next_start(source, first, brace)
    local last = start and start - 1 or #source
    local text = last >= first and read_text(state, body, first, last, dash == DASH)
    if not start then
      state.pos = last + 1
      if text then add(body, text, false) end
      return
    elseif code == OPEN then
      first, brace = output_token(state, body, text, start, dash)
    else
      local name, markup, position = tag_token(state, body, text, start, dash)
      if name then return name, markup, position end
      first, brace = state.pos, nil
    end
  end
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

---Raises: the block has no end.
---@param state liquid.parse_state
---@param name string
function block.never_closed(state, name)
  errors.syntax(state, "'" .. name .. "' tag was never closed", #state.source + 1)
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
  local tag, markup, position = block.parse(state, body)
  state.depth = state.depth - 1
  if not tag then return block.never_closed(state, name) end
  local delimiter = tags.delimiters[name]
  if tag == delimiter then return nil end
  if (branches or no_branches)[tag] then return tag, markup, position end
  block.unknown_tag(state, tag, name, delimiter, position)
end

return block
