-- Schemas and values as JSON text, judged.
local json = require("pintle.core").json
local schema = require "pintle.schema"

local judge = {}

local function decoded(text)
  local value, message = json.decode(text)
  if value == nil then error(message .. ": " .. text, 3) end
  return value
end

---@param document any a schema, as JSON text or a value
---@param options? pintle.schema.options
function judge.compile(document, options)
  if type(document) == "string" then document = decoded(document) end
  local validate, message = schema.compile(document, options)
  if not validate then error(message, 2) end
  return validate
end

---Fails unless the schema fits those values that come before the word "not", and none of those after it.
---@param document any
---@param texts string[] JSON texts
---@param options? pintle.schema.options
function judge.fits(document, texts, options)
  local validate = judge.compile(document, options)
  local expected = true
  for _, text in ipairs(texts) do
    if text == "not" then
      expected = false
    else
      local valid, err = validate(decoded(text))
      if (valid == true) ~= expected then
        error(("%s %s %s: %s"):format(document, expected and "refuses" or "accepts", text, tostring(err)), 2)
      end
    end
  end
end

---@param document any
---@param text string
---@param options? pintle.schema.options
---@return pintle.schema.error
function judge.failure(document, text, options)
  local valid, err = judge.compile(document, options)(decoded(text))
  if valid then error(("%s accepts %s"):format(document, text), 2) end
  return err
end

---@param document any
---@param options? pintle.schema.options
---@return string message of why it does not compile
function judge.refusal(document, options)
  if type(document) == "string" then document = decoded(document) end
  local validate, message = schema.compile(document, options)
  if validate then error("it compiles", 2) end
  return message
end

return judge
