-- Cuts the text of a template into tokens: text, {{ outputs }} and {% tags %}, or the lines of a {% liquid %} tag.
--
-- A token is told by its kind and the positions of its first and last byte, so that nothing is copied here.

local find, byte = string.find, string.byte

local scanner = {}

local OPEN, CLOSE, PERCENT = byte("{"), byte("}"), byte("%")

-- Plain searches are much faster than patterns, so it is one byte that is looked for.

-- An output ends at the first brace that closes, whether or not a second follows, unless a tag begins before that.
local function output_token(source, first)
  local close = find(source, "}", first + 2, true)
  if not close then return first + 1 end
  local open = find(source, "{%", first + 2, true)
  if open and open < close then
    local _, last = find(source, "%}", open + 2, true)
    return last or #source
  end
  return byte(source, close + 1) == CLOSE and close + 1 or close
end

-- Where the next tag or output begins.
local function next_start(source, from)
  local at = find(source, "{", from, true)
  while at do
    local code = byte(source, at + 1)
    if code == OPEN or code == PERCENT then return at end
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
  if state.ahead ~= first then
    local at = next_start(source, first)
    if at ~= first then
      if first > #source then return nil end
      local last = at and at - 1 or #source
      -- The next token begins with a brace: that need not be found again.
      state.pos, state.ahead = last + 1, at
      return "text", first, last
    end
  end
  if byte(source, first + 1) == OPEN then
    local last = output_token(source, first)
    state.pos = last + 1
    return "output", first, last
  end
  local _, last = find(source, "%}", first + 2, true)
  last = last or first + 1
  state.pos = last + 1
  return "tag", first, last
end

return scanner
