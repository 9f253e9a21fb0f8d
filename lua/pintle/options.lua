-- Options given by name: a name that nobody knows is a mistake of the one who gave it.

local options = {}

---@param given table
---@param known table<string, any> by name
---@param level? integer of the one to blame, as for `error`: the caller of the caller unless told
function options.check(given, known, level)
  for name in pairs(given) do
    if known[name] == nil then error(("no option %q"):format(tostring(name)), (level or 2) + 1) end
  end
end

---The same, and whether each value has its type.
---@param where string what the options are for
---@param given table
---@param types table<any, string|true> by name; true is for any type
---@param level integer as for `error`: 2 blames the caller
function options.check_types(where, given, types, level)
  for name, value in pairs(given) do
    local expected = types[name]
    if not expected then error(("%s: there is no option %q"):format(where, tostring(name)), level + 1) end
    if expected ~= true and type(value) ~= expected then
      error(("%s: %s: a %s expected, got %s"):format(where, tostring(name), expected, type(value)), level + 1)
    end
  end
end

---@param handler any what can be called, or nil
function options.check_handler(handler)
  local metatable = getmetatable(handler)
  local is_callable = type(handler) == "function" or type(metatable) == "table" and metatable.__call
  if handler ~= nil and not is_callable then error("handler: function expected, got " .. type(handler), 3) end
end

---@param names string[]
---@return table<string, true>
function options.set(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

return options
