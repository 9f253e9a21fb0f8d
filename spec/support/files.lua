-- Files and folders of specs.
local lfs = require "lfs"

local files = {}

function files.read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read "a"
end

-- With a mode such as "755", the file gets it.
function files.write(path, text, mode)
  local file <close> = assert(io.open(path, "wb"))
  assert(file:write(text))
  file:close()
  if mode then assert(os.execute(("chmod %s '%s'"):format(mode, path))) end
end

local function remove_all(path) assert(os.execute(("rm -rf '%s'"):format(path))) end

-- A temporary folder, which is removed with its files when it is closed.
function files.folder()
  local path = os.tmpname()
  os.remove(path)
  assert(lfs.mkdir(path))
  return setmetatable({ path = path }, { __close = function() remove_all(path) end })
end

-- A temporary file, removed when it is closed.
function files.scratch()
  local path = os.tmpname()
  return setmetatable({ path = path }, { __close = function() os.remove(path) end })
end

-- Gives each spec of a file or block the path of a temporary folder: calls the function with it before, and removes the
-- folder afterwards. To be called outside of specs.
function files.give_each_a_folder(take_path)
  local busted, path = require "busted", nil
  busted.before_each(function()
    path = files.folder().path
    take_path(path)
  end)
  busted.after_each(function() remove_all(path) end)
end

-- The same with the path of a temporary file.
function files.give_each_a_path(take_path)
  local busted, path = require "busted", nil
  busted.before_each(function()
    path = os.tmpname()
    take_path(path)
  end)
  busted.after_each(function() os.remove(path) end)
end

return files
