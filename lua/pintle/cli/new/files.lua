-- Makes a directory with files in it: all of them, or nothing.

local core = require "pintle.core"
local lfs = require "lfs"

local PATIENCE = 10 -- seconds for making a file executable

local files = {}

local function write(path, text)
  local file <close>, problem = io.open(path, "w")
  if not file then return nil, problem end
  local ok, message = file:write(text)
  if ok then ok, message = file:flush() end
  if not ok then return nil, ("%s: %s"):format(path, message) end
  return true
end

local function make_executable(path)
  local process <close>, message = core.spawn { command = { "chmod", "+x", path }, stdin = "null", stdout = "null" }
  if not process then return nil, message end
  if process:wait(PATIENCE) ~= 0 then return nil, path .. " could not be made executable" end
  return true
end

local function make_folder(path, made)
  local ok, problem = lfs.mkdir(path)
  if not ok then
    if lfs.symlinkattributes(path) then problem = "it is there already" end
    return nil, ("%s: %s"):format(path, problem)
  end
  made[#made + 1] = path
  return true
end

local function make_file(folder, file, made)
  local inner = file.path:match "^(.*)/[^/]*$"
  local ok, message = true, nil
  if inner then ok, message = make_folder(folder .. "/" .. inner, made) end
  local path = folder .. "/" .. file.path
  if ok then
    made[#made + 1] = path
    ok, message = write(path, file.text)
  end
  if ok and file.is_program then ok, message = make_executable(path) end
  return ok, message
end

---@class pintle.cli.new.file
---@field path string inside of the directory; each directory in it has one file
---@field text string
---@field meaning string what it is for, in some words
---@field is_program? boolean

---@param folder string must not be there
---@param list pintle.cli.new.file[]
---@return true?, string? message
function files.make(folder, list)
  local made = {}
  local ok, message = make_folder(folder, made)
  for _, file in ipairs(list) do
    if ok then ok, message = make_file(folder, file, made) end
  end
  if ok then return true end
  for i = #made, 1, -1 do os.remove(made[i]) end
  return nil, message
end

return files
