-- Schemas of older drafts, and the many ways to write the URI of a draft.
local schemas = require "spec.support.schemas"
local json = require("pintle.core").json

local fits, rejection = schemas.fits, schemas.rejection

local DRAFT = {
  [4] = "http://json-schema.org/draft-04/schema#", [6] = "http://json-schema.org/draft-06/schema#",
  [7] = "http://json-schema.org/draft-07/schema#", [2019] = "https://json-schema.org/draft/2019-09/schema",
  [2020] = "https://json-schema.org/draft/2020-12/schema",
}

-- A schema of a draft; the text has the members after `$schema`.
local function of(draft, members) return ('{"$schema":"%s",%s}'):format(DRAFT[draft], members) end

describe("the URI in $schema", function()
  -- An array in `items` was allowed until 2019-09, and prefixItems has a meaning since 2020-12.
  local function is_before_2020(uri)
    local validate = schemas.compile(('{"$schema":"%s","prefixItems":[false]}'):format(uri))
    return validate { 1 } == true
  end

  it("may name a draft in the style of another one", function()
    for _, uri in ipairs {
      "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema",
      "https://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema",
      "https://json-schema.org/draft/07/schema#", "https://json-schema.org/draft-7/schema",
      "HTTP://json-schema.org/draft-06/schema#", "https://json-schema.org/draft-04/schema",
      "http://json-schema.org/draft-05/schema#", "http://json-schema.org/draft-07/schema/",
      "http://json-schema.org/draft/2019-09/schema#", "https://json-schema.org/2019-09/schema",
      "https://json-schema.org/draft-2019-09/schema",
    } do
      assert.is_true(is_before_2020(uri), uri)
    end
    for _, uri in ipairs {
      "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft/2020-12/schema",
      "http://json-schema.org/draft/2020-12/schema#", "https://json-schema.org/2020-12/schema",
      "https://json-schema.org/draft-2020-12/schema#", "http://json-schema.org/schema#",
    } do
      assert.is_false(is_before_2020(uri), uri)
    end
  end)

  it("is rejected if it names no draft that is known", function()
    for _, uri in ipairs {
      "http://json-schema.org/draft-03/schema#", "https://json-schema.org/draft/2099-01/schema", "",
      "https://json-schema.org.example/draft-07/schema", "https://example.com/draft-07/schema",
      "https://json-schema.org/draft-07/hyper-schema#", "ftp://json-schema.org/draft-07/schema",
    } do
      assert.equal(("schema at /$schema: the meta-schema %s is not among the documents"):format(uri),
        rejection(('{"$schema":"%s"}'):format(uri)))
    end
  end)
end)

describe("a schema of draft 4", function()
  it("has booleans for exclusive bounds", function()
    fits(of(4, '"minimum":1,"exclusiveMinimum":true,"maximum":3,"exclusiveMaximum":true'), { "2", "not", "1", "3" })
    fits(of(4, '"minimum":1,"exclusiveMinimum":false,"maximum":3'), { "1", "3", "not", "0", "4" })
    fits(of(4, '"exclusiveMaximum":true'), { "1" })
    assert.matches("^schema at /exclusiveMinimum: expected a number", rejection '{"exclusiveMinimum":true}')
  end)

  it("has `id` for its URI and its anchors", function()
    fits(of(4, [["id":"http://x.test/a","properties":{"id":{"$ref":"a#n"}},
      "definitions":{"n":{"id":"#n","type":"null"}}]]),
      { '{"id":null}', "not", '{"id":1}' })
    fits(of(4, '"properties":{"$id":{"type":"null"}},"$id":5'), { '{"$id":null}', "not", '{"$id":1}' })
  end)

  it("has definitions, dependencies, and lists of items", function()
    fits(of(4, [["definitions":{"n":{"type":"integer"}},"items":[{"$ref":"#/definitions/n"}],"additionalItems":false,
      "dependencies":{"a":["b"],"c":{"required":["d"]}}]]),
      { "[1]", '{"a":1,"b":1}', '{"c":1,"d":1}', "not", '["x"]', "[1,2]", '{"a":1}', '{"c":1}' })
  end)

  it("has no keywords of later drafts", function()
    fits(of(4, '"const":1,"contains":false,"propertyNames":false,"if":true,"then":false'), { "2", "[1]", '{"a":1}' })
  end)
end)

