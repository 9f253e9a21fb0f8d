-- What is asked of a template engine, read from the params of the request; the options of all versions of the protocol.

local moment = require "pintle.dialect.liquid.moment"
local params = require "pintle.dialect.liquid.params"

local requests = {}

local MODES = { strict2 = true, strict = true, lax = true }

local function error_mode(given)
  local mode = given:optional("options.error_mode", "string")
  if mode and not MODES[mode] then
    given:refuse("options.error_mode", "'strict' or 'lax'", ("'%s'"):format(mode)) -- in the words of the document
  end
  return mode or "strict2"
end

local function filesystem(given)
  local files = given:optional("filesystem", "object") or {}
  for name, text in pairs(files) do
    if type(text) ~= "string" then given:refuse("filesystem." .. name, "string", type(text)) end
  end
  return files
end

---What a template is compiled with.
---@class pintle.liquid.compile.options
---@field error_mode "strict2"|"strict"|"lax" strict2 unless told
---@field line_numbers? boolean
---@field template_name? string what errors call the template; an addition to the protocol
---@field partial_path? string what errors put before the names of partials; an addition to the protocol
---@field filesystem table<string, string> the text of each file

---@param received any
---@return { source: string, options: pintle.liquid.compile.options }?, pintle.error?
function requests.compile(received)
  local given = params.read("compile", received)
  local source = given:required("template", "string")
  given:optional("options", "object")
  local options = {
    error_mode = error_mode(given),
    line_numbers = given:optional("options.line_numbers", "boolean"),
    template_name = given:optional("options.template_name", "string"),
    partial_path = given:optional("options.partial_path", "string"),
    filesystem = filesystem(given),
  }
  if given.problem then return nil, given.problem end
  return { source = source, options = options }
end

-- The later version has the time in the registers.
local function current_time(given)
  for _, path in ipairs { "options.registers.current_time", "frozen_time" } do
    local text = given:optional(path, "string")
    local seconds = text and moment.seconds(text)
    if seconds then return seconds, text end
    if text then given:refuse(path, "a time such as 2024-01-01T00:01:58Z", ("'%s'"):format(text)) end
  end
end

---What a template is rendered with.
---@class pintle.liquid.render.options
---@field strict_variables? boolean an undefined variable is an error
---@field strict_filters? boolean an undefined filter is an error
---@field strict_errors? boolean an error fails the render; else it is rendered where it occurs
---@field now? number seconds since the epoch that count as now
---@field current_time? string the same as it was given
---@field resource_limits? table
---@field registers? table
---@field markers? pintle.liquid.place[] where the environment has markers, or drops in their place; nil if that is not
---known, as of one that came in a short message

---@param received any
---@return { template_id: string, environment: table, options: pintle.liquid.render.options }?, pintle.error?
function requests.render(received)
  local given = params.read("render", received)
  local template_id = given:required("template_id", "string")
  local environment = given:optional("environment", "object") or {}
  given:optional("options", "object")
  local options = {
    resource_limits = given:optional("options.resource_limits", "object"),
    registers = given:optional("options.registers", "object"),
  }
  for _, name in ipairs { "strict_variables", "strict_filters", "strict_errors" } do
    options[name] = given:optional("options." .. name, "boolean")
  end
  options.now, options.current_time = current_time(given)
  if given.problem then return nil, given.problem end
  return { template_id = template_id, environment = environment, options = options }
end

return requests
