-- A validation that failed, as the one who asked for it is told.

local pointer = require "pintle.schema.pointer"
local words = require "pintle.schema.words"

---What failed, and the path to it, innermost first.
---@class pintle.schema.failure
---@field site pintle.schema.site
---@field message string

---@class pintle.schema.error
---@field message string what is wrong, without the place
---@field instance_path string JSON pointer to the value
---@field schema_path string JSON pointer to the keyword; after `URI#` in another document
---@field keyword string
local error_mt = { __name = "pintle.schema.error" }

function error_mt:__tostring()
  return ("at %s: %s"):format(self.instance_path == "" and "the root" or self.instance_path, self.message)
end

---@class pintle.schema.failures
local failures = {}

---@param site pintle.schema.site
---@param message string
---@param instance_path string
---@return pintle.schema.error
function failures.new(site, message, instance_path)
  return setmetatable({
    message = message, instance_path = instance_path, schema_path = site.path, keyword = site.keyword,
  }, error_mt)
end

---@param value any
---@return boolean
function failures.is(value) return getmetatable(value) == error_mt end

local function path_of(failure)
  local tokens = {}
  for i = #failure, 1, -1 do tokens[#tokens + 1] = failure[i] end
  return pointer.join(tokens)
end

---@param failure pintle.schema.failure
---@return pintle.schema.error
function failures.tell(failure) return failures.new(failure.site, failure.message, path_of(failure)) end

---@param failure pintle.schema.failure
---@return string reason shortened, for reasons are nested
function failures.reason(failure)
  local path = path_of(failure)
  return words.shorten(path == "" and failure.message or ("at %s: %s"):format(path, failure.message), 200)
end

return failures
