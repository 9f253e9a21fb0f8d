-- The environment of plugins. In a checkout they find what is in it, behind what they find by themselves.

local function behind(name, places)
  return (os.getenv(name .. "_5_4") or os.getenv(name) or ";;") .. ";" .. places
end

---@param console pintle.cli.console
---@return table<string, string>? env what is set besides
return function(console)
  local root = console.checkout
  if not root then return nil end
  return {
    LUA_PATH_5_4 = behind("LUA_PATH", ("%s/lua/?.lua;%s/lua/?/init.lua"):format(root, root)),
    LUA_CPATH_5_4 = behind("LUA_CPATH", root .. "/build/?.so"),
  }
end
