-- Regular expressions of ECMA-262 in the syntax of PCRE2.
--
-- Both are descendants of Perl's, so most of a pattern stays as it is. What means something else there (or nothing
-- here) is written differently or refused; above all no `(*VERB)` and no `(?R)` can come through, for patterns are
-- not trusted. As JSON Schema asks, patterns are read as with the flag u.

local properties = require "pintle.schema.properties"

local ecma = {}

local SPACE = [[\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]]
local NOT_SPACE = [[\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}]]
  .. [[\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}]]
local ANY_IN_LINE = "[^\\n\\r\\x{2028}\\x{2029}]"
local ANY = [=[[\x{0}-\x{10ffff}]]=]
local NONE = [=[[^\x{0}-\x{10ffff}]]=]

local CONTROLS = { t = 9, n = 10, v = 11, f = 12, r = 13 }

---A pattern that is being read.
---@class pintle.schema.ecma.scan
---@field text string
---@field at integer
---@field out string[]
---@field open integer groups that are not closed yet
---@field groups integer that capture
---@field names table<string, true>
---@field wanted integer the highest group that is referred to
---@field wanted_names string[]
---@field repeatable boolean whether a quantifier may follow

local function bad(reason) error({ reason = reason }, 0) end

local function take(scan, pattern)
  local found, after = scan.text:match("^(" .. pattern .. ")()", scan.at)
  if found then scan.at = after end
  return found
end

