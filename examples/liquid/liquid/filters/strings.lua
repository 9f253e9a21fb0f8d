-- Filters of text: text_filter, cutting and splitting it, replacing parts of it, and encoding it for HTML and URLs.

local context = require "liquid.context"
local errors = require "liquid.errors"
local numbers = require "liquid.numbers"
local text = require "liquid.text"
local values = require "liquid.values"

local to_s, to_integer = text.to_s, numbers.to_integer
local COUNTED_LENGTH = text.COUNTED_LENGTH
local find, sub, gsub, match, concat = string.find, string.sub, string.gsub, string.match, table.concat
local byte, char, format = string.byte, string.char, string.format

-- A filter that maps a text to a text, with a fast path for inputs that are texts.
local function text_filter(change)
  return function(ctx, input)
    if type(input) == "string" and #input < COUNTED_LENGTH then return change(input) end
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

local function squish(shown) return (gsub(text.strip(shown), "%s+", " ")) end

local function joined(order)
  return function(ctx, input, other)
    local shown, added, err = input, other, nil
    if type(shown) ~= "string" then shown, err = to_s(input, ctx) end
    if err then return nil, err end
    if type(added) ~= "string" then added, err = to_s(other, ctx) end
    if err then return nil, err end
    local size = #shown + #added
    if size >= COUNTED_LENGTH then context.count_work(ctx, size) end
    if size > ctx.usage.assign_limit then ctx.exceed_limits() end
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
  if text.length(shown) <= length then return shown end
  local kept = length > 0 and length - text.length(tail) or 0
  return text.slice(shown, 0, kept) .. tail
end

-- The first words, joined by spaces; nil if the text has no more words.
local function first_words(shown, count)
  local words, found, at = {}, 0, 1
  while true do
    local first, last = find(shown, "[^%s%z]+", at)
    if first and found < count then
      found = found + 1
      words[found], at = sub(shown, first, last), last + 1
    elseif found == count and at <= #shown then
      -- Whitespace after the last word counts as another word, as for Ruby's split.
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

-- Splits several words with one call of match, which is faster.
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

-- Removes empty parts at the end, as Ruby's split does.
local function without_empty_tail(list)
  for i = #list, 1, -1 do
    if list[i] ~= "" then break end
    list[i] = nil
  end
  return values.flat(list)
end

local function split_at(shown, separator)
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
  if separator == "" then return values.flat(text.characters(shown)) end
  return without_empty_tail(split_at(shown, separator))
end

