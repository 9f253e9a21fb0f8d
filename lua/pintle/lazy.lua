-- Modules that are loaded when they are first used, so that a program starts fast. A host loads all of them while its
-- first plugin starts, so that failures are reported even without a free descriptor or in another working directory.

local lazy = {}

local unloaded = {} ---@type table<string, true> names of modules that have a stand-in

---Loads every module that has a stand-in, and the stand-ins of these, but not the modules of another role.
---@param role string a part of the names of those modules, such as "plugin"
function lazy.load_all_but(role)
  for name in next, unloaded do
    unloaded[name] = nil
    if not name:find(role, 1, true) then
      require(name)
      return lazy.load_all_but(role)
    end
  end
end

-- A stand-in for a module that is a table: the module is loaded when a field is first read.
local function new_stand_in(_, name)
  local metatable = {}
  if not package.loaded[name] then unloaded[name] = true end
  function metatable.__index(_, key)
    local module = require(name)
    unloaded[name] = nil
    metatable.__index = module
    return module[key]
  end
  return setmetatable({}, metatable)
end

return setmetatable(lazy, { __call = new_stand_in })
