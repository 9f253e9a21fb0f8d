-- What is different about the two sides: where the other one is, and how it ends.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local environment = require "pintle.cli.environment"
local errors = require "pintle.error"
local glob = require "pintle.cli.glob"
local players = require "pintle.cli.replay.player"
local process = require "pintle.process"
local reports = require "pintle.cli.replay.report"
local status = require "pintle.cli.status"
local wires = require "pintle.cli.replay.wire"

local HEADER = "Content-Length: "

local sides = {}

-- The value that a member has in the first record that has it.
local function first(records, name)
  for _, record in ipairs(records) do
    if record[name] ~= nil then return record[name] end
  end
end

local FRAMINGS = { line = true, header = true }

local function open_wire(records, input, output)
  local dialect = dialects.get(first(records, "dialect") or "")
  local framing = first(records, "framing") or "line"
  if not FRAMINGS[framing] then return nil, errors.new("invalid", ("no framing %q is known here"):format(framing)) end
  return wires.new {
    input = input, output = output, framing = framing,
    header = dialect and dialect.header or HEADER,
  }
end

local function ignores_of(patterns)
  local matchers = {}
  for i, pattern in ipairs(patterns) do matchers[i] = glob(pattern) end
  return function(path)
    for _, matches in ipairs(matchers) do
      if matches(path) then return true end
    end
    return false
  end
end

local function new_player(args, wire, report, own)
  own.side, own.wire, own.patience, own.ignores = args.side, wire, args.timeout, ignores_of(args.ignore)
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
  local report = reports.new(args.file, "host", console.err, args.json)
  local wire, err = open_wire(records, input, output)
  if not wire then return nil, err end
  local player = new_player(args, wire, report, {
    on_stderr = function(line) console:pass_on(line) end,
    on_signal = function() end,
  })
  player:play(records)
  wire:close()
  if #player.deviations > 0 or args.json then report:finish(player) end
  return ending_of(player, first(records, "exit"))
end

-- }======

-- {====== As the host ======

local LADDER = { eof = 2, term = 1 }

local function start(args, records, console)
  local command = #args.command > 0 and args.command or first(records, "command")
  if not command then
    return nil, errors.new("invalid", args.file .. " does not tell the command; name one, behind --")
  end
  return process.start { command = command, env = environment(console),
    on_stderr = function(line) console:pass_on(line) end }
end

local function same_exit(one, other) return one.code == other.code and one.signal == other.signal end

-- How it ended then and now.
local function check_end(player, child, records, report)
  local was = first(records, "exit")
  local is = child:stop { ladder = LADDER, close_input = function() player.wire:close_output() end }
  if not was or not is or same_exit(was, is) or #player.deviations > 0 then return end
  local deviation = { line = #records, what = ("it ended with %s, and in the recording with %s"):format(
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
  local report = reports.new(args.file, "plugin", console.out, args.json)
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

return sides
