-- pintle trace: stands between a host and a plugin and writes down what they say.

local lazy = require "pintle.lazy"

local between = lazy "pintle.cli.trace.between"
local status = require "pintle.cli.status"

local NOT_FOUND, NOT_EXECUTABLE = 127, 126
local ENOENT = 2

local trace = { name = "trace", summary = "Stand between a host and a plugin, and record what they say.",
  takes_command = true }

function trace.define(parser)
  parser:usage "Usage: pintle trace [-o FILE] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:option("-o --output", "Where to record to; %p in it becomes the program's process id."
    .. " Unless told, a file of its own in the current directory."):argname "FILE"
end

-- As a shell has it: whoever started this expects the plugin's own status.
local function refuse(err, console)
  console:complain(tostring(err))
  return err.errno == ENOENT and NOT_FOUND or NOT_EXECUTABLE
end

---@param args table
---@param console pintle.cli.console
---@return integer
function trace.run(args, console)
  local ended, err = between.run(args, console)
  if not ended then
    if err.kind == "spawn" then return refuse(err, console) end
    return nil, err
  end
  return ended.code or status.end_by(ended.signal)
end

return trace
