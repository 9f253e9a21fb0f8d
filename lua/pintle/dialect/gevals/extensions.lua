-- What goes beyond the protocol: named, offered by the host, and used only if the plugin has agreed.

local json = require("pintle.core").json

local extensions = {}

---What pintle has, on both sides.
local OWN = { "bytes", "cancel", "parts", "progress" }

local CANCEL = json.order { "id", "reason" }

---How a host says that an answer is not wanted any more.
---@type pintle.cancellation
extensions.CANCELLATION = {
  method = "cancel",
  params = function(id, reason) return setmetatable({ id = id, reason = reason }, CANCEL) end,
  id = function(params) return params.id end,
}

local function sorted(set)
  local list = json.array()
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

local function with_own(names)
  local set = {}
  for _, name in ipairs(OWN) do set[name] = true end
  for name in pairs(names) do set[name] = true end
  return set
end

---@param value any
---@return table<string, true>? set nil if it is no list of names
function extensions.set_of(value)
  if type(value) ~= "table" or next(value) ~= nil and value[1] == nil then return nil end
  local set = {}
  for _, name in ipairs(value) do
    if type(name) ~= "string" then return nil end
    set[name] = true
  end
  return set
end

---What a host offers.
---@param others boolean|string[] names of its own, if it has any
---@return string[]
function extensions.offer(others)
  return sorted(with_own(type(others) == "table" and extensions.set_of(others) or {}))
end

---What both have.
---@param offered table<string, true>
---@param names table<string, true> those of the plugin itself
---@return table<string, true>
function extensions.agree(offered, names)
  local agreed = {}
  for name in pairs(with_own(names)) do
    if offered[name] then agreed[name] = true end
  end
  return agreed
end

extensions.list = sorted

---Begins to use what was agreed on.
---@param peer pintle.peer
---@param agreed table<string, true>
function extensions.begin(peer, agreed)
  if agreed.cancel then peer:adopt { cancellation = extensions.CANCELLATION } end
end

return extensions
