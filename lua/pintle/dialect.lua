-- The protocols, found by name or by the first message. _meta/dialect.lua says what a dialect is.

---@class pintle.dialects
local dialects = {}

local NAMES = { "editor", "gevals", "liquid", "lsp", "mcp", "reginald" }

---The default dialect.
dialects.DEFAULT = "gevals"

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

---@return string[] the names of all
function dialects.names()
  local names = {}
  for _, name in ipairs(NAMES) do names[#names + 1] = name end
  for name in pairs(known) do
    if not dialects.is_built_in(name) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

---@param name string
---@return boolean
function dialects.is_built_in(name)
  for _, built_in in ipairs(NAMES) do
    if built_in == name then return true end
  end
  return false
end

-- A dialect that is installed beside pintle's own. Its module may fail to load.
local function is_installed(name)
  local is_name = type(name) == "string" and name:find "^%a[%w_-]*$"
  return is_name and package.searchpath("pintle.dialect." .. name, package.path) ~= nil
end

---The dialect of a name: one of pintle's own, one that was added, or the module pintle.dialect.NAME. A dialect itself
---is taken as it is.
---@param name string|pintle.dialect
---@return pintle.dialect?, string? message
function dialects.get(name)
  if type(name) == "table" then return name end
  if not known[name] and (dialects.is_built_in(name) or is_installed(name)) then
    dialects.add(require("pintle.dialect." .. name))
  end
  if known[name] then return known[name] end
  return nil, ("no dialect %q; there are %s"):format(tostring(name), table.concat(dialects.names(), ", "))
end

---The dialect whose first message this is.
---@param method string
---@param params any
---@param framing string
---@param others? table members of the message that are not JSON-RPC's
---@param declared? table<string, any> by name: the dialects to prefer where the message fits several
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

return dialects
