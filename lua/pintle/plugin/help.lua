-- What a plugin says of itself on the command line: --help, --manifest, and when it is started by hand.

local indent = require "pintle.plugin.indent"
local json = require("pintle.core").json

local help = {}

local OPTIONS = [[
Options:
  --help              show this
  --version           show the version
  --manifest[=NAME]   show what it tells a host that speaks the dialect NAME, as JSON
  --config JSON       configure it, for a host that does not
  --dialect NAME      speak this dialect; otherwise the first message tells, or PINTLE_DIALECT
  --serve             serve, even on a terminal
]]

local function first_line(manifest)
  local line = manifest.name .. " " .. manifest.version
  return manifest.description and line .. ": " .. manifest.description or line
end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

local function type_of(schema)
  if type(schema) ~= "table" then return "anything" end
  if type(schema.type) == "table" then return table.concat(schema.type, " or ") end
  return schema.type or "anything"
end

local function param_line(name, schema, is_required)
  local line = ("    %-16s %s"):format(name, type_of(schema))
  if is_required then line = line .. ", required" end
  if type(schema) ~= "table" then return line end
  if schema.default ~= nil then line = line .. ", default " .. tostring(schema.default) end
  if schema.description then line = line .. ": " .. schema.description end
  return line
end

local function add_operation(lines, operation)
  local text = "  " .. operation.name
  lines[#lines + 1] = operation.description and text .. ": " .. operation.description or text
  local params, required = operation.params, {}
  for _, name in ipairs(params.required or {}) do required[name] = true end
  for _, name in ipairs(sorted_names(params.properties or {})) do
    lines[#lines + 1] = param_line(name, params.properties[name], required[name])
  end
end

local function commands_of(manifest)
  local commands = {}
  for i, requirement in ipairs(manifest.requires) do commands[i] = requirement.command end
  return table.concat(commands, ", ")
end

---The whole of it.
---@param plugin pintle.plugin
---@param command string how it was started
---@return string
function help.text(plugin, command)
  local manifest = plugin.manifest
  local lines = { first_line(manifest), "", ("Usage: %s [OPTIONS]"):format(command),
    "A host starts it and talks to it over stdin and stdout.", "" }
  if #manifest.names > 0 then lines[#lines + 1] = "Operations:" end
  for _, name in ipairs(manifest.names) do add_operation(lines, manifest.operations[name]) end
  if #manifest.names > 0 then lines[#lines + 1] = "" end
  if #manifest.requires > 0 then
    lines[#lines + 1] = "Requires: " .. commands_of(manifest)
    lines[#lines + 1] = ""
  end
  return table.concat(lines, "\n") .. "\n" .. OPTIONS
end

---The manifest for hosts of a dialect, as JSON. Warnings go to `complain`.
---@param plugin pintle.plugin
---@param dialect pintle.dialect
---@param complain fun(plugin: pintle.plugin, message: string)
---@return string? text, string? message, boolean? is_misuse whether the dialect has no such thing
function help.manifest(plugin, dialect, complain)
  local describe = dialect.plugin.manifest
  if not describe then return nil, ("--manifest: the dialect %q has none"):format(dialect.name), true end
  local ok, described, warnings = pcall(describe, plugin)
  if not ok then return nil, "--manifest: " .. tostring(described) end
  for _, warning in ipairs(warnings or {}) do complain(plugin, "--manifest: warning: " .. warning) end
  return indent(json.encode(described)) .. "\n"
end

---For somebody who has started it in a terminal and would wait in vain.
---@param plugin pintle.plugin
---@param command string
---@return string
function help.greeting(plugin, command)
  return ([[
%s

This is a plugin: a host starts it and talks to it over stdin and stdout, one JSON message after the other.
To see what it can do:    %s --help
To type messages by hand: %s --serve
]]):format(first_line(plugin.manifest), command, command)
end

return help
