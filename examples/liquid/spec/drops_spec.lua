local support = require "spec.support.engine"
local replace_markers = require("liquid.drops").replace_markers
local json = require("pintle.core").json
local drops = require "liquid.drops"

local function data(text) return replace_markers(assert(json.decode(text, nil, true))) end

local function standard(name, params)
  return data(('{"d":{"_instantiate":"%s","params":%s}}'):format(name, params or "{}"))
end

describe("the standard drops", function()
  it("have values", function()
    local test = "{{ d }} {% if d %}y{% else %}n{% endif %} {% if d == v %}same{% endif %}"
    local function try(name, value)
      local environment = standard(name, '{"value":' .. value .. "}")
      environment.v = json.decode(value)
      return support.render(test, environment)
    end
    assert.equal("false n same", try("BooleanDrop", "false"))
    assert.equal("true y same", try("BooleanDrop", "true"))
    assert.equal("0 y same", try("NumberDrop", "0"))
    assert.equal("x y same", try("StringDrop", '"x"'))
    assert.equal(" n ", support.render("{{ d }} {% if d %}y{% else %}n{% endif %} ", standard "NilDrop"))
    assert.equal("opaque y ", support.render("{{ d }} {% if d %}y{% else %}n{% endif %} ", standard "OpaqueDrop"))
  end)

  it("have members for names and positions", function()
    support.outputs({ ["d.echo_42"] = "42", ["d.square_5"] = "25", ["d.double_7"] = "14", ["d.other"] = "" },
      standard "MethodDrop")
    support.outputs({ ["d[0]"] = "zero", ["d[2]"] = "two", ["d['foo']"] = "foo" }, standard "IndexDrop")
    support.outputs({ ["d.square.square"] = "81", ["d.nested.square"] = "9" }, standard("NestedDrop", '{"value":3}'))
    support.outputs({ ["d.size"] = "3", ["d.last"] = "third", ["d | join: ','"] = "first,second,third" },
      standard "SequenceDrop")
    support.outputs({ ["d | size"] = "3", ["d | last"] = "third", ["d.max"] = "third", ["d.count"] = "3" },
      standard "SequenceDrop")
    assert.equal("first;second;third;", support.render("{% for i in d %}{{ i }};{% endfor %}", standard "SequenceDrop"))
    support.outputs({ ["d | plus: 1"] = "43" }, standard("NumberDrop", '{"value":42}'))
  end)

  it("report missing members with strict_variables", function()
    support.outputs({
      ["d[5]"] = "five", ["d[6]"] = "unknown", ["d[-1]"] = "five", ["d[-7]"] = "unknown", ["d[1.5]"] = "unknown",
      ["d[nil]"] = "unknown", ["d.size"] = "size",
    }, standard "IndexDrop")
    support.outputs({ ["d.square_4000000000"] = "16000000000000000000", ["d.echo_-1"] = "" }, standard "MethodDrop")
  end)

  it("can fail", function()
    assert.equal("aLiquid error (line 1): ErrorDrop: access triggered an errorb",
      support.render("a{{ d.x }}b", standard "ErrorDrop"))
  end)
end)

