-- Neither schemas nor values are trusted: every validation ends soon.
local schemas = require "spec.support.schemas"

local rejection = schemas.rejection

local function nested(depth, wrap)
  local value = { type = "null" }
  for _ = 1, depth do value = wrap(value) end
  return value
end

-- d0 applies d1 twice, d1 applies d2 twice …
local function doubling(keyword, last)
  local defs = { d40 = last }
  for i = 0, 39 do
    local ref = "#/$defs/d" .. i + 1
    defs["d" .. i] = { [keyword] = { { ["$ref"] = ref }, { ["$ref"] = ref } } }
  end
  return { ["$ref"] = "#/$defs/d0", ["$defs"] = defs }
end

local function message_of(document, value, options)
  local _, err = schemas.compile(document, options)(value)
  return err and err.message
end

local TOO_DEEP = "schemas are applied more deeply than the limit allows"
local TOO_MANY_STEPS = "it takes more steps than the limit allows"

describe("a schema that refers to itself", function()
  it("is rejected if it applies itself to the same value", function()
    assert.equal("schema at the root: it refers to itself without end", rejection '{"$ref":"#"}')
    assert.matches("it refers to itself without end$", rejection '{"allOf":[{"$ref":"#"}]}')
    assert.matches("it refers to itself without end$",
      rejection '{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}')
    assert.matches("it refers to itself without end$",
      rejection('{"items":{"$ref":"http://x.test/a"}}', { documents = { ["http://x.test/a"] = { ["$ref"] = "a" } } }))
  end)

  it("is stopped by the limit of depth if the recursion is endless", function()
    for _, document in ipairs {
      '{"anyOf":[{"type":"null"},{"$ref":"#"}]}', '{"not":{"$ref":"#"}}', '{"if":true,"then":{"$ref":"#"}}',
      '{"oneOf":[{"$ref":"#"},true]}', '{"$dynamicAnchor":"a","$dynamicRef":"#a"}',
      '{"type":"integer","dependentSchemas":{"a":{"$ref":"#"}},"else":{"$ref":"#"},"if":false}',
    } do
      assert.equal(TOO_DEEP, message_of(document, 1), document)
    end
  end)

  it("is stopped before Lua's stack overflows", function()
    local document = [[{
      "$id": "http://x.test/a", "$dynamicAnchor": "n", "required": ["a"], "unevaluatedProperties": false,
      "anyOf": [{ "type": "null" }, { "$ref": "b", "unevaluatedProperties": false }],
      "$defs": { "b": { "$id": "b", "type": "object", "unevaluatedProperties": false,
        "oneOf": [false, { "$dynamicRef": "a#n" }] } }
    }]]
    assert.equal(TOO_DEEP, message_of(document, { a = 1 }))
  end)

  it("follows a nested value up to the limit of depth", function()
    local list, deep = { items = { ["$ref"] = "#" } }, {}
    local inner = deep
    for _ = 1, 1000 do
      inner[1] = {}
      inner = inner[1]
    end
    assert.is_nil(message_of(list, deep))
    assert.equal(TOO_DEEP, message_of(list, deep, { limits = { depth = 500 } }))
  end)
end)

describe("a validation", function()
  it("is stopped at the limit of steps", function()
    for _, keyword in ipairs { "allOf", "anyOf", "oneOf" } do
      local document = doubling(keyword, { type = keyword == "allOf" and "integer" or "string" })
      assert.equal(TOO_MANY_STEPS, message_of(document, 1, { limits = { steps = 100000 } }), keyword)
    end
  end)

  it("is not a success under not when it was stopped", function()
    local document = doubling("allOf", { type = "integer" })
    document["$ref"], document["not"] = nil, { ["$ref"] = "#/$defs/d0" }
    assert.equal(TOO_MANY_STEPS, message_of(document, 1, { limits = { steps = 100000 } }))
  end)

  it("counts steps by the size of the value", function()
    local many, object, text = {}, {}, ("\u{E9}"):rep(100000)
    for i = 1, 1000 do
      many[i], object["n" .. i] = i, i
    end
    local options = { limits = { steps = 500 } }
    for keyword, case in pairs {
      items = { true, many }, uniqueItems = { true, many }, contains = { { minimum = 2000 }, many },
      unevaluatedItems = { true, many }, additionalProperties = { true, object }, propertyNames = { true, object },
      unevaluatedProperties = { true, object }, maxLength = { 100000, text }, minLength = { 100000, text },
    } do
      assert.equal(TOO_MANY_STEPS, message_of({ [keyword] = case[1] }, case[2], options), keyword)
    end
  end)

  it("counts steps for collecting what has been evaluated", function()
    local names, object = {}, {}
    for i = 1, 100 do
      names["n" .. i], object["n" .. i] = true, i
    end
    for _, wrap in ipairs {
      function(inner) return { anyOf = { inner } } end,
      function(inner) return { oneOf = { inner } } end,
      function(inner) return { ["if"] = inner } end,
      function(inner) return { allOf = { inner }, unevaluatedItems = false } end,
    } do
      local document = { properties = names }
      for _ = 1, 100 do document = wrap(document) end
      document = { allOf = { document }, unevaluatedProperties = false }
      assert.equal(TOO_MANY_STEPS, message_of(document, object, { limits = { steps = 5000 } }))
      assert.is_nil(message_of(document, object, { limits = { steps = 20000 } }))
    end
  end)

  it("can be repeated after it was stopped", function()
    local validate = schemas.compile({ items = { type = "integer" } }, { limits = { steps = 10 } })
    assert.is_nil((validate { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }))
    assert.is_true(validate { 1, 2 })
    local dynamic = schemas.compile('{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}}}',
      { limits = { depth = 4 } })
    assert.is_nil((dynamic { a = { a = { a = {} } } }))
    assert.is_true(dynamic { a = 1 })
  end)

  it("finds equal items in a large array in linear time", function()
    local items = {}
    for i = 1, 100000 do items[i] = { id = i, tags = { "a", i } } end
    local before = os.clock()
    assert.is_nil(message_of({ uniqueItems = true }, items))
    items[100001] = { tags = { "a", 77 }, id = 77.0 }
    assert.equal("items 76 and 100000 are equal", message_of({ uniqueItems = true }, items))
    assert.truthy(os.clock() - before < 20)
  end)
end)

describe("a schema that is too large", function()
  it("is rejected", function()
    local function wrap(inner) return { ["not"] = inner } end
    assert.matches("schemas are nested more than 200 deep$", rejection(nested(200, wrap)))
    schemas.compile(nested(199, wrap))
    assert.matches("schemas are nested more than 5 deep$", rejection(nested(5, wrap), { limits = { nesting = 5 } }))

    local wide = nested(30, function(inner) return { allOf = { inner, inner } } end)
    assert.matches("there are more than 20000 schemas$", rejection(wide))
    assert.matches("there are more than 3 schemas$",
      rejection({ allOf = { {}, {}, {} } }, { limits = { schemas = 3 } }))

    local circle = {}
    circle["not"] = circle
    assert.matches("schemas are nested more than 200 deep$", rejection(circle))
    assert.matches("the path to it is longer than 4096 bytes$", rejection { properties = { [("x"):rep(5000)] = {} } })
    assert.matches("the pattern is longer than 8192 bytes$", rejection { pattern = ("x"):rep(8193) })
    assert.matches("is invalid: ", rejection { pattern = "((((a{1,99}){1,99}){1,99}){1,99})" })
  end)

  it("is rejected with a short message", function()
    assert.truthy(#rejection(nested(300, function(inner) return { ["not"] = inner } end)) < 300)
  end)
end)
