local schemas = require "spec.support.schemas"
local json = require("pintle.core").json
local schema = require "pintle.schema"

local fits = schemas.fits

describe("a compiled schema", function()
  it("validates when called, and by its method", function()
    local validate = assert(schema.compile { type = "integer" })
    assert.is_true(validate(5))
    assert.is_true(validate:validate(5))
    assert.is_nil(validate "5")
    assert.is_nil((validate:validate "5"))
  end)

  it("can be used again after a failure", function()
    local validate = assert(schema.compile { anyOf = { { type = "string" }, { minimum = 3 } } })
    assert.is_nil(validate(1))
    assert.is_true(validate(3))
    assert.is_nil(validate(2))
    assert.is_true(validate "x")
  end)

  it("allocates nothing for a valid value", function()
    local validate = schemas.compile {
      type = "object", required = { "name" }, additionalProperties = false,
      properties = { name = { type = "string", maxLength = 10 }, tags = { items = { enum = { "a", "b" } } } },
    }
    local value = { name = "Ada", tags = { "a", "b" } }
    validate(value)
    collectgarbage()
    collectgarbage "stop"
    local before = collectgarbage "count"
    for _ = 1, 1000 do validate(value) end
    local made = collectgarbage "count" - before
    collectgarbage "restart"
    assert.truthy(made < 1, made)
  end)

  it("does not depend on later changes of its tables", function()
    local document = {
      type = { "object" }, required = { "a" }, properties = { a = { type = "string", enum = { "x" } } },
      oneOf = { { minProperties = 1 } },
    }
    local validate = schemas.compile(document)
    document.type[1] = "array"
    document.required[2] = "b"
    document.properties.a.type = "integer"
    document.properties.a.enum[1] = "y"
    document.properties.b = false
    document.oneOf[2] = true
    assert.is_true(validate { a = "x", b = 1 })
    assert.is_nil((validate { a = "y" }))
  end)

  it("raises for wrong options", function()
    local function assert_raises(message, options)
      assert.has_error(function() schema.compile({}, options) end, message)
    end
    assert_raises('schema: there is no option "format"', { format = true })
    assert_raises("schema: formats: a boolean expected, got number", { formats = 1 })
    assert_raises('schema: there is no limit "stepz"', { limits = { stepz = 1 } })
    assert_raises("schema: limit steps: an integer above 0 expected", { limits = { steps = 0 } })
    assert_raises("schema: documents: the keys are URIs, got a number", { documents = { {} } })
    assert_raises('schema: unmarked_empty: "object" or "either" expected', { unmarked_empty = "array" })
  end)
end)

describe("types", function()
  it("are those of JSON", function()
    fits({ type = "integer" }, { "1", "1.0", "-0.0", "1e300", "9223372036854775807", "not", "1.5", '"1"', "true" })
    fits({ type = "number" }, { "1", "1.5", "not", '"1"', "true", "null", "[]" })
    fits({ type = "string" }, { '""', "not", "1", "null", "{}" })
    fits({ type = "boolean" }, { "true", "false", "not", "0", "null", '"true"' })
    fits({ type = "null" }, { "null", "not", "false", "0", '""', "{}", "[]" })
    fits({ type = "array" }, { "[]", "[1]", "not", "{}", '{"0":1}', "null" })
    fits({ type = "object" }, { "{}", '{"a":1}', "not", "[]", "[1]", "null" })
    fits({ type = { "string", "null" } }, { '"x"', "null", "not", "1", "{}" })
  end)

  it("are recognized in tables of Lua programs", function()
    local is_array, is_object = schemas.compile { type = "array" }, schemas.compile { type = "object" }
    assert.is_true(is_array { "a", "b" })
    assert.is_nil((is_object { "a", "b" }))
    assert.is_true(is_object { a = 1 })
    assert.is_true(is_object {})
    assert.is_true(is_array(json.array {}))
    assert.is_nil((is_object(json.array {})))
  end)

  it("allow an unmarked empty table as an array if the option says so", function()
    local options = { unmarked_empty = "either" }
    assert.is_true(schemas.compile({ type = "array" }, options) {})
    assert.is_true(schemas.compile({ type = "object" }, options) {})
    assert.is_nil((schemas.compile({ type = "array", minItems = 1 }, options) {}))
    assert.is_true(schemas.compile({ type = "array", required = { "a" } }, options) {})
    assert.is_nil((schemas.compile({ type = { "array", "object" }, required = { "a" } }, options) {}))
    assert.is_nil((schemas.compile({ type = "string" }, options) {}))
  end)

  it("have a message that explains unmarked empty tables", function()
    local _, err = schemas.compile { type = "array" } {}
    assert.equal("at the root: expected array, got object"
      .. " (an empty table is an object unless it is marked as an array)", tostring(err))
    _, err = schemas.compile { type = "string" } {}
    assert.equal("expected string, got object", err.message)
  end)

  it("do not include Lua types that JSON does not have", function()
    local validate = schemas.compile { type = { "object", "array", "string", "number", "boolean", "null" } }
    for _, value in ipairs { print, coroutine.create(print), io.stdout } do assert.is_nil((validate(value))) end
    local _, err = validate(nil)
    assert.equal("expected object, array, string, number, boolean or null, got nothing", err.message)
  end)

  it("are checked safely for unusual tables", function()
    local validate = schemas.compile {
      patternProperties = { ["^a"] = true }, propertyNames = { type = "string" }, additionalProperties = false,
    }
    assert.is_nil((validate { [5] = 1 }))
    assert.is_nil((validate { [true] = 1, a = 2 }))
    assert.is_nil((validate { [{}] = 1 }))
  end)
end)

