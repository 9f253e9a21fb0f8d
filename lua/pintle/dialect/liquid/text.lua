-- Text as JSON can carry it: what is not UTF-8 becomes U+FFFD, as the protocol says of binary data.

local json = require("pintle.core").json

local REPLACEMENT = "\u{FFFD}"

local function continuations(lead)
  if lead >= 0xC2 and lead <= 0xDF then return 1 end
  if lead >= 0xE0 and lead <= 0xEF then return 2 end
  return lead >= 0xF0 and lead <= 0xF4 and 3 or 0
end

-- What may follow the first byte, where that is less than 80 to BF.
local SECOND = { [0xE0] = { 0xA0, 0xBF }, [0xED] = { 0x80, 0x9F }, [0xF0] = { 0x90, 0xBF }, [0xF4] = { 0x80, 0x8F } }

-- The last byte of the sequence that breaks off or goes wrong behind `at`: it is replaced as one.
local function broken_end(text, at)
  local lead = text:byte(at)
  local last = at
  for i = 1, continuations(lead) - 1 do
    local range = i == 1 and SECOND[lead] or { 0x80, 0xBF }
    local byte = text:byte(at + i)
    if not byte or byte < range[1] or byte > range[2] then break end
    last = at + i
  end
  return last
end

---@param text string
---@return string
return function(text)
  if json.is_utf8(text) then return text end
  local bad = select(2, utf8.len(text))
  local parts, from = {}, 1
  while bad do
    parts[#parts + 1] = text:sub(from, bad - 1) .. REPLACEMENT
    from = broken_end(text, bad) + 1
    bad = select(2, utf8.len(text, from))
  end
  return table.concat(parts) .. text:sub(from)
end
