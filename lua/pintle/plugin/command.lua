-- The command line of a plugin, and the texts that it prints: --help, --version, --manifest, and a greeting if it is
-- started in a terminal.

local core = require "pintle.core"
local dialects = require "pintle.dialect"

local json = core.json

local FAILED, MISUSED = 1, 2 -- exit statuses

local command = {}

-- {====== Arguments ======

---@class pintle.arguments
---@field action "serve"|"greeting"|"help"|"version"|"manifest"
---@field config? table
---@field dialect? pintle.dialect
---@field is_forced boolean whether to serve on a terminal, too
---@field others string[] the arguments that are not pintle's

local function set_dialect_option(parsed, value, where)
  local dialect, message = dialects.get(value)
  parsed.dialect = dialect
  return not dialect and ("%s: %s"):format(where, message) or nil
end

local function set_config_option(parsed, value)
  local config, message = json.decode(value)
  if config ~= nil and json.kind(config) ~= "object" then message = "a JSON object expected" end
  parsed.config = config
  return message and "--config: " .. message
end

-- `set` takes the value, and returns a message if it is wrong.
local OPTIONS = {
  ["--help"] = { action = "help" },
  ["-h"] = { action = "help" },
  ["--version"] = { action = "version" },
  ["--serve"] = { is_forced = true },
  ["--manifest"] = { action = "manifest", set = set_dialect_option, value = "optional" },
  ["--config"] = { set = set_config_option, value = "required" },
  ["--dialect"] = { set = set_dialect_option, value = "required" },
}

-- Returns the value of an option, and whether that is the next word. An optional value must not look like an option.
local function command_option_value(option, inline, following)
  if not option.value or inline then return inline, false end
  local is_taken = following ~= nil and (option.value == "required" or following:sub(1, 1) ~= "-")
  return is_taken and following or nil, is_taken
end

-- Reads the argument at `at`. Returns the position after it, or nil and a message.
local function read_command_argument(parsed, given, at)
  local name, inline = given[at]:match "^(%-%-%w+)=(.*)$"
  name = name or given[at]
  local option = OPTIONS[name]
  if not option or inline and not option.value then
    parsed.others[#parsed.others + 1] = given[at]
    return at + 1
  end
  local value, is_next = command_option_value(option, inline, given[at + 1])
  if option.value == "required" and not value then return nil, name .. ": a value is missing" end
  parsed.action, parsed.is_forced = option.action or parsed.action, option.is_forced or parsed.is_forced
  local message = value and option.set(parsed, value, name)
  if message then return nil, message end
  return is_next and at + 2 or at + 1
end

---Unknown arguments are left to the plugin, since hosts may have their own; and so are all after "--".
---@param given string[]
---@return pintle.arguments?, string? message
function command.parse(given)
  local parsed = { action = "serve", others = {}, is_forced = false }
  local at, message = 1
  while given[at] do
    if given[at] == "--" then
      table.move(given, at + 1, #given, #parsed.others + 1, parsed.others)
      break
    end
    at, message = read_command_argument(parsed, given, at)
    if not at then return nil, message end
  end
  local wanted = os.getenv "PINTLE_DIALECT"
  if not parsed.dialect and wanted and wanted ~= "" then
    message = set_dialect_option(parsed, wanted, "PINTLE_DIALECT")
  end
  return not message and parsed or nil, message
end

-- }======

-- {====== Indented JSON ======

local DEPTH_CHANGES = { ["["] = 1, ["{"] = 1, ["]"] = -1, ["}"] = -1 }

---JSON text with line breaks and indentation. Control characters, which the codec never writes, replace the parts that
---must not change meanwhile.
---@param text string JSON as the codec writes it
---@return string
function command.indent(text)
  local strings, depth, at = {}, 0, 0
  text = text:gsub("\\\\", "\1"):gsub('\\"', "\2"):gsub('"[^"]*"', function(part)
    strings[#strings + 1] = part
    return "\0"
  end)
  text = text:gsub("%[%]", "\3"):gsub("{}", "\4"):gsub("[%[%]{},]", function(sign)
    local change = DEPTH_CHANGES[sign] or 0
    depth = depth + change
    local line_break = "\n" .. ("  "):rep(depth)
    return change < 0 and line_break .. sign or sign .. line_break
  end)
  text = text:gsub(":", ": "):gsub("\0", function()
    at = at + 1
    return strings[at]
  end)
  return (text:gsub("[\1-\4]", { ["\1"] = "\\\\", ["\2"] = '\\"', ["\3"] = "[]", ["\4"] = "{}" }))
end

-- }======

-- {====== Help ======

local USAGE = [[
Options:
  --help              show this help
  --version           show the version
  --manifest[=NAME]   show its manifest for hosts of the dialect NAME, as JSON
  --config JSON       configure it, for hosts that do not
  --dialect NAME      use this dialect; default: PINTLE_DIALECT, or recognised by the first message
  --serve             serve on a terminal, too
]]

local function command_plugin_title(manifest)
  local line = manifest.name .. " " .. manifest.version
  return manifest.description and line .. ": " .. manifest.description or line
end

local function sorted_command_param_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

local function command_param_type(schema)
  if type(schema) ~= "table" then return "anything" end
  if type(schema.type) == "table" then return table.concat(schema.type, " or ") end
  return schema.type or "anything"
end

local function describe_command_param(name, schema, is_required)
  local line = ("    %-16s %s"):format(name, command_param_type(schema))
  if is_required then line = line .. ", required" end
  if type(schema) ~= "table" then return line end
  if schema.default ~= nil then line = line .. ", default " .. tostring(schema.default) end
  if schema.description then line = line .. ": " .. schema.description end
  return line
end

local function add_command_operation_help(lines, operation)
  local text = "  " .. operation.name
  lines[#lines + 1] = operation.description and text .. ": " .. operation.description or text
  local params, required = operation.params, {}
  for _, name in ipairs(params.required or {}) do required[name] = true end
  for _, name in ipairs(sorted_command_param_names(params.properties or {})) do
    lines[#lines + 1] = describe_command_param(name, params.properties[name], required[name])
  end
end

local texts = {} -- by action; each returns a text, or nil, a status and a message

function texts.help(plugin, program)
  local manifest, commands = plugin.manifest, {}
  local lines = { command_plugin_title(manifest), "", ("Usage: %s [OPTIONS]"):format(program),
    "A host starts it and talks to it over stdin and stdout.", "" }
  if #manifest.names > 0 then lines[#lines + 1] = "Operations:" end
  for _, name in ipairs(manifest.names) do add_command_operation_help(lines, manifest.operations[name]) end
  if #manifest.names > 0 then lines[#lines + 1] = "" end
  for i, requirement in ipairs(manifest.requires) do commands[i] = requirement.command end
  if commands[1] then lines[#lines + 1] = ("Requires: %s\n"):format(table.concat(commands, ", ")) end
  return table.concat(lines, "\n") .. "\n" .. USAGE
end

function texts.version(plugin) return ("%s %s\n"):format(plugin.manifest.name, plugin.manifest.version) end

function texts.manifest(plugin, _, parsed)
  local dialect = parsed.dialect or dialects.get(dialects.DEFAULT)
  local describe = dialect.plugin.manifest
  if not describe then return nil, MISUSED, ("--manifest: the dialect %q has none"):format(dialect.name) end
  local ok, described, warnings = pcall(describe, plugin)
  if not ok then return nil, FAILED, "--manifest: " .. tostring(described) end
  for _, warning in ipairs(warnings or {}) do
    io.stderr:write(("%s: --manifest: warning: %s\n"):format(plugin.manifest.name, warning))
  end
  return command.indent(json.encode(described)) .. "\n"
end

-- For a user who has started it in a terminal.
function texts.greeting(plugin, program)
  if arg and arg[-1] then program = ("%s %s"):format(arg[-1]:match "[^/]+$", program) end -- it may not be executable
  return ([[
%s

This is a plugin: a host starts it and talks to it over stdin and stdout, one JSON message after the other.
To see what it can do:    %s --help
To type messages by hand: %s --serve
]]):format(command_plugin_title(plugin.manifest), program, program)
end

local function write_command_output(output, text)
  local at = 1
  while at <= #text do
    core.poll(nil, output, "w")
    local written = output:write(text:sub(at))
    if written == nil then break end
    at = at + (written or 0)
  end
end

---Prints the text that the command line asks for; the greeting to stderr.
---@param plugin pintle.plugin
---@param parsed pintle.arguments
---@param output pintle.fd the original stdout
---@return integer status of the process, string? message if it failed
function command.show(plugin, parsed, output)
  local program = arg and arg[0] and arg[0]:match "[^/]+$" or "plugin"
  local text, status, message = texts[parsed.action](plugin, program, parsed)
  if not text then return status, message end
  if parsed.action == "greeting" then io.stderr:write(text) else write_command_output(output, text) end
  return 0
end

-- }======

return command
