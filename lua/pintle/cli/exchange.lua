-- Which answer belongs to which request, in what passes by.

local json = require("pintle.core").json
local json_text = require "pintle.cli.json_text"

---One message, or one of a batch.
---@class pintle.cli.item
---@field kind "request"|"notification"|"result"|"error"|"other"
---@field method? string of an answer that of its request
---@field id? string its JSON text
---@field payload any params, result or error
---@field latency? number seconds between request and answer
---@field request? pintle.cli.item of an answer what it answers
---@field text string the whole of it, as it came

local methods = {}

local metatable = { __name = "pintle.cli.exchange", __index = methods }

local exchange = {}

local OTHER = { host = "plugin", plugin = "host" }

local function id_text(message) return message.id ~= nil and json.encode(message.id) or nil end

local function round(seconds) return math.floor(seconds * 1e6 + 0.5) / 1e6 end

---What a message is, by itself.
---@param message any
---@param text string
---@return pintle.cli.item
function exchange.classify(message, text)
  if type(message) ~= "table" then return { kind = "other", text = text } end
  local item = { text = text, id = id_text(message) }
  if type(message.method) == "string" then
    item.kind, item.method, item.payload = item.id and "request" or "notification", message.method, message.params
  elseif message.error ~= nil and message.error ~= json.null then
    item.kind, item.payload = "error", message.error
  elseif message.result ~= nil then
    item.kind, item.payload = "result", message.result
  else
    item.kind = "other"
  end
  return item
end

---A message, or those of a batch.
---@param message any
---@param text string
---@return pintle.cli.item[]
function exchange.split(message, text)
  local is_batch = type(message) == "table" and message[1] ~= nil
  if not is_batch then return { exchange.classify(message, text) } end
  local items, texts = {}, json_text.elements(text)
  for i, member in ipairs(message) do items[i] = exchange.classify(member, texts[i]) end
  return items
end

local function key(from, id) return from .. " " .. id end

local function match(self, from, item, time)
  if item.kind == "request" then
    self.open[key(from, item.id)] = { method = item.method, id = item.id, from = from, time = time, item = item }
  elseif item.id and (item.kind == "result" or item.kind == "error") then
    local place = key(OTHER[from], item.id)
    local asked = self.open[place]
    self.open[place] = nil
    if not asked then return end
    item.method, item.request, item.latency = asked.method, asked.item, round(time - asked.time)
  end
end

---@param record pintle.cli.record with a message
---@return pintle.cli.item[] items more than one if it is a batch
function methods:items(record)
  local first, last = json_text.member(record.line, "message")
  local items = exchange.split(record.message, record.line:sub(first, last))
  for _, item in ipairs(items) do match(self, record.from, item, record.time) end
  return items
end

---Requests that have not been answered, in the order in which they were made.
---@return { method: string, id: string, from: string, time: number }[]
function methods:unanswered()
  local list = {}
  for _, asked in pairs(self.open) do list[#list + 1] = asked end
  table.sort(list, function(a, b)
    if a.time ~= b.time then return a.time < b.time end
    return a.id < b.id
  end)
  return list
end

function exchange.new() return setmetatable({ open = {} }, metatable) end

return exchange