local function emit(scan, text, repeatable)
  scan.out[#scan.out + 1] = text
  scan.repeatable = repeatable
end

local function hex(code) return ("\\x{%x}"):format(code) end

local function literal(code)
  local plain = code > 127 or code >= 48 and code <= 57 or code >= 65 and code <= 90 or code >= 97 and code <= 122
  return plain and utf8.char(code) or hex(code)
end

local function is_surrogate(code) return code >= 0xD800 and code <= 0xDFFF end

local function four_digits(scan)
  local digits = take(scan, "%x%x%x%x") or bad [[\u needs four hexadecimal digits, or some in braces]]
  return tonumber(digits, 16)
end

-- After \u: one escape, or two that are one character together.
local function unicode_escape(scan)
  local braced = take(scan, "{%x+}")
  if braced then
    local code = tonumber(braced:sub(2, -2), 16)
    return code <= 0x10FFFF and #braced <= 18 and code or bad [[\u{} goes up to 10FFFF]]
  end
  local high, after = four_digits(scan), scan.at
  if high < 0xD800 or high > 0xDBFF or not take(scan, "\\u") then return high end
  local digits = take(scan, "%x%x%x%x")
  local low = digits and tonumber(digits, 16) or 0
  if low >= 0xDC00 and low <= 0xDFFF then return 0x10000 + (high - 0xD800) * 1024 + (low - 0xDC00) end
  scan.at = after
  return high
end

-- After a backslash: the character that is meant, or nil if it is no escape for a character.
local function character_escape(scan)
  local letter = take(scan, "[tnvfr]")
  if letter then return CONTROLS[letter] end
  if take(scan, "u") then return unicode_escape(scan) end
  if take(scan, "x") then return tonumber(take(scan, "%x%x") or bad [[\x needs two hexadecimal digits]], 16) end
  if take(scan, "c") then return (take(scan, "%a") or bad [[\c needs a letter]]):byte() % 32 end
  if take(scan, "0") then return take(scan, "%d") and bad [[\0 must not be followed by a digit]] or 0 end
  local char = take(scan, "%p")
  return char and char:byte()
end

-- After a backslash: the inside of a class for \d, \s, \p{..} and their like.
local function set_escape(scan)
  local letter = take(scan, "[dDwW]")
  if letter then return "\\" .. letter end
  if take(scan, "s") then return SPACE end
  if take(scan, "S") then return NOT_SPACE end
  letter = take(scan, "[pP]")
  if not letter then return nil end
  local name = take(scan, "%b{}") or bad [[\p needs a name in braces]]
  return properties.class(letter, name:sub(2, -2)) or bad(("no property is named %s"):format(name:sub(2, -2)))
end

local function refuse_escape(scan)
  local char = take(scan, utf8.charpattern) or bad "it ends in a backslash"
  bad(([[\%s means nothing]]):format(char))
end

local function back_reference(scan)
  local digits = take(scan, "[1-9]%d*")
  if digits then
    if #digits > 5 then bad "it refers to a group that there is not" end
    scan.wanted = math.max(scan.wanted, tonumber(digits))
    return ("\\g{%s}"):format(digits)
  end
  if not take(scan, "k") then return nil end
  local name = take(scan, "<[%a_][%w_]*>") or bad [[\k needs a name in angle brackets]]
  scan.wanted_names[#scan.wanted_names + 1] = name
  return "\\k" .. name
end

local function escape(scan)
  local boundary = take(scan, "[bB]")
  if boundary then return emit(scan, "\\" .. boundary, false) end
  local reference = back_reference(scan)
  if reference then return emit(scan, reference, true) end
  local set = set_escape(scan)
  if set then return emit(scan, "[" .. set .. "]", true) end
  local code = character_escape(scan) or refuse_escape(scan)
  emit(scan, is_surrogate(code) and NONE or literal(code), true)
end

-- One member of a class: a character, or what stands for several.
local function class_member(scan)
  if not take(scan, "\\") then return utf8.codepoint(take(scan, utf8.charpattern)) end
  if take(scan, "b") then return 8 end
  local set = set_escape(scan)
  if set then return nil, set end
  return character_escape(scan) or refuse_escape(scan)
end

-- UTF-8 has no surrogates, so a range does without them.
local function range(low, high)
  if low > high then bad "a range in a class is out of order" end
  if is_surrogate(low) then low = 0xE000 end
  if is_surrogate(high) then high = 0xD7FF end
  if low > high then return "" end
  return low == high and literal(low) or literal(low) .. "-" .. literal(high)
end

local function class_range(scan)
  local low, set = class_member(scan)
  if not scan.text:find("^%-[^%]]", scan.at) then return set or range(low, low) end
  take(scan, "%-")
  local high, other = class_member(scan)
  if set or other then return (set or range(low, low)) .. "\\-" .. (other or range(high, high)) end
  return range(low, high)
end

local function class(scan)
  local is_negated = take(scan, "%^")
  local parts = {}
  while not take(scan, "%]") do
    if scan.at > #scan.text then bad "a class is not closed" end
    parts[#parts + 1] = class_range(scan)
  end
  local inside = table.concat(parts)
  if inside == "" then return emit(scan, is_negated and ANY or NONE, true) end
  emit(scan, (is_negated and "[^" or "[") .. inside .. "]", true)
end

local function group(scan)
  scan.open = scan.open + 1
  local name = take(scan, "%?<[%a_][%w_]*>")
  local special = name or take(scan, "%?<?[=!]") or take(scan, "%?:")
  if not special and take(scan, "%?") then bad "(? is not followed by :, =, !, <=, <! or <name>" end
  if name then scan.names[name:sub(2)] = true end
  if name or not special then scan.groups = scan.groups + 1 end
  emit(scan, "(" .. (special or ""), false)
end

local function close(scan)
  if scan.open == 0 then bad "a ) closes nothing" end
  scan.open = scan.open - 1
  emit(scan, ")", true)
end

local function quantify(scan, quantifier)
  if not scan.repeatable then bad(("there is nothing for %s to repeat"):format(quantifier)) end
  emit(scan, quantifier .. (take(scan, "%?") or ""), false)
end

local function brace(scan)
  local bounds = take(scan, "%d+}") or take(scan, "%d+,%d*}")
  if not bounds then return emit(scan, "\\{", true) end
  quantify(scan, "{" .. bounds)
end

local HANDLERS = {
  ["\\"] = escape, ["["] = class, ["("] = group, [")"] = close, ["{"] = brace,
  ["}"] = function(scan) emit(scan, "\\}", true) end,
  ["]"] = function(scan) emit(scan, "\\]", true) end,
  ["|"] = function(scan) emit(scan, "|", false) end,
  ["^"] = function(scan) emit(scan, "^", false) end,
  ["$"] = function(scan) emit(scan, "$", false) end,
  ["."] = function(scan) emit(scan, ANY_IN_LINE, true) end,
  ["*"] = quantify, ["+"] = quantify, ["?"] = quantify,
}

local function finish(scan)
  if scan.open > 0 then bad "a ( is not closed" end
  if scan.wanted > scan.groups then bad "it refers to a group that there is not" end
  for _, name in ipairs(scan.wanted_names) do
    if not scan.names[name] then bad(("it refers to the group %s, which there is not"):format(name)) end
  end
  return table.concat(scan.out)
end

local function translate(pattern)
  if not utf8.len(pattern) then bad "it is not valid UTF-8" end
  local scan = { text = pattern, at = 1, out = {}, open = 0, groups = 0, names = {}, wanted = 0, wanted_names = {} }
  while scan.at <= #pattern do
    local char = take(scan, utf8.charpattern)
    local handler = HANDLERS[char]
    if handler then handler(scan, char) else emit(scan, literal(utf8.codepoint(char)), true) end
  end
  return finish(scan)
end

---@param pattern string
---@return string? translated, string? reason
function ecma.translate(pattern)
  local ok, result = pcall(translate, pattern)
  if ok then return result end
  if type(result) ~= "table" then error(result, 0) end
  return nil, result.reason
end

return ecma
