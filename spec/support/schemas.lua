-- Compiles schemas and validates values, both given as JSON text.
local json = require("pintle.core").json
local schema = require "pintle.schema"

local schemas = {}

local function decoded(text)
  local value, message = json.decode(text)
  if value == nil then error(message .. ": " .. text, 3) end
  return value
end

---@param document any a schema, as JSON text or a value
---@param options? pintle.schema.options
function schemas.compile(document, options)
  if type(document) == "string" then document = decoded(document) end
  local validate, message = schema.compile(document, options)
  if not validate then error(message, 2) end
  return validate
end

---Fails unless the values before the word "not" are valid, and those after it are invalid.
---@param document any
---@param texts string[] JSON texts
---@param options? pintle.schema.options
function schemas.fits(document, texts, options)
  local validate = schemas.compile(document, options)
  local expected = true
  for _, text in ipairs(texts) do
    if text == "not" then
      expected = false
    else
      local valid, err = validate(decoded(text))
      if (valid == true) ~= expected then
        error(("%s %s %s: %s"):format(document, expected and "rejects" or "accepts", text, tostring(err)), 2)
      end
    end
  end
end

---@param document any
---@param text string
---@param options? pintle.schema.options
---@return pintle.schema.error
function schemas.failure(document, text, options)
  local valid, err = schemas.compile(document, options)(decoded(text))
  if valid then error(("%s accepts %s"):format(document, text), 2) end
  return err
end

---@param document any
---@param options? pintle.schema.options
---@return string message why it does not compile
function schemas.rejection(document, options)
  if type(document) == "string" then document = decoded(document) end
  local validate, message = schema.compile(document, options)
  if validate then error("it compiles", 2) end
  return message
end

return schemas
