-- Punycode (RFC 3492): code points in letters, digits and hyphens.

local punycode = {}

local BASE, LEAST, MOST, SKEW, DAMP, FIRST_BIAS, FIRST_CODE = 36, 1, 26, 38, 700, 72, 128

local function adapt(delta, count, is_first)
  delta = is_first and delta // DAMP or delta // 2
  delta = delta + delta // count
  local steps = 0
  while delta > (BASE - LEAST) * MOST // 2 do
    delta = delta // (BASE - LEAST)
    steps = steps + BASE
  end
  return steps + (BASE - LEAST + 1) * delta // (delta + SKEW)
end

local function threshold(place, bias) return math.max(LEAST, math.min(MOST, place - bias)) end

local function digit_of(byte)
  local char = string.char(byte):lower()
  if char:find "%l" then return char:byte() - 97 end
  if char:find "%d" then return char:byte() - 48 + 26 end
end

local function char_of(digit) return string.char(digit < 26 and digit + 97 or digit - 26 + 48) end

-- One number of variable length; nil where it is cut off or too large.
local function read_number(text, at, bias)
  local number, weight, place = 0, 1, BASE
  while true do
    local digit = at <= #text and digit_of(text:byte(at))
    if not digit then return nil end
    number, at = number + digit * weight, at + 1
    local limit = threshold(place, bias)
    if digit < limit then return number, at end
    weight, place = weight * (BASE - limit), place + BASE
    if number > 0x7FFFFFFF or weight > 0x7FFFFFFF then return nil end
  end
end

local function basic_part(text)
  local basic, rest = text:match "^(.*)%-([^-]*)$"
  return { (basic or ""):byte(1, -1) }, rest or text
end

---@param text string what follows xn--
---@return integer[]? codes nil if it is not valid
function punycode.decode(text)
  local codes, rest = basic_part(text)
  local code, place, bias, at = FIRST_CODE, 0, FIRST_BIAS, 1
  while at <= #rest do
    local delta, after = read_number(rest, at, bias)
    if not delta then return nil end
    local count = #codes + 1
    bias = adapt(delta, count, at == 1)
    code, place = code + (place + delta) // count, (place + delta) % count
    if code > 0x10FFFF then return nil end
    table.insert(codes, place + 1, code)
    place, at = place + 1, after
  end
  return codes
end

local function write_number(number, bias, out)
  local place = BASE
  while true do
    local limit = threshold(place, bias)
    if number < limit then break end
    out[#out + 1] = char_of(limit + (number - limit) % (BASE - limit))
    number = (number - limit) // (BASE - limit)
    place = place + BASE
  end
  out[#out + 1] = char_of(number)
end

local function next_code(codes, from)
  local least = math.maxinteger
  for _, code in ipairs(codes) do
    if code >= from and code < least then least = code end
  end
  return least
end

local function write_all(codes, code, state, out)
  for _, other in ipairs(codes) do
    if other < code then state.delta = state.delta + 1 end
    if other == code then
      write_number(state.delta, state.bias, out)
      state.bias = adapt(state.delta, state.written + 1, state.written == state.basic)
      state.delta, state.written = 0, state.written + 1
    end
  end
end

---@param codes integer[]
---@return string text what follows xn--
function punycode.encode(codes)
  local out = {}
  for _, code in ipairs(codes) do
    if code < FIRST_CODE then out[#out + 1] = string.char(code) end
  end
  local state = { delta = 0, bias = FIRST_BIAS, basic = #out, written = #out }
  if #out > 0 then out[#out + 1] = "-" end
  local code = FIRST_CODE
  while state.written < #codes do
    local least = next_code(codes, code)
    state.delta = state.delta + (least - code) * (state.written + 1)
    write_all(codes, least, state, out)
    state.delta, code = state.delta + 1, least + 1
  end
  return table.concat(out)
end

return punycode
