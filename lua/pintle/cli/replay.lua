-- pintle replay: plays one side of a recording, and reports where the other side deviates from it. A recorded message
-- is sent once every message that was recorded before it has arrived.

local consoles = require "pintle.cli.console"
local core = require "pintle.core"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local bytes = lazy "pintle.bytes"
local dialects = lazy "pintle.dialect"
local errors = lazy "pintle.error"
local json_values = lazy "pintle.cli.json_values"
local loop = lazy "pintle.loop"
local process = lazy "pintle.process"
local recording = lazy "pintle.cli.recording"

local json = core.json

local replay = { name = "replay", summary = "Play one side of a recording, and compare the other side with it." }

function replay.define(parser)
  parser:argument("file", "A recording of `pintle trace`."):argname "FILE"
  parser:argument("command", "The plugin to start; with --as host alone it is the recorded command."):argname "CMD…"
    :args "*"
  parser:option("--as", "The side to play: plugin or host (default: plugin; with CMD… host)."):argname "SIDE"
    :choices { "plugin", "host" }:target "side"
  parser:option("-i --ignore", "A value that may differ, as a JSON pointer in which * and ? are wildcards,"
    .. " such as /params/processId."):argname "PATH":count "*"
  parser:option("-t --timeout", "How long to wait for the next message.", "10s"):argname "TIME"
    :convert(options.seconds)
  parser:flag("--json", "Print the report as JSON.")
  parser:usage [[
Usage: pintle replay [OPTIONS] FILE -- CMD…
       pintle replay [--as SIDE] [OPTIONS] FILE]]
end

