-- replace and remove, of all, the first or the last.

local errors = require "liquid.errors"
local text = require "liquid.text"

local to_s = text.to_s
local find, sub, gsub, concat = string.find, string.sub, string.gsub, table.concat

-- Ruby's gsub gives a backslash in what is put in a meaning, and Liquid has it that way too.
local function expanded(put, matched, before, after)
  local parts = { ["0"] = matched, ["&"] = matched, ["'"] = after, ["`"] = before, ["\\"] = "\\", ["+"] = "" }
  local named = false
  local result = put:gsub("\\(.)()", function(mark, at)
    if mark == "k" and find(put, "^<[^>]+>", at) then named = true end
    return parts[mark] or mark:find("%d") and "" or nil
  end)
  -- A group that has a name is not there: nothing here has groups.
  if named then return nil, errors.new("internal_error", "internal") end
  return result
end

local function replacement(put, whole, first, last)
  if not find(put, "\\", 1, true) then return put end
  return expanded(put, sub(whole, first, last), sub(whole, 1, first - 1), sub(whole, last + 1))
end

-- An empty pattern is found before every character and at the end.
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
    if #whole * math.max(#shown, 1) > ctx.usage.assign_limit then ctx.exhausted() end
    return substitute(whole, wanted, shown)
  end
end

local function removing(substitute)
  local filter = substituting(substitute)
  return function(ctx, input, pattern) return filter(ctx, input, pattern, "") end
end

return function(define)
  define("replace", 1, 2, substituting(replace_all), { nil, "" })
  define("replace_first", 1, 2, substituting(replace_first), { nil, "" })
  define("replace_last", 2, 2, substituting(replace_last))
  define("remove", 1, 1, removing(replace_all))
  define("remove_first", 1, 1, removing(replace_first))
  define("remove_last", 1, 1, removing(replace_last))
end
