-- The dialects, by name and by the first message of a conversation. _meta/dialect.lua has the contract of a dialect.

local errors = require "pintle.error"
local lazy = require "pintle.lazy"

local core = lazy "pintle.core" -- `pintle doctor` works without it

---@class pintle.dialects
local dialects = {}

local BUILT_IN = { editor = true, gevals = true, liquid = true, lsp = true, mcp = true, reginald = true }

---The default dialect.
dialects.DEFAULT = "gevals"

-- The methods that a dialect adds to plugins, by name. They are loaded when one of them is first used.
local PLUGIN_METHODS = {
  prompt = "mcp", remove_prompt = "mcp", remove_resource = "mcp", resource = "mcp", resource_template = "mcp",
  resource_updated = "mcp", resources_changed = "mcp",
}

local known = {}

local MEMBERS = {
  { "name", "string" }, { "framing", "string" }, { "recognises", "function" }, { "host", "table" },
  { "plugin", "table" },
}

---Adds a dialect, or replaces one.
---@param dialect pintle.dialect
function dialects.add(dialect)
  if type(dialect) ~= "table" then error("dialect: a table expected, got " .. type(dialect), 2) end
  for _, member in ipairs(MEMBERS) do
    local name, expected = member[1], member[2]
    if type(dialect[name]) ~= expected then
      error(("dialect: %s: a %s expected, got %s"):format(name, expected, type(dialect[name])), 2)
    end
  end
  known[dialect.name] = dialect
end

---@return string[] names of all dialects, sorted
function dialects.names()
  local names = {}
  for name in pairs(BUILT_IN) do names[#names + 1] = name end
  for name in pairs(known) do
    if not BUILT_IN[name] then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

---@param name string
---@return boolean
function dialects.is_built_in(name) return BUILT_IN[name] ~= nil end

-- Whether a module pintle.dialect.NAME is installed. Loading it may still fail.
local function is_dialect_installed(name)
  local is_name = type(name) == "string" and name:find "^%a[%w_-]*$"
  return is_name and package.searchpath("pintle.dialect." .. name, package.path) ~= nil
end

---Finds a dialect by its name: a built-in one, one that was added, or the module pintle.dialect.NAME. A dialect is
---returned as it is.
---@param name string|pintle.dialect
---@return pintle.dialect?, string? message
function dialects.get(name)
  if type(name) == "table" then return name end
  if not known[name] and (BUILT_IN[name] or is_dialect_installed(name)) then
    dialects.add(require("pintle.dialect." .. name))
  end
  if known[name] then return known[name] end
  return nil, ("no dialect %q; there are %s"):format(tostring(name), table.concat(dialects.names(), ", "))
end

---Recognises the dialect of a conversation by its first message.
---@param method string
---@param params any
---@param framing string
---@param others? table members of the message that JSON-RPC does not define
---@param declared? table<string, any> by name: the dialects to prefer if the message fits several
---@return pintle.dialect?
function dialects.recognise(method, params, framing, others, declared)
  local perhaps, own
  for _, name in ipairs(dialects.names()) do
    local dialect = dialects.get(name)
    local answer = dialect.recognises(method, params, framing, others)
    if answer == true then return dialect end
    perhaps = perhaps or answer and dialect
    own = own or answer and declared and declared[name] and dialect
  end
  return own or perhaps or nil
end

---The method that a dialect adds to plugins.
---@param name string
---@return function?
function dialects.plugin_method(name)
  local owner = PLUGIN_METHODS[name]
  if owner then return dialects.get(owner).plugin_methods[name] end
  for _, dialect in pairs(known) do
    local added = not BUILT_IN[dialect.name] and dialect.plugin_methods
    if added and added[name] then return added[name] end
  end
end

local function describe_dialect_option(value)
  return type(value) == "string" and ("%q"):format(value) or core.json.kind(value)
end

---Checks the `options` of `host:start` for a dialect.
---@param options table
---@param allowed table<string, string|fun(value: any): boolean, string> by name: a JSON type, or a function that
---returns whether the value is valid, and what is expected
---@return true?, pintle.error?
function dialects.check_options(options, allowed)
  for name, value in pairs(options) do
    local expected = allowed[name]
    if not expected then return nil, errors.new("invalid", ("options: there is no %q"):format(tostring(name))) end
    local is_valid = core.json.kind(value) == expected
    if type(expected) == "function" then is_valid, expected = expected(value) end
    if not is_valid then
      local message = ("options.%s: %s expected, got %s"):format(name, expected, describe_dialect_option(value))
      return nil, errors.new("invalid", message)
    end
  end
  return true
end

return dialects
