-- Plays one side of a recording, step by step: a recorded message of that side is sent once every message recorded
-- before it has arrived, and what arrives is compared with the recording.

local bytes = require "pintle.bytes"
local core = require "pintle.core"
local errors = require "pintle.error"
local json_text = require "pintle.cli.json_text"
local loop = require "pintle.loop"
local recording = require "pintle.cli.recording"

local json = core.json

local players = {}

-- {====== The connection to the other side: whole messages over two descriptors ======

---@class pintle.cli.wire
local wire_methods = {}

local wire_metatable = { __name = "pintle.cli.wire", __index = wire_methods }

-- Waits until there is something to read, or room to write if that is wanted.
local function wait_for_descriptor(self, wants_room, seconds)
  local is_ready = loop.event()
  local watcher = { on_ready = function() is_ready:set(true) end }
  local input, output = not self.is_ended and self.input:fileno(), wants_room and self.output:fileno()
  if input then assert(loop.watch(input, "r", watcher)) end
  if output then assert(loop.watch(output, "w", watcher)) end
  local ok, err = is_ready:wait(seconds, errors.new("timeout", "no message arrived in time"))
  if input then loop.unwatch(input, watcher) end
  if output then loop.unwatch(output, watcher) end
  return ok, err
end

local function read_input(self)
  if self.is_ended then return end
  local data = self.input:read()
  if data == false then return end
  if not data or data == "" then
    self.is_ended = true
    self.frames:finish()
  else
    self.frames:feed(data)
  end
end

---Waits for the next message; "end" if none will follow.
---@param seconds number
---@return "message"|"noise"|"end"|nil kind, string|pintle.error|nil text
function wire_methods:receive(seconds)
  local deadline = loop.now() + seconds
  while true do
    local kind, text = self.frames:next()
    if kind then return kind == "message" and kind or "noise", text end
    if self.is_ended then return "end" end
    local ok, err = wait_for_descriptor(self, false, math.max(deadline - loop.now(), 0))
    if not ok then return nil, err end
    read_input(self)
  end
end

local function write_all(self, data)
  local at = 1
  while at <= #data do
    local written = self.output:write(data:sub(at))
    if written == nil then return nil, errors.new("closed", "the other side has closed its input") end
    at = at + (written or 0)
    if not written then
      local ok, err = wait_for_descriptor(self, true)
      if not ok then return nil, err end
      read_input(self)
    end
  end
  return true
end

---@param text string a message
---@return true?, pintle.error?
function wire_methods:send(text)
  if self.framing == "line" then return write_all(self, text .. "\n") end
  return write_all(self, ("%s%d\r\n\r\n%s"):format(self.header, #text, text))
end

---@param data string bytes that are not a message
---@return true?, pintle.error?
function wire_methods:send_noise(data) return write_all(self, data .. "\n") end

---Closes the output: the other side sees the end of its input.
function wire_methods:close_output()
  if not self.output:closed() then self.output:close() end
end

function wire_methods:close()
  self:close_output()
  self.input:close()
end

---@param given { input: pintle.fd, output: pintle.fd, framing: "line"|"header", header: string }
---@return pintle.cli.wire
function players.wire(given)
  return setmetatable({
    input = given.input, output = given.output, framing = given.framing, header = given.header,
    frames = core.frames(given.framing), is_ended = false,
  }, wire_metatable)
end

-- }======

-- {====== Differences between two JSON values ======

local MISSING = {}

---@class pintle.cli.difference
---@field path string JSON pointer
---@field recorded? string JSON; nil if the recording has no such value
---@field now? string JSON; nil if the message has no such value

local function text_of(value)
  if value == MISSING then return nil end
  return json.encode(value)
end

local function pointer(path, name)
  local index = math.type(name) == "integer" and name - 1 or name
  return ("%s/%s"):format(path, (tostring(index):gsub("~", "~0"):gsub("/", "~1")))
end

local function names_of(one, other)
  local names, seen = {}, {}
  for _, value in ipairs { one, other } do
    for name in pairs(value) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names, function(a, b)
    if math.type(a) and math.type(b) then return a < b end
    return tostring(a) < tostring(b)
  end)
  return names
end

local function is_empty(value) return next(value) == nil end

-- An empty array differs from an empty object; otherwise an array marked as such equals a plain one.
local function are_comparable(one, other)
  local kind = json.kind(one)
  return kind == json.kind(other) and (kind == "array" or kind == "object")
    and is_empty(one) == is_empty(other)
end

local function member(value, name)
  if value[name] == nil then return MISSING end
  return value[name]
end

local compare_values

local function compare_members(one, other, path, ignores, found)
  for _, name in ipairs(names_of(one, other)) do
    compare_values(member(one, name), member(other, name), pointer(path, name), ignores, found)
  end
end

function compare_values(one, other, path, ignores, found)
  if one == other or ignores(path) then return end
  if one ~= MISSING and other ~= MISSING and type(one) == "table" and type(other) == "table" then
    if are_comparable(one, other) then return compare_members(one, other, path, ignores, found) end
    if is_empty(one) and is_empty(other) and json.kind(one) == json.kind(other) then return end
  end
  found[#found + 1] = { path = path, recorded = text_of(one), now = text_of(other) }
end

---@param recorded any
---@param now any
---@param ignores fun(path: string): boolean whether the path may differ
---@return pintle.cli.difference[]
function players.differences(recorded, now, ignores)
  local found = {}
  compare_values(recorded, now, "", ignores, found)
  return found
end

-- }======

-- {====== Ids: the other side's ids in the recording and in this run; our own are those of the recording ======

-- Members of notifications that name a request.
local REFERENCES = { "id", "requestId" }

local id_methods = {}

local id_metatable = { __name = "pintle.cli.ids", __index = id_methods }

local function member_text(text, name)
  local first, last = json_text.member(text, name)
  return first and text:sub(first, last)
end

---Remembers the id of a request in the recording and in this run.
---@param recorded string a message
---@param now string
function id_methods:learn(recorded, now)
  local was, is = member_text(recorded, "id"), member_text(now, "id")
  if was and is then self.now[was] = is end
end

local function translate_params(self, text)
  local params = member_text(text, "params")
  if not params or not params:find "^{" then return text end
  for _, name in ipairs(REFERENCES) do
    local is = self.now[member_text(params, name) or ""]
    if is then params = json_text.replace(params, name, is) end
  end
  return json_text.replace(text, "params", params)
end

-- A cancellation names a request of its sender; progress names a request of the receiver.
local function is_cancellation(item) return item.method:lower():find("cancel", 1, true) ~= nil end

---A recorded message of our side, with the ids that the other side uses in this run.
---@param item pintle.cli.item
---@return string
function id_methods:translate_sent(item)
  if item.kind == "notification" and not is_cancellation(item) then return translate_params(self, item.text) end
  local is = self.now[member_text(item.text, "id") or ""]
  if is and (item.kind == "result" or item.kind == "error") then return json_text.replace(item.text, "id", is) end
  return item.text
end

---A recorded message of the other side, with the ids that it uses in this run.
---@param item pintle.cli.item
---@return string
function id_methods:translate_received(item)
  if item.kind == "notification" and is_cancellation(item) then return translate_params(self, item.text) end
  return item.text
end

---The content of a message, without the id of a request: ids may differ.
---@param item pintle.cli.item
---@param text string
---@return any
function id_methods.content(_, item, text)
  local value = json.decode(text)
  if item.kind == "request" then value.id = nil end
  return value
end

local function new_ids() return setmetatable({ now = {} }, id_metatable) end

-- }======

---@class pintle.cli.deviation
---@field line integer line of the recording
---@field what string
---@field differences? pintle.cli.difference[]

---@class pintle.cli.player
---@field side "plugin"|"host"
---@field wire pintle.cli.wire
---@field deviations pintle.cli.deviation[]
---@field received integer messages that arrived as expected, apart from differences in their content
local methods = {}

local metatable = { __name = "pintle.cli.player", __index = methods }

local OWN_INPUT = { plugin = "stdin", host = "stdout" } -- closed by the other side at its end
local OWN_OUTPUT = { plugin = "stdout", host = "stdin" }
local REFUSAL = '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,'
  .. '"message":"Internal error: the recording has no answer to this"}}'

-- {====== Deviations ======

local function report_deviation(self, line, what, found)
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

-- {====== Receiving ======

local function split_text(text)
  local value, message = json.decode(text)
  if message then return nil end
  return recording.split_message(value, text)
end

-- Whether these are the messages that were recorded, apart from their content.
local function is_counterpart(recorded, now)
  if #recorded ~= #now then return false end
  for i, item in ipairs(recorded) do
    if item.kind ~= now[i].kind or item.method ~= now[i].method then return false end
  end
  return true
end

local function compare_items(self, recorded, now)
  local found = {}
  for i, item in ipairs(recorded) do
    if item.kind == "request" then self.ids:learn(item.text, now[i].text) end
    local one = self.ids:content(item, self.ids:translate_received(item))
    local other = self.ids:content(now[i], now[i].text)
    for _, difference in ipairs(players.differences(one, other, self.ignores)) do found[#found + 1] = difference end
  end
  return found
end

-- Answers unexpected requests with an error, because the other side waits for an answer.
local function refuse_requests(self, items)
  for _, item in ipairs(items or {}) do
    local first, last = json_text.member(item.text, "id")
    if item.kind == "request" and first then self.wire:send(REFUSAL:format(item.text:sub(first, last))) end
  end
end

-- The next messages of the other side, skipping noise; or the error.
local function next_items(self)
  while true do
    local kind, text = self.wire:receive(self.timeout)
    if kind == nil then return nil, text end
    if kind == "end" then return nil end
    local items = kind == "message" and split_text(text)
    if items then return items end
  end
end

local function receive(self, line, recorded)
  local now, err = next_items(self)
  if not now then
    report_deviation(self, line, ("%s was expected, but %s"):format(describe(recorded),
      err and tostring(err) or "the input ended"))
    return false
  end
  if not is_counterpart(recorded, now) then
    report_deviation(self, line, ("%s was expected, but %s arrived"):format(describe(recorded), describe(now)))
    refuse_requests(self, now)
    return false
  end
  local found = compare_items(self, recorded, now)
  self.received = self.received + 1
  if #found > 0 then report_deviation(self, line, describe(now) .. " differs from the recording", found) end
  return true
end

local function receive_end(self, line)
  local now, err = next_items(self)
  if now then
    report_deviation(self, line, ("the end was expected, but %s arrived"):format(describe(now)))
    refuse_requests(self, now)
  elseif err then
    report_deviation(self, line, "the end was expected, but " .. tostring(err))
  end
  return not now and not err
end

-- }======

-- {====== Sending ======

local function send_items(self, items, is_batch)
  local texts = {}
  for i, item in ipairs(items) do texts[i] = self.ids:translate_sent(item) end
  return self.wire:send(is_batch and "[" .. table.concat(texts, ",") .. "]" or texts[1])
end

local function noise_of(record)
  if record.encoding ~= "base64" then return record.noise end
  return tostring(bytes.from_object { ["$bytes"] = record.noise })
end

-- A failed write is ignored: the other side has ended, which `receive` reports.
local function play_own_record(self, record, items)
  if items then
    send_items(self, items, type(record.message) == "table" and record.message[1] ~= nil)
  elseif record.noise then
    self.wire:send_noise(noise_of(record))
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

local function play_record(self, record, line)
  local items
  if record.message ~= nil then
    local first, last = json_text.member(record.line, "message")
    items = recording.split_message(record.message, record.line:sub(first, last))
  end
  if record.from == self.side then return play_own_record(self, record, items) end
  if items then return receive(self, line, items) end
  if record.closed == OWN_INPUT[self.side] then return receive_end(self, line) end
  return true
end

---Plays the recording to its end, or until the other side deviates so that it cannot go on.
---@param records pintle.cli.record[]
---@return boolean is_complete
function methods:play(records)
  for line, record in ipairs(records) do
    if record.from and not play_record(self, record, line) then return false end
  end
  return true
end

---@class pintle.cli.player.options
---@field side "plugin"|"host"
---@field wire pintle.cli.wire
---@field timeout number seconds for the next message
---@field ignores fun(path: string): boolean
---@field on_deviation fun(deviation: pintle.cli.deviation)
---@field on_stderr fun(line: string)
---@field on_signal fun(name: string)

---@param given pintle.cli.player.options
---@return pintle.cli.player
function players.new(given)
  local self = setmetatable({ ids = new_ids(), deviations = {}, received = 0 }, metatable)
  for name, value in pairs(given) do self[name] = value end
  return self
end

return players
