-- What `schema.compile` can be told.

---@class pintle.schema.options
---@field documents? table<string, any> schemas that may be referred to, by URI; nothing is ever fetched
---@field base? string the URI of the schema itself, where it has no $id
---@field formats? boolean whether `format` is an assertion; it is none unless told, or unless the meta-schema of
---the schema is among the documents and has the vocabulary for it
---@field unmarked_empty? "object"|"either" what an empty table is that is not marked as an array: an object, as for
---the codec, or also an array where `type` asks for one and not for an object
---@field limits? pintle.schema.limits

local options = {}

local OPTIONS = {
  documents = "table", base = "string", formats = "boolean", unmarked_empty = "string", limits = "table",
}

---Raises, at the level of the caller's caller, if anything is wrong.
---@param given pintle.schema.options
function options.check(given)
  for name, value in pairs(given) do
    if not OPTIONS[name] then error(("there is no option %s"):format(name), 3) end
    if type(value) ~= OPTIONS[name] then error(("option %s is a %s"):format(name, OPTIONS[name]), 3) end
  end
  for name in pairs(given.documents or {}) do
    if type(name) ~= "string" then error("option documents has schemas by URI", 3) end
  end
  local empty = given.unmarked_empty
  if empty and empty ~= "object" and empty ~= "either" then
    error('option unmarked_empty is "object" or "either"', 3)
  end
end

---The limits that hold. Raises, at the level of the caller's caller, if anything is wrong.
---@param usual pintle.schema.limits
---@param given pintle.schema.limits?
---@return pintle.schema.limits
function options.limits(usual, given)
  local limits = {}
  for name, value in pairs(usual) do limits[name] = value end
  for name, value in pairs(given or {}) do
    if not usual[name] then error(("there is no limit %s"):format(name), 3) end
    if math.type(value) ~= "integer" or value < 1 then error(("limit %s is an integer above 0"):format(name), 3) end
    limits[name] = value
  end
  return limits
end

return options
