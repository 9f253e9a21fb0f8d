-- Arguments of an operation, read from words of the command line: key=value, converted to the type in the schema, and
-- key:=JSON.

local json = require("pintle.core").json

local arguments = {}

-- {====== Values ======

local function decode(text)
  local value, message = json.decode(text)
  if message then return nil end
  return value
end

local function read_number(text)
  local value = decode(text)
  return type(value) == "number" and value or nil
end

local function read_integer(text) return math.tointeger(read_number(text)) end

local BOOLEANS = { ["true"] = true, ["false"] = false }

local function read_table(text)
  local value = decode(text)
  return type(value) == "table" and value or nil
end

local READERS = {
  integer = read_integer,
  number = read_number,
  boolean = function(text) return BOOLEANS[text] end,
  null = function(text) return text == "null" and json.null or nil end,
  array = read_table,
  object = read_table,
}

-- If a schema allows several types, the narrowest that fits is used; a string fits always.
local ORDER = { "null", "boolean", "integer", "number", "array", "object" }

local function types_of(schema)
  local types = {}
  local declared = type(schema) == "table" and schema.type
  for _, name in ipairs(type(declared) == "table" and declared or { declared or nil }) do types[name] = true end
  return types
end

-- A value that fits no type stays a string; the check of the arguments reports it.
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
  if not plain_key then return nil, ("%q is neither key=value nor key:=JSON"):format(word) end
  if plain_key == "" or key == "" then return nil, ("%q has no name before ="):format(word) end
  if not key or #plain_key < #key then return plain_key, value_of(plain_text, properties[plain_key]) end
  local value, message = json.decode(text)
  if message then return nil, ("%s: not JSON: %s"):format(key, message) end
  return key, value
end

---@param words string[]
---@param schema any JSON Schema of the arguments, if the operation is known
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

---@param given any value of `--args`, if it is given
---@return boolean? ok, string? message
function arguments.check(given)
  local is_object = type(given) == "table" and getmetatable(given) ~= json.array_mt
  if given == nil or is_object then return true end
  return nil, "--args: a JSON object expected"
end

---Merges the arguments given as words with those given as one JSON object.
---@param words string[]
---@param given any value of `--args`, if it is given
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

---The message of an error about an operation, with a suggestion if the operation does not exist.
---@param err pintle.error of kind "invalid"
---@param manifest pintle.manifest
---@return string message
function arguments.explain_error(err, manifest)
  local name = type(err.data) == "table" and err.data.suggestion
  if name then return ("%s; did you mean %s?"):format(err.message, name) end
  if err.code == -32601 and err.kind == "invalid" and #manifest.names > 0 then
    return ("%s; available: %s"):format(err.message, table.concat(manifest.names, ", "))
  end
  return err.message
end

return arguments
