-- Large and small letters beyond ASCII: Latin, Greek, Cyrillic, Armenian.

local upper, lower = {}, {}

local function pair(large, small)
  local capital, letter = utf8.char(large), utf8.char(small)
  upper[letter], lower[capital] = capital, letter
end

local function shifted(first, last, distance)
  for code = first, last do pair(code, code + distance) end
end

-- Large and small letters in turn.
local function alternating(first, last)
  for code = first, last, 2 do pair(code, code + 1) end
end

shifted(0xC0, 0xD6, 32)
shifted(0xD8, 0xDE, 32)
alternating(0x100, 0x12E)
alternating(0x132, 0x136)
alternating(0x139, 0x147)
alternating(0x14A, 0x176)
pair(0x178, 0xFF)
alternating(0x179, 0x17D)
alternating(0x1CD, 0x1DB)
alternating(0x1DE, 0x1EE)
alternating(0x1F8, 0x21E)
alternating(0x222, 0x232)
pair(0x386, 0x3AC)
shifted(0x388, 0x38A, 37)
pair(0x38C, 0x3CC)
shifted(0x38E, 0x38F, 63)
shifted(0x391, 0x3A1, 32)
shifted(0x3A3, 0x3AB, 32)
shifted(0x400, 0x40F, 80)
shifted(0x410, 0x42F, 32)
alternating(0x460, 0x480)
alternating(0x48A, 0x4BE)
alternating(0x4C1, 0x4CD)
alternating(0x4D0, 0x52E)
shifted(0x531, 0x556, 48)
alternating(0x1E00, 0x1E94)
alternating(0x1EA0, 0x1EFE)
shifted(0x2160, 0x216F, 16)
shifted(0x24B6, 0x24CF, 26)
shifted(0xFF21, 0xFF3A, 32)

-- Letters that have no partner of their own, or more than one.
upper["ß"], upper["ı"], upper["ſ"], upper["µ"], upper["ς"] = "SS", "I", "S", "Μ", "Σ"
upper["ﬀ"], upper["ﬁ"], upper["ﬂ"], upper["ﬃ"], upper["ﬄ"] = "FF", "FI", "FL", "FFI", "FFL"
lower["İ"], lower["ẞ"] = "i̇", "ß"

return { upper = upper, lower = lower, title = { ["ß"] = "Ss", ["ﬁ"] = "Fi", ["ﬂ"] = "Fl" } }
