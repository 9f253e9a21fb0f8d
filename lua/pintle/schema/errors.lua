-- Errors: why a schema does not compile, why a value is not valid, and how their messages name values.

local json = require("pintle.core").json
local values = require "pintle.schema.values"

---@class pintle.schema.errors
local errors = {}

---@param value any
---@return string name of its JSON type, or of its Lua type where JSON has none
function errors.type_name(value)
  if value == nil then return "nothing" end
  return values.is_integer(value) and "integer" or json.kind(value)
end

---@param text string
---@param most integer bytes
---@return string text cut between characters, with ... at its end, if it was longer
function errors.shorten(text, most)
  if #text <= most then return text end
  local last = most - 3
  while last > 0 and text:byte(last + 1) & 0xC0 == 0x80 do last = last - 1 end
  return text:sub(1, last) .. "..."
end

local function escape_quoted_byte(byte) return ("\\x%02x"):format(byte:byte()) end

---@param text string
---@return string quoted printable, one line, at most about 60 characters
function errors.quote(text)
  text = errors.shorten(text, 60)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", escape_quoted_byte) end
  return '"' .. text:gsub('[%c"\\]', escape_quoted_byte) .. '"'
end

---@param value any
---@return string text short, similar to JSON
function errors.brief(value)
  if type(value) == "string" then return errors.quote(value) end
  if value == values.null then return "null" end
  if type(value) == "table" then return values.is_array(value) and "[...]" or next(value) and "{...}" or "{}" end
  return tostring(value)
end

---@param value any
---@return string text the type, followed by the value if that is short: `string "x"`
function errors.describe(value)
  local name = errors.type_name(value)
  if name == "integer" and math.type(value) == "float" then name = "number" end
  local is_scalar = type(value) == "string" or type(value) == "number" or type(value) == "boolean"
  return is_scalar and name .. " " .. errors.brief(value) or name
end

---@param list string[]
---@param word string "or", "and"
---@return string text `a, b or c`
function errors.enumerate(list, word)
  if #list < 2 then return list[1] or "" end
  return table.concat(list, ", ", 1, #list - 1) .. " " .. word .. " " .. list[#list]
end

-- {====== Compiling ======

local rejection_mt = { __name = "pintle.schema.rejection" }

---Ends compiling, because of a mistake in the schema.
---@param path string JSON pointer to the place in the schema
---@param reason string
function errors.reject(path, reason)
  local place = path == "" and "the root" or errors.shorten(path, 200)
  error(setmetatable({ message = ("schema at %s: %s"):format(place, reason) }, rejection_mt), 0)
end

---The message of what `reject` has raised. Raises every other error again.
---@param raised any
---@return string message
function errors.rejection_message(raised)
  if getmetatable(raised) ~= rejection_mt then error(raised, 0) end
  return raised.message
end

-- }======

-- {====== Validating ======

---A keyword that failed, and the path to the value: the innermost token comes first.
---@class pintle.schema.failure
---@field site pintle.schema.site
---@field message string

---@class pintle.schema.error
---@field message string what is wrong, without the place
---@field instance_path string JSON pointer to the value
---@field schema_path string JSON pointer to the keyword; `URI#` comes before it if it is in another document
---@field keyword string
local error_mt = { __name = "pintle.schema.error" }

function error_mt:__tostring()
  return ("at %s: %s"):format(self.instance_path == "" and "the root" or self.instance_path, self.message)
end

---@param site pintle.schema.site
---@param message string
---@param instance_path string
---@return pintle.schema.error
function errors.new(site, message, instance_path)
  return setmetatable({
    message = message, instance_path = instance_path, schema_path = site.path, keyword = site.keyword,
  }, error_mt)
end

---@param value any
---@return boolean
function errors.is_error(value) return getmetatable(value) == error_mt end

local function instance_path_of(failure)
  local path = {}
  for i = #failure, 1, -1 do path[#path + 1] = "/" .. values.escape_token(failure[i]) end
  return table.concat(path)
end

---@param failure pintle.schema.failure
---@return pintle.schema.error
function errors.from_failure(failure) return errors.new(failure.site, failure.message, instance_path_of(failure)) end

---@param failure pintle.schema.failure
---@return string reason shortened, because a reason may contain others
function errors.reason_of(failure)
  local path = instance_path_of(failure)
  return errors.shorten(path == "" and failure.message or ("at %s: %s"):format(path, failure.message), 200)
end

-- }======

return errors
