-- Which lines carry something that is not for a file: by the names of their arguments, and by what the plugin's schema
-- says of them. Who begins a line with a space says so by himself, as in shells.

local split = require "pintle.cli.run.words"

local NAMES = {
  "passw", "passphrase", "secret", "token", "credential", "api[_-]?key", "access[_-]?key", "private[_-]?key",
  "authorization", "cookie",
}

local function sounds_secret(name)
  name = name:lower()
  for _, pattern in ipairs(NAMES) do
    if name:find(pattern) then return true end
  end
  return name == "pin" or name == "auth" or name == "pwd"
end

local function is_declared(properties, name)
  local schema = type(properties) == "table" and properties[name]
  return type(schema) == "table" and (schema.writeOnly == true or schema.format == "password")
end

---@param line string
---@param properties? table of the operation's params, by name
---@return boolean
return function(line, properties)
  if line:find "^%s" then return true end
  local words = split(line)
  if not words then return line:find "[=:]" ~= nil and sounds_secret(line) end
  for i = 3, #words do
    local name, value = words[i]:match "^(.-):?=(.*)$"
    if not name then name, value = words[i], "" end
    if sounds_secret(name) or is_declared(properties, name) then return true end
    if value:find "^[%[{]" and sounds_secret(value) then return true end
  end
  return false
end
