-- A folder that is removed with its files at the end of the spec.
local lfs = require "lfs"

local folder = {}

function folder.new()
  local path = os.tmpname()
  os.remove(path)
  assert(lfs.mkdir(path))
  return setmetatable({ path = path }, { __close = function() os.execute("rm -rf " .. path) end })
end

return folder
