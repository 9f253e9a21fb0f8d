-- Internationalized host names (IDNA 2008), as far as possible without the tables of Unicode. PCRE2 is asked for the
-- categories of characters. If it is not installed, most characters are allowed.

local formats = require "pintle.schema.formats"

local idn = {}

-- {====== Punycode (RFC 3492) ======

local BASE, T_MIN, T_MAX, SKEW, DAMP, FIRST_BIAS, FIRST_CODE = 36, 1, 26, 38, 700, 72, 128

local function adapt_bias(delta, count, is_first)
  delta = is_first and delta // DAMP or delta // 2
  delta = delta + delta // count
  local steps = 0
  while delta > (BASE - T_MIN) * T_MAX // 2 do
    delta = delta // (BASE - T_MIN)
    steps = steps + BASE
  end
  return steps + (BASE - T_MIN + 1) * delta // (delta + SKEW)
end

local function punycode_threshold(place, bias) return math.max(T_MIN, math.min(T_MAX, place - bias)) end

local function punycode_digit(byte)
  local char = string.char(byte):lower()
  if char:find "%l" then return char:byte() - 97 end
  if char:find "%d" then return char:byte() - 48 + 26 end
end

local function punycode_character(digit) return string.char(digit < 26 and digit + 97 or digit - 26 + 48) end

-- One number of variable length; nil if it is cut off or too large.
local function read_punycode_number(text, at, bias)
  local number, weight, place = 0, 1, BASE
  while true do
    local digit = at <= #text and punycode_digit(text:byte(at))
    if not digit then return nil end
    number, at = number + digit * weight, at + 1
    local limit = punycode_threshold(place, bias)
    if digit < limit then return number, at end
    weight, place = weight * (BASE - limit), place + BASE
    if number > 0x7FFFFFFF or weight > 0x7FFFFFFF then return nil end
  end
end

local function split_basic_part(text)
  local basic, rest = text:match "^(.*)%-([^-]*)$"
  return { (basic or ""):byte(1, -1) }, rest or text
end

---@param text string without the prefix xn--
---@return integer[]? codes nil if it is not valid
function idn.decode_punycode(text)
  local codes, rest = split_basic_part(text)
  local code, place, bias, at = FIRST_CODE, 0, FIRST_BIAS, 1
  while at <= #rest do
    local delta, after = read_punycode_number(rest, at, bias)
    if not delta then return nil end
    local count = #codes + 1
    bias = adapt_bias(delta, count, at == 1)
    code, place = code + (place + delta) // count, (place + delta) % count
    if code > 0x10FFFF then return nil end
    table.insert(codes, place + 1, code)
    place, at = place + 1, after
  end
  return codes
end

local function write_punycode_number(number, bias, out)
  local place = BASE
  while true do
    local limit = punycode_threshold(place, bias)
    if number < limit then break end
    out[#out + 1] = punycode_character(limit + (number - limit) % (BASE - limit))
    number = (number - limit) // (BASE - limit)
    place = place + BASE
  end
  out[#out + 1] = punycode_character(number)
end

local function next_code_point(codes, from)
  local least = math.maxinteger
  for _, code in ipairs(codes) do
    if code >= from and code < least then least = code end
  end
  return least
end

local function write_code_point(codes, code, state, out)
  for _, other in ipairs(codes) do
    if other < code then state.delta = state.delta + 1 end
    if other == code then
      write_punycode_number(state.delta, state.bias, out)
      state.bias = adapt_bias(state.delta, state.written + 1, state.written == state.basic)
      state.delta, state.written = 0, state.written + 1
    end
  end
end

---@param codes integer[]
---@return string text without the prefix xn--
function idn.encode_punycode(codes)
  local out = {}
  for _, code in ipairs(codes) do
    if code < FIRST_CODE then out[#out + 1] = string.char(code) end
  end
  local state = { delta = 0, bias = FIRST_BIAS, basic = #out, written = #out }
  if #out > 0 then out[#out + 1] = "-" end
  local code = FIRST_CODE
  while state.written < #codes do
    local least = next_code_point(codes, code)
    state.delta = state.delta + (least - code) * (state.written + 1)
    write_code_point(codes, least, state, out)
    state.delta, code = state.delta + 1, least + 1
  end
  return table.concat(out)
end

-- }======

-- {====== Labels from right to left (RFC 5893) ======

-- The direction of a letter is decided by its block.

local function is_right_to_left(code)
  return code >= 0x590 and code <= 0x8FF or code >= 0xFB1D and code <= 0xFDFF or code >= 0xFE70 and code <= 0xFEFF
    or code >= 0x10800 and code <= 0x10FFF or code >= 0x1E800 and code <= 0x1EFFF
end

local function is_european_digit(code) return code >= 48 and code <= 57 or code >= 0x6F0 and code <= 0x6F9 end

local function is_arabic_digit(code) return code >= 0x660 and code <= 0x669 or code >= 0x10D30 and code <= 0x10D39 end

-- Characters without a direction: the hyphen, dots and joiners.
local NEUTRAL = { [0x2D] = true, [0xB7] = true, [0x375] = true, [0x30FB] = true, [0x200C] = true, [0x200D] = true }

local function character_direction(code, is_combining_mark)
  if is_european_digit(code) then return "digit" end
  if is_arabic_digit(code) then return "arabic digit" end
  if NEUTRAL[code] then return "neutral" end
  if code < 128 then return "left" end
  if is_combining_mark(code) then return "mark" end
  return is_right_to_left(code) and "right" or "left"
end

-- The directions in a label as a set, the first of them, and the last that is not of a mark.
local function label_directions(codes, is_combining_mark)
  local directions, first, last = {}, nil, nil
  for _, code in ipairs(codes) do
    local direction = character_direction(code, is_combining_mark)
    directions[direction], first = true, first or direction
    if direction ~= "mark" then last = direction end
  end
  return { set = directions, first = first, last = last }
end

local function is_right_to_left_label(label)
  local set, last = label.set, label.last
  return not set.left and not (set.digit and set["arabic digit"]) and last ~= "neutral"
end

local function is_left_to_right_label(label)
  local set, last = label.set, label.last
  return not set.right and not set["arabic digit"] and (last == "left" or last == "digit")
end

local IS_VALID = { right = is_right_to_left_label, left = is_left_to_right_label }

-- Whether every label, a list of code points, satisfies the Bidi rule. It only applies if a label has letters that run
-- from right to left.
local function satisfies_bidi_rule(labels, is_combining_mark)
  local is_bidi, is_valid = false, true
  for _, codes in ipairs(labels) do
    local label = label_directions(codes, is_combining_mark)
    is_bidi = is_bidi or label.set.right or label.set["arabic digit"]
    is_valid = is_valid and IS_VALID[label.first] ~= nil and IS_VALID[label.first](label)
  end
  return not is_bidi or is_valid
end

-- }======

-- {====== Labels and host names ======

-- Returns a test for code points in ranges of hexadecimal numbers.
local function range_test(ranges)
  local list = {}
  for low, high in ranges:gmatch "(%x+)%-?(%x*)" do
    list[#list + 1] = { tonumber(low, 16), tonumber(high ~= "" and high or low, 16) }
  end
  return function(code)
    for _, range in ipairs(list) do
      if code >= range[1] and code <= range[2] then return true end
    end
    return false
  end
end

local is_virama = range_test [[94D 9CD A4D ACD B4D BCD C4D CCD D3B D3C D4D DCA E3A EBA F84 1039 103A 1714 1734 17D2
  1A60 1B44 1BAA 1BAB 1BF2 1BF3 2D7F A806 A8C4 A953 A9C0 AAF6 ABED 10A3F 11046 1107F 110B9 11133 11134 111C0 11235
  112EA 1134D 11442 114C2 115BF 1163F 116B6 1172B 11839 119E0 11A34 11A47 11A99 11C3F 11D44 11D45 11D97]]
local is_greek = range_test "370-373 375-377 37A-37D 37F 384 386 388-3E1 3F0-3FF 1F00-1FFE"
local is_hebrew = range_test "591-5F4 FB1D-FB4F"
local is_japanese = range_test [[2E80-2FD5 3005 3007 3021-3029 3038-303B 3041-3096 309D-309F 30A1-30FA 30FD-30FF
  31F0-31FF 3400-4DBF 4E00-9FFF F900-FAFF FF66-FF6F FF71-FF9D 20000-3FFFF]]
local is_joining = range_test [[620 622-64A 66E 66F 671-6D3 6D5 6EE 6EF 6FA-6FC 6FF 710 712-72F 74D-77F 7CA-7EA
  8A0-8B4]]
local is_arabic_indic_digit = range_test "660-669"
local is_extended_digit = range_test "6F0-6F9"
local is_surrogate = range_test "D800-DFFF"

-- Exceptions from the rules by category (RFC 5892, section 2.6), and characters that normalization replaces.
local is_exception = range_test "DF 3C2 6FD 6FE F0B 3007"
local is_disallowed = range_test [[640 7FA 302E 302F 3031-3035 303B 1100-11FF A960-A97C D7B0-D7FB FB00-FB06 FB13-FB17
  FB20-FB29 FB4F FE70-FEFC FF00-FFEF]]

local function any_code_point(codes, test)
  for _, code in ipairs(codes) do
    if test(code) then return true end
  end
  return false
end

-- Characters that are only allowed in a context (RFC 5892, appendix A): code point -> test of the label and the index.
local CONTEXT_RULES = {
  [0xB7] = function(codes, i) return codes[i - 1] == 0x6C and codes[i + 1] == 0x6C end,
  [0x375] = function(codes, i) return codes[i + 1] ~= nil and is_greek(codes[i + 1]) end,
  [0x5F3] = function(codes, i) return codes[i - 1] ~= nil and is_hebrew(codes[i - 1]) end,
  [0x30FB] = function(codes) return any_code_point(codes, is_japanese) end,
  [0x200D] = function(codes, i) return codes[i - 1] ~= nil and is_virama(codes[i - 1]) end,
  [0x200C] = function(codes, i)
    local before, after = codes[i - 1], codes[i + 1]
    return before ~= nil and (is_virama(before) or after ~= nil and is_joining(before) and is_joining(after))
  end,
}
CONTEXT_RULES[0x5F4] = CONTEXT_RULES[0x5F3]

local categories

-- Whether a character is a letter other than a capital, a digit or a mark; and whether it is a mark.
local function character_categories(char)
  if categories == nil then
    local ok, rex = pcall(require, "rex_pcre2")
    categories = ok and {
      allowed = rex.new([[^[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}]$]], rex.flags().UTF),
      mark = rex.new([[^\p{M}$]], rex.flags().UTF),
    }
  end
  if not categories then return true, false end
  return categories.allowed:find(char) ~= nil, categories.mark:find(char) ~= nil
end

local function is_allowed_in_label(codes, i)
  local code = codes[i]
  if code < 128 then return string.char(code):find "[%w-]" ~= nil end
  if CONTEXT_RULES[code] then return CONTEXT_RULES[code](codes, i) end
  if is_disallowed(code) then return false end
  return is_exception(code) or (character_categories(utf8.char(code)))
end

local function is_combining_mark(code) return (select(2, character_categories(utf8.char(code)))) end

local function is_unicode_label(codes)
  if codes[1] == 45 or codes[#codes] == 45 or codes[3] == 45 and codes[4] == 45 then return false end
  if is_combining_mark(codes[1]) then return false end
  if any_code_point(codes, is_arabic_indic_digit) and any_code_point(codes, is_extended_digit) then return false end
  for i = 1, #codes do
    if not is_allowed_in_label(codes, i) then return false end
  end
  return true
end

local function is_beyond_ascii(code) return code > 127 end

-- The code points of a label that begins with xn--. It must have some beyond ASCII, and be their only encoding.
local function decode_xn_label(label)
  local text = label:sub(5)
  local codes = idn.decode_punycode(text)
  local is_valid = codes and any_code_point(codes, is_beyond_ascii) and not any_code_point(codes, is_surrogate)
    and is_unicode_label(codes) and idn.encode_punycode(codes):lower() == text:lower()
  return is_valid and codes or nil
end

-- The label in ASCII, and its code points; nil if it is not valid.
local function label_from_ascii(label)
  if not formats.is_label(label) then return nil end
  local codes = { label:byte(1, -1) }
  if label:sub(1, 4):lower() == "xn--" then codes = decode_xn_label(label) end
  return codes and label, codes
end

-- The same for a label that may have characters beyond ASCII.
local function label_to_ascii(label)
  if not label:find "[\x80-\xff]" then
    local is_plain = label:sub(3, 4) ~= "--" or label:sub(1, 2):lower() == "xn"
    if is_plain then return label_from_ascii(label) end
    return nil
  end
  if #label > 1000 then return nil end
  local codes = { utf8.codepoint(label, 1, -1) }
  if not is_unicode_label(codes) then return nil end
  local ascii = "xn--" .. idn.encode_punycode(codes)
  if #ascii <= 63 then return ascii, codes end
end

local function check_hostname_labels(text, convert)
  local length, labels = -1, {}
  for label in (text .. "."):gmatch "([^.]*)%." do
    local ascii, codes = convert(label)
    if not ascii then return false end
    length, labels[#labels + 1] = length + 1 + #ascii, codes
  end
  return length <= 253 and satisfies_bidi_rule(labels, is_combining_mark)
end

---@param text string
---@return boolean
function idn.is_ascii_hostname(text) return #text <= 253 and check_hostname_labels(text, label_from_ascii) end

---@param text string
---@return boolean
function idn.is_hostname(text)
  if #text > 4000 or not utf8.len(text) then return false end
  return check_hostname_labels(text:gsub("\u{3002}", "."):gsub("\u{FF0E}", "."):gsub("\u{FF61}", "."), label_to_ascii)
end

---@param text string
---@return boolean
function idn.is_email(text)
  return utf8.len(text) ~= nil and formats.is_mailbox(text, idn.is_hostname)
end

-- }======

return idn
