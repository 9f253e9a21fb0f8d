-- Paths as file URIs, and back.

local uri = {}

local function encode(char) return ("%%%02X"):format(char:byte()) end

local function decode(digits) return string.char(tonumber(digits, 16)) end

---@param path string absolute
---@return string
function uri.of(path) return "file://" .. path:gsub("[^%w%-._~/]", encode) end

---@param text any
---@return string? path nil if it is no file of this machine
function uri.path(text)
  if type(text) ~= "string" then return nil end
  local path = text:match "^file:(/[^/].*)$" or text:match "^file:/?/?(/.*)$" or text:match "^file://localhost(/.*)$"
  return path and (path:gsub("%%(%x%x)", decode))
end

return uri
