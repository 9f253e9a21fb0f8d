-- Bytes in results: images, audio and other content that is no text. They are announced by type and size, and can be
-- saved.

local bytes = require "pintle.bytes"
local errors = require "pintle.error"
local lazy = require "pintle.lazy"

local lfs = lazy "lfs"

local MAX_DEPTH = 100 -- of the values that are searched

---@class pintle.cli.attachment
---@field bytes pintle.bytes
---@field type string
---@field name? string of a resource

local attachment = {}

local function announce(item) return ("[%s, %d bytes]"):format(errors.harmless(item.type), #item.bytes) end

-- {====== Finding ======

-- Names of members with base64, and whether the MIME type has to be beside them: `data` can be anything.
local MEMBERS = { blob = false, data = true }

local function name_of(holder)
  local name = type(holder.uri) == "string" and holder.uri:match "([^/?#]+)[?#]?[^/]*$"
  return name and errors.harmless(name) or nil
end

local function new_attachment(value, holder)
  local given = holder and type(holder.mimeType) == "string" and holder.mimeType
  return { bytes = value, type = given or bytes.mime_type(value), name = holder and name_of(holder) }
end

-- The bytes in a member, as MCP sends them; nil if there are none.
local function bytes_in(holder, name)
  local value = holder[name]
  if MEMBERS[name] == nil or type(value) ~= "string" then return nil end
  if MEMBERS[name] and type(holder.mimeType) ~= "string" then return nil end
  return bytes.from_base64(value)
end

local function extract(value, holder, list, depth)
  if bytes.is(value) then
    list[#list + 1] = new_attachment(value, holder)
    return announce(list[#list])
  end
  if type(value) ~= "table" or depth > MAX_DEPTH then return value end
  local shown, has_changed = {}, false
  for name, member in pairs(value) do
    shown[name] = extract(bytes_in(value, name) or member, value, list, depth + 1)
    has_changed = has_changed or not rawequal(shown[name], member)
  end
  return has_changed and setmetatable(shown, getmetatable(value)) or value
end

---Finds the bytes in a value: `pintle.bytes`, and base64 as MCP sends it.
---@param value any
---@param list? pintle.cli.attachment[] to add to
---@return any shown the value, with an announcement in the place of each
---@return pintle.cli.attachment[] list
function attachment.extract(value, list)
  list = list or {}
  return extract(value, nil, list, 1), list
end

-- }======

-- {====== Saving ======

local EXTENSIONS = {
  ["audio/mpeg"] = "mp3", ["audio/x-wav"] = "wav", ["image/jpeg"] = "jpg", ["image/svg+xml"] = "svg",
  ["text/plain"] = "txt", ["application/octet-stream"] = "bin", ["application/gzip"] = "gz",
}

local function extension_of(mime_type)
  return EXTENSIONS[mime_type] or mime_type:match "^[%w-]+/(%w+)$" or "bin"
end

-- A name in a directory cannot lead out of it.
local function file_name(item, place)
  if item.name and item.name ~= "." and item.name ~= ".." then return item.name end
  local kind = item.type:match "^(%l+)/"
  return ("%s-%d.%s"):format(kind == "application" and "file" or kind or "file", place, extension_of(item.type))
end

-- The paths of several files: all in the directory, or FILE.png, FILE-2.png and so on.
local function path_of(path, item, place)
  if path:sub(-1) == "/" or lfs.attributes(path, "mode") == "directory" then
    return path:gsub("/+$", "") .. "/" .. file_name(item, place)
  end
  if place == 1 then return path end
  local start, extension = path:match "^(.*[^/])(%.[^./]+)$"
  return ("%s-%d%s"):format(start or path, place, extension or "")
end

local function write_file(path, data)
  local file <close>, problem = io.open(path, "wb")
  local ok = file ~= nil
  if file then ok, problem = file:write(data) end
  if file and ok then ok, problem = file:flush() end
  if ok then return true end
  problem = problem:sub(1, #path) == path and problem or ("%s: %s"):format(path, problem)
  return nil, errors.new("full", "cannot save " .. problem)
end

-- Two resources may have the same name.
local function free_path(path, item, place, is_used)
  local free = path_of(path, item, place)
  if is_used[free] then free = path_of(path, { type = item.type }, place) end
  is_used[free] = true
  return free
end

---Saves attachments, and reports each file on stderr.
---@param list pintle.cli.attachment[]
---@param path string a file, or a directory; `-` is stdout
---@param console pintle.cli.console
---@return true?, pintle.error?
function attachment.save(list, path, console)
  local is_used = {}
  for i, item in ipairs(list) do
    local data = tostring(item.bytes)
    if path == "-" then
      console:write(data)
    else
      local file = free_path(path, item, i, is_used)
      local ok, err = write_file(file, data)
      if not ok then return nil, err end
      console:warn(("saved %s %s"):format(file, announce(item)))
    end
  end
  return true
end

-- }======

return attachment
