-- pintle inspect: shows the manifest of a plugin: its name, dialect and operations.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local display = lazy "pintle.cli.display"
local recognition = lazy "pintle.cli.recognition"

local inspect = { name = "inspect", summary = "Start a plugin, and show its manifest.",
  takes_command = true }

function inspect.define(parser)
  parser:usage "Usage: pintle inspect [-d NAME] [--json] [OPTIONS] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:flag("--json", "Print the manifest as JSON.")
  options.define_starting(parser, "warn")
end

local function show_manifest(started, console)
  local manifest = started.plugin.manifest
  console:print_lines(display.manifest_lines(manifest, started.dialect, started.is_recognised))
  if #manifest.names == 0 then return end
  console:print ""
  console:print_lines(display.operation_lines(manifest))
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function inspect.run(args, console)
  local signal, started, err = status.run_interruptible(function() return recognition.start_plugin(args, console) end)
  if started then
    if args.json then
      console:json(display.manifest_value(started.plugin.manifest, started.dialect))
    else
      show_manifest(started, console)
    end
    started.plugin:stop()
  end
  if signal then return status.of_signal(signal) end
  if not started then return nil, err end
  return status.DONE
end

return inspect
