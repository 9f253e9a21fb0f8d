-- The params of the requests to a template engine, read and checked. The options of all versions of the protocol are
-- accepted.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.liquid.wire"

local requests = {}

-- {====== Members ======

local DATA = json.order { "param", "message" }

---Params that are read member by member.
---@class pintle.liquid.params
---@field method string
---@field given table
---@field problem pintle.error? the first that was found
local methods = {}

local metatable = { __name = "pintle.liquid.params", __index = methods }

---An error with the code of invalid params that names the param.
---@param message string
---@param param string path of the param
---@param reason string
---@return pintle.error
function requests.error(message, param, reason)
  return errors.new("invalid", message, {
    code = jsonrpc.INVALID_PARAMS, data = setmetatable({ param = param, message = reason }, DATA),
  })
end

---@param method string
---@param given any the params as received
---@return pintle.liquid.params
function requests.read(method, given)
  local self = setmetatable({ method = method, given = jsonrpc.given(given) or {} }, metatable)
  local kind = json.kind(self.given)
  if kind ~= "object" then
    self:refuse("params", "object", kind)
    self.given = {}
  end
  return self
end

---@param path string
---@param expected string
---@param got string
function methods:refuse(path, expected, got)
  local reason = ("xpected %s, got %s"):format(expected, got)
  local message = ("Invalid %s: e%s"):format(path:gsub("^options%.", ""), reason)
  self.problem = self.problem or requests.error(message, path, "E" .. reason)
end

-- A parent that is not an object is reported when it is read itself.
local function find_param(value, path)
  for name in path:gmatch "[^.]+" do
    if type(value) ~= "table" then return nil end
    value = value[name]
  end
  return jsonrpc.given(value)
end

---A member that may be left out, or be null.
---@param path string
---@param expected "boolean"|"string"|"object"
---@return any
function methods:optional(path, expected)
  local value = find_param(self.given, path)
  if value == nil then return nil end
  local kind = json.kind(value)
  if kind == expected then return value end
  self:refuse(path, expected, kind)
end

---@param path string
---@param expected "boolean"|"string"|"object"
---@return any
function methods:required(path, expected)
  local value = self:optional(path, expected)
  if value == nil then
    local message = ("Missing required parameter '%s' in %s request"):format(path, self.method)
    self.problem = self.problem or requests.error(message, path, ("Expected %s, got nothing"):format(expected))
  end
  return value
end

-- }======

-- {====== Compile ======

local MODES = { strict2 = true, strict = true, lax = true }

local function read_error_mode(given)
  local mode = given:optional("options.error_mode", "string")
  if mode and not MODES[mode] then
    given:refuse("options.error_mode", "'strict' or 'lax'", ("'%s'"):format(mode)) -- as the document words it
  end
  return mode or "strict2"
end

local function read_filesystem(given)
  local files = given:optional("filesystem", "object") or {}
  for name, text in pairs(files) do
    if type(text) ~= "string" then given:refuse("filesystem." .. name, "string", type(text)) end
  end
  return files
end

---Options of compile.
---@class pintle.liquid.compile.options
---@field error_mode "strict2"|"strict"|"lax" default: strict2
---@field line_numbers? boolean
---@field template_name? string name of the template in errors; an addition to the protocol
---@field partial_path? string prefix of the names of partials in errors; an addition to the protocol
---@field filesystem table<string, string> the text of each file

---@param received any
---@return { source: string, options: pintle.liquid.compile.options }?, pintle.error?
function requests.compile(received)
  local given = requests.read("compile", received)
  local source = given:required("template", "string")
  given:optional("options", "object")
  local options = {
    error_mode = read_error_mode(given),
    line_numbers = given:optional("options.line_numbers", "boolean"),
    template_name = given:optional("options.template_name", "string"),
    partial_path = given:optional("options.partial_path", "string"),
    filesystem = read_filesystem(given),
  }
  if given.problem then return nil, given.problem end
  return { source = source, options = options }
end

-- }======

-- {====== Render ======

-- The later version of the protocol has the time in the registers.
local function read_current_time(given)
  for _, path in ipairs { "options.registers.current_time", "frozen_time" } do
    local text = given:optional(path, "string")
    local seconds = text and wire.seconds(text)
    if seconds then return seconds, text end
    if text then given:refuse(path, "a time such as 2024-01-01T00:01:58Z", ("'%s'"):format(text)) end
  end
end

---Options of render.
---@class pintle.liquid.render.options
---@field strict_variables? boolean an undefined variable is an error
---@field strict_filters? boolean an undefined filter is an error
---@field strict_errors? boolean an error fails the render; default: it is rendered where it occurs
---@field now? number the current time for templates, in seconds since the epoch
---@field current_time? string the same as it was given
---@field resource_limits? table
---@field registers? table
---@field markers? pintle.liquid.place[] places of the markers in the environment, or of the drops that have replaced
---them; nil if they are not known, as in short messages

---@param received any
---@return { template_id: string, environment: table, options: pintle.liquid.render.options }?, pintle.error?
function requests.render(received)
  local given = requests.read("render", received)
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
  options.now, options.current_time = read_current_time(given)
  if given.problem then return nil, given.problem end
  return { template_id = template_id, environment = environment, options = options }
end

-- }======

return requests
