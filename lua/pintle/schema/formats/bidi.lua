-- Names of hosts in which letters run from right to left (RFC 5893), as far as that goes without the tables of Unicode:
-- which way a letter runs is told by the block that it is in.

local bidi = {}

local function is_right_to_left(code)
  return code >= 0x590 and code <= 0x8FF or code >= 0xFB1D and code <= 0xFDFF or code >= 0xFE70 and code <= 0xFEFF
    or code >= 0x10800 and code <= 0x10FFF or code >= 0x1E800 and code <= 0x1EFFF
end

local function is_european_digit(code) return code >= 48 and code <= 57 or code >= 0x6F0 and code <= 0x6F9 end

local function is_arabic_digit(code) return code >= 0x660 and code <= 0x669 or code >= 0x10D30 and code <= 0x10D39 end

-- Characters that run neither way: the hyphen, dots and joiners.
local NEUTRAL = { [0x2D] = true, [0xB7] = true, [0x375] = true, [0x30FB] = true, [0x200C] = true, [0x200D] = true }

local function kind_of(code, is_mark)
  if is_european_digit(code) then return "digit" end
  if is_arabic_digit(code) then return "arabic digit" end
  if NEUTRAL[code] then return "neutral" end
  if code < 128 then return "left" end
  if is_mark(code) then return "mark" end
  return is_right_to_left(code) and "right" or "left"
end

-- How a label is made up: the kinds in it as a set, the first of them, and the last that is no mark.
local function make_up_of(codes, is_mark)
  local kinds, first, last = {}, nil, nil
  for _, code in ipairs(codes) do
    local kind = kind_of(code, is_mark)
    kinds[kind], first = true, first or kind
    if kind ~= "mark" then last = kind end
  end
  return { kinds = kinds, first = first, last = last }
end

local function runs_right(label)
  local kinds, last = label.kinds, label.last
  return not kinds.left and not (kinds.digit and kinds["arabic digit"]) and last ~= "neutral"
end

local function runs_left(label)
  local kinds, last = label.kinds, label.last
  return not kinds.right and not kinds["arabic digit"] and (last == "left" or last == "digit")
end

local RUNS = { right = runs_right, left = runs_left }

---@param labels integer[][] code points
---@param is_mark fun(code: integer): boolean
---@return boolean whether it can be told which way each label runs; that matters if any runs from right to left
function bidi.is_clear(labels, is_mark)
  local is_mixed, is_clear = false, true
  for _, codes in ipairs(labels) do
    local label = make_up_of(codes, is_mark)
    is_mixed = is_mixed or label.kinds.right or label.kinds["arabic digit"]
    is_clear = is_clear and RUNS[label.first] ~= nil and RUNS[label.first](label)
  end
  return not is_mixed or is_clear
end

return bidi