describe("numbers", function()
  it("are compared exactly with their bounds", function()
    fits({ minimum = 3 }, { "3", "3.5", '"2"', "not", "2", "2.9999" })
    fits({ exclusiveMinimum = 3 }, { "3.0001", "not", "3", "3.0" })
    fits({ maximum = 9007199254740993 }, { "9007199254740993", "not", "9007199254740994" })
    fits({ exclusiveMaximum = 9007199254740993 }, { "9007199254740992", "not", "9007199254740993" })
  end)

  it("are divided in decimal for multipleOf", function()
    fits({ multipleOf = 0.01 }, { "19.99", "0", "1e300", "-0.07", "not", "0.005", "19.999" })
    fits({ multipleOf = 0.0001 }, { "0.0075", "not", "0.00751" })
    fits({ multipleOf = 1e-8 }, { "12391239123", "not", "0.000000015" })
    fits({ multipleOf = 3 }, { "9007199254740993", "-9", "6.0", '"x"', "not", "9007199254740992", "4.5" })
    fits({ multipleOf = 0.5 }, { "1e308", "-9223372036854775808", "not", "0.25" })
    fits({ multipleOf = 0.123456789 }, { "not", "1e308" })
    fits({ multipleOf = 7 }, { "9223372036854775807", "not", "9223372036854775806", "1e19" })
  end)
end)

describe("equality", function()
  it("is that of JSON", function()
    fits({ const = 1 }, { "1", "1.0", "not", "true", '"1"' })
    fits({ const = false }, { "false", "not", "0", "null", "[]" })
    fits('{"const":null}', { "null", "not", "0", "false" })
    fits('{"const":{"a":[1,{"b":2}]}}', { '{"a":[1.0,{"b":2}]}', "not", '{"a":[1,{"b":2}],"c":1}', '{"a":[1]}' })
    fits('{"const":[]}', { "[]", "not", "{}", "[[]]" })
    fits('{"const":{}}', { "{}", "not", "[]" })
    fits('{"enum":[6,"foo",[],true,{"foo":12}]}',
      { "6.0", '"foo"', "[]", '{"foo":12}', "not", "null", "{}", '{"foo":13}' })
    fits('{"enum":[]}', { "not", "1", "null" })
  end)

  it("decides whether items are unique", function()
    fits({ uniqueItems = true }, {
      "[1,2]", "[1,true]", "[0,false]", '["a","b"]', '[{"a":1},{"a":2}]', '["[1]",[1]]', "[[1],[true]]", "[null,{}]",
      "[]",
      '[["a","b"],["ab"]]', '[["a","b"],["asb"]]', '{"a":1}',
      '[{"a":"b"},["a","b"]]', "[[],{}]", "[9007199254740993,9007199254740992.0]",
      "not", "[1,1]", "[1,1.0]", '[{"a":1,"b":2},{"b":2.0,"a":1}]', "[[[1]],[[1.0]]]", "[null,null]", '["a",1,"a"]',
    })
  end)
end)

describe("strings", function()
  it("are measured in characters", function()
    fits({ minLength = 2 }, { '"ab"', '"\u{1F4A9}\u{1F4A9}"', "1", "not", '"\u{1F4A9}"', '""' })
    fits({ maxLength = 2.0 }, { '"\u{1F4A9}\u{1F4A9}"', "not", '"abc"' })
  end)
end)

describe("arrays", function()
  it("are checked item by item", function()
    fits('{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}',
      { "[]", '["a"]', '["a",1,2]', '{"0":1}', "not", "[1]", '["a","b"]' })
    fits({ minItems = 1, maxItems = 2 }, { "[1]", "[1,2]", '"x"', "not", "[]", "[1,2,3]" })
  end)

  it("contain the required number of fitting items", function()
    fits('{"contains":{"minimum":5}}', { "[1,5]", "{}", "not", "[]", "[1]" })
    fits('{"contains":{"minimum":5},"minContains":2,"maxContains":3}',
      { "[5,6]", "[5,1,6,7]", "not", "[5]", "[5,6,7,8]" })
    fits('{"contains":{"minimum":5},"minContains":0}', { "[]", "[1]", "[5]" })
    fits('{"minContains":2,"maxContains":1}', { "[]", "[1,1,1]" })
    fits('{"contains":false,"minContains":0,"maxContains":0}', { "[1]", "[]" })
  end)
end)

