-- Lax parsing of invalid markup. It searches for fragments, which are quoted text or anything without whitespace,
-- commas and pipes. It uses those that it can, and ignores the rest.

local errors = require "liquid.errors"
local expressions = require "liquid.expressions"
local numbers = require "liquid.numbers"
local strip = require("liquid.text").strip

local lax = {}

local find, sub, match, byte = string.find, string.sub, string.match, string.byte

local FRAGMENT_BREAK = "[%s,|'\"]"

-- The end of the quoted text at a position; nil if there is none.
local function quoted_end(text, at)
  local quote = sub(text, at, at)
  if quote ~= '"' and quote ~= "'" then return nil end
  return (find(text, quote, at + 1, true))
end

-- The end of the fragment at a position; nil if there is none.
local function fragment_end(text, at)
  local first = at
  while at <= #text do
    local stop = quoted_end(text, at)
    if stop then
      at = stop + 1
    elseif find(text, "^" .. FRAGMENT_BREAK, at) then
      break
    else
      at = (find(text, FRAGMENT_BREAK, at) or #text + 1)
    end
  end
  return at > first and at - 1 or nil
end

-- The same, but quoted text at the position is a fragment of its own, whatever follows it.
local function fragment_at(text, at)
  return quoted_end(text, at) or fragment_end(text, at)
end
lax.fragment_at = fragment_at
lax.fragment_end = fragment_end

---The end of adjacent fragments at a position, which some tags treat as one; nil if there is none.
---@param text string
---@param at integer
---@return integer? last
function lax.fragments_end(text, at)
  local last = fragment_at(text, at)
  while last do
    local next_last = fragment_at(text, last + 1)
    if not next_last then return last end
    last = next_last
  end
end

---The first fragment at or after a position.
---@param text string
---@param from? integer
---@return integer? first, integer? last
function lax.fragment(text, from)
  local at = from or 1
  while at <= #text do
    local last = fragment_at(text, at)
    if last then return at, last end
    at = at + 1
  end
end

local literals = {
  ["nil"] = { nil }, ["null"] = { nil }, [""] = { nil }, ["true"] = { true }, ["false"] = { false },
  ["blank"] = { "" }, ["empty"] = { "" },
}

-- A number: digits and points, up to a second point.
local function numeral(text)
  if not find(text, "^%-?%d[%d.]*$") then return nil end
  if find(text, "^%-?%d+$") then return numbers.literal(text) end
  local value = match(text, "^%-?%d+%.%d*")
  return tonumber(value) * 1.0
end

-- The end of the brackets at a position, which may contain brackets.
local function brackets_end(text, at)
  local depth = 0
  while true do
    at = find(text, "[%[%]]", at)
    if not at then return nil end
    depth = depth + (byte(text, at) == 91 and 1 or -1)
    if depth == 0 then return at end
    at = at + 1
  end
end

-- The parts of a path: names, and functions of expressions in brackets.
local function parts_of(text)
  local parts, at = {}, 1
  while true do
    at = find(text, "[%[%w_%-]", at)
    if not at then return parts end
    local last = byte(text, at) == 91 and brackets_end(text, at)
    if last then
      parts[#parts + 1] = lax.expression(sub(text, at + 1, last - 1))
    else
      local word = match(text, "^[%w_%-]+%??", at)
      parts[#parts + 1] = word
      last = word and at + #word - 1
    end
    at = (last or at) + 1
  end
end

local function path(text)
  local parts = parts_of(text)
  local name = table.remove(parts, 1)
  if name == nil then return expressions.literal(nil) end
  if #parts == 0 and type(name) == "string" then return expressions.variable(name) end
  return expressions.path(name, parts)
end

-- The bounds of a range, which the last two dots separate.
local function bounds_of(text)
  local first, at = match(text, "^%(%s*(%S+)%s*%.%.()")
  return first, first and match(text, "^%s*(%S+)%s*%)$", at)
end

local function range(text)
  local first, last = bounds_of(text)
  if not last then return nil end
  local from, from_literal, from_value = lax.expression(first)
  local to, to_literal, to_value = lax.expression(last)
  if not (from_literal and to_literal) then return expressions.range(from, to) end
  local reader = require "liquid.reader"
  local wrong = reader.range_bound_error(from_value, first) or reader.range_bound_error(to_value, last)
  if wrong then error(errors.new("syntax_error", wrong), 0) end
  local value = reader.constant_range(from_value, to_value)
  return expressions.literal(value), true, value
end

---Compiles an expression, which may be invalid.
---@param text string
---@return fun(ctx: liquid.context): any, table? evaluate
---@return boolean? literal
---@return any value
function lax.expression(text)
  text = strip(text)
  local quote = match(text, "^([\"']).*%1$")
  if quote and #text > 1 then
    local value = sub(text, 2, -2)
    return expressions.literal(value), true, value
  end
  local literal = literals[text]
  if literal then return expressions.literal(literal[1]), true, literal[1] end
  local evaluate, is_literal, value = range(text)
  if evaluate then return evaluate, is_literal, value end
  local number = numeral(text)
  if number then return expressions.literal(number), true, number end
  return path(text)
end

-- The end of the target of an assignment: names, dots and brackets, each with optional parentheses.
local function signature_end(text, at)
  local last
  while true do
    local stop = match(text, "^%(?[%w_%-.%[%]]%)?()", at)
    if not stop then return last end
    last, at = stop - 1, stop
  end
end

---The first possible target of an assignment.
---@param markup string
---@param from? integer
---@return string? name, integer? after
function lax.signature(markup, from)
  local at = from or 1
  while at <= #markup do
    local last = signature_end(markup, at)
    if last then return sub(markup, at, last), last + 1 end
    at = at + 1
  end
end

---All attributes of a markup: `name: fragment`.
---@param markup string
---@return table[] attributes lists of name and text
function lax.attributes(markup)
  local list, at = {}, 1
  while true do
    local first, _, name, after = find(markup, "([%w_][%w_-]*)%s*:%s*()", at)
    if not first then return list end
    local last = fragment_at(markup, after)
    if last then
      list[#list + 1] = { name, sub(markup, after, last) }
      at = last + 1
    else
      at = first + #name
    end
  end
end

-- Splits filters at pipes outside of quotes.
local function pieces(text)
  local list, at = {}, 1
  while at <= #text do
    local first, from = at, at
    while true do
      local stop = find(text, "[|'\"]", from)
      if not stop then at = #text + 1 break end
      local close = quoted_end(text, stop)
      if not close then at = stop break end
      from = close + 1
    end
    if at > first then list[#list + 1] = sub(text, first, at - 1) end
    at = at + 1
  end
  return list
end

local function arguments(piece, positional, named)
  local at = 1
  while true do
    local first, after = find(piece, "[:,]%s*", at)
    if not first then return end
    local name, value_at = match(piece, "^([%w_]+)%s*:%s*()", after + 1)
    local last = name and fragment_at(piece, value_at)
    if last then
      named[#named + 1] = { name, (lax.expression(sub(piece, value_at, last))) }
    else
      last = fragment_at(piece, after + 1)
      if last then positional[#positional + 1] = (lax.expression(sub(piece, after + 1, last))) end
    end
    at = (last or first) + 1
  end
end

---Compiles an output with invalid markup.
---@param state liquid.parse_state
---@param markup string
---@return fun(ctx: liquid.context): any, table?
function lax.output(state, markup)
  local first, last = lax.fragment(markup)
  if not first then return expressions.literal(nil) end
  local evaluate = lax.expression(sub(markup, first, last))
  local pipe = find(markup, "|", last + 1, true)
  if not pipe then return evaluate end
  for _, piece in ipairs(pieces(sub(markup, pipe + 1))) do
    local name = match(piece, "[%w_]+")
    if name then
      local positional, named = {}, {}
      arguments(piece, positional, named)
      evaluate = require("liquid.filters").apply(state.filters, evaluate, name, positional, named)
    end
  end
  return evaluate
end

return lax
