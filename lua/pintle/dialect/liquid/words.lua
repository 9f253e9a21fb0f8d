-- What the arguments of an operation become in the requests that it takes.

local errors = require "pintle.error"
local json = require("pintle.core").json
local valid = require "pintle.dialect.liquid.text"

local COMPILE = json.order { "template", "options", "filesystem" }
local COMPILE_OPTIONS = json.order { "error_mode", "line_numbers" }
local RENDER = json.order { "template_id", "environment", "options", "frozen_time" }
local RENDER_OPTIONS = json.order {
  "strict_variables", "strict_filters", "strict_errors", "resource_limits", "registers",
}

local TYPES = {
  template = "string", environment = "table", filesystem = "table", error_mode = "string", line_numbers = "boolean",
  strict_variables = "boolean", strict_filters = "boolean", strict_errors = "boolean", frozen_time = "string",
  resource_limits = "table", registers = "table",
}

local words = {}

local function wrong(format, ...) return nil, errors.new("invalid", format:format(...)) end

local function check(args)
  for name, value in pairs(args) do
    local expected = TYPES[name]
    if not expected then return wrong("render: there is no %q", tostring(name)) end
    if type(value) ~= expected then return wrong("render: %s: %s expected, got %s", name, expected, type(value)) end
  end
  if not args.template then return wrong "render: template is missing" end
  return true
end

local function files_of(args)
  if not args.filesystem then return nil end
  local files = {}
  for name, text in pairs(args.filesystem) do
    if type(name) ~= "string" or type(text) ~= "string" then
      return wrong("render: filesystem: texts by name expected, got %s at %s", type(text), tostring(name))
    end
    files[valid(name)] = valid(text)
  end
  return files
end

-- The time is told where either version of the protocol looks for it.
local function registers_of(args)
  if not args.frozen_time then return args.registers end
  local registers = { current_time = args.frozen_time }
  for name, value in pairs(args.registers or {}) do registers[name] = value end
  return registers
end

---@param args table
---@return { compile: table, render: table }?, pintle.error?
function words.of_render(args)
  local ok, err = check(args)
  if not ok then return nil, err end
  local files
  files, err = files_of(args)
  if err then return nil, err end
  local line_numbers = args.line_numbers ~= false
  return {
    compile = setmetatable({
      template = valid(args.template), filesystem = files,
      options = setmetatable({ error_mode = args.error_mode, line_numbers = line_numbers }, COMPILE_OPTIONS),
    }, COMPILE),
    render = setmetatable({
      options = setmetatable({
        strict_variables = args.strict_variables, strict_filters = args.strict_filters,
        strict_errors = args.strict_errors, resource_limits = args.resource_limits, registers = registers_of(args),
      }, RENDER_OPTIONS),
      frozen_time = args.frozen_time,
    }, RENDER),
  }
end

---@param operation string
---@return { compile: table, render: table }?, pintle.error?
function words.of_tag(operation)
  if operation:find "[%c{}%%]" then return wrong("%q cannot be the name of a tag", operation) end
  return words.of_render { template = ("{%% %s %%}"):format(operation), strict_errors = true }
end

return words
