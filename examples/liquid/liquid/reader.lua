-- The strict parser: splits markup into tokens, and parses expressions.

local bigint = require "liquid.bigint"
local collections = require "liquid.collections"
local errors = require "liquid.errors"
local expressions = require "liquid.expressions"
local lax = require "liquid.lax"
local numbers = require "liquid.numbers"

local reader = {}

local match, byte, sub, find, concat = string.match, string.byte, string.sub, string.find, table.concat
local methods = {}
local metatable = { __name = "liquid.reader", __index = methods }

-- {====== Tokens ======

local specials = {
  ["|"] = "pipe", ["."] = "dot", [":"] = "colon", [","] = "comma", ["["] = "open_square", ["]"] = "close_square",
  ["("] = "open_round", [")"] = "close_round", ["?"] = "question", ["-"] = "dash",
}

-- The kinds of tokens by their first byte, and their patterns, which include the whitespace after a token.
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

-- The character at a position, which may have several bytes.
local function character_at(text, position)
  return match(text, "^[\xC2-\xF4][\x80-\xBF]*", position) or sub(text, position, position)
end

local function number(text, position)
  local word, after = match(text, FLOAT_PATTERN, position)
  if word then return "number", word, after end
  word, after = match(text, NUMBER_PATTERN, position)
  return word and "number", word, after
end

-- A token of one byte, or a longer one that begins with the same byte.
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

---Splits a text into tokens.
---@param text string
---@param kinds string[] filled with the kinds of the tokens; the last is "end_of_string"
---@param words string[] filled with the texts of the tokens
---@return integer? count, string? message, integer? position of an invalid character
function reader.tokenize(text, kinds, words)
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

-- }======

-- The maximum nesting depth of expressions.
local MAX_DEPTH = 100

local literals = {
  ["nil"] = { value = nil }, ["null"] = { value = nil }, ["true"] = { value = true }, ["false"] = { value = false },
  ["blank"] = { value = "" }, ["empty"] = { value = "" },
}
for _, literal in pairs(literals) do literal.evaluate = expressions.literal(literal.value) end

---Names that are literals.
reader.literals = literals

---@class liquid.reader
---@field kinds string[] the kinds of the tokens
---@field words string[] the texts of the tokens
---@field at integer the index of the next token

---@return liquid.reader
function reader.new()
  return setmetatable({ kinds = {}, words = {}, at = 1, depth = 0 }, metatable)
end

---Starts to parse a markup.
---@param state liquid.parse_state
---@param markup string
---@param position integer of the markup in the source
---@param shown? "output"|"nothing" errors show the markup in {{ braces }}, or do not show it; default: without braces
---@return liquid.reader
function methods:open(state, markup, position, shown)
  self.state, self.markup, self.position, self.shown = state, markup, position, shown
  self.at, self.depth, self.is_ambiguous = 1, 0, false
  local count, message = reader.tokenize(markup, self.kinds, self.words)
  if not count then self:fail(message) end
  return self
end

local function shown_markup(self)
  if self.shown == "nothing" then return nil end
  if self.shown == "output" then return 'in "{{' .. self.markup .. '}}"' end
  return errors.shown_markup(self.markup)
end

---Raises a syntax error that shows the markup.
---@param message string
function methods:fail(message)
  errors.syntax(self.state, message, self.position, shown_markup(self))
end

---@param kind string
---@param ahead? integer
---@return boolean
function methods:look(kind, ahead)
  return self.kinds[self.at + (ahead or 0)] == kind
end

---Reads a token of a kind. Returns its text, or false if the next token has another kind.
---@param kind string
---@return string|false
function methods:take(kind)
  local at = self.at
  if self.kinds[at] ~= kind then return false end
  self.at = at + 1
  return self.words[at]
end

---Reads a token of a kind, and raises an error if the next token has another kind.
---@param kind string
---@return string
function methods:consume(kind)
  local at = self.at
  if self.kinds[at] ~= kind then self:fail("Expected " .. kind .. " but found " .. self.kinds[at]) end
  self.at = at + 1
  return self.words[at]
end

---Reads a word. Returns false if the next token is not that word.
---@param word string
---@return string|false
function methods:word(word)
  local at = self.at
  if self.kinds[at] ~= "id" or self.words[at] ~= word then return false end
  self.at = at + 1
  return word
end

---Raises an error if there are more tokens.
function methods:finish()
  self:consume("end_of_string")
end

local function shown_token(kind, word)
  if kind == "end_of_string" then return "[:end_of_string]" end
  return "[:" .. kind .. ', "' .. word:gsub('[\\"]', "\\%0") .. '"]'
