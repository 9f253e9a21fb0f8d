-- Ruby hashes, whose keys need not be strings.
--
-- The marker of such a hash has two members: `data` has the values by the text of each key, `inspect` is the output of
-- Ruby's inspect. The types and the order of the keys are parsed from `inspect`. A loop shows a symbol key as a string,
-- but that string does not look up its value, as in Ruby.

local bigint = require "liquid.bigint"
local comparison = require "liquid.comparison"
local numbers = require "liquid.numbers"
local text = require "liquid.text"
local values = require "liquid.values"

local null = values.null
local find, match, sub, inspect = string.find, string.match, string.sub, text.inspect

-- {====== Parsing the output of inspect ======

local escapes = { n = "\n", r = "\r", t = "\t", a = "\a", b = "\b", f = "\f", v = "\v", e = "\27", ["0"] = "\0" }

local function unescaped(quoted)
  return (quoted:gsub("\\(.)(%x?%x?%x?%x?)", function(letter, digits)
    if letter == "x" and #digits >= 2 then return string.char(tonumber(digits:sub(1, 2), 16)) .. digits:sub(3) end
    if letter == "u" and #digits == 4 then return utf8.char(tonumber(digits, 16)) end
    return (escapes[letter] or letter) .. digits
  end))
end

-- Parses a quoted string: its value, and the position after it.
local function read_quoted(source, at)
  local from = at + 1
  while true do
    at = find(source, '["\\]', at + 1)
    if not at then return nil end
    if sub(source, at, at) == '"' then return unescaped(sub(source, from, at - 1)), at + 1 end
    at = at + 1
  end
end

local words = { ["nil"] = null, ["true"] = true, ["false"] = false }

local function read_number(source, at)
  local after = match(source, "^%-?%d+()", at)
  if not after then return nil end
  local fraction = match(source, "^%.%d+()", after)
  if not fraction then return numbers.literal(sub(source, at, after - 1)), after end
  after = match(source, "^[eE][+-]?%d+()", fraction) or fraction
  return tonumber(sub(source, at, after - 1)), after
end

local function key(value) return { value = value, printed = inspect(value) } end

local function symbol(name)
  local is_plain = find(name, "^[%a_][%w_]*[?!=]?$")
  return { value = name, printed = ":" .. (is_plain and name or inspect(name)) }
end

-- Parses a symbol key as Ruby 3.4 prints it, `name: ` or `"a name": `: the key, and the position after it.
local function read_new_symbol(source, at)
  local name, after = match(source, "^([%a_][%w_]*[?!]?): ()", at)
  if name then return symbol(name), after end
  if not find(source, '^"', at) then return nil end
  name, after = read_quoted(source, at)
  if name and find(source, "^: ", after) then return symbol(name), after + 2 end
end

-- Parses a key and its arrow: the key, and the position of the value. Returns nil for a key of any other type.
local function read_key(source, at)
  local found, after = read_new_symbol(source, at)
  if found then return found, after end
  local name, value
  if find(source, '^"', at) then
    value, after = read_quoted(source, at)
    found = value and key(value)
  elseif find(source, '^:"', at) then
    value, after = read_quoted(source, at + 1)
    found = value and symbol(value)
  elseif find(source, "^:", at) then
    name, after = match(source, "^:([^%s=]+=?)()=>", at)
    if not name then name, after = match(source, "^:(%S+)()%s", at) end
    found = name and symbol(name)
  else
    name, after = match(source, "^(%l+)()", at)
    value = words[name]
    if value == nil then value, after = read_number(source, at) end
    found = value ~= nil and key(value)
  end
  after = found and match(source, "^ ?=> ?()", after)
  if after then return found, after end
end

local opens = { ["["] = true, ["{"] = true, ["("] = true }

-- The position of the comma or brace that ends a value.
local function skip_value(source, at)
  local depth = 0
  while at <= #source do
    local character = sub(source, at, at)
    if character == '"' then
      local _, after = read_quoted(source, at)
      if not after then return nil end
      at = after - 1
    elseif opens[character] or find(source, "^#<", at) then
      depth = depth + 1
    elseif depth == 0 and (character == "," or character == "}") then
      return at
    elseif find(character, "[%]})]") or character == ">" and sub(source, at - 1, at - 1) ~= "=" then
      depth = depth - 1
    end
    at = at + 1
  end
end

-- The keys of a hash, in order; nil if one of them cannot be parsed.
local function read_keys(source)
  if type(source) ~= "string" or not find(source, "^{.*}$") then return nil end
  local keys, at = {}, 2
  while at < #source do
    local found, after = read_key(source, at)
    if not found then return nil end
    keys[#keys + 1] = found
    at = skip_value(source, after)
    if not at then return nil end
    at = match(source, "^, ()", at) or at + 1
  end
  return keys
end

local closes = { ["]"] = true, ["}"] = true, [")"] = true }

-- The next token in the format of Ruby 3.3, the position after it, and the change of the nesting depth: 1, -1 or 0.
local function old_format_token(source, at, is_key, is_in_hash)
  local found, after
  if is_key then found, after = read_new_symbol(source, at) end
  if found then return found.printed .. "=>", after, 0 end
  if is_in_hash and find(source, "^ => ", at) then return "=>", at + 4, 0 end
  local character = sub(source, at, at)
  if character == '"' then after = select(2, read_quoted(source, at)) or #source + 1 end
  if after then return sub(source, at, after - 1), after, 0 end
  if find(source, "^#<", at) then return "#<", at + 2, 1 end
  local ends = closes[character] or character == ">" and not find(source, "^[=-]", at - 1)
  return character, at + 1, opens[character] and 1 or ends and -1 or 0
end

-- Converts the format of Ruby 3.4, which has spaces around arrows and `name: ` for symbols, to that of Ruby 3.3, which
-- is also Liquid's.
local function to_old_format(source)
  local pieces, containers, at, is_key = {}, {}, 1, false
  while at <= #source do
    local piece, after, change = old_format_token(source, at, is_key, containers[#containers] == "{")
    if change > 0 then containers[#containers + 1] = piece end
    if change < 0 then containers[#containers] = nil end
    is_key = piece == "{" or containers[#containers] == "{" and (piece == "," or is_key and piece == " ")
    pieces[#pieces + 1], at = piece, after
  end
  return table.concat(pieces)
end

local function is_new_format(source)
  return find(source, " => ", 1, true) ~= nil or find(source, '[%w_?!"]: ') ~= nil
end

-- }======

-- {====== Hashes ======

local hash_metatable = { __name = "liquid.ruby_hash" }

---A Ruby hash.
---@class liquid.ruby_hash
---@field keys { value: any, printed: string }[] in its order, with `values.null` for nil
---@field by_key table<string, any> values by the inspect of their keys
---@field printed? string its inspect, if the marker had one

local function is_hash(value) return getmetatable(value) == hash_metatable end

-- A drop is never equal to a key, even if it prints the same.
local function is_key(value)
  local protocol = values.protocol(value)
  return not protocol or bigint.is(value)
end

local function value_at(hash, wanted)
  if not is_key(wanted) then return nil end
  return hash.by_key[inspect(wanted)]
end

local function pair(hash, position)
  local found = hash.keys[position]
  return found and values.array { found.value, hash.by_key[found.printed] }
end

local function size(hash) return #hash.keys end

local function first(hash) return pair(hash, 1) end

local function get(hash, wanted, _, command)
  local value = value_at(hash, wanted)
  if value == null then return nil end
  if value ~= nil then return value end
  if command and wanted == "size" then return size(hash) end
  if command and wanted == "first" then return first(hash) end
  return nil, nil, true
end

local function items(hash)
  local list = {}
  for i = 1, #hash.keys do list[i] = pair(hash, i) end
  return values.array(list)
end

local function print_hash(hash)
  local parts = {}
  for i, found in ipairs(hash.keys) do parts[i] = found.printed .. "=>" .. inspect(hash.by_key[found.printed]) end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function equal(a, b)
  if not is_hash(b) or #a.keys ~= #b.keys then return false end
  for printed, value in next, a.by_key do
    if b.by_key[printed] == nil or not comparison.equal(value, b.by_key[printed]) then return false end
  end
  return true
end

values.register(hash_metatable, {
  kind = "hash", shows_all = true, get = get, size = size, first = first, items = items, equal = equal,
  to_s = function(hash) return hash.printed or print_hash(hash) end,
  contains = function(hash, wanted) return value_at(hash, wanted) ~= nil end,
  empty = function(hash) return #hash.keys == 0 end,
})

-- The name of a key in `data`: Ruby's to_s.
local function name_of(value)
  if value == null then return "" end
  return (text.to_s(value))
end

-- Returns nil if the keys do not match the names in `data`.
local function from_keys(keys, data)
  local by_key, named = {}, {}
  for _, found in ipairs(keys or {}) do
    local name = name_of(found.value)
    local value = data[name]
    if value == nil then return nil end
    by_key[found.printed], named[name] = value, true
  end
  for name in next, data do
    if not named[name] then return nil end
  end
  return { keys = keys or {}, by_key = by_key }
end

local function string_keys(data)
  local keys = {}
  for i, name in ipairs(values.keys(data)) do keys[i] = key(name) end
  return keys
end

---Makes a Ruby hash. Its keys are strings if `printed` cannot be parsed.
---@param printed any the output of inspect
---@param data table values by the text of each key
---@return table
return function(printed, data)
  local hash = from_keys(read_keys(printed), data) or from_keys(string_keys(data), data)
  if type(printed) == "string" then hash.printed = is_new_format(printed) and to_old_format(printed) or printed end
  return setmetatable(hash, hash_metatable)
end