local function slice_list(list, start, length)
  local part = {}
  for i = 1, math.min(length, #list - start) do part[i] = list[start + i] end
  return values.array(part)
end

-- The start of a part, from 0; nil if it is outside.
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
  local size = text.length(shown)
  local start = start_of(offset, size)
  if not start then return "" end
  return text.slice(shown, start, math.min(length, size - start))
end

-- {====== Replacing ======

-- Expands backslashes in a replacement as Ruby's gsub does.
local function expanded(put, matched, before, after)
  local parts = { ["0"] = matched, ["&"] = matched, ["'"] = after, ["`"] = before, ["\\"] = "\\", ["+"] = "" }
  local named = false
  local result = put:gsub("\\(.)()", function(mark, at)
    if mark == "k" and find(put, "^<[^>]+>", at) then named = true end
    return parts[mark] or mark:find("%d") and "" or nil
  end)
  -- A reference to a named group fails, because there are no groups.
  if named then return nil, errors.new("internal_error", "internal") end
  return result
end

local function replacement(put, whole, first, last)
  if not find(put, "\\", 1, true) then return put end
  return expanded(put, sub(whole, first, last), sub(whole, 1, first - 1), sub(whole, last + 1))
end

-- Replaces an empty pattern, which matches before every character and at the end.
local function between_characters(whole, put)
  local pieces = {}
  for at, character in whole:gmatch("()(" .. (utf8.len(whole) and utf8.charpattern or ".") .. ")") do
    local shown, err = replacement(put, whole, at, at - 1)
    if err then return nil, err end
    pieces[#pieces + 1] = shown
    pieces[#pieces + 1] = character
  end
  local shown, err = replacement(put, whole, #whole + 1, #whole)
  if err then return nil, err end
  pieces[#pieces + 1] = shown
  return concat(pieces)
end

local function replace_all(whole, pattern, put)
  if pattern == "" then return between_characters(whole, put) end
  if not find(pattern, "[^%w%s]") and not find(put, "[%%\\]") then return (gsub(whole, pattern, put)) end
  local first, last = find(whole, pattern, 1, true)
  if not first then return whole end
  local pieces, count, at = {}, 0, 1
  while first do
    local shown, err = replacement(put, whole, first, last)
    if err then return nil, err end
    pieces[count + 1], pieces[count + 2] = sub(whole, at, first - 1), shown
    count, at = count + 2, last + 1
    first, last = find(whole, pattern, at, true)
  end
  pieces[count + 1] = sub(whole, at)
  return concat(pieces)
end

local function put_at(whole, first, last, put)
  if not first then return whole end
  local shown, err = replacement(put, whole, first, last)
  if err then return nil, err end
  return sub(whole, 1, first - 1) .. shown .. sub(whole, last + 1)
end

local function replace_first(whole, pattern, put)
  local first, last = find(whole, pattern, 1, true)
  return put_at(whole, first, last, put)
end

local function replace_last(whole, pattern, put)
  if pattern == "" then return whole .. put end
  local first, last
  local at = find(whole, pattern, 1, true)
  while at do
    first, last = at, at + #pattern - 1
    at = find(whole, pattern, at + 1, true)
  end
  if not first then return whole end
  return sub(whole, 1, first - 1) .. put .. sub(whole, last + 1)
end

local function substituting(substitute)
  return function(ctx, input, pattern, put)
    local whole, err = to_s(input, ctx)
    if err then return nil, err end
    local wanted
    wanted, err = to_s(pattern, ctx)
    if err then return nil, err end
    local shown
    shown, err = to_s(put, ctx)
    if err then return nil, err end
    if #whole * math.max(#shown, 1) > ctx.usage.assign_limit then ctx.exceed_limits() end
    return substitute(whole, wanted, shown)
  end
end

local function removing(substitute)
  local filter = substituting(substitute)
  return function(ctx, input, pattern) return filter(ctx, input, pattern, "") end
end

-- }======

-- {====== HTML ======

local entities = { ["&"] = "&amp;", [">"] = "&gt;", ["<"] = "&lt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escape(ctx, input)
  if input == nil then return nil end
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  if not find(shown, "[&<>\"']") then return shown end
  return (gsub(shown, "[&<>\"']", entities))
end

-- Entities are not escaped again.
local function escape_once(ctx, input)
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  return (gsub(shown, "()([&<>\"'])", function(at, character)
    if character == "&" and (match(shown, "^%a+;", at + 1) or match(shown, "^#%d+;", at + 1)) then return "&" end
    return entities[character]
  end))
end

local blocks = {
  { "<script", "</script>" }, { "<!--", "-->" }, { "<style", "</style>" },
}

-- The first and last byte of the next complete block. `missing` has the kinds of blocks that do not occur any more.
local function next_block(shown, from, missing)
  local first, last
  for i, marks in ipairs(blocks) do
    local at = not missing[i] and find(shown, marks[1], from, true)
    if at and (not first or at < first) then
      local _, stop = find(shown, marks[2], at + #marks[1], true)
      if stop then first, last = at, stop else missing[i] = true end
    elseif not at then
      missing[i] = true
    end
  end
  return first, last
end

local function has_block(shown)
  return find(shown, "<s", 1, true) or find(shown, "<!--", 1, true)
end

local function without_blocks(shown)
  if not has_block(shown) then return shown end
  local pieces, at, missing = {}, 1, {}
  while true do
    local first, last = next_block(shown, at, missing)
    if not first then break end
    pieces[#pieces + 1], at = sub(shown, at, first - 1), last + 1
  end
  pieces[#pieces + 1] = sub(shown, at)
  return table.concat(pieces)
end

local function strip_html(ctx, input)
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  if not find(shown, "<", 1, true) then return shown end
  return (gsub(without_blocks(shown), "<[^>]*>", ""))
end

-- }======

-- {====== URLs and base64 ======

local function percent(character) return format("%%%02X", byte(character)) end

local function url_encode(shown)
  return (gsub(gsub(shown, "[^%w%-._~ ]", percent), " ", "+"))
end

local function from_hex(digits) return char(tonumber(digits, 16)) end

local function url_decode(shown)
  local decoded = gsub(gsub(shown, "+", " "), "%%(%x%x)", from_hex)
  if not utf8.len(decoded) then return errors.argument("invalid byte sequence in UTF-8") end
  return decoded
end

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

local function alphabet(last_two)
  local letters, codes = {}, {}
  local all = ALPHABET .. last_two
  for i = 1, 64 do
    local letter = sub(all, i, i)
    letters[i - 1], codes[letter] = letter, i - 1
  end
  return { letters = letters, codes = codes }
end

local plain, url_safe = alphabet("+/"), alphabet("-_")

local function encoder(letters)
  return function(shown)
    local pieces = {}
    for i = 1, #shown, 3 do
      local a, b, c = byte(shown, i, i + 2)
      local bits = a << 16 | (b or 0) << 8 | (c or 0)
      pieces[#pieces + 1] = letters[bits >> 18] .. letters[bits >> 12 & 63]
        .. (b and letters[bits >> 6 & 63] or "=") .. (c and letters[bits & 63] or "=")
    end
    return table.concat(pieces)
  end
end

-- The bytes of four base64 characters; nil if unused bits are not zero.
local function four(codes, group)
  local bits, count = 0, 0
  for letter in group:gmatch("[^=]") do
    bits, count = bits << 6 | codes[letter], count + 1
  end
  bits = bits << 6 * (4 - count)
  if count < 4 and bits & (1 << 8 * (4 - count)) - 1 ~= 0 then return nil end
  return sub(char(bits >> 16, bits >> 8 & 255, bits & 255), 1, count - 1)
end

local function invalid_base64(name)
  return errors.argument("invalid base64 provided to " .. name)
end

local function decode(shown, name)
  if #shown % 4 ~= 0 or not shown:find("^[%w+/]*=?=?$") then return invalid_base64(name) end
  local pieces = {}
  for i = 1, #shown, 4 do
    local group = sub(shown, i, i + 3)
    local bytes = not group:find("^.?=") and four(plain.codes, group)
    if not bytes then return invalid_base64(name) end
    pieces[#pieces + 1] = bytes
  end
  return table.concat(pieces)
end

local function base64_decode(shown) return decode(shown, "base64_decode") end

-- Accepts both alphabets. The padding may be missing, but only all of it.
local function base64_url_safe_decode(shown)
  if sub(shown, -1) ~= "=" then shown = shown .. ("="):rep(-#shown % 4) end
  return decode((gsub(shown, "[-_]", { ["-"] = "+", ["_"] = "/" })), "base64_url_safe_decode")
end

local function on_text(change, nothing)
  return function(ctx, input)
    if input == nil and nothing then return nil end
    local shown, err = to_s(input, ctx)
    if err then return nil, err end
    return change(shown)
  end
end

-- }======

return function(define)
  define("upcase", 0, 0, text_filter(text.upcase))
  define("downcase", 0, 0, text_filter(text.downcase))
  define("capitalize", 0, 0, text_filter(text.capitalize))
  define("strip", 0, 0, text_filter(text.strip))
  define("lstrip", 0, 0, text_filter(text.lstrip))
  define("rstrip", 0, 0, text_filter(text.rstrip))
  define("strip_newlines", 0, 0, text_filter(on_newlines("")))
  define("newline_to_br", 0, 0, text_filter(on_newlines("<br />\n")))
  define("squish", 0, 0, function(ctx, input)
    if input == nil then return nil end
    return text_filter(squish)(ctx, input)
  end)
  define("append", 1, 1, joined("append"))
  define("prepend", 1, 1, joined("prepend"))
  define("truncate", 0, 2, truncate, { 50, "..." })
  define("truncatewords", 0, 2, truncatewords, { 15, "..." })
  define("split", 1, 1, split)
  define("slice", 1, 2, slice)
  define("replace", 1, 2, substituting(replace_all), { nil, "" })
  define("replace_first", 1, 2, substituting(replace_first), { nil, "" })
  define("replace_last", 2, 2, substituting(replace_last))
  define("remove", 1, 1, removing(replace_all))
  define("remove_first", 1, 1, removing(replace_first))
  define("remove_last", 1, 1, removing(replace_last))
  define("escape", 0, 0, escape)
  define("h", 0, 0, escape)
  define("escape_once", 0, 0, escape_once)
  define("strip_html", 0, 0, strip_html)
  define("url_encode", 0, 0, on_text(url_encode, true))
  define("url_decode", 0, 0, on_text(url_decode, true))
  define("base64_encode", 0, 0, on_text(encoder(plain.letters)))
  define("base64_url_safe_encode", 0, 0, on_text(encoder(url_safe.letters)))
  define("base64_decode", 0, 0, on_text(base64_decode))
  define("base64_url_safe_decode", 0, 0, on_text(base64_url_safe_decode))
end
