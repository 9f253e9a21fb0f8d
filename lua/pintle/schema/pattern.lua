-- Patterns: regular expressions of ECMA-262, translated to PCRE2, with a limit on what one match may cost.

local errors = require "pintle.schema.errors"
local validation = require "pintle.schema.validation"

local patterns = {}

-- {====== Unicode properties ======

-- Their names in ECMA-262, translated to those in PCRE2.

-- In each line the short name of a general category, then its other names.
local CATEGORIES = [[
C Other
Cc Control cntrl
Cf Format
Cn Unassigned
Co Private_Use
Cs Surrogate
L Letter
L& LC Cased_Letter
Ll Lowercase_Letter
Lm Modifier_Letter
Lo Other_Letter
Lt Titlecase_Letter
Lu Uppercase_Letter
M Mark Combining_Mark
Mc Spacing_Mark
Me Enclosing_Mark
Mn Nonspacing_Mark
N Number
Nd Decimal_Number digit
Nl Letter_Number
No Other_Number
P Punctuation punct
Pc Connector_Punctuation
Pd Dash_Punctuation
Pe Close_Punctuation
Pf Final_Punctuation
Pi Initial_Punctuation
Po Other_Punctuation
Ps Open_Punctuation
S Symbol
Sc Currency_Symbol
Sk Modifier_Symbol
Sm Math_Symbol
So Other_Symbol
Z Separator
Zl Line_Separator
Zp Paragraph_Separator
Zs Space_Separator
]]

local short_name = {}
for line in CATEGORIES:gmatch "[^\n]+" do
  local short = line:match "^%S+"
  for name in line:gmatch "%S+" do short_name[name] = short end
end
short_name["L&"] = nil

local OPPOSITE = { p = "P", P = "p" }

-- A binary property, in terms of others where PCRE2 does not have it.
local function binary_property_class(letter, name)
  if name == "Assigned" then return ("\\%s{Cn}"):format(OPPOSITE[letter]) end
  if name == "ASCII" then return letter == "p" and [[\x{0}-\x{7f}]] or [[\x{80}-\x{10ffff}]] end
  if name:find "^X%l%l$" then return nil end
  return ("\\%s{%s}"):format(letter, name)
end

local function valued_property_class(letter, property, value)
  if property == "General_Category" or property == "gc" then
    return short_name[value] and ("\\%s{%s}"):format(letter, short_name[value])
  end
  if property == "Script" or property == "sc" then return ("\\%s{sc:%s}"):format(letter, value) end
  if property == "Script_Extensions" or property == "scx" then return ("\\%s{%s}"):format(letter, value) end
end

-- The inside of a class for \p{text} or \P{text}; nil if there is no such property.
local function property_class(letter, text)
  local property, value = text:match "^([%a_]+)=([%w_]+)$"
  if property then return valued_property_class(letter, property, value) or nil end
  if not text:find "^[%w_]+$" then return nil end
  return short_name[text] and ("\\%s{%s}"):format(letter, short_name[text]) or binary_property_class(letter, text)
end

-- }======

-- {====== Translation ======

-- Both syntaxes descend from Perl's, so most of a pattern stays as it is. Syntax with another meaning in PCRE2, or none
-- in ECMA-262, is rewritten or rejected. Patterns are not trusted, so no `(*VERB)` and no `(?R)` may get through. They
-- are read as with the flag u, as JSON Schema requires.

local SPACE = [[\x{9}-\x{d}\x{20}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}]]
local NOT_SPACE = [[\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}]]
  .. [[\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}]]
local ANY_IN_LINE = "[^\\n\\r\\x{2028}\\x{2029}]"
local ANY = [=[[\x{0}-\x{10ffff}]]=]
local NONE = [=[[^\x{0}-\x{10ffff}]]=]

local CONTROLS = { t = 9, n = 10, v = 11, f = 12, r = 13 }

---The state of a translation.
---@class pintle.schema.pattern.scan
---@field text string
---@field at integer
---@field out string[]
---@field open integer number of groups that are not closed yet
---@field groups integer number of capturing groups
---@field names table<string, true> of groups
---@field wanted integer the highest group that a back reference refers to
---@field wanted_names string[] the groups that back references name
---@field repeatable boolean whether a quantifier may follow

local function reject_pattern(reason) error({ reason = reason }, 0) end

local function take_token(scan, pattern)
  local found, after = scan.text:match("^(" .. pattern .. ")()", scan.at)
  if found then scan.at = after end
  return found
end

