-- Loaded first in a process of its own (`lua5.4 -l spec.support.parsed …`), tells on stderr of every Lua file that is
-- parsed from then on: its size, and the module it is for.

local find = package.searchers[2]

local function size_of(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:seek "end"
end

package.searchers[2] = function(name)
  local loader, path = find(name)
  if type(loader) == "function" then io.stderr:write(("parsed %d %s\n"):format(size_of(path), name)) end
  return loader, path
end