-- {====== The wire: the connection to the other side, with whole messages over two descriptors ======

---@class pintle.cli.wire
local wire_methods = {}

local wire_metatable = { __name = "pintle.cli.wire", __index = wire_methods }

-- Waits until there is something to read, or room to write if that is wanted.
local function wait_for_wire(self, wants_room, seconds)
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

local function read_wire(self)
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
function wire_methods:receive_from_wire(seconds)
  local deadline = loop.now() + seconds
  while true do
    local kind, text = self.frames:next()
    if kind then return kind == "message" and kind or "noise", text end
    if self.is_ended then return "end" end
    local ok, err = wait_for_wire(self, false, math.max(deadline - loop.now(), 0))
    if not ok then return nil, err end
    read_wire(self)
  end
end

local function write_to_wire(self, data)
  local at = 1
  while at <= #data do
    local written = self.output:write(data:sub(at))
    if written == nil then return nil, errors.new("closed", "the other side has closed its input") end
    at = at + (written or 0)
    if not written then
      local ok, err = wait_for_wire(self, true)
      if not ok then return nil, err end
      read_wire(self)
    end
  end
  return true
end

---@param text string a message
---@return true?, pintle.error?
function wire_methods:send_on_wire(text)
  if self.framing == "line" then return write_to_wire(self, text .. "\n") end
  return write_to_wire(self, ("%s%d\r\n\r\n%s"):format(self.header, #text, text))
end

---@param data string bytes that are not a message
---@return true?, pintle.error?
function wire_methods:send_noise_on_wire(data) return write_to_wire(self, data .. "\n") end

---Closes the output: the other side sees the end of its input.
function wire_methods:close_wire_output()
  if not self.output:closed() then self.output:close() end
end

function wire_methods:close()
  self:close_wire_output()
  self.input:close()
end

---@param given { input: pintle.fd, output: pintle.fd, framing: "line"|"header", header: string }
---@return pintle.cli.wire
local function new_wire(given)
  return setmetatable({
    input = given.input, output = given.output, framing = given.framing, header = given.header,
    frames = core.frames(given.framing), is_ended = false,
  }, wire_metatable)
end

-- }======

-- {====== Ids: the other side's ids in the recording and in this run; our own are those of the recording ======

-- Members of notifications that name a request.
local REFERENCES = { "id", "requestId" }

local id_methods = {}

local id_metatable = { __name = "pintle.cli.ids", __index = id_methods }

local function text_of_member(text, name)
  local first, last = json_values.find_member(text, name)
  return first and text:sub(first, last)
end

---Remembers the id of a request in the recording and in this run.
---@param recorded string a message
---@param now string
function id_methods:learn_id(recorded, now)
  local was, is = text_of_member(recorded, "id"), text_of_member(now, "id")
  if was and is then self.now[was] = is end
end

local function translate_params(self, text)
  local params = text_of_member(text, "params")
  if not params or not params:find "^{" then return text end
  for _, name in ipairs(REFERENCES) do
    local is = self.now[text_of_member(params, name) or ""]
    if is then params = json_values.replace_member(params, name, is) end
  end
  return json_values.replace_member(text, "params", params)
end

-- A cancellation names a request of its sender; progress names a request of the receiver.
local function is_cancellation(item) return item.method:lower():find("cancel", 1, true) ~= nil end

---A recorded message of our side, with the ids that the other side uses in this run.
---@param item pintle.cli.item
---@return string
function id_methods:translate_sent(item)
  if item.kind == "notification" and not is_cancellation(item) then return translate_params(self, item.text) end
  local is = self.now[text_of_member(item.text, "id") or ""]
  if not is or (item.kind ~= "result" and item.kind ~= "error") then return item.text end
  return json_values.replace_member(item.text, "id", is)
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
function id_methods.content_without_id(_, item, text)
  local value = json.decode(text)
  if item.kind == "request" then value.id = nil end
  return value
end

local function new_ids() return setmetatable({ now = {} }, id_metatable) end

-- }======

-- {====== The player ======

---@class pintle.cli.deviation
---@field line integer line of the recording
---@field what string
---@field differences? pintle.cli.difference[]

---@class pintle.cli.player
---@field side "plugin"|"host"
---@field wire pintle.cli.wire
---@field deviations pintle.cli.deviation[]
---@field received integer messages that arrived as expected, apart from differences in their content
local player_methods = {}

local player_metatable = { __name = "pintle.cli.player", __index = player_methods }

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

local function describe_items(items)
  local words = {}
  for i, item in ipairs(items) do
    local name = item.method and item.kind .. " " .. item.method or item.kind
    words[i] = item.id and ("%s #%s"):format(name, item.id) or name
  end
  return #words == 1 and words[1] or "batch of " .. table.concat(words, ", ")
end

-- }======

-- {====== Receiving ======

local function split_received(text)
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

local function compare_with_recording(self, recorded, now)
  local found = {}
  for i, item in ipairs(recorded) do
    if item.kind == "request" then self.ids:learn_id(item.text, now[i].text) end
    local one = self.ids:content_without_id(item, self.ids:translate_received(item))
    local other = self.ids:content_without_id(now[i], now[i].text)
    for _, difference in ipairs(json_values.differences(one, other, self.ignores)) do found[#found + 1] = difference end
  end
  return found
end

-- Answers unexpected requests with an error, because the other side waits for an answer.
local function refuse_requests(self, items)
  for _, item in ipairs(items or {}) do
    local first, last = json_values.find_member(item.text, "id")
    if item.kind == "request" and first then self.wire:send_on_wire(REFUSAL:format(item.text:sub(first, last))) end
  end
end

-- The next messages of the other side, skipping noise; or the error.
local function receive_items(self)
  while true do
    local kind, text = self.wire:receive_from_wire(self.timeout)
    if kind == nil then return nil, text end
    if kind == "end" then return nil end
    local items = kind == "message" and split_received(text)
    if items then return items end
  end
end

local function receive_counterpart(self, line, recorded)
  local now, err = receive_items(self)
  if not now then
    report_deviation(self, line, ("%s was expected, but %s"):format(describe_items(recorded),
      err and tostring(err) or "the input ended"))
    return false
  end
  if not is_counterpart(recorded, now) then
    report_deviation(self, line, ("%s was expected, but %s arrived"):format(describe_items(recorded),
      describe_items(now)))
    refuse_requests(self, now)
    return false
  end
  local found = compare_with_recording(self, recorded, now)
  self.received = self.received + 1
  if #found > 0 then report_deviation(self, line, describe_items(now) .. " differs from the recording", found) end
  return true
end

local function receive_end_of_input(self, line)
  local now, err = receive_items(self)
  if now then
    report_deviation(self, line, ("the end was expected, but %s arrived"):format(describe_items(now)))
    refuse_requests(self, now)
  elseif err then
    report_deviation(self, line, "the end was expected, but " .. tostring(err))
  end
  return not now and not err
end

-- }======

-- {====== Sending ======

local function send_recorded(self, items, is_batch)
  local texts = {}
  for i, item in ipairs(items) do texts[i] = self.ids:translate_sent(item) end
  return self.wire:send_on_wire(is_batch and "[" .. table.concat(texts, ",") .. "]" or texts[1])
end

local function recorded_noise(record)
  if record.encoding ~= "base64" then return record.noise end
  return tostring(bytes.from_object { ["$bytes"] = record.noise })
end

-- A failed write is ignored: the other side has ended, which `receive_counterpart` reports.
local function play_own_record(self, record, items)
  if items then
    send_recorded(self, items, type(record.message) == "table" and record.message[1] ~= nil)
  elseif record.noise then
    self.wire:send_noise_on_wire(recorded_noise(record))
  elseif record.stderr then
    self.on_stderr(record.stderr)
  elseif record.closed == OWN_OUTPUT[self.side] then
    self.wire:close_wire_output()
  elseif record.signal then
    self.on_signal(record.signal)
  end
  return true
end

-- }======

local function play_record(self, record, line)
  local items
  if record.message ~= nil then
    local first, last = json_values.find_member(record.line, "message")
    items = recording.split_message(record.message, record.line:sub(first, last))
  end
  if record.from == self.side then return play_own_record(self, record, items) end
  if items then return receive_counterpart(self, line, items) end
  if record.closed == OWN_INPUT[self.side] then return receive_end_of_input(self, line) end
  return true
end

---Plays the recording to its end, or until the other side deviates so that it cannot go on.
---@param records pintle.cli.record[]
---@return boolean is_complete
function player_methods:play_records(records)
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
local function new_player(given)
  local self = setmetatable({ ids = new_ids(), deviations = {}, received = 0 }, player_metatable)
  for name, value in pairs(given) do self[name] = value end
  return self
end

-- }======

-- {====== The report ======

local DEVIATION = { "line", "what", "differences" }
local DIFFERENCE = { "path", "recorded", "now" }

---@class pintle.cli.report
local report_methods = {}

local report_metatable = { __name = "pintle.cli.report", __index = report_methods }

local function print_report_line(self, text) self.out:write(consoles.harmless_line(text), "\n") end

local function print_difference(self, difference)
  local path = difference.path == "" and "(whole message)" or difference.path
  if difference.recorded then print_report_line(self, ("  - %s: %s"):format(path, difference.recorded)) end
  if difference.now then print_report_line(self, ("  + %s: %s"):format(path, difference.now)) end
end

---@param deviation pintle.cli.deviation
function report_methods:print_deviation(deviation)
  if self.is_json then return end
  print_report_line(self, ("%s:%d: the %s deviates: %s"):format(self.file, deviation.line, self.side, deviation.what))
  for _, difference in ipairs(deviation.differences or {}) do print_difference(self, difference) end
end

local function deviation_value(deviation)
  local list = json.array()
  for i, difference in ipairs(deviation.differences or {}) do
    list[i] = setmetatable({
      path = difference.path, recorded = difference.recorded and json.raw(difference.recorded),
      now = difference.now and json.raw(difference.now),
    }, json.order(DIFFERENCE))
  end
  return setmetatable({ line = deviation.line, what = deviation.what, differences = list }, json.order(DEVIATION))
end

local function print_report_as_json(self, player)
  local list = json.array()
  for i, deviation in ipairs(player.deviations) do list[i] = deviation_value(deviation) end
  local value = { ok = #list == 0, heard = player.received, deviations = list }
  self.out:write(json.encode(setmetatable(value, json.order { "ok", "heard", "deviations" })), "\n")
end

---@param player pintle.cli.player
function report_methods:print_summary(player)
  if self.is_json then return print_report_as_json(self, player) end
  local received, count = consoles.count(player.received, "message"), #player.deviations
  local verdict = count == 0 and "all as recorded" or "and " .. consoles.count(count, "deviation")
  print_report_line(self, ("%s of the %s, %s"):format(received, self.side, verdict))
end

---@param file string the recording
---@param side "host"|"plugin" the side that is compared
---@param out file*
---@param is_json? boolean
---@return pintle.cli.report
local function new_replay_report(file, side, out, is_json)
  return setmetatable({ file = file, side = side, out = out, is_json = is_json }, report_metatable)
end

-- }======

local HEADER = "Content-Length: "

-- The value of a member in the first record that has it.
local function first_replayed_value(records, name)
  for _, record in ipairs(records) do
    if record[name] ~= nil then return record[name] end
  end
end

local FRAMINGS = { line = true, header = true }

local function open_recorded_wire(records, input, output)
  local dialect = dialects.get(first_replayed_value(records, "dialect") or "")
  local framing = first_replayed_value(records, "framing") or "line"
  if not FRAMINGS[framing] then return nil, errors.new("invalid", ("unknown framing %q"):format(framing)) end
  return new_wire {
    input = input, output = output, framing = framing,
    header = dialect and dialect.header or HEADER,
  }
end

local function player_for(args, wire, report, own)
  own.side, own.wire, own.timeout, own.ignores = args.side, wire, args.timeout, options.any_glob(args.ignore)
  own.on_deviation = function(deviation) report:print_deviation(deviation) end
  return new_player(own)
end

-- {====== As the plugin ======

local function replay_status(player, exit)
  if #player.deviations > 0 then return status.FAILED end
  if not exit then return status.DONE end
  return exit.code or status.end_by_signal(exit.signal)
end

---@param args table
---@param records pintle.cli.record[]
---@param console pintle.cli.console
---@return integer?, pintle.error?
local function play_recorded_plugin(args, records, console)
  local input, output = core.claim_stdio()
  if not input then return nil, errors.new("closed", output) end
  local report = new_replay_report(args.file, "host", console.err, args.json)
  local wire, err = open_recorded_wire(records, input, output)
  if not wire then return nil, err end
  console:explain_wait(input, "; to play the host yourself: pintle replay --as host FILE")
  local player = player_for(args, wire, report, {
    on_stderr = function(line) console:print_stderr(line) end,
    on_signal = function() end,
  })
  player:play_records(records)
  wire:close()
  if #player.deviations > 0 or args.json then report:print_summary(player) end
  return replay_status(player, first_replayed_value(records, "exit"))
end

-- }======

-- {====== As the host ======

local STOP_TIMEOUTS = { eof = 2, term = 1 } -- seconds of each stage of stopping the plugin

local function start_replayed_plugin(args, records, console)
  local command = #args.command > 0 and args.command or first_replayed_value(records, "command")
  if not command then
    return nil, errors.new("invalid", args.file .. " does not contain the command; give one after --")
  end
  return process.start { command = command, env = console:plugin_environment(),
    on_stderr = function(line) console:print_stderr(line) end }
end

local function is_recorded_exit(one, other) return one.code == other.code and one.signal == other.signal end

-- Compares how the plugin ended with the recording.
local function check_replayed_exit(player, child, records, report)
  local was = first_replayed_value(records, "exit")
  local is = child:stop { stop_timeouts = STOP_TIMEOUTS, close_input = function() player.wire:close_wire_output() end }
  if not was or not is or is_recorded_exit(was, is) or #player.deviations > 0 then return end
  local deviation = { line = #records, what = ("it ended with %s, but in the recording with %s"):format(
    errors.describe_exit(is), errors.describe_exit(was)) }
  player.deviations[#player.deviations + 1] = deviation
  report:print_deviation(deviation)
end

---@param args table
---@param records pintle.cli.record[]
---@param console pintle.cli.console
---@return integer?, pintle.error?
local function play_recorded_host(args, records, console)
  local child <close>, err = start_replayed_plugin(args, records, console)
  if not child then return nil, err end
  local report = new_replay_report(args.file, "plugin", console.out, args.json)
  local wire
  wire, err = open_recorded_wire(records, child.process.stdout, child.process.stdin)
  if not wire then return nil, err end
  local player = player_for(args, wire, report, {
    on_stderr = function() end,
    on_signal = function(name) child:kill(name) end,
  })
  player:play_records(records)
  check_replayed_exit(player, child, records, report)
  wire:close()
  report:print_summary(player)
  return #player.deviations > 0 and status.FAILED or status.DONE
end

-- }======

local SIDES = { plugin = play_recorded_plugin, host = play_recorded_host }

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function replay.run(args, console)
  local has_command = #args.command > 0
  if args.side == "plugin" and has_command then
    return options.usage_error "--as plugin takes no program: the host starts this command"
  end
  args.side = args.side or has_command and "host" or "plugin"
  local records, err = recording.read(args.file)
  if not records then return nil, err end
  local signal, code
  signal, code, err = status.run_interruptible(function() return SIDES[args.side](args, records, console) end)
  if signal then return status.of_signal(signal) end
  return code, err
end

return replay
