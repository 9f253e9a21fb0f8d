-- Names of hosts beyond ASCII (IDNA 2008), as far as that goes without the tables of Unicode. Where PCRE2 is
-- installed it is asked for the kinds of characters; where it is not, most of them are let through.

local bidi = require "pintle.schema.formats.bidi"
local network = require "pintle.schema.formats.network"
local punycode = require "pintle.schema.formats.punycode"

local idn = {}

local function set(ranges)
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

local is_virama = set [[94D 9CD A4D ACD B4D BCD C4D CCD D3B D3C D4D DCA E3A EBA F84 1039 103A 1714 1734 17D2 1A60 1B44
  1BAA 1BAB 1BF2 1BF3 2D7F A806 A8C4 A953 A9C0 AAF6 ABED 10A3F 11046 1107F 110B9 11133 11134 111C0 11235 112EA 1134D
  11442 114C2 115BF 1163F 116B6 1172B 11839 119E0 11A34 11A47 11A99 11C3F 11D44 11D45 11D97]]
local is_greek = set "370-373 375-377 37A-37D 37F 384 386 388-3E1 3F0-3FF 1F00-1FFE"
local is_hebrew = set "591-5F4 FB1D-FB4F"
local is_japanese = set [[2E80-2FD5 3005 3007 3021-3029 3038-303B 3041-3096 309D-309F 30A1-30FA 30FD-30FF 31F0-31FF
  3400-4DBF 4E00-9FFF F900-FAFF FF66-FF6F FF71-FF9D 20000-3FFFF]]
local is_joining = set "620 622-64A 66E 66F 671-6D3 6D5 6EE 6EF 6FA-6FC 6FF 710 712-72F 74D-77F 7CA-7EA 8A0-8B4"
local is_arabic_digit = set "660-669"
local is_extended_digit = set "6F0-6F9"

-- Letters that are decided one by one, and those that stand for others.
local is_exception = set "DF 3C2 6FD 6FE F0B 3007"
local is_disallowed = set [[640 7FA 302E 302F 3031-3035 303B 1100-11FF A960-A97C D7B0-D7FB FB00-FB06 FB13-FB17 FB20-FB29
  FB4F FE70-FEFC FF00-FFEF]]

local function has(codes, test)
  for _, code in ipairs(codes) do
    if test(code) then return true end
  end
  return false
end

-- Characters that are allowed in the right company: code point -> test of the label and the place in it.
local COMPANY = {
  [0xB7] = function(codes, i) return codes[i - 1] == 0x6C and codes[i + 1] == 0x6C end,
  [0x375] = function(codes, i) return codes[i + 1] ~= nil and is_greek(codes[i + 1]) end,
  [0x5F3] = function(codes, i) return codes[i - 1] ~= nil and is_hebrew(codes[i - 1]) end,
  [0x30FB] = function(codes) return has(codes, is_japanese) end,
  [0x200D] = function(codes, i) return codes[i - 1] ~= nil and is_virama(codes[i - 1]) end,
  [0x200C] = function(codes, i)
    local before, after = codes[i - 1], codes[i + 1]
    return before ~= nil and (is_virama(before) or after ~= nil and is_joining(before) and is_joining(after))
  end,
}
COMPANY[0x5F4] = COMPANY[0x5F3]

local kinds

-- Whether a character is a letter, digit or mark that has no capital in it, and whether it is a mark.
local function kinds_of(char)
  if kinds == nil then
    local ok, rex = pcall(require, "rex_pcre2")
    kinds = ok and {
      allowed = rex.new([[^[\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}]$]], rex.flags().UTF),
      mark = rex.new([[^\p{M}$]], rex.flags().UTF),
    }
  end
  if not kinds then return true, false end
  return kinds.allowed:find(char) ~= nil, kinds.mark:find(char) ~= nil
end

local function is_allowed(codes, i)
  local code = codes[i]
  if code < 128 then return string.char(code):find "[%w-]" ~= nil end
  if COMPANY[code] then return COMPANY[code](codes, i) end
  if is_disallowed(code) then return false end
  return is_exception(code) or (kinds_of(utf8.char(code)))
end

local function is_mark(code) return (select(2, kinds_of(utf8.char(code)))) end

local function is_wide_label(codes)
  if codes[1] == 45 or codes[#codes] == 45 or codes[3] == 45 and codes[4] == 45 then return false end
  if is_mark(codes[1]) then return false end
  if has(codes, is_arabic_digit) and has(codes, is_extended_digit) then return false end
  for i = 1, #codes do
    if not is_allowed(codes, i) then return false end
  end
  return true
end

local function is_beyond_ascii(code) return code > 127 end

-- The code points that a label in its ASCII form has to stand for: one that needs it, and that it is the only form of.
local function decoded(label)
  local text = label:sub(5)
  local codes = punycode.decode(text)
  local is_valid = codes and has(codes, is_beyond_ascii) and not has(codes, set "D800-DFFF") and is_wide_label(codes)
    and punycode.encode(codes):lower() == text:lower()
  return is_valid and codes or nil
end

-- The label in ASCII, and its code points; nil if it is not valid.
local function from_ascii(label)
  if not network.is_label(label) then return nil end
  local codes = { label:byte(1, -1) }
  if label:sub(1, 4):lower() == "xn--" then codes = decoded(label) end
  return codes and label, codes
end

-- The same for one that may be beyond ASCII.
local function to_ascii(label)
  if not label:find "[\x80-\xff]" then
    local is_plain = label:sub(3, 4) ~= "--" or label:sub(1, 2):lower() == "xn"
    if is_plain then return from_ascii(label) end
    return nil
  end
  if #label > 1000 then return nil end
  local codes = { utf8.codepoint(label, 1, -1) }
  if not is_wide_label(codes) then return nil end
  local ascii = "xn--" .. punycode.encode(codes)
  if #ascii <= 63 then return ascii, codes end
end

local function all_labels(text, convert)
  local length, labels = -1, {}
  for label in (text .. "."):gmatch "([^.]*)%." do
    local ascii, codes = convert(label)
    if not ascii then return false end
    length, labels[#labels + 1] = length + 1 + #ascii, codes
  end
  return length <= 253 and bidi.is_clear(labels, is_mark)
end

---@param text string
---@return boolean
function idn.is_ascii_hostname(text) return #text <= 253 and all_labels(text, from_ascii) end

---@param text string
---@return boolean
function idn.is_hostname(text)
  if #text > 4000 or not utf8.len(text) then return false end
  return all_labels(text:gsub("\u{3002}", "."):gsub("\u{FF0E}", "."):gsub("\u{FF61}", "."), to_ascii)
end

---@param text string
---@return boolean
function idn.is_email(text)
  return utf8.len(text) ~= nil and network.is_mailbox(text, idn.is_hostname)
end

return idn
