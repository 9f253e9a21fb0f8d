-- Arguments of an operation from words: key=value, of the type that the schema asks for, and key:=JSON.

local json = require("pintle.core").json

local arguments = {}

-- {====== A value ======

local function decoded(text)
  local value, message = json.decode(text)
  if message then return nil end
  return value
end

local function number_of(text)
  local value = decoded(text)
  return type(value) == "number" and value or nil
end

local function whole_number_of(text) return math.tointeger(number_of(text)) end

local BOOLEANS = { ["true"] = true, ["false"] = false }

local function table_of(text)
  local value = decoded(text)
  return type(value) == "table" and value or nil
end

local READERS = {
  integer = whole_number_of,
  number = number_of,
  boolean = function(text) return BOOLEANS[text] end,
  null = function(text) return text == "null" and json.null or nil end,
  array = table_of,
  object = table_of,
}

-- Where several types are allowed, the narrowest that fits is meant; a string is what is left.
local ORDER = { "null", "boolean", "integer", "number", "array", "object" }

local function types_of(schema)
  local types = {}
  local told = type(schema) == "table" and schema.type
  for _, name in ipairs(type(told) == "table" and told or { told or nil }) do types[name] = true end
  return types
end

-- What does not fit is left a string, and whoever checks the arguments says what is wrong.
local function value_of(text, schema)
  local types = types_of(schema)
  for _, name in ipairs(ORDER) do
    local value
    if types[name] then value = READERS[name](text) end
    if value ~= nil then return value end
  end
  return text
end

-- }======

local function properties_of(schema)
  local properties = type(schema) == "table" and schema.properties
  return type(properties) == "table" and properties or {}
end

local function read_word(word, properties)
  local key, text = word:match "^(.-):=(.*)$"
  local plain_key, plain_text = word:match "^(.-)=(.*)$"
  if not plain_key then return nil, ("%q is not key=value, nor key:=JSON"):format(word) end
  if plain_key == "" or key == "" then return nil, ("%q has no name before the ="):format(word) end
  if not key or #plain_key < #key then return plain_key, value_of(plain_text, properties[plain_key]) end
  local value, message = json.decode(text)
  if message then return nil, ("%s: not JSON: %s"):format(key, message) end
  return key, value
end

---@param words string[]
---@param schema any of the operation's arguments, as far as it is known
---@return table?, string? message
function arguments.read(words, schema)
  local args, properties = {}, properties_of(schema)
  for _, word in ipairs(words) do
    local key, value = read_word(word, properties)
    if not key then return nil, value end
    if args[key] ~= nil then return nil, ("%s is given twice"):format(key) end
    args[key] = value
  end
  return args
end

---@param given any what `--args` says, if it does
---@return boolean? ok, string? message
function arguments.check(given)
  local is_object = type(given) == "table" and getmetatable(given) ~= json.array_mt
  if given == nil or is_object then return true end
  return nil, "--args: a JSON object expected"
end

---All arguments of an operation: those that have words of their own, and those that are given at once.
---@param words string[]
---@param given any what was given at once, if anything
---@param schema any
---@return table?, string? message
function arguments.gather(words, given, schema)
  local ok, message = arguments.check(given)
  if not ok then return nil, message end
  local args
  args, message = arguments.read(words, schema)
  if not args then return nil, message end
  for name, value in pairs(given or {}) do
    if args[name] ~= nil then return nil, name .. " is given twice" end
    args[name] = value
  end
  return args
end

return arguments
