local schemas = require "spec.support.schemas"
local json = require("pintle.core").json

local fits, failure, rejection = schemas.fits, schemas.failure, schemas.rejection

describe("an error", function()
  local person = [[{
    "type": "object", "required": ["name"],
    "properties": {
      "name": { "type": "string", "minLength": 1 },
      "times": { "type": "integer", "minimum": 1 },
      "a/b~c": { "items": { "$ref": "#/$defs/small" } }
    },
    "$defs": { "small": { "maximum": 3 } }
  }]]

  it("names the value, the keyword, and what is wrong", function()
    local err = failure(person, '{"name":"x","times":"x"}')
    assert.equal('expected integer, got string "x"', err.message)
    assert.equal("/times", err.instance_path)
    assert.equal("/properties/times/type", err.schema_path)
    assert.equal("type", err.keyword)
    assert.equal('at /times: expected integer, got string "x"', tostring(err))
  end)

  it("is at the root if the whole value is wrong", function()
    assert.equal('at the root: property "name" is missing', tostring(failure(person, "{}")))
    assert.equal("", failure(person, "{}").instance_path)
  end)

  it("escapes names in its paths, and shows the target of a reference", function()
    local err = failure(person, '{"name":"x","a/b~c":[1,2,5]}')
    assert.equal("/a~1b~0c/2", err.instance_path)
    assert.equal("/$defs/small/maximum", err.schema_path)
  end)

  it("names the document of a schema that is in another document", function()
    local documents = { ["http://x.test/a"] = { type = "null" } }
    local err = failure({ ["$ref"] = "http://x.test/a" }, "5", { documents = documents })
    assert.equal("http://x.test/a#/type", err.schema_path)
  end)

  it("has a message for every keyword", function()
    for text, case in pairs {
      ["expected string or null, got integer 1"] = { '{"type":["string","null"]}', "1" },
      ["expected 2, got integer 1"] = { '{"const":2}', "1" },
      ['expected one of "a" or null, got integer 1'] = { '{"enum":["a",null]}', "1" },
      ["expected one of 1, 2, 3, 4, 5, 6, 7, 8 or 1 more, got integer 0"] = { '{"enum":[1,2,3,4,5,6,7,8,9]}', "0" },
      ["expected a multiple of 0.5, got number 0.3"] = { '{"multipleOf":0.5}', "0.3" },
      ["expected at least 2, got integer 1"] = { '{"minimum":2}', "1" },
      ["expected more than 2, got integer 2"] = { '{"exclusiveMinimum":2}', "2" },
      ["expected at most 2, got integer 3"] = { '{"maximum":2}', "3" },
      ["expected less than 2, got integer 2"] = { '{"exclusiveMaximum":2}', "2" },
      ["expected at least 1 character, got 0"] = { '{"minLength":1}', '""' },
      ["expected at most 2 characters, got 3"] = { '{"maxLength":2}', '"abc"' },
      ['string "abc" does not match the pattern "^b"'] = { '{"pattern":"^b"}', '"abc"' },
      ["expected at least 1 item, got 0"] = { '{"minItems":1}', "[]" },
      ["expected at most 2 items, got 3"] = { '{"maxItems":2}', "[1,2,3]" },
      ["items 0 and 2 are equal"] = { '{"uniqueItems":true}', "[1,2,1]" },
      ["expected at least 1 item that fits the schema in contains"] = { '{"contains":false}', "[1]" },
      ["expected at most 2 items that fit the schema in contains"] = { '{"contains":true,"maxContains":2}', "[1,2,3]" },
      ["expected at least 1 property, got 0"] = { '{"minProperties":1}', "{}" },
      ["expected at most 2 properties, got 3"] = { '{"maxProperties":2}', '{"a":1,"b":1,"c":1}' },
      ['property "a" is missing'] = { '{"required":["a"]}', "{}" },
      ['property "a" needs property "b", which is missing'] = { '{"dependentRequired":{"a":["b"]}}', '{"a":1}' },
      ['property "b" is not allowed'] = { '{"additionalProperties":false}', '{"c":1,"b":1}' },
      ['property "d" is not allowed'] = { '{"unevaluatedProperties":false}', '{"d":1}' },
      ["item 0 is not allowed"] = { '{"unevaluatedItems":false}', "[1]" },
      ['the property name "ab" is invalid: expected at most 1 character, got 2'] =
        { '{"propertyNames":{"maxLength":1}}', '{"ab":1}' },
      ["no value is allowed here"] = { "false", "1" },
      ['it fits the schema in "not"'] = { '{"not":true}', "1" },
      ["it fits schemas 0 and 2 in oneOf, and only one may fit"] = { '{"oneOf":[true,false,true]}', "1" },
      ["it fits none of the 2 schemas in anyOf: expected null, got object; at /a: expected string, got integer 1"] =
        { '{"anyOf":[{"type":"null"},{"properties":{"a":{"type":"string"}}}]}', '{"a":1}' },
      ["it does not fit the schema in oneOf: expected null, got boolean true"] =
        { '{"oneOf":[{"type":"null"}]}', "true" },
    } do
      assert.equal(text, failure(case[1], case[2]).message)
    end
  end)

  it("reports the failure, not alternatives tried before", function()
    for _, text in ipairs {
      '{"if":{"type":"null"},"minimum":3,"not":{"type":"string"},"allOf":[{"maximum":0}]}',
      '{"allOf":[{"not":{"type":"null"}},{"if":{"type":"null"}},{"contains":{"type":"null"}},{"maximum":0}]}',
    } do
      local err = failure(text, "2")
      assert.matches("^expected at", err.message)
      assert.equal("", err.instance_path)
    end
    local err = failure('{"allOf":[{"contains":{"items":{"type":"null"}}},{"items":{"type":"array"}}]}', "[[1],[],5]")
    assert.equal("/2", err.instance_path)
  end)

  it("quotes briefly, on one line, in valid UTF-8", function()
    local err = failure({ type = "null" }, json.encode(("\u{20AC}\n"):rep(1000)))
    assert.truthy(#err.message < 200)
    assert.is_nil((err.message:find "\n"))
    assert.truthy(utf8.len(err.message))
  end)

  it("stays short for nested alternatives", function()
    local nested = { type = "null" }
    for _ = 1, 20 do nested = { anyOf = { nested, nested and { type = "null" } } } end
    assert.truthy(#failure(nested, "1").message < 1000)
  end)

  it("is the same in every run", function()
    local value = {}
    for i = 1, 50 do value["name" .. i] = i end
    local _, err = schemas.compile { additionalProperties = { type = "string" } } (value)
    assert.equal("/name1", err.instance_path)
  end)
end)

describe("an invalid schema", function()
  it("is rejected with the place and the reason", function()
    for text, message in pairs {
      ['{"type":"strnig"}'] = "schema at /type: expected one of array, boolean, integer, null, number, object or "
        .. 'string, or an array of unique ones of them, got string "strnig"',
      ['{"properties":{"a":{"minimum":"x"}}}'] = 'schema at /properties/a/minimum: expected a number, got string "x"',
      ['{"required":"a"}'] = 'schema at /required: expected an array of unique strings, got string "a"',
      ['{"allOf":[{},{"maxItems":-1}]}'] =
        "schema at /allOf/1/maxItems: expected a non-negative integer, got integer -1",
      ['{"allOf":[]}'] = "schema at /allOf: expected an array of at least one schema, got array",
      ['{"items":[{}]}'] = "schema at /items: expected a schema, which is an object or a boolean, got array",
      ['{"$defs":{"a":5}}'] = "schema at /$defs/a: expected a schema, which is an object or a boolean, got integer 5",
      ["5"] = "schema at the root: expected a schema, which is an object or a boolean, got integer 5",
      ["[]"] = "schema at the root: expected a schema, which is an object or a boolean, got array",
    } do
      assert.equal(message, rejection(text))
    end
    assert.equal("schema at the root: expected a schema, which is an object or a boolean, got nothing", rejection(nil))
    assert.equal("schema at the root: keywords must be strings, got integer 5", rejection { [5] = {} })
  end)

  it("is rejected for every keyword", function()
    for _, text in ipairs {
      '{"type":[]}', '{"type":["string","string"]}', '{"type":1}', '{"enum":1}', '{"multipleOf":0}',
      '{"multipleOf":"1"}', '{"maximum":null}', '{"exclusiveMaximum":true}', '{"exclusiveMinimum":true}',
      '{"minLength":1.5}', '{"maxLength":"1"}', '{"pattern":1}', '{"minItems":-1}', '{"uniqueItems":1}',
      '{"minContains":-1}', '{"maxContains":0.5}', '{"minProperties":true}', '{"maxProperties":[]}',
      '{"required":["a","a"]}', '{"required":[1]}', '{"dependentRequired":{"a":"b"}}', '{"dependentRequired":[]}',
      '{"dependencies":{"a":1}}', '{"properties":[]}', '{"properties":{"a":1}}', '{"patternProperties":1}',
      '{"additionalProperties":1}', '{"propertyNames":"a"}', '{"prefixItems":{}}', '{"prefixItems":[1]}',
      '{"contains":1}', '{"anyOf":{}}', '{"oneOf":[1]}', '{"not":[]}', '{"if":1}', '{"then":1}', '{"else":1}',
      '{"dependentSchemas":{"a":[]}}', '{"unevaluatedItems":1}', '{"unevaluatedProperties":"x"}', '{"$ref":1}',
      '{"$id":1}', '{"$id":"#a"}', '{"$anchor":"1a"}', '{"$anchor":""}', '{"$dynamicAnchor":"a b"}',
      '{"$dynamicRef":{}}', '{"$defs":[]}', '{"$comment":1}', '{"$vocabulary":{"a":1}}', '{"title":1}',
      '{"description":[]}', '{"deprecated":"x"}', '{"readOnly":1}', '{"writeOnly":1}', '{"examples":{"a":1}}',
      '{"format":1}', '{"contentEncoding":1}', '{"contentMediaType":1}', '{"contentSchema":1}', '{"definitions":1}',
    } do
      assert.matches("^schema at /", rejection(text), 1, false, text)
    end
  end)

  it("is not one with unknown keywords", function()
    fits('{"x-mine":{"type":"strnig"},"nullable":true}', { "1", "null" })
  end)

  it("is invalid as a value of the meta-schema, which need not be given", function()
    local meta = '{"$ref":"https://json-schema.org/draft/2020-12/schema"}'
    fits(meta, { "true", "{}", '{"type":"string"}', "not", "1", '{"type":"strnig"}', '{"allOf":[{"minLength":-1}]}' })
    local err = failure('{"items":' .. meta .. "}", '[{},{"properties":{"a":{"type":"x"}}}]')
    assert.equal("/1/properties/a/type", err.instance_path)
    assert.matches("^it is not a valid schema: expected one of", err.message)
  end)
end)
