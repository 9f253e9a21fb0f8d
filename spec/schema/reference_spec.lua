local schemas = require "spec.support.schemas"
local json = require("pintle.core").json
local references = require "pintle.schema.references"

local fits, rejection = schemas.fits, schemas.rejection

local function documents(texts)
  local decoded = {}
  for name, text in pairs(texts) do decoded[name] = json.decode(text) end
  return { documents = decoded }
end

describe("a URI reference", function()
  it("is resolved as RFC 3986 shows", function()
    for reference, expected in pairs {
      ["g:h"] = "g:h", ["g"] = "http://a/b/c/g", ["./g"] = "http://a/b/c/g", ["g/"] = "http://a/b/c/g/",
      ["/g"] = "http://a/g", ["//g"] = "http://g", ["?y"] = "http://a/b/c/d;p?y", ["g?y"] = "http://a/b/c/g?y",
      [""] = "http://a/b/c/d;p?q", ["."] = "http://a/b/c/", [".."] = "http://a/b/", ["../g"] = "http://a/b/g",
      ["../../../g"] = "http://a/g", ["/./g"] = "http://a/g", ["/../g"] = "http://a/g", ["g."] = "http://a/b/c/g.",
      ["./g/."] = "http://a/b/c/g/", ["g/../h"] = "http://a/b/c/h", ["g;x=1/../y"] = "http://a/b/c/y",
    } do
      assert.equal(expected, (references.resolve("http://a/b/c/d;p?q", reference)), reference)
    end
  end)

  it("is split from its fragment", function()
    assert.same({ "http://a/b", "/x" }, { references.resolve("http://a/b", "#/x") })
    assert.same({ "urn:x:y?+r", "z" }, { references.resolve("urn:x:y?+r", "#z") })
    assert.same({ "http://a/c", "" }, { references.resolve("http://a/b", "c#") })
    assert.same({ "c" }, { references.resolve("", "c") })
  end)
end)

describe("$ref", function()
  it("resolves JSON pointers", function()
    fits('{"properties":{"a":{"$ref":"#/properties/b"},"b":{"type":"integer"}}}', { '{"a":1}', "not", '{"a":"x"}' })
    fits('{"$defs":{"a/b":{"type":"null"}},"$ref":"#/$defs/a~1b"}', { "null", "not", "1" })
    fits('{"$defs":{"a~b":{"type":"null"}},"$ref":"#/$defs/a~0b"}', { "null", "not", "1" })
    fits('{"$defs":{"a%25b":{"type":"null"}},"$ref":"#/$defs/a%2525b"}', { "null", "not", "1" })
    fits('{"$defs":{"a\\"b":{"type":"null"}},"$ref":"#/$defs/a%22b"}', { "null", "not", "1" })
    fits('{"$defs":{"":{"$defs":{"":{"type":"null"}}}},"$ref":"#/$defs//$defs/"}', { "null", "not", "1" })
    fits('{"allOf":[{"type":"null"},true],"$defs":{"a":{"$ref":"#/allOf/0"}}}', { "null", "not", "1" })
    fits('{"$defs":{"0":{"type":"null"}},"$ref":"#/$defs/0"}', { "null", "not", "1" })
  end)

  it("refers to the root, recursively as deep as the value", function()
    fits('{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}',
      { '{"a":{"a":{}}}', "not", '{"a":{"b":1}}' })
  end)

  it("is applied together with other keywords", function()
    fits('{"$ref":"#/$defs/a","maximum":3,"$defs":{"a":{"type":"integer"}}}', { "3", "not", "4", '"x"' })
  end)

  it("refers to boolean schemas", function()
    fits('{"$ref":"#/$defs/a","$defs":{"a":true}}', { "1" })
    fits('{"$ref":"#/$defs/a","$defs":{"a":false}}', { "not", "1" })
  end)

  it("refers to schemas inside of unknown keywords", function()
    fits('{"$ref":"#/x-mine/a","x-mine":{"a":{"type":"null","$ref":"#/examples/0"}},"examples":[{"const":null}]}',
      { "null", "not", "1" })
    fits('{"$ref":"#/x/properties/b","properties":{"c":{"$ref":"#/x"}},"x":{"properties":{"b":{"type":"object"}}}}',
      { "{}", '{"c":{"b":{}}}', "not", "1", '{"c":{"b":1}}' })
  end)

  it("is not a reference as a property name or in a value", function()
    fits('{"properties":{"$ref":{"type":"string"}}}', { '{"$ref":"a"}', "not", '{"$ref":1}' })
    fits('{"enum":[{"$ref":"#/a"}]}', { '{"$ref":"#/a"}', "not", "1" })
    fits('{"const":{"$id":"http://x.test/a","type":"null"},"$defs":{"a":{"$id":"http://x.test/a"}}}', { "not", "null" })
  end)

  it("is rejected if it cannot be resolved", function()
    assert.equal('schema at /$ref: "#/$defs/a" cannot be resolved', rejection '{"$ref":"#/$defs/a"}')
    assert.equal('schema at /items/$ref: "#a" cannot be resolved', rejection '{"items":{"$ref":"#a"}}')
    assert.equal("schema at /$ref: http://x.test/a is not among the documents",
      rejection '{"$ref":"http://x.test/a#b"}')
    assert.equal("schema at /x: expected a schema, which is an object or a boolean, got integer 5",
      rejection '{"$ref":"#/x","x":5}')
  end)
end)

