-- Bodies: parses what stands between tags into nodes, and renders them.
--
-- A node is a text, or a function that takes the context, the output and how many pieces are in it, and gives how
-- many there are then.

local errors = require "liquid.errors"
local output = require "liquid.output"
local scanner = require "liquid.scanner"
local space = require "liquid.space"
local tags = require "liquid.tags"

local block = {}

local find, match, sub, byte = string.find, string.match, string.sub, string.byte
local shift = scanner.shift
local DASH, PERCENT, CLOSE = byte("-"), byte("%"), byte("}")

-- How deep tags may be nested.
local MAX_DEPTH = 100

---@class liquid.body
---@field texts (string|false)[]
---@field nodes (function|false)[]
---@field count integer
---@field closed boolean whether a tag that is no node stands behind the last text
---@field blank boolean whether it can put out nothing but space
---@field interrupts boolean whether a break or continue may come out of it

---@return liquid.body
function block.new()
  return { texts = {}, nodes = {}, count = 0, closed = false, blank = true, interrupts = false }
end

local function add_text(state, body, text)
  if state.trim then
    text = space.lstrip(text)
    state.trim = false
  end
  if body.blank and find(text, "%S") then body.blank = false end
  local count = body.count + 1
  body.texts[count], body.nodes[count], body.count = text, false, count
  body.closed = false
end

local function add_node(body, node, blank, interrupts)
  local count = body.count + 1
  body.texts[count], body.nodes[count], body.count = false, node, count
  if not blank then body.blank = false end
  if interrupts then body.interrupts = true end
end

-- A dash inside a delimiter takes away the space on its side.
local function trim_before(body)
  local text = body.texts[body.count]
  if text and not body.closed then body.texts[body.count] = space.rstrip(text) end
end

local function unfinished(state, kind, first, last, ending)
  errors.syntax(state, kind .. " '" .. sub(state.source, first, last)
    .. "' was not properly terminated with regexp: " .. ending, first)
end

local function add_output(state, body, first, last)
  local source = state.source
  local dash, close, final = byte(source, last - 2, last)
  if last < first + 3 or close ~= CLOSE or final ~= CLOSE then
    unfinished(state, "Variable", first, last, "/\\}\\}/")
  end
  local from, to = first + 2, last - 2
  if byte(source, from) == DASH then
    trim_before(body)
    from = from + 1
  end
  if dash == DASH then to = to - 1 end
  state.trim = dash == DASH
  add_node(body, output.node(state, sub(source, from, to), first))
end

---The name of a tag, its markup, and where that stands.
---@param state liquid.parse_state
---@param body liquid.body
---@param first integer
---@param last integer
---@return string? name, string? markup, integer? position, integer? finish
local function read_tag(state, body, first, last)
  local source = state.source
  local dash, percent, final = byte(source, last - 2, last)
  if last < first + 3 or percent ~= PERCENT or final ~= CLOSE then
    unfinished(state, "Tag", first, last, "/\\%\\}/")
  end
  local before, name, from = match(source, "^(%-?)%s*([%w_]+)%s*()", first + 2)
  if not name then before, name, from = match(source, "^(%-?)%s*(#)%s*()", first + 2) end
  if before == "-" or not name and byte(source, first + 2) == DASH then trim_before(body) end
  state.trim = dash == DASH
  if not name then return nil end
  local to = last - 2
  if dash == DASH and to >= from then to = to - 1 end
  return name, sub(source, from, to), from, to
end

local function add_tag(state, body, name, markup, position)
  local node, blank, interrupts = tags.parse(state, name, markup, position)
  if node then return add_node(body, node, blank, interrupts) end
  body.closed = true
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
    local kind, first, last = shift(state)
    if not kind then return nil end
    local line = sub(source, first, last)
    if find(line, "%S") then
      local name, at = match(line, "^%s*([%w_]+)%s*()")
      if not name then name, at = match(line, "^%s*(#)%s*()") end
      if not name then return line, line, first end
      if name == "liquid" then
        liquid_tag(state, body, first + at - 1, last)
      elseif tags.known(name) then
        add_tag(state, body, name, sub(line, at), first + at - 1)
      else
        return name, sub(line, at), first + at - 1
      end
    end
  end
end

local function parse_tokens(state, body)
  local source = state.source
  while true do
    local kind, first, last = shift(state)
    if kind == "text" then
      add_text(state, body, sub(source, first, last))
    elseif kind == "output" then
      add_output(state, body, first, last)
    elseif kind == "tag" then
      local name, markup, position, finish = read_tag(state, body, first, last)
      if not name then return sub(source, first, last), "", first end
      if name == "liquid" then
        liquid_tag(state, body, position, finish)
      elseif tags.known(name) then
        add_tag(state, body, name, markup, position)
      else
        return name, markup, position
      end
    else
      return nil
    end
  end
end

---Parses nodes into a body, up to a tag that is none of its own.
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

---Parses bodies up to the end of a block.
---@param state liquid.parse_state
---@param name string
---@param body liquid.body the first
---@param branch? fun(tag: string, markup: string, position: integer): liquid.body? what a tag begins
function block.parse_until_end(state, name, body, branch)
  local delimiter = "end" .. name
  while true do
    if state.depth >= MAX_DEPTH then error(errors.new("stack_level_error", "Nesting too deep"), 0) end
    state.depth = state.depth + 1
    local tag, markup, position = block.parse(state, body)
    state.depth = state.depth - 1
    if tag == delimiter then return end
    if not tag then return block.never_closed(state, name) end
    body = branch and branch(tag, markup, position) or block.unknown_tag(state, tag, name, delimiter, position)
  end
end

return block
