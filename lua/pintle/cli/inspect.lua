-- pintle inspect: shows what a plugin can do, as a page, as JSON, or as the names of its operations.

local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local catalogue = lazy "pintle.cli.catalogue"
local display = lazy "pintle.cli.display"
local pages = lazy "pintle.cli.page"
local recognition = lazy "pintle.cli.recognition"

local inspect = { name = "inspect", summary = "Show what a plugin can do: its operations, resources and prompts.",
  takes_command = true }

function inspect.define(parser)
  parser:usage "Usage: pintle inspect [-d NAME] [--json | --names] [OPTIONS] [--] CMD…"
  parser:argument("command", "The program to start, and its arguments."):argname "CMD…"
  parser:mutex(
    parser:flag("--json", "Print the page as JSON."),
    parser:flag("--names", "Print only the operations, one a line, with their parameters."))
  options.define_starting(parser, "warn")
end

local function show_page(started, offered, console)
  local plugin, sheet = started.plugin, pages.new(console)
  sheet:head(plugin.manifest, plugin.raw_manifest, started.dialect, started.is_recognised)
  sheet:instructions(plugin.raw_manifest)
  sheet:operations(plugin.manifest)
  sheet:catalogue(offered)
  sheet:print()
end

-- One line for each operation: its name and its parameters. Names with spaces or control characters are left out.
local function print_names(manifest, console)
  for _, name in ipairs(manifest.names) do
    local words = { name }
    local params = manifest.operations[name].params
    local properties = type(params) == "table" and params.properties
    for parameter in pairs(type(properties) == "table" and properties or {}) do words[#words + 1] = parameter end
    table.sort(words, function(a, b) return a == name and b ~= name or b ~= name and a < b end)
    local line = table.concat(words, " ")
    if not line:find "[%c\127]" and not name:find "%s" then console:print(line) end
  end
end

local function show(args, started, offered, console)
  local plugin = started.plugin
  if args.names then
    print_names(plugin.manifest, console)
  elseif args.json then
    console:json(display.manifest_value(plugin.manifest, plugin.raw_manifest, started.dialect, offered))
  else
    show_page(started, offered, console)
  end
end

-- Starts the plugin, and reads what it offers besides operations.
local function start(args, console)
  local started, err = recognition.start_plugin(args, console)
  if not started or args.names then return started, nil, err end
  local function report(message) console:warn(message) end
  return started, catalogue.read(started.plugin, started.dialect, report), nil
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function inspect.run(args, console)
  local signal, started, offered, err = status.run_interruptible(function() return start(args, console) end)
  if started and not signal then show(args, started, offered, console) end
  if started then started.plugin:stop() end
  if signal then return status.of_signal(signal) end
  if not started then return nil, err end
  return status.DONE
end

return inspect
