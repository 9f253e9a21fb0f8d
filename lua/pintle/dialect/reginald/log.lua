-- Log messages of both releases, written and read.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local levels = require "pintle.dialect.reginald.level"

local kind, given = json.kind, jsonrpc.given

local JUNE = json.order { "level", "msg", "fields" }
local JULY = json.order { "time", "msg", "attrs", "level" }
local ATTRIBUTE = json.order { "key", "value" }

local log = {}

-- {====== Writing ======

local function names_of(data)
  local names = {}
  for name in pairs(data) do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  return names
end

-- A host that knows every member of a message might not know those of a value: there it is JSON text.
local function plain(value)
  if type(value) == "table" then return json.encode(value) end
  return value
end

local function attributes_of(data)
  local list = json.array()
  for i, name in ipairs(data and names_of(data) or {}) do
    list[i] = setmetatable({ key = tostring(name), value = plain(data[name]) }, ATTRIBUTE)
  end
  return list
end

local write = {}

function write.june(level, message, data)
  return setmetatable({ level = level, msg = message, fields = data }, JUNE)
end

function write.july(level, message, data)
  return setmetatable({
    time = os.date "!%Y-%m-%dT%H:%M:%SZ", msg = message, attrs = attributes_of(data), level = level:upper(),
  }, JULY)
end

---The params of a log message.
---@param release pintle.reginald.release
---@param level pintle.level
---@param message string
---@param data any
---@return table?, pintle.error?
function log.write(release, level, message, data)
  if data ~= nil and kind(data) ~= "object" then data = { value = data } end
  local ok, params = pcall(write[release.name], level, message, data)
  if not ok then return nil, errors.new("invalid", "log: " .. tostring(params)) end
  return params
end

-- }======

-- {====== Reading ======

local function read_attributes(list)
  if kind(list) ~= "array" or #list == 0 then return nil end
  local data = {}
  for _, attribute in ipairs(list) do
    if kind(attribute) == "object" and type(attribute.key) == "string" then data[attribute.key] = attribute.value end
  end
  return data
end

---What a log message says, in whichever release.
---@param params any
---@return pintle.level? level nil if it is none
---@return string? message
---@return any data
function log.read(params)
  if kind(params) ~= "object" or type(params.msg) ~= "string" then return nil end
  local number = levels.number(params.level)
  if not number then return nil end
  return levels.name(number), params.msg, given(params.fields) or read_attributes(params.attrs)
end

-- }======

return log