end

local function in_brackets(self)
  self.at = self.at + 1
  local evaluate = self:expression()
  self:consume("close_square")
  return evaluate
end

-- The steps of a path after a name: .names and [expressions].
local function steps(self)
  local list, count = nil, 0
  while true do
    local kind = self.kinds[self.at]
    local step
    if kind == "dot" then
      self.at = self.at + 1
      step = self:consume("id")
    elseif kind == "open_square" then
      step = in_brackets(self)
    else
      return list
    end
    list, count = list or {}, count + 1
    if count > MAX_DEPTH * 10 then self:fail("Nesting too deep") end
    list[count] = step
  end
end

local function name(self)
  local word = self.words[self.at]
  self.at = self.at + 1
  local kind = self.kinds[self.at]
  if kind ~= "dot" and kind ~= "open_square" then
    local literal = literals[word]
    if literal then return literal.evaluate, true, literal.value end
    return expressions.variable(word)
  end
  return expressions.path(word, steps(self))
end

local function bare_brackets(self)
  if self.state.mode == "strict2" then
    self:fail("Bare bracket access is not allowed. Use self['...'] instead")
  end
  local evaluate = in_brackets(self)
  return expressions.path(evaluate, steps(self) or {})
end

-- A bound of a range, and its source.
local function range_bound(self)
  local from = self.at
  local evaluate, literal, value = self:expression()
  return evaluate, literal, value, self:text(from)
end

local function range(self)
  self.at = self.at + 1
  local first, first_literal, first_value, first_text = range_bound(self)
  self:consume("dotdot")
  local last, last_literal, last_value, last_text = range_bound(self)
  self:consume("close_round")
  if find(first_text, "%s") or find(last_text, "%s") or find(last_text, "..", 1, true) then self.is_ambiguous = true end
  if not (first_literal and last_literal) then return expressions.range(first, last) end
  if reader.range_bound_error(first_value, first_text) or reader.range_bound_error(last_value, last_text) then
    self.is_ambiguous = true
    return expressions.literal(nil), true
  end
  local value = reader.constant_range(first_value, last_value)
  return expressions.literal(value), true, value
end

---The error message for a literal that cannot be the bound of a range.
---@param value any
---@param text string its source
---@return string? message
function reader.range_bound_error(value, text)
  if type(value) ~= "boolean" and not collections.is_range(value) then return nil end
  return "Invalid expression type '" .. text .. "' in range expression"
end

---A range with literals as bounds, which are truncated to integers.
---@param first any
---@param last any
---@return table
function reader.constant_range(first, last)
  local function whole(value)
    if math.type(value) == "float" then return bigint.from_float(value) end
    return value
  end
  return (collections.range_between(whole(first), whole(last)))
end

local readers = {
  id = name,
  open_square = bare_brackets,
  open_round = range,
  string = function(self)
    local word = self.words[self.at]
    self.at = self.at + 1
    local value = word:sub(2, -2)
    if self.depth > 1 and find(value, "[%[%]]") then self.is_ambiguous = true end
    return expressions.literal(value), true, value
  end,
  number = function(self)
    local value = numbers.literal(self.words[self.at])
    self.at = self.at + 1
    return expressions.literal(value), true, value
  end,
}

-- The reference parses an expression twice: its tokens, and then its text, ignoring quotes. Where the results can
-- differ, or a range is invalid, the second result is used.
local function read_again(self, from)
  self.is_ambiguous = false
  local ok, evaluate, literal, value = pcall(lax.expression, self:text(from))
  if ok then return evaluate, literal, value end
  if not errors.is(evaluate) then error(evaluate, 0) end
  self:fail(evaluate.message)
end

---Parses an expression.
---@return fun(ctx: liquid.context): any, table? evaluate
---@return boolean? literal whether it is a literal
---@return any value of a literal
function methods:expression()
  local at = self.at
  local read = readers[self.kinds[at]]
  if not read then self:fail(shown_token(self.kinds[at], self.words[at]) .. " is not a valid expression") end
  local depth = self.depth + 1
  if depth > MAX_DEPTH then self:fail("Nesting too deep") end
  self.depth = depth
  local evaluate, literal, value = read(self)
  self.depth = depth - 1
  if self.is_ambiguous and depth == 1 then return read_again(self, at) end
  return evaluate, literal, value
end

---The text of the tokens that were read since a token, without whitespace between them: `items.first`.
---@param from integer
---@return string
function methods:text(from)
  return concat(self.words, "", from, self.at - 1)
end

return reader