describe("$id and $anchor", function()
  it("name resources and schemas in them", function()
    fits([[{ "$id": "http://x.test/a/", "$ref": "b", "$defs": { "c": { "$anchor": "n" },
      "b": { "$id": "b", "$ref": "#n", "$defs": { "n": { "$anchor": "n", "type": "null" } } } } }]],
      { "null", "not", "1" })
    fits('{"$id":"urn:x:y","$ref":"urn:x:y#n","$defs":{"n":{"$anchor":"n","type":"null"}}}', { "null", "not", "1" })
    fits('{"$id":"http://x.test/a#","$ref":"a#/$defs/n","$defs":{"n":{"type":"null"}}}', { "null", "not", "1" })
  end)

  it("are ignored inside of unknown keywords", function()
    fits('{"$ref":"http://x.test/n","x-mine":{"$id":"http://x.test/n","type":"string"},'
      .. '"$defs":{"n":{"$id":"http://x.test/n","type":"null"}}}', { "null", "not", '"x"' })
  end)

  it("are rejected if they are not unique", function()
    assert.equal("schema at /$defs/b/$id: another schema has the same URI, http://x.test/a",
      rejection '{"$defs":{"a":{"$id":"http://x.test/a"},"b":{"$id":"http://x.test/a"}}}')
    assert.equal("schema at /$defs/b/$anchor: another schema has the same anchor, n",
      rejection '{"$defs":{"a":{"$anchor":"n"},"b":{"$anchor":"n"}}}')
  end)

  it("are resolved against the given base", function()
    local options = documents { ["http://x.test/dir/b"] = '{"type":"null"}' }
    options.base = "http://x.test/dir/a"
    fits('{"$ref":"b"}', { "null", "not", "1" }, options)
  end)
end)

describe("documents", function()
  it("are found by their URI or their $id, and refer to one another", function()
    local options = documents {
      ["http://x.test/a"] = '{"$ref":"b#/$defs/n"}',
      ["http://x.test/b"] = '{"$defs":{"n":{"$ref":"http://y.test/c"}}}',
      ["elsewhere"] = '{"$id":"http://y.test/c","type":"null"}',
    }
    fits('{"$ref":"http://x.test/a"}', { "null", "not", "1" }, options)
  end)

  it("have their $id as the base, not the URI they were found by", function()
    local options = documents {
      ["http://x.test/a"] = '{"$id":"http://y.test/b/","$ref":"c","$defs":{"c":{"$id":"c","type":"null"}}}',
    }
    fits('{"$ref":"http://x.test/a"}', { "null", "not", "1" }, options)
  end)

  it("are not read unless they are referred to", function()
    fits("true", { "1" }, documents { ["http://x.test/a"] = '{"type":"strnig"}' })
  end)

  it("are named in errors", function()
    assert.matches("^schema at http://x.test/a#/properties/b/type: expected one of",
      rejection('{"$ref":"http://x.test/a"}', documents { ["http://x.test/a"] = '{"properties":{"b":{"type":"x"}}}' }))
  end)
end)

