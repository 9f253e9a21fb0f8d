-- Notes in a folder: each is a file, NAME.md. A name has letters, digits, dashes and underscores only, so that no path
-- is outside of the folder.

local lfs = require "lfs"

---@class notes.store
---@field folder string
local methods = {}

local metatable = { __index = methods }

local notes = {}

local MAX_NAME = 64 -- bytes

---@param name string
---@return boolean
function notes.is_name(name) return #name <= MAX_NAME and name:find "^[%w_-]+$" ~= nil end

---The name for a title: that of "Shopping list, May" is "shopping-list-may".
---@param title string
---@return string
function notes.name_of(title)
  local name = title:lower():gsub("[^%w]+", "-"):sub(1, MAX_NAME):gsub("^%-+", ""):gsub("%-+$", "")
  return name ~= "" and name or "note"
end

---@param folder string created if it does not exist
---@return notes.store?, string? message
function notes.open(folder)
  local mode = lfs.attributes(folder, "mode")
  if mode and mode ~= "directory" then return nil, folder .. " is no folder" end
  if not mode then
    local ok, message = lfs.mkdir(folder)
    if not ok then return nil, ("%s: %s"):format(folder, message) end
  end
  return setmetatable({ folder = folder }, metatable)
end

local function path_of(self, name) return ("%s/%s.md"):format(self.folder, name) end

---@param name string
---@return boolean
function methods:has(name) return notes.is_name(name) and lfs.attributes(path_of(self, name), "mode") == "file" end

---@return string[] names, sorted
function methods:names()
  local names = {}
  for file in lfs.dir(self.folder) do
    local name = file:match "^(.+)%.md$"
    if name and self:has(name) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

---@param name string
---@return { name: string, title: string, bytes: integer, changed: string }
function methods:describe(name)
  local found = lfs.attributes(path_of(self, name)) or {}
  local text = self:read(name) or ""
  return {
    name = name, title = text:match "^#%s+([^\n]+)" or name, bytes = found.size or 0,
    changed = os.date("!%Y-%m-%dT%H:%M:%SZ", found.modification or 0),
  }
end

---@param name string
---@return string? text, string? message
function methods:read(name)
  if not self:has(name) then return nil, ("there is no note %q"):format(name) end
  local file <close>, message = io.open(path_of(self, name), "rb")
  if not file then return nil, message end
  local text = file:read "a"
  if not utf8.len(text) then return nil, ("note %q is no UTF-8 text"):format(name) end
  return text
end

---@param name string
---@param text string
---@return true?, string? message
function methods:write(name, text)
  local file <close>, message = io.open(path_of(self, name), "wb")
  if not file then return nil, message end
  return file:write(text) and true
end

---@param name string
---@return true?, string? message
function methods:delete(name)
  if not self:has(name) then return nil, ("there is no note %q"):format(name) end
  return os.remove(path_of(self, name))
end

return notes
