-- Modules that are loaded when they are first used: what a program never comes to costs it nothing when it starts.

---A stand-in for a module that is a table. Whatever is asked of it is asked of the module.
---@param name string
---@return table
return function(name)
  local metatable = {}
  function metatable.__index(_, key)
    local module = require(name)
    metatable.__index = module
    return module[key]
  end
  return setmetatable({}, metatable)
end
