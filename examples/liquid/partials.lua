-- Partials: other templates, by name, out of the file system that came with the template. Compiled when first used.

local errors = require "liquid.errors"

local methods = {}
local metatable = { __name = "liquid.partials", __index = methods }

local partials = {}

---@class liquid.partials
---@field files table<string, string>|fun(name: string): string?

---@param files? table<string, string>|fun(name: string): string? the text under a name
---@param compile fun(source: string, name: string): liquid.template?, table?
---@return liquid.partials
function partials.new(files, compile)
  return setmetatable({ files = files or {}, compile = compile, compiled = {} }, metatable)
end

-- Names are the same in large and small letters.
local function lowered(files)
  local names = {}
  for name, text in next, files do
    if type(name) == "string" then names[name:lower()] = text end
  end
  return names
end

local function read(self, name)
  local files = self.files
  if type(files) == "function" then return files(name) end
  local text = files[name] or files[name .. ".liquid"]
  if text then return text end
  self.lowered = self.lowered or lowered(files)
  name = name:lower()
  return self.lowered[name] or self.lowered[name .. ".liquid"]
end

---@param name string
---@return liquid.template? template, table? err
function methods:load(name)
  local known = self.compiled[name]
  if known then return known end
  local source = read(self, name)
  if type(source) ~= "string" then
    return nil, errors.new("file_system_error", "Could not find asset " .. name)
  end
  local template, err = self.compile(source, name)
  if not template then return nil, err end
  self.compiled[name] = template
  return template
end

---The name of the variable that a partial is given its object under.
---@param name string
---@return string
function partials.variable(name)
  return name:match("([^/]+)/*$") or name
end

return partials