describe("NilDrop", function()
  local environment = standard "NilDrop"
  environment.list = data('{"l":[{"_instantiate":"NilDrop"},1,{"x":{"_instantiate":"NilDrop"}}]}').l

  it("is nil in every filter", function()
    for _, filter in ipairs {
      "upcase", "escape", "url_encode", "strip", "squish", "truncate: ''", "truncatewords: ''", "slice: 0",
      "append: ''", "replace: 'a', 'b'", "split: ','", "join: ','", "sort", "sort_natural", "uniq", "reverse",
      "compact", "map: 'x'", "where: 'x'", "first", "last", "find: 'x'", "date: '%Y'", "concat: d2",
    } do
      support.outputs({ ["d | " .. filter] = filter:find "concat" and
        "Liquid error (line 1): concat filter requires an array argument" or "" }, environment)
    end
    support.outputs({
      ["d | compact | size"] = "0", ["d | size"] = "0", ["d | default: 'x'"] = "x", ["d | plus: 1"] = "1",
      ["d | default: 'x', allow_false: true"] = "x", ["d | sum"] = "0", ["d | has: 'x'"] = "false",
      ["'abc' | slice: d"] = "Liquid error (line 1): invalid integer", ["'abc' | slice: 1, d"] = "b",
      ["'abc' | append: d"] = "abc", ["list | compact | size"] = "2", ["list | first"] = "", ["list[2].x"] = "",
    }, environment)
  end)

  it("is nil in every tag", function()
    support.all({
      ["{% tablerow x in d %}{{ x }}{% endtablerow %}"] = "", ["{% for x in d %}x{% else %}none{% endfor %}"] = "none",
      ["{% tablerow x in (1..2) limit: d %}{{ x }}{% endtablerow %}"] = '<tr class="row1">\n</tr>\n',
      ["{% for x in (1..2) limit: d offset: d %}{{ x }}{% endfor %}"] = "12",
      ["{% for x in (d..1) %}{{ x }}{% endfor %}"] = "01",
      ["{% if d %}y{% endif %}{% if d == nil %}nil{% endif %}"] = "nil", ["{% unless d %}n{% endunless %}"] = "n",
      ["{% case d %}{% when nil %}nil{% endcase %}"] = "nil", ["{% cycle d, 'b' %}"] = "",
      ["{% assign x = d %}{{ x | default: 'none' }}"] = "none",
      ["{% for x in list %}[{{ x.x }}]{% endfor %}"] = "[][][]",
      ["{% if d contains 'a' or 'a' contains d %}y{% else %}n{% endif %}"] = "n", ["{% echo d %}"] = "",
      ["{% include 'p' with d %}{% render 'p' with d as p %}{% render 'p' for d as p %}"] = "[][][]",
    }, environment, { filesystem = { p = "[{{ p }}]" } })
  end)
end)

describe("standard drops with a value", function()
  local environment = data [[{"ne":{"_instantiate":"NestedDrop","params":{"value":6}},
    "nd":{"_instantiate":"NumberDrop","params":{"value":2}},"sd":{"_instantiate":"StringDrop","params":{"value":"2"}},
    "bd":{"_instantiate":"BooleanDrop","params":{"value":true}},"od":{"_instantiate":"OpaqueDrop"},
    "empty_text":{"_instantiate":"StringDrop","params":{"value":""}},
    "texts":[{"_instantiate":"StringDrop","params":{"value":"b"}},{"_instantiate":"StringDrop","params":{"value":"a"}}],
    "numbers":[{"_instantiate":"NumberDrop","params":{"value":2}},2,{"_instantiate":"NumberDrop","params":{"value":2}}],
    "word":"abcdefghijk"}]]

  it("are positions and lengths if their text is an integer", function()
    support.outputs({
      ["word | slice: ne"] = "g", ["word | slice: nd"] = "c", ["word | slice: sd, nd"] = "cd",
      ["word | truncate: ne"] = "abc...", ["'a b c' | truncatewords: nd"] = "a b...",
      ["word | slice: bd"] = "Liquid error (line 1): invalid integer",
      ["word | truncate: od"] = "Liquid error (line 1): invalid integer",
    }, environment)
    support.all({
      ["{% for x in (1..9) limit: nd offset: ne %}{{ x }}{% endfor %}"] = "78",
      ["{% for x in (sd..ne) %}{{ x }}{% endfor %}"] = "23456",
    }, environment)
  end)

  it("are invalid integers in tablerow", function()
    for _, option in ipairs { "cols:nd", "limit:nd", "offset:ne", "cols:sd", "cols:od" } do
      assert.equal("Liquid error (line 1): invalid integer",
        support.render("{% tablerow x in (1..3) " .. option .. " %}{{ x }}{% endtablerow %}", environment))
    end
  end)

  it("do not expose their value as a property", function()
    support.outputs({ ["ne.value"] = "", ["nd.value"] = "", ["sd.size"] = "", ["sd | size"] = "0", ["od.first"] = "" },
      environment)
  end)

  it("are sorted by their text, and unique by their value", function()
    support.outputs({
      ["texts | sort | join: ','"] = "a,b", ["numbers | uniq | size"] = "1", ["numbers | sum"] = "6",
      ["numbers | sort"] = "Liquid error (line 1): cannot sort values of incompatible types",
    }, environment)
  end)

  it("are empty in comparisons, but not for the default filter", function()
    support.outputs({ ["empty_text | default: 'x' | append: '|'"] = "|" }, environment)
    assert.equal("e", support.render("{% if empty_text == empty %}e{% endif %}", environment))
  end)

  it("have a default value", function()
    local bare = data [[{"n":{"_instantiate":"NumberDrop"},"s":{"_instantiate":"StringDrop","params":null},
      "b":{"_instantiate":"BooleanDrop","params":{}},"e":{"_instantiate":"NestedDrop","params":{"value":"x"}}}]]
    support.outputs({ ["n | plus: 1"] = "1", ["s | append: '|'"] = "|", b = "false", ["e.square"] = "0" }, bare)
  end)
end)

