-- Positions of values in JSON text: values are found and replaced without changing the rest. The text has to be valid.

local json = require("pintle.core").json

local json_text = {}

local function skip_space(text, at) return text:find("[^ \t\r\n]", at) or #text + 1 end

local function skip_string(text, at)
  repeat
    at = text:find('["\\]', at + 1)
    local is_escape = text:byte(at) == 92
    if is_escape then at = at + 1 end
  until not is_escape
  return at + 1
end

local function skip_container(text, at)
  local depth = 0
  repeat
    at = text:find('["{}%[%]]', at)
    local sign = text:sub(at, at)
    if sign == '"' then
      at = skip_string(text, at)
    else
      depth = depth + ((sign == "{" or sign == "[") and 1 or -1)
      at = at + 1
    end
  until depth == 0
  return at
end

-- Position after the value that begins at `at`.
local function skip_value(text, at)
  local sign = text:sub(at, at)
  if sign == '"' then return skip_string(text, at) end
  if sign == "{" or sign == "[" then return skip_container(text, at) end
  return text:find("[%s,%]}]", at) or #text + 1
end

-- Iterates over the values of a container: name (false in an array), first, last.
local function each(text, at, is_object)
  return coroutine.wrap(function()
    at = skip_space(text, at + 1)
    while not text:find("^[%]}]", at) do
      local name
      if is_object then
        local stop = skip_string(text, at)
        name = json.decode(text:sub(at, stop - 1))
        at = skip_space(text, skip_space(text, stop) + 1)
      end
      local stop = skip_value(text, at)
      coroutine.yield(name or false, at, stop - 1)
      at = skip_space(text, stop)
      if text:sub(at, at) == "," then at = skip_space(text, at + 1) end
    end
  end)
end

---Position of the value of a member; of duplicate members the last.
---@param text string JSON; if it is not an object, the result is nil
---@param name string
---@return integer? first, integer? last
function json_text.member(text, name)
  local first, last
  local at = skip_space(text, 1)
  if text:sub(at, at) ~= "{" then return nil end
  for found, from, to in each(text, at, true) do
    if found == name then first, last = from, to end
  end
  return first, last
end

---@param text string
---@return string[]? elements if it is an array
function json_text.elements(text)
  local at = skip_space(text, 1)
  if text:sub(at, at) ~= "[" then return nil end
  local elements = {}
  for _, first, last in each(text, at, false) do elements[#elements + 1] = text:sub(first, last) end
  return elements
end

---@param text string an object
---@param name string of an existing member
---@param value string JSON
---@return string
function json_text.replace(text, name, value)
  local first, last = json_text.member(text, name)
  return text:sub(1, first - 1) .. value .. text:sub(last + 1)
end

return json_text
