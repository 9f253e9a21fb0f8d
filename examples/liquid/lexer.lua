-- Cuts the markup of a tag or an output into tokens, as strict parsing sees them.

local match, byte, sub, find = string.match, string.byte, string.sub, string.find

local lexer = {}

local specials = {
  ["|"] = "pipe", ["."] = "dot", [":"] = "colon", [","] = "comma", ["["] = "open_square", ["]"] = "close_square",
  ["("] = "open_round", [")"] = "close_round", ["?"] = "question", ["-"] = "dash",
}

-- What a token is, by its first byte; and its pattern, which also takes the space behind it.
local SPECIAL, WORD, TEXT, KIND, PATTERN = {}, {}, {}, {}, {}
local WORD_PATTERN, NUMBER_PATTERN = "^([%w_][%w_-]*%??)%s*()", "^(%-?%d+)%s*()"
local FLOAT_PATTERN = "^(%-?%d+%.%d+)%s*()"

for character, kind in pairs(specials) do
  local code = byte(character)
  SPECIAL[code], TEXT[code] = kind, character
end
for code = byte("a"), byte("z") do WORD[code], WORD[code - 32] = true, true end
WORD[byte("_")] = true
for code = byte("0"), byte("9") do KIND[code], PATTERN[code] = "number", NUMBER_PATTERN end
for character, pattern in pairs {
  ["'"] = "^('[^']*')%s*()", ['"'] = '^("[^"]*")%s*()', ["="] = "^(==)%s*()", ["!"] = "^(!=)%s*()",
  ["<"] = "^(<[=>]?)%s*()", [">"] = "^(>=?)%s*()",
} do
  KIND[byte(character)] = (character == "'" or character == '"') and "string" or "comparison"
  PATTERN[byte(character)] = pattern
end

local DASH, DOT = byte("-"), byte(".")

-- The character at a position, whole also when it has several bytes.
local function character_at(text, position)
  return match(text, "^[\xC2-\xF4][\x80-\xBF]*", position) or sub(text, position, position)
end

local function number(text, position)
  local word, after = match(text, FLOAT_PATTERN, position)
  if word then return "number", word, after end
  word, after = match(text, NUMBER_PATTERN, position)
  return word and "number", word, after
end

-- One byte that is a token, unless it begins a longer one.
local function special(text, position, code)
  if code == DOT and byte(text, position + 1) == DOT then return "dotdot", "..", match(text, "^..%s*()", position) end
  if code == DASH then
    local kind, word, after = number(text, position)
    if kind then return kind, word, after end
  end
  return SPECIAL[code], TEXT[code], match(text, "^.%s*()", position)
end

local function other(text, position, code)
  local kind = KIND[code]
  if not kind then return nil end
  if kind == "number" then return number(text, position) end
  local word, after = match(text, PATTERN[code], position)
  return word and kind, word, after
end

---All tokens of a text.
---@param text string
---@param kinds string[] filled with their kinds, "end_of_string" the last
---@param words string[] filled with their texts
---@return integer? count, string? message, integer? position of what is no token
function lexer.tokenize(text, kinds, words)
  local count, position, length = 0, find(text, "%S"), #text
  while position and position <= length do
    local code = byte(text, position)
    local kind, word, after
    if WORD[code] then
      word, after = match(text, WORD_PATTERN, position)
      kind = word == "contains" and kinds[count] ~= "dot" and "comparison" or "id"
    elseif SPECIAL[code] then
      kind, word, after = special(text, position, code)
    else
      kind, word, after = other(text, position, code)
    end
    if not kind then return nil, "Unexpected character " .. character_at(text, position), position end
    count = count + 1
    kinds[count], words[count], position = kind, word, after
  end
  count = count + 1
  kinds[count], words[count] = "end_of_string", ""
  return count
end

return lexer