local function emit_pcre(scan, text, repeatable)
  scan.out[#scan.out + 1] = text
  scan.repeatable = repeatable
end

local function hex_escape(code) return ("\\x{%x}"):format(code) end

local function escape_literal(code)
  local plain = code > 127 or code >= 48 and code <= 57 or code >= 65 and code <= 90 or code >= 97 and code <= 122
  return plain and utf8.char(code) or hex_escape(code)
end

local function is_surrogate(code) return code >= 0xD800 and code <= 0xDFFF end

local function four_hex_digits(scan)
  local digits = take_token(scan, "%x%x%x%x") or reject_pattern [[\u needs four hexadecimal digits, or some in braces]]
  return tonumber(digits, 16)
end

-- After \u: one escape, or two that are a surrogate pair.
local function unicode_escape(scan)
  local braced = take_token(scan, "{%x+}")
  if braced then
    local code = tonumber(braced:sub(2, -2), 16)
    return code <= 0x10FFFF and #braced <= 18 and code or reject_pattern [[\u{} must be at most 10FFFF]]
  end
  local high, after = four_hex_digits(scan), scan.at
  if high < 0xD800 or high > 0xDBFF or not take_token(scan, "\\u") then return high end
  local digits = take_token(scan, "%x%x%x%x")
  local low = digits and tonumber(digits, 16) or 0
  if low >= 0xDC00 and low <= 0xDFFF then return 0x10000 + (high - 0xD800) * 1024 + (low - 0xDC00) end
  scan.at = after
  return high
end

-- After a backslash: the code point, or nil if it is not an escape of a character.
local function character_escape(scan)
  local letter = take_token(scan, "[tnvfr]")
  if letter then return CONTROLS[letter] end
  if take_token(scan, "u") then return unicode_escape(scan) end
  if take_token(scan, "x") then
    return tonumber(take_token(scan, "%x%x") or reject_pattern [[\x needs two hexadecimal digits]], 16)
  end
  if take_token(scan, "c") then return (take_token(scan, "%a") or reject_pattern [[\c needs a letter]]):byte() % 32 end
  if take_token(scan, "0") then
    return take_token(scan, "%d") and reject_pattern [[\0 must not be followed by a digit]] or 0
  end
  local char = take_token(scan, "%p")
  return char and char:byte()
end

-- After a backslash: the inside of a class for \d, \s, \p{..} and the like, or nil.
local function set_escape(scan)
  local letter = take_token(scan, "[dDwW]")
  if letter then return "\\" .. letter end
  if take_token(scan, "s") then return SPACE end
  if take_token(scan, "S") then return NOT_SPACE end
  letter = take_token(scan, "[pP]")
  if not letter then return nil end
  local name = take_token(scan, "%b{}") or reject_pattern [[\p needs a name in braces]]
  return property_class(letter, name:sub(2, -2)) or reject_pattern(("there is no property %s"):format(name:sub(2, -2)))
end

local function reject_escape(scan)
  local char = take_token(scan, utf8.charpattern) or reject_pattern "it ends in a backslash"
  reject_pattern(([[\%s is not an escape]]):format(char))
end

local function back_reference(scan)
  local digits = take_token(scan, "[1-9]%d*")
  if digits then
    if #digits > 5 then reject_pattern "it refers to a group that does not exist" end
    scan.wanted = math.max(scan.wanted, tonumber(digits))
    return ("\\g{%s}"):format(digits)
  end
  if not take_token(scan, "k") then return nil end
  local name = take_token(scan, "<[%a_][%w_]*>") or reject_pattern [[\k needs a name in angle brackets]]
  scan.wanted_names[#scan.wanted_names + 1] = name
  return "\\k" .. name
end

local function translate_escape(scan)
  local boundary = take_token(scan, "[bB]")
  if boundary then return emit_pcre(scan, "\\" .. boundary, false) end
  local reference = back_reference(scan)
  if reference then return emit_pcre(scan, reference, true) end
  local set = set_escape(scan)
  if set then return emit_pcre(scan, "[" .. set .. "]", true) end
  local code = character_escape(scan) or reject_escape(scan)
  emit_pcre(scan, is_surrogate(code) and NONE or escape_literal(code), true)
end

-- One member of a class: a code point, or nil and the inside of a class.
local function translate_class_member(scan)
  if not take_token(scan, "\\") then return utf8.codepoint(take_token(scan, utf8.charpattern)) end
  if take_token(scan, "b") then return 8 end
  local set = set_escape(scan)
  if set then return nil, set end
  return character_escape(scan) or reject_escape(scan)
end

-- UTF-8 has no surrogates, so they are left out of the range.
local function format_class_range(low, high)
  if low > high then reject_pattern "a range in a class is out of order" end
  if is_surrogate(low) then low = 0xE000 end
  if is_surrogate(high) then high = 0xD7FF end
  if low > high then return "" end
  return low == high and escape_literal(low) or escape_literal(low) .. "-" .. escape_literal(high)
end

local function translate_class_range(scan)
  local low, set = translate_class_member(scan)
  if not scan.text:find("^%-[^%]]", scan.at) then return set or format_class_range(low, low) end
  take_token(scan, "%-")
  local high, other = translate_class_member(scan)
  if set or other then
    return (set or format_class_range(low, low)) .. "\\-" .. (other or format_class_range(high, high))
  end
  return format_class_range(low, high)
end

local function translate_class(scan)
  local is_negated = take_token(scan, "%^")
  local parts = {}
  while not take_token(scan, "%]") do
    if scan.at > #scan.text then reject_pattern "a class is not closed" end
    parts[#parts + 1] = translate_class_range(scan)
  end
  local inside = table.concat(parts)
  if inside == "" then return emit_pcre(scan, is_negated and ANY or NONE, true) end
  emit_pcre(scan, (is_negated and "[^" or "[") .. inside .. "]", true)
end

local function translate_group(scan)
  scan.open = scan.open + 1
  local name = take_token(scan, "%?<[%a_][%w_]*>")
  local special = name or take_token(scan, "%?<?[=!]") or take_token(scan, "%?:")
  if not special and take_token(scan, "%?") then reject_pattern "(? is not followed by :, =, !, <=, <! or <name>" end
  if name then scan.names[name:sub(2)] = true end
  if name or not special then scan.groups = scan.groups + 1 end
  emit_pcre(scan, "(" .. (special or ""), false)
end

local function close_pattern_group(scan)
  if scan.open == 0 then reject_pattern "a ) closes nothing" end
  scan.open = scan.open - 1
  emit_pcre(scan, ")", true)
end

local function translate_quantifier(scan, quantifier)
  if not scan.repeatable then reject_pattern(("there is nothing for %s to repeat"):format(quantifier)) end
  emit_pcre(scan, quantifier .. (take_token(scan, "%?") or ""), false)
end

local function translate_brace(scan)
  local bounds = take_token(scan, "%d+}") or take_token(scan, "%d+,%d*}")
  if not bounds then return emit_pcre(scan, "\\{", true) end
  translate_quantifier(scan, "{" .. bounds)
end

local HANDLERS = {
  ["\\"] = translate_escape, ["["] = translate_class, ["("] = translate_group, [")"] = close_pattern_group,
  ["{"] = translate_brace,
  ["}"] = function(scan) emit_pcre(scan, "\\}", true) end,
  ["]"] = function(scan) emit_pcre(scan, "\\]", true) end,
  ["|"] = function(scan) emit_pcre(scan, "|", false) end,
  ["^"] = function(scan) emit_pcre(scan, "^", false) end,
  ["$"] = function(scan) emit_pcre(scan, "$", false) end,
  ["."] = function(scan) emit_pcre(scan, ANY_IN_LINE, true) end,
  ["*"] = translate_quantifier, ["+"] = translate_quantifier, ["?"] = translate_quantifier,
}

local function check_pattern_groups(scan)
  if scan.open > 0 then reject_pattern "a ( is not closed" end
  if scan.wanted > scan.groups then reject_pattern "it refers to a group that does not exist" end
  for _, name in ipairs(scan.wanted_names) do
    if not scan.names[name] then reject_pattern(("it refers to the group %s, which does not exist"):format(name)) end
  end
  return table.concat(scan.out)
end

local function translate_pattern(pattern)
  if not utf8.len(pattern) then reject_pattern "it is not valid UTF-8" end
  local scan = { text = pattern, at = 1, out = {}, open = 0, groups = 0, names = {}, wanted = 0, wanted_names = {} }
  while scan.at <= #pattern do
    local char = take_token(scan, utf8.charpattern)
    local handler = HANDLERS[char]
    if handler then handler(scan, char) else emit_pcre(scan, escape_literal(utf8.codepoint(char)), true) end
  end
  return check_pattern_groups(scan)
end

---@param pattern string
---@return string? translated for PCRE2, string? reason
function patterns.translate(pattern)
  local ok, result = pcall(translate_pattern, pattern)
  if ok then return result end
  if type(result) ~= "table" then error(result, 0) end
  return nil, result.reason
end

-- }======

-- {====== Matching ======

-- Limits of backtracking. A match that exceeds one is tried again with the next. The first try costs a fixed number of
-- steps. The time of the others is measured, and converted to steps.
local MATCH_LIMITS = { 100, 2000, 20000, 200000 }
local STEPS_PER_SECOND = 4000000

-- Backtracking takes longer in a long text, so its limit times the length of the text is limited: to about two seconds.
local MAX_WORK = 2000000000

local HEAP_KIB = 20000

local function load_rex_pcre2()
  local ok, rex = pcall(require, "rex_pcre2")
  return ok and rex or nil
end

local function regex_flags(rex)
  local flags = rex.flags()
  return flags.UTF | flags.DOLLAR_ENDONLY | flags.MATCH_UNSET_BACKREF
end

-- `{sc:…}` exists since PCRE2 10.40. Before, the form without `sc:` had that meaning.
local function compile_regex(rex, source)
  local ok, regex = pcall(rex.new, source, regex_flags(rex))
  if not ok and source:find("{sc:", 1, true) then
    ok, regex = pcall(rex.new, (source:gsub("{sc:", "{")), regex_flags(rex))
  end
  if ok then return regex end
  return nil, (tostring(regex):gsub("%s*%(pattern offset: %d+%)$", ""))
end

local function with_match_limit(limit, source)
  return ("(*LIMIT_MATCH=%d)(*LIMIT_DEPTH=%d)(*LIMIT_HEAP=%d)%s"):format(limit, limit, HEAP_KIB, source)
end

-- PCRE2 applies the limit anew at every position where a match may begin. So the search for that position is made part
-- of the pattern.
local function with_regex_search(rex, translated)
  local regex, message = compile_regex(rex, translated)
  if not regex then return nil, message end
  local is_anchored = regex:fullinfo().ALLOPTIONS & rex.flags().ANCHORED ~= 0
  return is_anchored and translated or "^(?s:.)*?(?:" .. translated .. ")"
end

---A pattern, which is compiled for a limit when that is first needed.
---@class pintle.schema.regex
---@field rex table
---@field source string
---@field limits integer[] of backtracking
---@field compiled table[] one for each limit

local function compiled_regex(regex, i)
  if not regex.compiled[i] then
    regex.compiled[i] = assert(compile_regex(regex.rex, with_match_limit(regex.limits[i], regex.source)))
  end
  return regex.compiled[i]
end

-- Returns nil if the limit was exceeded.
local function try_regex_match(regex, i, text, site)
  local compiled = compiled_regex(regex, i)
  local ok, found = pcall(compiled.find, compiled, text)
  if ok then return found ~= nil end
  if tostring(found):find("UTF", 1, true) then validation.abort(site, "a string is not valid UTF-8") end
end

local function try_measured_match(regex, i, text, state, site)
  local before = os.clock()
  local found = try_regex_match(regex, i, text, site)
  validation.pay_steps(state, site, math.floor((os.clock() - before) * STEPS_PER_SECOND))
  return found
end

local function match_pattern(regex, text, state, site)
  validation.pay_steps(state, site, 2 + #text // 8)
  local found = try_regex_match(regex, 1, text, site)
  local i = 2
  while found == nil do
    local limit = regex.limits[i]
    if not limit or limit * #text > MAX_WORK then
      validation.abort(site, "a pattern takes more steps to match than the limit allows")
    end
    found, i = try_measured_match(regex, i, text, state, site), i + 1
  end
  return found
end

local function match_limits_up_to(most)
  local limits = {}
  for _, limit in ipairs(MATCH_LIMITS) do
    if limit < most then limits[#limits + 1] = limit end
  end
  limits[#limits + 1] = most
  return limits
end

local function new_pattern(pattern, limits)
  local translated, reason = patterns.translate(pattern)
  if not translated then return nil, reason end
  local rex = load_rex_pcre2()
  if not rex then return nil, "patterns need the rock lrexlib-pcre2, which is not installed", true end
  local source, message = with_regex_search(rex, translated)
  if not source then return nil, message end
  return { rex = rex, source = source, limits = match_limits_up_to(limits.match), compiled = {} }
end

local function pattern_of(pattern, context, path)
  local cache, limits = context.patterns, context.limits
  if cache[pattern] then return cache[pattern] end
  if #pattern > limits.pattern then
    errors.reject(path, ("the pattern is longer than %d bytes"):format(limits.pattern))
  end
  local regex, reason, is_missing = new_pattern(pattern, limits)
  if not regex then
    local invalid = ("the pattern %s is invalid: %s"):format(errors.quote(pattern), reason)
    errors.reject(path, is_missing and reason or invalid)
  end
  cache[pattern] = regex
  return regex
end

---@param context pintle.schema.context
---@param pattern string
---@param site pintle.schema.site
---@return fun(text: any, state: pintle.schema.run): boolean matches
function patterns.matcher(context, pattern, site)
  local regex = pattern_of(pattern, context, site.path)
  return function(text, state) return type(text) == "string" and match_pattern(regex, text, state, site) end
end

---@return boolean
function patterns.are_available() return load_rex_pcre2() ~= nil end

---Whether it is valid in ECMA-262. That allows lookbehind of any length, which PCRE2 rejects after all other checks.
---@param pattern string
---@return boolean
function patterns.is_valid(pattern)
  local regex, reason = new_pattern(pattern, { match = MATCH_LIMITS[1] })
  return regex ~= nil or reason:find("lookbehind", 1, true) ~= nil
end

-- }======

return patterns
