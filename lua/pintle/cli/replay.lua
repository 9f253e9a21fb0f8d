-- pintle replay: plays one side of a recording, and reports where the other side deviates from it.

local consoles = require "pintle.cli.console"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local dialects = lazy "pintle.dialect"
local errors = lazy "pintle.error"
local players = lazy "pintle.cli.replay.player"
local process = lazy "pintle.process"
local recording = lazy "pintle.cli.recording"

local replay = { name = "replay", summary = "Play one side of a recording, and compare the other side with it." }

function replay.define(parser)
  parser:argument("file", "A recording of `pintle trace`."):argname "FILE"
  parser:argument("command", "With --as host: the plugin to start (default: the recorded command)."):argname "CMD…"
    :args "*"
  parser:option("--as", "The side to play.", "plugin"):choices { "plugin", "host" }:target "side"
  parser:option("-i --ignore", "A value that may differ, as a JSON pointer in which * and ? are wildcards,"
    .. " such as /params/processId."):argname "PATH":count "*"
  parser:option("-t --timeout", "How long to wait for the next message.", "10s"):argname "TIME"
    :convert(options.seconds)
  parser:flag("--json", "Print the report as JSON.")
  parser:usage "Usage: pintle replay [--as host] [-i PATH]… [-t TIME] [--json] FILE [-- CMD…]"
end

