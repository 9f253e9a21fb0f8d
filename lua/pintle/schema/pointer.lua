-- JSON pointers (RFC 6901).

---@class pintle.schema.pointer
local pointer = {}

---@param token string|integer
---@return string
function pointer.escape(token)
  return (tostring(token):gsub("~", "~0"):gsub("/", "~1"))
end

---@param text string "" or "/a/b"
---@return string[]? tokens nil if it is no pointer
function pointer.tokens(text)
  if text == "" then return {} end
  if text:sub(1, 1) ~= "/" or text:find "~[^01]" or text:find "~$" then return nil end
  local tokens = {}
  for token in text:gmatch "/([^/]*)" do
    tokens[#tokens + 1] = token:gsub("~1", "/"):gsub("~0", "~")
  end
  return tokens
end

---@param tokens (string|integer)[]
---@return string
function pointer.join(tokens)
  local escaped = {}
  for i, token in ipairs(tokens) do escaped[i] = "/" .. pointer.escape(token) end
  return table.concat(escaped)
end

---@param token string
---@return integer? index of the item in a Lua list
function pointer.index(token)
  if token == "0" or token:find "^[1-9]%d*$" and #token < 16 then return tonumber(token) + 1 end
end

return pointer
