-- Checks of options that are given by name: an unknown name, or a wrong type, is an error of the caller.

local options = {}

---A set of names.
---@param list string separated by spaces
---@return table<string, true>
function options.names(list)
  local set = {}
  for name in list:gmatch "%S+" do set[name] = true end
  return set
end

---Raises for an unknown name.
---@param given table
---@param known table<string, any>
---@param level integer as for `error`: 2 blames the caller
function options.check_names(given, known, level)
  for name in pairs(given) do
    if not known[name] then error(("no option %q"):format(tostring(name)), level + 1) end
  end
end

---Raises for an unknown name or a value of the wrong type.
---@param where string what the options are for
---@param given table
---@param types table<any, string|true> by name; true allows any type
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

return options