describe("$dynamicRef", function()
  local list = '{"$id":"http://x.test/list","items":{"$dynamicRef":"#item"},"$defs":{"any":{"$dynamicAnchor":"item"}}}'

  it("refers to the outermost anchor in the dynamic scope", function()
    local options = documents { ["http://x.test/list"] = list }
    fits('{"$ref":"http://x.test/list"}', { '[1,"x"]' }, options)
    fits('{"$id":"http://x.test/strings","$ref":"list","$defs":{"s":{"$dynamicAnchor":"item","type":"string"}}}',
      { '["x"]', "not", "[1]" }, options)
    fits('{"$id":"http://x.test/both","properties":{"plain":{"$ref":"list"},"strings":{"$id":"s","$ref":"list",'
      .. '"$defs":{"s":{"$dynamicAnchor":"item","type":"string"}}}}}',
      { '{"plain":[1],"strings":["x"]}', "not", '{"strings":[1]}' }, options)
  end)

  it("ignores resources that were left", function()
    local options = documents { ["http://x.test/list"] = list }
    fits('{"$id":"http://x.test/both","allOf":[{"$id":"s","properties":{"strings":{"$ref":"list"}},'
      .. '"$defs":{"s":{"$dynamicAnchor":"item","type":"string"}}},{"properties":{"plain":{"$ref":"list"}}}]}',
      { '{"plain":[1],"strings":["x"]}', "not", '{"strings":[1]}' }, options)
  end)

  it("is a plain reference if its target is not a dynamic anchor", function()
    fits('{"$dynamicRef":"#n","$defs":{"n":{"$anchor":"n","type":"null"}}}', { "null", "not", "1" })
    fits('{"$dynamicRef":"#/$defs/n","$defs":{"n":{"$dynamicAnchor":"n","type":"null"}}}', { "null", "not", "1" })
  end)

  it("extends a tree", function()
    local options = documents {
      ["http://x.test/tree"] = '{"$id":"http://x.test/tree","$dynamicAnchor":"node","properties":{"data":true,'
        .. '"children":{"items":{"$dynamicRef":"#node"}}}}',
    }
    fits('{"$id":"http://x.test/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false}',
      { '{"children":[{"data":1}]}', "not", '{"children":[{"daat":1}]}' }, options)
  end)
end)

describe("$schema", function()
  local function meta(vocabularies)
    return documents { ["http://x.test/meta"] = '{"$id":"http://x.test/meta","$vocabulary":' .. vocabularies .. "}" }
  end

  it("disables keywords of vocabularies that its meta-schema does not list", function()
    local options = meta [[{ "https://json-schema.org/draft/2020-12/vocab/core": true,
      "https://json-schema.org/draft/2020-12/vocab/applicator": true }]]
    fits('{"$schema":"http://x.test/meta","properties":{"a":{"minimum":5},"b":false}}',
      { '{"a":1}', "not", '{"b":1}' }, options)
    fits('{"$schema":"http://x.test/meta","minimum":"ten"}', { "1" }, options)
  end)

  it("is rejected if a required vocabulary is unknown", function()
    assert.equal("schema at /$schema: the vocabulary http://x.test/vocab is required but unknown",
      rejection('{"$schema":"http://x.test/meta"}', meta '{"http://x.test/vocab":true}'))
    fits('{"$schema":"http://x.test/meta"}', { "1" }, meta '{"http://x.test/vocab":false}')
  end)

  it("is rejected if the meta-schema is not given", function()
    assert.equal("schema at /$schema: the meta-schema http://x.test/meta is not among the documents",
      rejection '{"$schema":"http://x.test/meta"}')
  end)

  it("turns formats into assertions with the vocabulary for that", function()
    local options = meta '{"https://json-schema.org/draft/2020-12/vocab/format-assertion":true}'
    fits('{"$schema":"http://x.test/meta","format":"ipv4"}', { '"1.2.3.4"', "not", '"x"' }, options)
    assert.equal("schema at /format: the format x is unknown",
      rejection('{"$schema":"http://x.test/meta","format":"x"}', options))
  end)

  it("may name an older draft", function()
    fits([[{ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": { "n": { "type": "null" } },
      "items": [{ "$ref": "#/definitions/n", "const": 5 }], "additionalItems": { "type": "string" },
      "dependencies": { "a": ["b"] }, "prefixItems": [false], "unevaluatedProperties": false }]],
      { "[null]", '[null,"x"]', '{"c":1}', "not", "[5]", "[null,1]", '{"a":1}' })
    fits([[{ "$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#n",
      "definitions": { "n": { "$id": "#n", "type": "null" } } }]], { "null", "not", "1" })
    fits([[{ "$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{ "$recursiveRef": "#" }],
      "prefixItems": "x", "type": ["array", "null"] }]], { "[[null]]", "not", "[1]" })
  end)

  it("applies to its own resource only", function()
    fits([[{ "$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "http://x.test/old" }]],
      { "[1]" }, documents {
        ["http://x.test/old"] = '{"$schema":"https://json-schema.org/draft/2019-09/schema","prefixItems":[false]}',
      })
  end)
end)
