-- Cuts the text of a template into tokens: text, {{ outputs }} and {% tags %}, or the lines of a {% liquid %} tag.
--
-- A token is told by its kind and the positions of its first and last byte, so that nothing is copied here.

local find, byte = string.find, string.byte

local scanner = {}

local OPEN, CLOSE, PERCENT = byte("{"), byte("}"), byte("%")

-- Plain searches are much faster than patterns, so it is one byte that is looked for.

---Where an output ends: at the first brace that closes, whether or not a second follows, unless a tag begins before.
---@param source string
---@param first integer
---@return integer last
---@return boolean is_whole whether it ends with two braces
---@return integer|false|nil brace where the next one opens, if it is whole; false if there is none
---@return integer? before the byte before the two braces
function scanner.output_end(source, first)
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
function scanner.shift(state)
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
  local last = (is_output and scanner.output_end or tag_end)(source, first)
  -- Where nothing closes any more no tag is to come either: the rest is one token, so that it is not searched again.
  if not last or byte(source, last) ~= CLOSE then last = #source end
  state.pos = last + 1
  return is_output and "output" or "tag", first, last
end

return scanner
