-- References to resources: taking them apart, and resolving one against another (RFC 3986, section 5).

---@class pintle.schema.uri
local uri = {}

local function split(text)
  local rest, fragment = text:match "^([^#]*)#?(.*)$"
  if not text:find("#", 1, true) then fragment = nil end
  local hierarchy, query = rest:match "^([^?]*)%?(.*)$"
  hierarchy = hierarchy or rest
  local scheme, after = hierarchy:match "^(%a[%w+.-]*):(.*)$"
  hierarchy = after or hierarchy
  local authority, path = hierarchy:match "^//([^/]*)(.*)$"
  return { scheme = scheme, authority = authority, path = path or hierarchy, query = query, fragment = fragment }
end

local function without_dots(path)
  local kept, rooted = {}, path:sub(1, 1) == "/"
  local segments = rooted and path:sub(2) or path
  local last
  for segment in (segments .. "/"):gmatch "([^/]*)/" do
    last = segment
    if segment == ".." then
      kept[#kept] = nil
    elseif segment ~= "." then
      kept[#kept + 1] = segment
    end
  end
  if last == "." or last == ".." then kept[#kept + 1] = "" end
  return (rooted and "/" or "") .. table.concat(kept, "/")
end

local function merged_path(base, reference)
  if reference.path:sub(1, 1) == "/" then return without_dots(reference.path) end
  if base.authority and base.path == "" then return without_dots("/" .. reference.path) end
  return without_dots((base.path:match "^.*/" or "") .. reference.path)
end

local function inherit(base, reference)
  local target = { scheme = base.scheme, authority = reference.authority, query = reference.query }
  if reference.authority then
    target.path = without_dots(reference.path)
    return target
  end
  target.authority = base.authority
  target.path = reference.path == "" and base.path or merged_path(base, reference)
  if reference.path == "" and not reference.query then target.query = base.query end
  return target
end

local function absolute(reference)
  local opaque = not reference.authority and reference.path:sub(1, 1) ~= "/"
  local path = opaque and reference.path or without_dots(reference.path)
  return { scheme = reference.scheme, authority = reference.authority, path = path, query = reference.query }
end

local function assemble(parts)
  return (parts.scheme and parts.scheme:lower() .. ":" or "")
    .. (parts.authority and "//" .. parts.authority or "")
    .. parts.path
    .. (parts.query and "?" .. parts.query or "")
end

---@param base string without a fragment; "" where there is none
---@param reference string
---@return string resource the absolute form without a fragment
---@return string? fragment as it stands, nil where there is none
function uri.resolve(base, reference)
  local parts = split(reference)
  local target = parts.scheme and absolute(parts) or inherit(split(base), parts)
  return assemble(target), parts.fragment
end

---@param text string
---@return string text with %XX replaced by the bytes that they stand for
function uri.decoded(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

return uri
