-- Plays one side of a recording, step by step: what that side has said is said again once everything has come that had
-- come before it, and what comes is compared with what came then.

local bytes = require "pintle.bytes"
local differences = require "pintle.cli.replay.differences"
local exchange = require "pintle.cli.exchange"
local ids = require "pintle.cli.replay.ids"
local json = require("pintle.core").json
local json_text = require "pintle.cli.json_text"

---@class pintle.cli.deviation
---@field line integer of the recording
---@field what string
---@field differences? pintle.cli.difference[]

---@class pintle.cli.player
---@field side "plugin"|"host"
---@field wire pintle.cli.wire
---@field deviations pintle.cli.deviation[]
---@field heard integer messages that were as recorded, or nearly
local methods = {}

local metatable = { __name = "pintle.cli.player", __index = methods }

local players = {}

local OWN_INPUT = { plugin = "stdin", host = "stdout" } -- what the other side closes when it has said all
local OWN_OUTPUT = { plugin = "stdout", host = "stdin" }
local REFUSAL = '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,'
  .. '"message":"Internal error: the recording has no answer to this"}}'

-- {====== Deviations ======

local function deviate(self, line, what, found)
  local deviation = { line = line, what = what, differences = found }
  self.deviations[#self.deviations + 1] = deviation
  self.on_deviation(deviation)
end

local function describe(items)
  local words = {}
  for i, item in ipairs(items) do
    local name = item.method and item.kind .. " " .. item.method or item.kind
    words[i] = item.id and ("%s #%s"):format(name, item.id) or name
  end
  return #words == 1 and words[1] or "batch of " .. table.concat(words, ", ")
end

-- }======

-- {====== Hearing ======

local function split(text)
  local value, message = json.decode(text)
  if message then return nil end
  return exchange.split(value, text)
end

-- Whether it is the message that was recorded, apart from what is in it.
local function is_counterpart(recorded, now)
  if #recorded ~= #now then return false end
  for i, item in ipairs(recorded) do
    if item.kind ~= now[i].kind or item.method ~= now[i].method then return false end
  end
  return true
end

local function compare(self, recorded, now)
  local found = {}
  for i, item in ipairs(recorded) do
    if item.kind == "request" then self.ids:learn(item.text, now[i].text) end
    local one = self.ids:content(item, self.ids:to_hear(item))
    local other = self.ids:content(now[i], now[i].text)
    for _, difference in ipairs(differences(one, other, self.ignores)) do found[#found + 1] = difference end
  end
  return found
end

-- Somebody waits for an answer that nobody knows.
local function refuse(self, items)
  for _, item in ipairs(items or {}) do
    local first, last = json_text.member(item.text, "id")
    if item.kind == "request" and first then self.wire:send(REFUSAL:format(item.text:sub(first, last))) end
  end
end

-- The next message of the other side, past what is none; or why there is none.
local function next_items(self)
  while true do
    local kind, text = self.wire:receive(self.patience)
    if kind == nil then return nil, text end
    if kind == "end" then return nil end
    local items = kind == "message" and split(text)
    if items then return items end
  end
end

local function hear(self, line, recorded)
  local now, err = next_items(self)
  if not now then
    deviate(self, line, ("%s was expected, but %s"):format(describe(recorded),
      err and tostring(err) or "nothing follows"))
    return false
  end
  if not is_counterpart(recorded, now) then
    deviate(self, line, ("%s was expected, but %s came"):format(describe(recorded), describe(now)))
    refuse(self, now)
    return false
  end
  local found = compare(self, recorded, now)
  self.heard = self.heard + 1
  if #found > 0 then deviate(self, line, describe(now) .. " is not as recorded", found) end
  return true
end

local function hear_end(self, line)
  local now, err = next_items(self)
  if now then
    deviate(self, line, ("the end was expected, but %s came"):format(describe(now)))
    refuse(self, now)
  elseif err then
    deviate(self, line, "the end was expected, but " .. tostring(err))
  end
  return not now and not err
end

-- }======

-- {====== Saying ======

local function say(self, items, is_batch)
  local texts = {}
  for i, item in ipairs(items) do texts[i] = self.ids:to_say(item) end
  return self.wire:send(is_batch and "[" .. table.concat(texts, ",") .. "]" or texts[1])
end

local function noise_of(record)
  if record.encoding ~= "base64" then return record.noise end
  return tostring(bytes.from_object { ["$bytes"] = record.noise })
end

-- What cannot be said because nobody hears it is the other side's end, which comes as such.
local function act(self, record, items)
  if items then
    say(self, items, type(record.message) == "table" and record.message[1] ~= nil)
  elseif record.noise then
    self.wire:blurt(noise_of(record))
  elseif record.stderr then
    self.on_stderr(record.stderr)
  elseif record.closed == OWN_OUTPUT[self.side] then
    self.wire:close_output()
  elseif record.signal then
    self.on_signal(record.signal)
  end
  return true
end

-- }======

local function step(self, record, line)
  local items
  if record.message ~= nil then
    local first, last = json_text.member(record.line, "message")
    items = exchange.split(record.message, record.line:sub(first, last))
  end
  if record.from == self.side then return act(self, record, items) end
  if items then return hear(self, line, items) end
  if record.closed == OWN_INPUT[self.side] then return hear_end(self, line) end
  return true
end

---Plays the whole of it, or up to where the other side has left it for good.
---@param records pintle.cli.record[]
---@return boolean whether it came to its end
function methods:play(records)
  for line, record in ipairs(records) do
    if record.from and not step(self, record, line) then return false end
  end
  return true
end

---@class pintle.cli.player.options
---@field side "plugin"|"host"
---@field wire pintle.cli.wire
---@field patience number seconds in which the next message has to come
---@field ignores fun(path: string): boolean
---@field on_deviation fun(deviation: pintle.cli.deviation)
---@field on_stderr fun(line: string)
---@field on_signal fun(name: string)

---@param given pintle.cli.player.options
---@return pintle.cli.player
function players.new(given)
  local self = setmetatable({ ids = ids.new(), deviations = {}, heard = 0 }, metatable)
  for name, value in pairs(given) do self[name] = value end
  return self
end

return players
