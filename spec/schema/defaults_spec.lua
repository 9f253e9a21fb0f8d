local schemas = require "spec.support.schemas"
local json = require("pintle.core").json

local function filled(document, text)
  local value, err = schemas.compile(document):defaults(json.decode(text))
  assert.is_nil(err)
  return value
end

describe("defaults", function()
  local greeting = [[{ "properties": { "name": { "type": "string" }, "times": { "type": "integer", "default": 1 } } }]]

  it("replace only missing properties", function()
    assert.same({ name = "x", times = 1 }, filled(greeting, '{"name":"x"}'))
    assert.same({ times = 3 }, filled(greeting, '{"times":3}'))
    assert.same({ times = json.null }, filled(greeting, '{"times":null}'))
    assert.same({ times = "x" }, filled(greeting, '{"times":"x"}'))
    assert.equal("x", filled(greeting, '"x"'))
  end)

  it("may be false and null", function()
    assert.same({ a = false, b = json.null },
      filled('{"properties":{"a":{"default":false},"b":{"default":null}}}', "{}"))
  end)

  it("do not change the caller's table, and copy only what changes", function()
    local validate = schemas.compile(greeting)
    local value = { name = "x", more = { 1 } }
    local result = validate:defaults(value)
    assert.same({ name = "x", more = { 1 } }, value)
    assert.equal(value.more, result.more)
    local complete = { times = 1 }
    assert.equal(complete, validate:defaults(complete))
  end)

  it("keep metatables", function()
    local mark = { __name = "mine" }
    local validate = schemas.compile '{"items":{"properties":{"a":{"default":[]}}}}'
    local result = validate:defaults(json.array { setmetatable({ b = 1 }, mark) })
    assert.equal(json.array_mt, getmetatable(result))
    assert.equal(mark, getmetatable(result[1]))
    assert.equal('[{"a":[]}]', json.encode(validate:defaults(json.decode "[{}]")))
  end)

  it("are empty arrays if the type is array, even without the mark", function()
    local function filled_in(kind)
      return json.encode(schemas.compile { properties = { a = { type = kind, default = {} } } }:defaults {})
    end
    assert.equal('{"a":[]}', filled_in "array")
    assert.equal('{"a":[]}', filled_in { "array", "null" })
    assert.equal('{"a":{}}', filled_in { "array", "object" })
    assert.equal('{"a":{}}', filled_in "object")
  end)

  it("are copied each time", function()
    local document = json.decode '{"properties":{"a":{"default":{"b":[1]}}}}'
    local validate = schemas.compile(document)
    validate:defaults({}).a.b[1] = 2
    assert.same({ a = { b = { 1 } } }, validate:defaults {})
    assert.same({ 1 }, document.properties.a.default.b)
  end)

  it("are filled in at any depth", function()
    assert.same({ a = { b = 1 } }, filled('{"properties":{"a":{"properties":{"b":{"default":1}}}}}', '{"a":{}}'))
    assert.same({}, filled('{"properties":{"a":{"properties":{"b":{"default":1}}}}}', "{}"))
    assert.same({ { b = 1 }, { b = 2 } }, filled('{"items":{"properties":{"b":{"default":1}}}}', '[{},{"b":2}]'))
    assert.same({ { a = 1 }, { b = 2 } }, filled('{"prefixItems":[{"properties":{"a":{"default":1}}}],'
      .. '"items":{"properties":{"b":{"default":2}}}}', "[{},{}]"))
    assert.same({ a = 1, b = 2 }, filled('{"allOf":[{"properties":{"a":{"default":1}}},{"$ref":"#/$defs/b"}],'
      .. '"$defs":{"b":{"properties":{"b":{"default":2}}}}}', "{}"))
    assert.same({ a = { b = 1 } }, filled('{"properties":{"a":{"default":{},"properties":{"b":{"default":1}}}}}', "{}"))
  end)

  it("come from the target of a reference, unless the schema has its own", function()
    local defs = '"$defs":{"n":{"default":1}}'
    assert.same({ a = 1 }, filled('{"properties":{"a":{"$ref":"#/$defs/n"}},' .. defs .. "}", "{}"))
    assert.same({ a = 2 }, filled('{"properties":{"a":{"$ref":"#/$defs/n","default":2}},' .. defs .. "}", "{}"))
    assert.same({ a = 1 },
      filled('{"properties":{"a":{"default":1}},"allOf":[{"properties":{"a":{"default":2}}}]}', "{}"))
  end)

  it("are ignored in conditional schemas", function()
    assert.same({}, filled('{"anyOf":[{"properties":{"a":{"default":1}}}]}', "{}"))
    assert.same({}, filled('{"if":true,"then":{"properties":{"a":{"default":1}}}}', "{}"))
  end)

  it("replace a missing root value", function()
    assert.same({ a = 1 }, schemas.compile { default = {}, properties = { a = { default = 1 } } }:defaults(nil))
    assert.is_nil((schemas.compile(greeting):defaults(nil)))
  end)

  it("are not filled into themselves", function()
    assert.same({ a = {} }, filled('{"properties":{"a":{"$ref":"#","default":{}}}}', "{}"))
  end)

  it("are subject to the limits", function()
    local defs = { d40 = {} }
    for i = 0, 39 do
      local ref = { ["$ref"] = "#/$defs/d" .. i + 1 }
      defs["d" .. i] = { default = {}, properties = { a = ref, b = ref } }
    end
    local validate = schemas.compile({ ["$ref"] = "#/$defs/d0", ["$defs"] = defs }, { limits = { steps = 10000 } })
    local value, err = validate:defaults {}
    assert.is_nil(value)
    assert.equal("it takes more steps than the limit allows", err.message)
    assert.same({ a = 1, b = 1 }, validate:defaults { a = 1, b = 1 })
  end)

  it("are filled in again after a limit was exceeded", function()
    local validate = schemas.compile('{"items":{"properties":{"a":{"default":[1]}}}}', { limits = { steps = 60 } })
    assert.is_nil((validate:defaults { {}, {}, {}, {}, {} }))
    assert.same({ { a = { 1 } } }, validate:defaults { {} })
  end)
end)
