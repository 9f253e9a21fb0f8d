-- Names with wildcards: * is any text, ? any character.

---@param pattern string
---@return fun(name: string): boolean
return function(pattern)
  local escaped = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
  local whole = "^" .. escaped .. "$"
  return function(name) return name:find(whole) ~= nil end
end
