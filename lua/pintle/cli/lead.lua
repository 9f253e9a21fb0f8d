-- pintle lead: runs a program for a host elsewhere, whatever carries the bytes: in a group of its own, which is ended
-- when the input ends. It is the relay of `--via`, without a client.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"

local relay = lazy "pintle.via.relay"
local ways = lazy "pintle.via"

local lead = { name = "lead", summary = "Run a program, and end it when its input ends.", takes_command = true }

local LIMITS = { memory = true, cpu = true, files = true, processes = true, core = true }

-- NAME=NUMBER
local function read_limit(text)
  local name, value = text:match "^(%l+)=(.*)$"
  if not LIMITS[name] then
    return nil, ("memory, cpu, files, processes or core, = and a number expected, got %q"):format(text)
  end
  local number, message = options.whole_number(value)
  return number and { name = name, value = number }, message
end

function lead.define(parser)
  parser:usage "Usage: pintle lead [OPTIONS] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:option("--eof-timeout", "Time between the end of its input and SIGTERM.", "2s"):argname "TIME"
    :convert(options.seconds)
  parser:option("--term-timeout", "Time between SIGTERM and SIGKILL.", "2s"):argname "TIME":convert(options.seconds)
  parser:option("--limit", "A limit of each of its processes: memory, core (bytes), cpu (seconds), files, processes."
    .. " May be repeated."):argname "NAME=N":count "*":convert(read_limit)
end

---Does not return: ends as the program has ended.
---@param args table
---@param console pintle.cli.console
function lead.run(args, console)
  local limits = {}
  for _, limit in ipairs(args.limit) do limits[limit.name] = limit.value end
  local settings = ways.relay_settings(assert(ways.check {}),
    { command = args.command, env = console:plugin_environment(), limits = limits })
  settings.place, settings.end_timeouts = "lead", { eof = args.eof_timeout, term = args.term_timeout }
  return relay.run(settings)
end

return lead
