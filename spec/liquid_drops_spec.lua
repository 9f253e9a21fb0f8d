local load = require "spec.support.liquid.load"
local markers = require "liquid.drops.markers"
local json = require("pintle.core").json
local remote = require "liquid.drops.remote"

local function data(text) return markers(assert(json.decode(text, nil, true))) end

local function standard(name, params)
  return data(('{"d":{"_instantiate":"%s","params":%s}}'):format(name, params or "{}"))
end

describe("the standard drops", function()
  it("stand for values", function()
    local test = "{{ d }} {% if d %}y{% else %}n{% endif %} {% if d == v %}same{% endif %}"
    local function try(name, value)
      local environment = standard(name, '{"value":' .. value .. "}")
      environment.v = json.decode(value)
      return load.render(test, environment)
    end
    assert.equal("false n same", try("BooleanDrop", "false"))
    assert.equal("true y same", try("BooleanDrop", "true"))
    assert.equal("0 y same", try("NumberDrop", "0"))
    assert.equal("x y same", try("StringDrop", '"x"'))
    assert.equal(" n ", load.render("{{ d }} {% if d %}y{% else %}n{% endif %} ", standard "NilDrop"))
    assert.equal("opaque y ", load.render("{{ d }} {% if d %}y{% else %}n{% endif %} ", standard "OpaqueDrop"))
  end)

  it("answer to names and numbers", function()
    load.outputs({ ["d.echo_42"] = "42", ["d.square_5"] = "25", ["d.double_7"] = "14", ["d.other"] = "" },
      standard "MethodDrop")
    load.outputs({ ["d[0]"] = "zero", ["d[2]"] = "two", ["d['foo']"] = "foo" }, standard "IndexDrop")
    load.outputs({ ["d.square.square"] = "81", ["d.nested.square"] = "9" }, standard("NestedDrop", '{"value":3}'))
    load.outputs({ ["d.size"] = "3", ["d.last"] = "third", ["d | join: ','"] = "first,second,third" },
      standard "SequenceDrop")
    load.outputs({ ["d | size"] = "3", ["d | last"] = "third", ["d.max"] = "third", ["d.count"] = "3" },
      standard "SequenceDrop")
    assert.equal("first;second;third;", load.render("{% for i in d %}{{ i }};{% endfor %}", standard "SequenceDrop"))
    load.outputs({ ["d | plus: 1"] = "43" }, standard("NumberDrop", '{"value":42}'))
  end)

  it("say that they know no further", function()
    load.outputs({
      ["d[5]"] = "five", ["d[6]"] = "unknown", ["d[-1]"] = "five", ["d[-7]"] = "unknown", ["d[1.5]"] = "unknown",
      ["d[nil]"] = "unknown", ["d.size"] = "size",
    }, standard "IndexDrop")
    load.outputs({ ["d.square_4000000000"] = "16000000000000000000", ["d.echo_-1"] = "" }, standard "MethodDrop")
  end)

  it("may fail", function()
    assert.equal("aLiquid error (line 1): ErrorDrop: access triggered an errorb",
      load.render("a{{ d.x }}b", standard "ErrorDrop"))
  end)
end)

describe("drops in lists", function()
  it("fail the filters that read their properties", function()
    local environment = data '{"l":[{"_instantiate":"ErrorDrop"},{"_instantiate":"ErrorDrop"}]}'
    for _, filter in ipairs {
      "map", "where", "reject", "find", "has", "sort", "sort_natural", "sum", "uniq", "compact",
    } do
      load.outputs({
        ["l | " .. filter .. ": 'x'"] = "Liquid error (line 1): ErrorDrop: access triggered an error",
      }, environment)
    end
  end)
end)

describe("markers of Ruby's types", function()
  it("become what they say", function()
    load.outputs({
      ["r"] = "1..3", ["r.size"] = "3", ["x | join: ','"] = "1,2", ["s"] = "foo", ["h"] = "{:a=>1}", ["h.a"] = "1",
    }, data [[{"r":{"_ruby_type":"Range","begin":1,"end":3},"s":{"_ruby_type":"Symbol","inspect":":foo","value":"foo"},
      "x":{"_ruby_type":"Range","begin":1,"end":3,"exclude_end":true},
      "h":{"_ruby_type":"Hash","inspect":"{:a=>1}","data":{"a":1}}}]])
  end)
end)

describe("drops that live elsewhere", function()
  local metatable = { __name = "spec.drop" }
  metatable.__index = metatable
  function metatable:get(property)
    self.asked[#self.asked + 1] = property
    local value = self.values[property]
    if value == nil then return load.liquid.null end
    if value == "fail" then return nil, "out of order" end
    return value
  end
  function metatable:iterate()
    if not self.list then return nil, "no items" end
    return self.list
  end
  remote.adopt(metatable)

  local function drop(values, list)
    return setmetatable({ values = values, list = list, asked = {}, type = "UserDrop" }, metatable)
  end

  it("are asked for what is needed, and nothing else", function()
    local user = drop { name = "Ada", friends = drop({}, { "Bob", "Cleo" }) }
    assert.equal("Ada Bob,Cleo,", load.render("{{ u.name }} {% for f in u.friends %}{{ f }},{% endfor %}",
      { u = user }))
    assert.same({ "name", "friends" }, user.asked)
  end)

  it("are not asked for ever what they are as text", function()
    local strange = drop {}
    strange.values.to_s = strange
    assert.equal("UserDrop", load.render("{{ d }}", { d = strange }))
  end)

  it("say how they print, what they stand for and how large they are", function()
    local box = drop { to_s = "<box>", to_liquid_value = false, to_number = 7, size = 3, first = "a", ["0"] = "zero" }
    load.all({
      ["{{ b }}"] = "<box>", ["{% if b %}y{% else %}n{% endif %}"] = "n", ["{{ b | plus: 1 }}"] = "8",
      ["{{ b.size }}"] = "3",
      ["{{ b | size }}"] = "3", ["{{ b | first }}"] = "a", ["{{ b.nothing }}"] = "",
    }, { b = box })
    assert.equal("UserDrop y", load.render("{{ b }}{% if b %} y{% endif %}", { b = drop {} }))
  end)

  it("answer with what is marked, where they come as JSON", function()
    local kind = { __name = "pintle.liquid.drop" }
    kind.__index = kind
    function kind.get(_, property)
      if property == "days" then return data('{"x":{"_ruby_type":"Range","begin":2,"end":4}}').x end
      return json.decode('{"_ruby_type":"Range","begin":5,"end":7}', nil, true)
    end
    function kind.iterate() return json.decode('[{"_instantiate":"NumberDrop","params":{"value":9}}]', nil, true) end
    local environment = markers { d = setmetatable({}, kind) }
    load.outputs({ ["d.days"] = "2..4", ["d.hours"] = "5..7", ["d.hours | last"] = "7" }, environment)
    assert.equal("10", load.render("{% for n in d %}{{ n | plus: 1 }}{% endfor %}", environment))
  end)

  it("fail without ending the render", function()
    assert.equal("[Liquid error (line 1): out of order]", load.render("[{{ b.x }}]", { b = drop { x = "fail" } }))
    assert.equal("Liquid error (line 1): no items", load.render("{% for i in b %}x{% endfor %}", { b = drop {} }))
    local template = load.liquid.compile "{{ b.x }}"
    local output, err = template:render({ b = drop { x = "fail" } }, { strict_errors = true })
    assert.is_nil(output)
    assert.equal("Liquid error (line 1): out of order", tostring(err))
  end)
end)