-- {====== The report ======

local DEVIATION = { "line", "what", "differences" }
local DIFFERENCE = { "path", "recorded", "now" }

---@class pintle.cli.report
local methods = {}

local metatable = { __name = "pintle.cli.report", __index = methods }

local function put(self, text) self.out:write(consoles.harmless_line(text), "\n") end

local function show_difference(self, difference)
  local path = difference.path == "" and "(whole message)" or difference.path
  if difference.recorded then put(self, ("  - %s: %s"):format(path, difference.recorded)) end
  if difference.now then put(self, ("  + %s: %s"):format(path, difference.now)) end
end

---@param deviation pintle.cli.deviation
function methods:deviation(deviation)
  if self.is_json then return end
  put(self, ("%s:%d: the %s deviates: %s"):format(self.file, deviation.line, self.side, deviation.what))
  for _, difference in ipairs(deviation.differences or {}) do show_difference(self, difference) end
end

local function deviation_value(deviation)
  local list = core.json.array()
  for i, difference in ipairs(deviation.differences or {}) do
    list[i] = setmetatable({
      path = difference.path, recorded = difference.recorded and core.json.raw(difference.recorded),
      now = difference.now and core.json.raw(difference.now),
    }, core.json.order(DIFFERENCE))
  end
  return setmetatable({ line = deviation.line, what = deviation.what, differences = list }, core.json.order(DEVIATION))
end

local function print_json(self, player)
  local list = core.json.array()
  for i, deviation in ipairs(player.deviations) do list[i] = deviation_value(deviation) end
  local value = { ok = #list == 0, heard = player.received, deviations = list }
  self.out:write(core.json.encode(setmetatable(value, core.json.order { "ok", "heard", "deviations" })), "\n")
end

local function plural(count, what) return ("%d %s%s"):format(count, what, count == 1 and "" or "s") end

---@param player pintle.cli.player
function methods:finish(player)
  if self.is_json then return print_json(self, player) end
  local received, count = plural(player.received, "message"), #player.deviations
  local verdict = count == 0 and "all as recorded" or "and " .. plural(count, "deviation")
  put(self, ("%s of the %s, %s"):format(received, self.side, verdict))
end

---@param file string the recording
---@param side "host"|"plugin" the side that is compared
---@param out file*
---@param is_json? boolean
---@return pintle.cli.report
local function new_report(file, side, out, is_json)
  return setmetatable({ file = file, side = side, out = out, is_json = is_json }, metatable)
end

-- }======

local HEADER = "Content-Length: "

local sides = {}

-- The value of a member in the first record that has it.
local function first(records, name)
  for _, record in ipairs(records) do
    if record[name] ~= nil then return record[name] end
  end
end

local FRAMINGS = { line = true, header = true }

local function open_wire(records, input, output)
  local dialect = dialects.get(first(records, "dialect") or "")
  local framing = first(records, "framing") or "line"
  if not FRAMINGS[framing] then return nil, errors.new("invalid", ("unknown framing %q"):format(framing)) end
  return players.wire {
    input = input, output = output, framing = framing,
    header = dialect and dialect.header or HEADER,
  }
end

local function new_player(args, wire, report, own)
  own.side, own.wire, own.timeout, own.ignores = args.side, wire, args.timeout, options.any_glob(args.ignore)
  own.on_deviation = function(deviation) report:deviation(deviation) end
  return players.new(own)
end

-- {====== As the plugin ======

local function ending_of(player, exit)
  if #player.deviations > 0 then return status.FAILED end
  if not exit then return status.DONE end
  return exit.code or status.end_by(exit.signal)
end

---@param args table
---@param records pintle.cli.record[]
---@param console pintle.cli.console
---@return integer?, pintle.error?
function sides.plugin(args, records, console)
  local input, output = core.claim_stdio()
  if not input then return nil, errors.new("closed", output) end
  local report = new_report(args.file, "host", console.err, args.json)
  local wire, err = open_wire(records, input, output)
  if not wire then return nil, err end
  console:explain_wait(input, "; to play the host yourself: pintle replay --as host FILE")
  local player = new_player(args, wire, report, {
    on_stderr = function(line) console:print_stderr(line) end,
    on_signal = function() end,
  })
  player:play(records)
  wire:close()
  if #player.deviations > 0 or args.json then report:finish(player) end
  return ending_of(player, first(records, "exit"))
end

-- }======

-- {====== As the host ======

local STOP_TIMEOUTS = { eof = 2, term = 1 } -- seconds of each stage of stopping the plugin

local function start(args, records, console)
  local command = #args.command > 0 and args.command or first(records, "command")
  if not command then
    return nil, errors.new("invalid", args.file .. " does not contain the command; give one after --")
  end
  return process.start { command = command, env = console:plugin_environment(),
    on_stderr = function(line) console:print_stderr(line) end }
end

local function same_exit(one, other) return one.code == other.code and one.signal == other.signal end

-- Compares how the plugin ended with the recording.
local function check_end(player, child, records, report)
  local was = first(records, "exit")
  local is = child:stop { stop_timeouts = STOP_TIMEOUTS, close_input = function() player.wire:close_output() end }
  if not was or not is or same_exit(was, is) or #player.deviations > 0 then return end
  local deviation = { line = #records, what = ("it ended with %s, but in the recording with %s"):format(
    errors.describe_exit(is), errors.describe_exit(was)) }
  player.deviations[#player.deviations + 1] = deviation
  report:deviation(deviation)
end

---@param args table
---@param records pintle.cli.record[]
---@param console pintle.cli.console
---@return integer?, pintle.error?
function sides.host(args, records, console)
  local child <close>, err = start(args, records, console)
  if not child then return nil, err end
  local report = new_report(args.file, "plugin", console.out, args.json)
  local wire
  wire, err = open_wire(records, child.process.stdout, child.process.stdin)
  if not wire then return nil, err end
  local player = new_player(args, wire, report, {
    on_stderr = function() end,
    on_signal = function(name) child:kill(name) end,
  })
  player:play(records)
  check_end(player, child, records, report)
  wire:close()
  report:finish(player)
  return #player.deviations > 0 and status.FAILED or status.DONE
end

-- }======

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function replay.run(args, console)
  if args.side == "plugin" and #args.command > 0 then
    return nil, errors.new("invalid", "a command needs --as host")
  end
  local records, err = recording.read(args.file)
  if not records then return nil, err end
  local signal, code
  signal, code, err = status.run_interruptible(function() return sides[args.side](args, records, console) end)
  if signal then return status.of_signal(signal) end
  return code, err
end

return replay
