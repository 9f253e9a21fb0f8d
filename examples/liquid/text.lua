-- Values as text: what an output prints, and what Ruby's inspect shows of what is inside a list or a hash.

local limits = require "liquid.limits"
local numbers = require "liquid.numbers"
local values = require "liquid.values"

local text = {}

local objects, arrays, null = values.objects, values.arrays, values.null
local float_text, work = numbers.float_text, limits.work
local math_type, type, getmetatable, format, find = math.type, type, getmetatable, string.format, string.find

---Texts this long are counted as work.
text.SHORT = 4096
local SHORT = text.SHORT

-- What nests deeper is not shown, so that no value can run the stack out.
local MAX_DEPTH = 100

local escapes = {
  ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\a"] = "\\a", ["\b"] = "\\b",
  ["\f"] = "\\f", ["\v"] = "\\v", ["\27"] = "\\e",
}

local function escaped(character)
  return escapes[character] or format("\\x%02X", character:byte())
end

local function quoted(value)
  local is_binary = not utf8.len(value)
  if not is_binary and not find(value, '[%c"\\#]') then return '"' .. value .. '"' end
  local shown = value:gsub('[%c"\\]', escaped):gsub("#([{$@])", "\\#%1")
  if is_binary then shown = shown:gsub("[\x80-\xFF]", escaped) end
  return '"' .. shown .. '"'
end

local inspect

local function inspect_list(list, depth)
  local parts = {}
  for i = 1, #list do parts[i] = inspect(list[i], depth + 1) end
  return "[" .. table.concat(parts, ", ") .. "]"
end

local function inspect_hash(hash, depth)
  local parts = {}
  for i, key in ipairs(values.keys(hash)) do
    parts[i] = inspect(key, depth + 1) .. "=>" .. inspect(rawget(hash, key), depth + 1)
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

---A value as Ruby's inspect shows it.
---@param value any
---@param depth? integer
---@return string
function inspect(value, depth)
  depth = depth or 0
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if value == nil or value == null then return "nil" end
  if kind ~= "table" then return (text.to_s(value)) end
  if depth > MAX_DEPTH then return values.is_array(value) and "[...]" or "{...}" end
  local protocol = values.protocol(value)
  if protocol then return (text.to_s(value)) or "" end
  return (values.is_array(value) and inspect_list or inspect_hash)(value, depth)
end
text.inspect = inspect

local function table_text(value, ctx)
  local metatable = getmetatable(value)
  local protocol = metatable and objects[metatable]
  if protocol then
    if not protocol.to_s then return protocol.kind end
    return protocol.to_s(value, ctx)
  end
  if value == null then return "" end
  return inspect(value)
end

---A value as text.
---@param value any
---@param ctx? liquid.context
---@return string? text, table? err
function text.to_s(value, ctx)
  local kind = type(value)
  if kind == "string" then
    if ctx and #value >= SHORT then work(ctx, #value) end
    return value
  end
  if kind == "number" then
    if math_type(value) == "integer" then return format("%d", value) end
    return float_text(value)
  elseif kind == "boolean" then
    return value and "true" or "false"
  elseif kind == "table" then
    return table_text(value, ctx)
  end
  return ""
end

---Writes a value to the output: the items of a list one after the other, everything else as text.
---@param value any
---@param ctx liquid.context
---@param out string[]
---@param n integer
---@return integer? n, table? err
function text.write(value, ctx, out, n)
  local kind = type(value)
  if kind == "string" then
    local usage = ctx.usage
    local length = usage.length + #value
    usage.length = length
    if length > usage.length_limit then ctx.exhausted() end
    out[n + 1] = value
    return n + 1
  elseif math_type(value) == "integer" then
    out[n + 1] = value
    return n + 1
  elseif kind == "table" then
    local metatable = getmetatable(value)
    if metatable and arrays[metatable] or metatable == nil and value[1] ~= nil then
      return text.write_list(value, ctx, out, n)
    end
  end
  local shown, err = text.to_s(value, ctx)
  if err then return nil, err end
  out[n + 1] = shown
  return n + 1
end

---@param list table
---@param ctx liquid.context
---@param out string[]
---@param n integer
---@return integer? n, table? err
function text.write_list(list, ctx, out, n)
  local depth = ctx.writing
  if depth > MAX_DEPTH then ctx.exhausted() end
  ctx.writing = depth + 1
  for i = 1, #list do
    local item = list[i]
    if item ~= null then
      local after, err = text.write(item, ctx, out, n)
      if err then
        ctx.writing = depth
        return nil, err
      end
      n = after
    end
  end
  ctx.writing = depth
  return n
end

return text