describe("objects", function()
  it("are checked member by member", function()
    fits('{"properties":{"a":{"type":"integer"}},"patternProperties":{"^x":{"type":"string"}},'
      .. '"additionalProperties":false}',
      { "{}", '{"a":1,"xy":"s"}', "[1]", "not", '{"a":"s"}', '{"xy":1}', '{"b":1}' })
    fits('{"properties":{"__proto__":{"type":"integer"},"toString":{"type":"integer"}}}',
      { '{"__proto__":1}', "not", '{"toString":"x"}' })
    fits({ minProperties = 1, maxProperties = 2 }, { '{"a":1}', "[1,2,3]", "not", "{}", '{"a":1,"b":2,"c":3}' })
    fits('{"propertyNames":{"maxLength":2}}', { '{"ab":1}', "{}", "[1]", "not", '{"abc":1}' })
  end)

  it("have the properties that others depend on", function()
    fits({ required = { "a" } }, { '{"a":null}', "[]", "not", "{}", '{"b":1}' })
    fits({ required = {} }, { "{}" })
    fits('{"dependentRequired":{"a":["b"]}}', { "{}", '{"a":1,"b":2}', "not", '{"a":1}' })
    fits('{"dependentSchemas":{"a":{"required":["b"]}}}', { "{}", '{"a":1,"b":2}', "not", '{"a":1}' })
    fits('{"dependencies":{"a":["b"],"c":{"maxProperties":1},"d":false,"e":[]}}',
      { '{"c":1}', '{"a":1,"b":2}', '{"e":1}', "not", '{"a":1}', '{"c":1,"x":1}', '{"d":1}' })
  end)
end)

describe("subschemas", function()
  it("are combined", function()
    fits('{"allOf":[{"minimum":1},{"maximum":3}]}', { "1", "3", "not", "0", "4" })
    fits('{"anyOf":[{"type":"string"},{"minimum":3}]}', { '"x"', "3", "null", "not", "2" })
    fits('{"oneOf":[{"type":"integer"},{"minimum":3}]}', { "1", "3.5", "not", "3", "2.5" })
    fits('{"not":{"type":"integer"}}', { '"x"', "not", "1" })
    fits('{"if":{"type":"integer"},"then":{"minimum":3},"else":{"type":"string"}}', { "3", '"x"', "not", "2", "null" })
    fits('{"then":false,"else":false}', { "1" })
    fits('{"if":false,"then":false}', { "1" })
  end)

  it("may be booleans", function()
    fits("true", { "1", "null", "{}" })
    fits("false", { "not", "1", "null", "{}" })
    fits('{"properties":{"a":true,"b":false}}', { "{}", '{"a":1}', "not", '{"b":1}' })
  end)

  it("leave the rest to unevaluatedItems and unevaluatedProperties", function()
    fits('{"allOf":[{"properties":{"a":true}}],"properties":{"b":true},"unevaluatedProperties":false}',
      { '{"a":1,"b":2}', "[1]", "not", '{"a":1,"c":3}' })
    fits('{"anyOf":[{"properties":{"a":{"const":1}},"required":["a"]},{"properties":{"b":true},"required":["b"]}],'
      .. '"unevaluatedProperties":false}', { '{"a":1}', '{"b":2}', '{"a":1,"b":1}', "not", '{"a":2,"b":1}' })
    fits('{"not":{"not":{"properties":{"a":true}}},"unevaluatedProperties":false}', { "{}", "not", '{"a":1}' })
    fits('{"if":{"required":["a"],"properties":{"a":true}},"then":{"properties":{"b":true}},'
      .. '"unevaluatedProperties":false}',
      { '{"a":1,"b":2}', "not", '{"b":2}' })
    fits('{"prefixItems":[true],"contains":{"type":"string"},"unevaluatedItems":false}',
      { '[1,"x"]', '["x"]', "not", '[1,"x",2]' })
    fits('{"allOf":[{"unevaluatedItems":true}],"unevaluatedItems":false}', { "[1,2]" })
    fits('{"allOf":[{"prefixItems":[true],"items":{"type":"integer"}}],"unevaluatedItems":false}',
      { "[null,2,3]", "not", "[1,null]" })
    fits('{"allOf":[{"prefixItems":[true]},{"unevaluatedItems":false}]}', { "[]", "not", "[1]" })
    fits('{"unevaluatedProperties":{"type":"string"},"additionalProperties":{"type":"integer"}}',
      { '{"a":1}', "not", '{"a":"x"}' })
    fits('{"$ref":"#/$defs/a","unevaluatedProperties":false,"$defs":{"a":{"properties":{"a":true}}}}',
      { '{"a":1}', "not", '{"b":1}' })
    fits('{"oneOf":[{"properties":{"a":{"const":1}}},{"properties":{"a":{"const":2},"b":true}}],'
      .. '"unevaluatedProperties":false}', { '{"a":1}', '{"a":2,"b":1}', "not", '{"a":1,"b":1}' })
    fits('{"dependentSchemas":{"a":{"properties":{"b":true}}},"properties":{"a":true},"unevaluatedProperties":false}',
      { '{"a":1,"b":2}', "not", '{"b":2}' })
  end)
end)
