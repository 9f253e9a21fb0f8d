-- pintle replay: plays one side of a recording, and says where the other deviates from it.

local lazy = require "pintle.lazy"

local errors = lazy "pintle.error"
local interrupt = lazy "pintle.cli.interrupt"
local options = require "pintle.cli.options"
local recording = lazy "pintle.cli.recording"
local sides = lazy "pintle.cli.replay.sides"
local status = require "pintle.cli.status"

local replay = { name = "replay", summary = "Play the plugin of a recording, or its host, and compare the other side." }

function replay.define(parser)
  parser:argument("file", "What `pintle trace` has written."):argname "FILE"
  parser:argument("command", "The plugin to talk to, with --as host; the recorded one unless told."):argname "CMD…"
    :args "*"
  parser:option("--as", "Which side to play.", "plugin"):choices { "plugin", "host" }:target "side"
  parser:option("-i --ignore", "What may differ, as a JSON pointer in which * and ? are wildcards,"
    .. " such as /params/processId."):argname "PATH":count "*"
  parser:option("-t --timeout", "How long to wait for the next message.", "10s"):argname "TIME"
    :convert(options.seconds)
  parser:flag("--json", "Print the report for programs to read.")
  parser:usage "Usage: pintle replay [--as host] [-i PATH]… [-t TIME] [--json] FILE [-- CMD…]"
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function replay.run(args, console)
  if args.side == "plugin" and #args.command > 0 then
    return nil, errors.new("invalid", "a plugin to talk to is for --as host")
  end
  local records, err = recording.read(args.file)
  if not records then return nil, err end
  local signal, code
  signal, code, err = interrupt.run(function() return sides[args.side](args, records, console) end)
  if signal then return status.of_signal(signal) end
  return code, err
end

return replay