describe("drops in lists", function()
  it("fail the filters that read their properties", function()
    local environment = data '{"l":[{"_instantiate":"ErrorDrop"},{"_instantiate":"ErrorDrop"}]}'
    for _, filter in ipairs {
      "map", "where", "reject", "find", "has", "sort", "sort_natural", "sum", "uniq", "compact",
    } do
      support.outputs({
        ["l | " .. filter .. ": 'x'"] = "Liquid error (line 1): ErrorDrop: access triggered an error",
      }, environment)
    end
  end)
end)

describe("markers of Ruby's types", function()
  it("are replaced by the values they describe", function()
    support.outputs({
      ["r"] = "1..3", ["r.size"] = "3", ["x | join: ','"] = "1,2", ["s"] = "foo", ["c"] = "String",
    }, data [[{"r":{"_ruby_type":"Range","begin":1,"end":3},"s":{"_ruby_type":"Symbol","inspect":":foo","value":"foo"},
      "x":{"_ruby_type":"Range","begin":1,"end":3,"exclude_end":true},
      "c":{"_ruby_type":"Class","name":"String","inspect":"String"}}]])
  end)
end)

describe("drops of the program", function()
  local metatable = { __name = "spec.drop" }
  metatable.__index = metatable
  function metatable:get(property)
    self.asked[#self.asked + 1] = property
    local value = self.values[property]
    if value == nil then return support.liquid.null end
    if value == "fail" then return nil, "out of order" end
    return value
  end
  function metatable:iterate()
    if not self.list then return nil, "no items" end
    return self.list
  end
  drops.adopt(metatable)

  local function drop(values, list)
    return setmetatable({ values = values, list = list, asked = {}, type = "UserDrop" }, metatable)
  end

  it("are asked only for members that the template reads", function()
    local user = drop { name = "Ada", friends = drop({}, { "Bob", "Cleo" }) }
    assert.equal("Ada Bob,Cleo,", support.render("{{ u.name }} {% for f in u.friends %}{{ f }},{% endfor %}",
      { u = user }))
    assert.same({ "name", "friends" }, user.asked)
  end)

  it("are printed even if their to_s is a drop", function()
    local strange = drop {}
    strange.values.to_s = strange
    assert.equal("UserDrop", support.render("{{ d }}", { d = strange }))
  end)

  it("have a text, a value and a size", function()
    local box = drop { to_s = "<box>", to_liquid_value = false, to_number = 7, size = 3, first = "a", ["0"] = "zero" }
    support.all({
      ["{{ b }}"] = "<box>", ["{% if b %}y{% else %}n{% endif %}"] = "n", ["{{ b | plus: 1 }}"] = "8",
      ["{{ b.size }}"] = "3",
      ["{{ b | size }}"] = "3", ["{{ b | first }}"] = "a", ["{{ b.nothing }}"] = "",
    }, { b = box })
    assert.equal("UserDrop y", support.render("{{ b }}{% if b %} y{% endif %}", { b = drop {} }))
  end)

  it("may answer with markers if they are drops of pintle's dialect", function()
    local kind = { __name = "pintle.liquid.drop" }
    kind.__index = kind
    function kind.get(_, property)
      if property == "days" then return data('{"x":{"_ruby_type":"Range","begin":2,"end":4}}').x end
      return json.decode('{"_ruby_type":"Range","begin":5,"end":7}', nil, true)
    end
    function kind.iterate() return json.decode('[{"_instantiate":"NumberDrop","params":{"value":9}}]', nil, true) end
    local environment = replace_markers { d = setmetatable({}, kind) }
    support.outputs({ ["d.days"] = "2..4", ["d.hours"] = "5..7", ["d.hours | last"] = "7" }, environment)
    assert.equal("10", support.render("{% for n in d %}{{ n | plus: 1 }}{% endfor %}", environment))
  end)

  it("have no size, first or last if they only answer to_s", function()
    local silent = drop { to_s = "<silent>" }
    local failing = drop { to_s = "<failing>", size = "fail", first = "fail", last = "fail" }
    for name, expected in pairs { ["<silent>"] = silent, ["<failing>"] = failing } do
      support.outputs({ d = name, ["d | size"] = "0", ["d | first"] = "", ["d | last"] = "" }, { d = expected })
    end
    support.outputs({ ["d.size"] = "", ["d.first"] = "", ["d.last"] = "" }, { d = silent })
    support.outputs({ ["d.size"] = "Liquid error (line 1): out of order" }, { d = failing })
  end)

  it("fail without ending the render", function()
    assert.equal("[Liquid error (line 1): out of order]", support.render("[{{ b.x }}]", { b = drop { x = "fail" } }))
    assert.equal("Liquid error (line 1): no items", support.render("{% for i in b %}x{% endfor %}", { b = drop {} }))
    local template = support.liquid.compile "{{ b.x }}"
    local output, err = template:render({ b = drop { x = "fail" } }, { strict_errors = true })
    assert.is_nil(output)
    assert.equal("Liquid error (line 1): out of order", tostring(err))
  end)
end)

describe("self", function()
  it("contains nothing, and cannot be iterated over", function()
    assert.equal("n1", support.render
      "{% assign x = 1 %}{% if self contains 'x' %}y{% else %}n{% endif %}{{ self.x }}")
    assert.equal("none", support.render("{% for x in self %}x{% else %}none{% endfor %}", { a = 1 }))
  end)

  it("reports undefined variables with strict_variables", function()
    local template = support.liquid.compile "{{ self.a }}{{ self.null }}{{ self.missing }}{{ self[0] }}"
    local output, errors = template:render({ a = "A", null = support.liquid.null }, { strict_variables = true })
    assert.equal("A", output)
    assert.equal(2, #errors)
    assert.equal("undefined variable missing", errors[1].message)
  end)

  it("is equal to self of the same context only", function()
    assert.equal("same", support.render("{% assign s = self %}{% if s == self.self %}same{% endif %}"))
    assert.equal("other", support.render("{% render 'p', outer: self %}", {},
      { filesystem = { p = "{% if outer == self %}same{% else %}other{% endif %}" } }))
  end)

  it("has properties for filters", function()
    support.outputs({
      ["self | map: 'a'"] = "A", ["self | where: 'a', 'A' | size"] = "1", ["self | map: 'none' | compact | size"] = "0",
    }, { a = "A" })
  end)
end)
