-- pintle inspect: shows what a plugin can do, as a page, as JSON, or as the names of its operations.

local json = require("pintle.core").json
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local json_values = lazy "pintle.cli.json_values"
local pages = lazy "pintle.cli.plugin_page"
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

-- {====== The page as JSON ======

local OPERATION = json.order { "name", "description", "params", "requires", "problem" }
local MANIFEST = json.order {
  "name", "version", "description", "dialect", "requires", "capabilities", "is_open", "operations", "resources",
  "resource_templates", "prompts", "warnings", "raw_manifest",
}

local function inspected_operation(operation)
  local order = require "pintle.manifest.order"
  return setmetatable({
    name = operation.name, description = operation.description, params = order(operation.params),
    requires = json.array(operation.requires), problem = operation.problem,
  }, OPERATION)
end

local function list_if_any(list) return #list > 0 and json.array(list) or nil end

---@param manifest pintle.manifest
---@param raw any the manifest as it was received
---@param dialect string
---@param offered pintle.cli.catalogue
---@return table
local function inspected_manifest(manifest, raw, dialect, offered)
  local operations, capabilities = json.array(), json.array(json_values.sorted_names(manifest.capabilities))
  for i, name in ipairs(manifest.names) do operations[i] = inspected_operation(manifest.operations[name]) end
  return setmetatable({
    name = manifest.name, version = manifest.version, description = manifest.description, dialect = dialect,
    requires = json.array(manifest.requires), capabilities = capabilities,
    is_open = manifest.is_open or false, operations = operations, resources = list_if_any(offered.resources),
    resource_templates = list_if_any(offered.templates), prompts = list_if_any(offered.prompts),
    warnings = json.array(manifest.warnings), raw_manifest = raw,
  }, MANIFEST)
end

-- }======

-- One line for each operation: its name and its parameters. Names with spaces or control characters are left out.
local function print_operation_names(manifest, console)
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

local function print_plugin(args, started, offered, console)
  local plugin = started.plugin
  if args.names then
    print_operation_names(plugin.manifest, console)
  elseif args.json then
    console:print_json(inspected_manifest(plugin.manifest, plugin.raw_manifest, started.dialect, offered))
  else
    pages.print_plugin(console, plugin, started.dialect, started.is_recognised, offered)
  end
end

-- Starts the plugin, and reads what it offers besides operations.
local function start_and_inspect(args, console)
  local started, err = recognition.start_plugin(args, console)
  if not started or args.names then return started, nil, err end
  local function report(message) console:warn(message) end
  return started, pages.read_catalogue(started.plugin, started.dialect, report), nil
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function inspect.run(args, console)
  args.ordered = true
  local signal, started, offered, err = status.run_interruptible(function() return start_and_inspect(args, console) end)
  if started and not signal then print_plugin(args, started, offered, console) end
  if started then started.plugin:stop() end
  if signal then return status.of_signal(signal) end
  if not started then return nil, err end
  return status.DONE
end

return inspect