describe("a schema of draft 6 or 7", function()
  it("has if, then and else only in draft 7", function()
    fits(of(7, '"if":{"type":"string"},"then":false'), { "1", "not", '"x"' })
    fits(of(6, '"if":{"type":"string"},"then":false,"const":"x"'), { '"x"', "not", "1" })
  end)

  it("may have identifiers that name nothing", function()
    fits(of(7, '"$id":"http://x.test/a","properties":{"b":{"$id":"#/properties/b","type":"null"}}'),
      { '{"b":null}', "not", '{"b":1}' })
  end)

  it("may have its definitions under any name", function()
    fits(of(7, '"$ref":"#/$defs/n","$defs":{"n":{"type":"null"}}'), { "null", "not", "1" })
    fits(of(6, '"items":[{"$id":"http://x.test/n","type":"null"}],"properties":{"a":{"$ref":"#/items/0"}}'),
      { '{"a":null}', "[null]", "not", '{"a":1}', "[1]" })
  end)

  it("is named in errors by its own keywords", function()
    assert.matches("^schema at /items/1/type: ", rejection(of(7, '"items":[true,{"type":"strnig"}]')))
    assert.matches("^schema at /additionalItems: ", rejection(of(7, '"items":[true],"additionalItems":5')))
    assert.equal("/additionalItems/type",
      schemas.failure(of(7, '"items":[true],"additionalItems":{"type":"null"}'), "[1,2]").schema_path)
  end)
end)

describe("a schema of draft 2019-09", function()
  it("does not count items that `contains` found as evaluated", function()
    local members = '"contains":{"type":"null"},"unevaluatedItems":{"type":"integer"}'
    fits(of(2019, members), { "not", "[null,1]" })
    fits(of(2020, members), { "[null,1]" })
  end)

  local function tree(anchor)
    return { documents = { ["http://x.test/tree"] = json.decode(of(2019, [["$id":"http://x.test/tree",]] .. anchor
      .. [["properties":{"data":true,"children":{"items":{"$recursiveRef":"#"}}}]])) } }
  end

  local STRICT = of(2019,
    '"$id":"http://x.test/strict","$recursiveAnchor":true,"$ref":"tree","unevaluatedProperties":false')

  it("extends a tree with $recursiveRef and $recursiveAnchor", function()
    fits(STRICT, { '{"children":[{"data":1}]}', "not", '{"daat":1}', '{"children":[{"daat":1}]}' },
      tree '"$recursiveAnchor":true,')
  end)

  it("has a plain reference in $recursiveRef if its own root has no $recursiveAnchor", function()
    for _, anchor in ipairs { "", '"$recursiveAnchor":false,' } do
      fits(STRICT, { '{"children":[{"daat":1}]}', "not", '{"daat":1}' }, tree(anchor))
    end
  end)

  it("stops at a schema that does not take part in the recursion", function()
    fits(of(2019, '"$id":"http://x.test/plain","$ref":"tree","unevaluatedProperties":false'),
      { '{"children":[{"daat":1}]}', "not", '{"daat":1}' }, tree '"$recursiveAnchor":true,')
  end)

  it("chooses the target while it validates", function()
    local document = of(2019, [["$id":"http://x.test/main","$recursiveAnchor":true,"type":"object",
      "properties":{"kind":true},"if":{"properties":{"kind":{"const":"number"}}},
      "then":{"$id":"number","$recursiveAnchor":true,"$ref":"inner"},"else":{"$ref":"inner"},
      "$defs":{"inner":{"$id":"inner","$recursiveAnchor":true,"type":["object","integer"],
        "additionalProperties":{"anyOf":[{"type":"string"},{"$recursiveRef":"#"}]}}}]])
    fits(document, { '{"kind":"x","a":{"kind":"number"}}', "not", '{"kind":"x","a":1}' })
  end)

  it("is not mixed up with 2020-12, where $recursiveRef has no meaning", function()
    fits('{"$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}},"type":"object"}', { '{"a":1}' })
  end)

  it("is stopped by the limit of depth if the recursion is endless", function()
    local _, err = schemas.compile(of(2019, '"$recursiveAnchor":true,"anyOf":[{"$recursiveRef":"#"}]'))(1)
    assert.equal("schemas are applied more deeply than the limit allows", err.message)
    assert.matches("it refers to itself without end$", rejection(of(2019, '"allOf":[{"$recursiveRef":"#"}]')))
  end)
end)

