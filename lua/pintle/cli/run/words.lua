-- The lines of the prompt: their words, and whether they must not be saved.

local words = {}

-- {====== Words of a line, as in a shell: quotes and backslashes keep spaces together ======

-- Parts of a word, by the way they are quoted: pattern, conversion, index of the capture with the end.
local PARTS = {
  { "^'([^']*)'()", function(text) return text end },
  { '^"([^"\\]*)"()', function(text) return text end },
  { '^"((.-[^\\]))"()', function(text) return (text:gsub('\\(["\\])', "%1")) end, 3 },
  { "^\\(.)()", function(text) return text end },
  { "^([^%s'\"\\]+)()", function(text) return text end },
}

local function read_part(line, at)
  for _, part in ipairs(PARTS) do
    local found = table.pack(line:match(part[1], at))
    if found[1] then return part[2](found[1]), found[part[3] or 2] end
  end
end

---@param line string
---@return string[]? words, integer[]|string starts_or_message where each word begins
function words.split(line)
  local list, starts, at = {}, {}, line:find "%S"
  while at do
    local word = ""
    starts[#list + 1] = at
    while at <= #line and not line:find("^%s", at) do
      local text, after = read_part(line, at)
      if not text then return nil, ("unterminated %s"):format(line:sub(at, at)) end
      word, at = word .. text, after
    end
    list[#list + 1] = word
    at = line:find("%S", at)
  end
  return list, starts
end

-- }======

-- {====== Secrets ======

-- A line is a secret by the names of its arguments, or by the plugin's schema. A leading space marks a secret, too, as
-- in other shells.
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
---@param properties? table schemas of the operation's parameters, by name
---@param first integer the first word that may be an argument
---@return boolean
function words.is_secret(line, properties, first)
  if line:find "^%s" then return true end
  local list = words.split(line)
  if not list then return line:find "[=:]" ~= nil and sounds_secret(line) end
  for i = first, #list do
    local name, value = list[i]:match "^(.-):?=(.*)$"
    if not name then name, value = list[i], "" end
    if sounds_secret(name) or is_declared(properties, name) then return true end
    if value:find "^[%[{]" and sounds_secret(value) then return true end
  end
  return false
end

-- }======

return words
