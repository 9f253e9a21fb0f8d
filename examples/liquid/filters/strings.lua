-- Filters of texts.

local limits = require "liquid.limits"
local numbers = require "liquid.numbers"
local space = require "liquid.space"
local substitution = require "liquid.filters.substitution"
local text = require "liquid.text"
local unicode = require "liquid.unicode"
local values = require "liquid.values"

local to_s, to_integer = text.to_s, numbers.to_integer
local SHORT = text.SHORT
local find, sub, gsub, match = string.find, string.sub, string.gsub, string.match

-- A filter that only changes a text, which most inputs are already.
local function changing(change)
  return function(ctx, input)
    if type(input) == "string" and #input < SHORT then return change(input) end
    local shown, err = to_s(input, ctx)
    if err then return nil, err end
    return change(shown)
  end
end

local function on_newlines(put)
  return function(shown)
    if not find(shown, "\n", 1, true) then return shown end
    return (gsub(shown, "\r?\n", put))
  end
end

local function squish(shown) return (gsub(space.strip(shown), "%s+", " ")) end

local function joined(order)
  return function(ctx, input, other)
    local shown, added, err = input, other, nil
    if type(shown) ~= "string" then shown, err = to_s(input, ctx) end
    if err then return nil, err end
    if type(added) ~= "string" then added, err = to_s(other, ctx) end
    if err then return nil, err end
    local size = #shown + #added
    if size >= SHORT then limits.work(ctx, size) end
    if size > ctx.usage.assign_limit then ctx.exhausted() end
    if order == "append" then return shown .. added end
    return added .. shown
  end
end

local function truncate(ctx, input, length, ellipsis)
  if input == nil then return nil end
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  length, err = to_integer(length, ctx)
  if err then return nil, err end
  local tail
  tail, err = to_s(ellipsis, ctx)
  if err then return nil, err end
  if unicode.length(shown) <= length then return shown end
  local kept = length > 0 and length - unicode.length(tail) or 0
  return unicode.slice(shown, 0, kept) .. tail
end

-- The first words, one space between them; nil if there are no more than that.
local function first_words(shown, count)
  local words, found, at = {}, 0, 1
  while true do
    local first, last = find(shown, "[^%s%z]+", at)
    if first and found < count then
      found = found + 1
      words[found], at = sub(shown, first, last), last + 1
    elseif found == count and at <= #shown then
      -- Space behind the last word counts as more, as it does to Ruby's split.
      return table.concat(words, " ")
    else
      return nil
    end
  end
end

local function truncatewords(ctx, input, count, ellipsis)
  if input == nil then return nil end
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  count, err = to_integer(count, ctx)
  if err then return nil, err end
  local kept = first_words(shown, count > 0 and count or 1)
  if not kept then return shown end
  local tail
  tail, err = to_s(ellipsis, ctx)
  if err then return nil, err end
  return kept .. tail
end

-- Many words at a time: it is the calls that cost.
local BATCH = 10
local MANY_WORDS = "^%s*" .. ("(%S*)%s*"):rep(BATCH) .. "()"

local function words(shown)
  if find(shown, "\0", 1, true) then shown = gsub(shown, "%z", " ") end
  local list = { match(shown, MANY_WORDS) }
  local count, at = BATCH, list[BATCH + 1]
  list[BATCH + 1] = nil
  while list[count] ~= "" do
    local batch = { match(shown, MANY_WORDS, at) }
    at = batch[BATCH + 1]
    table.move(batch, 1, BATCH, count + 1, list)
    count = count + BATCH
  end
  while list[count] == "" do
    list[count] = nil
    count = count - 1
  end
  return list
end

-- Ruby forgets empty parts at the end.
local function without_empty_tail(list)
  for i = #list, 1, -1 do
    if list[i] ~= "" then break end
    list[i] = nil
  end
  return values.flat(list)
end

local function parts(shown, separator)
  local list, at = {}, 1
  while true do
    local first, last = find(shown, separator, at, true)
    if not first then break end
    list[#list + 1], at = sub(shown, at, first - 1), last + 1
  end
  list[#list + 1] = sub(shown, at)
  return list
end

local function split(ctx, input, pattern)
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  local separator
  separator, err = to_s(pattern, ctx)
  if err then return nil, err end
  if separator == " " then return values.flat(words(shown)) end
  if separator == "" then return values.flat(unicode.characters(shown)) end
  return without_empty_tail(parts(shown, separator))
end

local function slice_list(list, start, length)
  local part = {}
  for i = 1, math.min(length, #list - start) do part[i] = list[start + i] end
  return values.array(part)
end

-- Where a part begins, counted from 0; nil if it is outside.
local function start_of(offset, size)
  if offset < 0 then offset = offset + size end
  return offset >= 0 and offset <= size and offset or nil
end

local function slice(ctx, input, offset, length)
  local err
  offset, err = to_integer(offset, ctx)
  if err then return nil, err end
  if not length then length = 1 else length, err = to_integer(length, ctx) end
  if err then return nil, err end
  if values.is_array(input) then
    local start = start_of(offset, #input)
    if not start or length < 0 then return values.array() end
    return slice_list(input, start, length)
  end
  local shown
  shown, err = to_s(input, ctx)
  if err then return nil, err end
  local size = unicode.length(shown)
  local start = start_of(offset, size)
  if not start then return "" end
  return unicode.slice(shown, start, math.min(length, size - start))
end

return function(define)
  define("upcase", 0, 0, changing(unicode.upcase))
  define("downcase", 0, 0, changing(unicode.downcase))
  define("capitalize", 0, 0, changing(unicode.capitalize))
  define("strip", 0, 0, changing(space.strip))
  define("lstrip", 0, 0, changing(space.lstrip))
  define("rstrip", 0, 0, changing(space.rstrip))
  define("strip_newlines", 0, 0, changing(on_newlines("")))
  define("newline_to_br", 0, 0, changing(on_newlines("<br />\n")))
  define("squish", 0, 0, function(ctx, input)
    if input == nil then return nil end
    return changing(squish)(ctx, input)
  end)
  define("append", 1, 1, joined("append"))
  define("prepend", 1, 1, joined("prepend"))
  define("truncate", 0, 2, truncate, { 50, "..." })
  define("truncatewords", 0, 2, truncatewords, { 15, "..." })
  define("split", 1, 1, split)
  define("slice", 1, 2, slice)
  substitution(define)
end
