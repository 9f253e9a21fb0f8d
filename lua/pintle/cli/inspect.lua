-- pintle inspect: who a plugin is and what it offers.

local lazy = require "pintle.lazy"

local columns = require "pintle.cli.columns"
local description = lazy "pintle.cli.description"
local interrupt = lazy "pintle.cli.interrupt"
local options = require "pintle.cli.options"
local starting = lazy "pintle.cli.starting"
local status = require "pintle.cli.status"

local inspect = { name = "inspect", summary = "Start a plugin, and show who it is and what it offers.",
  takes_command = true }

function inspect.define(parser)
  parser:usage "Usage: pintle inspect [-d NAME] [--json] [OPTIONS] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:flag("--json", "Print it for programs to read.")
  options.define_starting(parser, "warn")
end

local function show(started, console)
  local manifest = started.plugin.manifest
  for i, line in ipairs(description.lines(manifest, started.dialect, started.is_recognised)) do
    console:print(i == 1 and console:paint("bold", line) or line)
  end
  local rows = description.rows(manifest)
  if #rows == 0 then return end
  console:print ""
  local lines = columns({ "OPERATION", "PARAMETER", "TYPE", "REQUIRED", "DEFAULT", "DESCRIPTION" }, rows)
  for i, line in ipairs(lines) do console:print(i == 1 and console:paint("bold", line) or line) end
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function inspect.run(args, console)
  local signal, started, err = interrupt.run(function() return starting.start(args, console) end)
  if started then
    if args.json then
      console:json(description.value(started.plugin.manifest, started.dialect))
    else
      show(started, console)
    end
    started.plugin:stop()
  end
  if signal then return status.of_signal(signal) end
  if not started then return nil, err end
  return status.DONE
end

return inspect