describe("a reference to the meta-schema", function()
  local function accepts(draft, texts) fits(('{"$ref":"%s"}'):format(DRAFT[draft]), texts) end

  it("of each draft accepts what is a schema in it", function()
    for draft in pairs(DRAFT) do
      accepts(draft, {
        "{}", '{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}', '{"x-mine":5}',
        '{"enum":[1],"default":{"type":"strnig"},"allOf":[{"minLength":1}],"definitions":{"a":{}}}',
        '{"dependencies":{"a":["b"],"c":{"type":"null"}}}',
        "not", "1", "null", '"x"', "[]", '{"type":"strnig"}', '{"minLength":-1}', '{"properties":{"a":{"type":5}}}',
        '{"allOf":[]}', '{"not":{"anyOf":[{"pattern":1}]}}', '{"dependencies":{"a":{"type":5}}}', '{"$ref":5}',
      })
    end
  end)

  it("of older drafts knows their keywords", function()
    for _, draft in ipairs { 4, 6, 7, 2019 } do
      accepts(draft, {
        '{"items":[{"type":"null"}],"additionalItems":false}', '{"items":{"type":"null"}}', '{"prefixItems":5}',
        "not", '{"items":[{"type":5}]}', '{"items":{"type":5}}', '{"items":5}', '{"additionalItems":{"type":5}}',
        '{"additionalItems":5}',
      })
    end
    accepts(4, { '{"exclusiveMinimum":true,"id":"a","const":1,"if":5}', "not", '{"exclusiveMinimum":1}', '{"id":5}',
      '{"required":[]}', '{"required":[1]}' })
    accepts(6, { '{"exclusiveMinimum":1,"$id":"#a","if":5}', "not", '{"exclusiveMinimum":true}', '{"contains":5}' })
    accepts(7, { "true", '{"if":{},"$id":"#a","$defs":5}', "not", '{"if":5}', '{"$id":5}', '{"$comment":5}' })
    accepts(2019, { '{"$recursiveRef":"#","$recursiveAnchor":true,"$defs":{"a":true}}', "not",
      '{"$recursiveAnchor":"a"}', '{"$defs":5}', '{"unevaluatedItems":5}', '{"minContains":-1}' })
  end)

  it("may be written as in $schema, and stand in a schema of any draft", function()
    for _, uri in ipairs { "https://json-schema.org/draft-07/schema", "http://json-schema.org/draft-07/schema" } do
      fits(of(2020, ('"properties":{"a":{"$ref":"%s"}}'):format(uri)), { '{"a":{"if":{}}}', "not", '{"a":{"if":5}}' })
      fits(of(7, ('"properties":{"a":{"$ref":"%s#"}}'):format(uri)), { '{"a":{"if":{}}}', "not", '{"a":{"if":5}}' })
    end
  end)

  it("says where the value is not a schema", function()
    local err = schemas.failure(('{"properties":{"a":{"$ref":"%s"}}}'):format(DRAFT[7]),
      '{"a":{"items":[true,{"type":"x"}]}}')
    assert.equal("/a/items/1/type", err.instance_path)
    assert.matches("^it is not a valid schema: expected one of array", err.message)
  end)

  it("is rejected if it leads into the meta-schema", function()
    assert.matches("is not among the documents$", rejection(('{"$ref":"%s/definitions/x"}'):format(DRAFT[7])))
  end)

  it("uses the document if it is given", function()
    fits(('{"$ref":"%s"}'):format(DRAFT[7]), { "5", "not", "{}" },
      { documents = { [DRAFT[7]] = { type = "integer" } } })
  end)

  it("is stopped at the limits", function()
    local value = {}
    value["not"] = value
    for _, draft in ipairs { 4, 2019, 2020 } do
      local validate = schemas.compile({ ["$ref"] = DRAFT[draft] }, { limits = { depth = 100 } })
      assert.matches("nested more deeply than the limit allows$", select(2, validate(value)).message)
      validate = schemas.compile({ ["$ref"] = DRAFT[draft] }, { limits = { steps = 100 } })
      assert.matches("more steps than the limit allows$", select(2, validate(value)).message)
    end
  end)
end)
