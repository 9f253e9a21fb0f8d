-- Tags whose content is not parsed: comment, doc and #, which write nothing, and raw, which writes its content.

local block = require "liquid.block"
local errors = require "liquid.errors"

local find, match, sub, byte = string.find, string.match, string.sub, string.byte
local shift = block.shift
local DASH = byte("-")

local verbatim = {}

local function tag_name(state, kind, first, last)
  local source = state.source
  if kind == "line" then
    local line = sub(source, first, last)
    return match(line, "^%s*([%w_]+)") or match(line, "^%s*(#)")
  elseif kind == "tag" and sub(source, last - 1, last) == "%}" then
    return match(source, "^%-?%s*([%w_]+)", first + 2)
  end
end

-- The last tag with a name in a token, which may begin with an incomplete output or tag: `{{ {% endraw %}`.
local function last_tag(state, kind, first, last)
  local source = state.source
  if kind == "text" or sub(source, last - 1, last) ~= "%}" then return nil end
  for at = last - 1, first, -1 do
    local name = match(source, "^{%%%-?%s*([%w_]+)", at)
    if name then return name, at end
  end
end

local function ends_at(state, kind, last)
  if kind ~= "line" then state.trim = byte(state.source, last - 2) == DASH end
end

local function skip_raw(state, position)
  while true do
    local kind, first, last = shift(state)
    if not kind then block.never_closed(state, "raw", position) end
    if last_tag(state, kind, first, last) == "endraw" then return end
  end
end

local function nothing(_, _, n) return n end

---A comment may contain comments and raw tags, which must be complete. All other content is ignored.
---@param state liquid.parse_state
---@param _ string
---@param position integer
function verbatim.comment(state, _, position)
  local depth = 1
  while true do
    local kind, first, last = shift(state)
    if not kind then block.never_closed(state, "comment", position) end
    local name = tag_name(state, kind, first, last)
    if name == "raw" then
      skip_raw(state, position)
    elseif name == "comment" then
      depth = depth + 1
    elseif name == "endcomment" then
      depth = depth - 1
      if depth == 0 then
        ends_at(state, kind, last)
        return nothing, true
      end
    end
  end
end

local function no_markup(state, name, markup, position, syntax)
  if find(markup, "%S") then
    errors.syntax(state, "Syntax Error in '" .. name .. "' - Valid syntax: " .. syntax, position)
  end
end

---A doc writes nothing, but it is blank only if it is empty.
---@param state liquid.parse_state
---@param markup string
---@param position integer
function verbatim.doc(state, markup, position)
  no_markup(state, "doc", markup, position, "{% doc %}{% enddoc %}")
  local start = state.pos
  while true do
    local kind, first, last = shift(state)
    if not kind then block.never_closed(state, "doc", position) end
    local name, at = last_tag(state, kind, first, last)
    if name == "doc" then
      errors.syntax(state, "Syntax Error in 'doc' - Nested doc tags are not allowed", position)
    elseif name == "enddoc" then
      ends_at(state, kind, last)
      return nothing, at == start
    end
  end
end

local function raw_text(text)
  return function(_, out, n)
    out[n + 1] = text
    return n + 1
  end
end

---@param state liquid.parse_state
---@param markup string
---@param position integer
function verbatim.raw(state, markup, position)
  no_markup(state, "raw", markup, position, "raw")
  state.trim = false
  local start = state.pos
  while true do
    local kind, first, last = shift(state)
    if not kind then block.never_closed(state, "raw", position) end
    local name, at = last_tag(state, kind, first, last)
    if name == "endraw" then
      ends_at(state, kind, last)
      local text = sub(state.source, start, at - 1)
      return raw_text(text), text == ""
    end
  end
end

---An inline comment. Each of its lines must begin with #.
---@param state liquid.parse_state
---@param markup string
---@param position integer
verbatim["#"] = function(state, markup, position)
  if find(markup, "\n%s*[^#%s]") then
    errors.syntax(state, "Syntax error in tag '#' - Each line of comments must be prefixed by the '#' character",
      position)
  end
  return nothing, true
end

return verbatim
