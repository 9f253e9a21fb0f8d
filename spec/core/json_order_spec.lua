local core = require "pintle.core"
local deep = require "spec.support.deep"
local haunting = require "spec.support.haunting"
local nested = require "spec.support.nested"
local pair = require "spec.support.pair"

local json = core.json
local decode, encode, order = json.decode, json.encode, json.order

-- The names of an object's members in the order of the text, if each is one letter.
local function names_in(text)
  return (text:gsub('"(%a)":%d+', "%1"):gsub("%W", ""))
end

describe("an object with an order", function()
  local CBA = order { "c", "b", "a" }

  local function ordered(object) return setmetatable(object, CBA) end

  it("is written in that order", function()
    assert.equal('{"c":3,"b":2,"a":1}', encode(ordered { a = 1, b = 2, c = 3 }))
  end)

  it("is written without the members that it lacks", function()
    assert.equal('{"c":3,"a":1}', encode(ordered { a = 1, c = 3 }))
    assert.equal('{"b":2}', encode(ordered { b = 2 }))
    assert.equal('{"c":false,"b":null}', encode(ordered { b = json.null, c = false }))
  end)

  it("is an object when it is empty", function()
    assert.equal("{}", encode(ordered {}))
    assert.equal("{}", encode(setmetatable({}, order {})))
    assert.equal('[{},{"a":{}}]', encode { ordered {}, ordered { a = ordered {} } })
  end)

  it("is written with its other members last, each once", function()
    local object, others = { b = 2, a = 1 }, {}
    for letter in ("defghijklmnopqrstuvwxyz"):gmatch "." do
      object[letter] = 0
      others[#others + 1] = letter
    end
    local names = names_in(encode(ordered(object)))
    assert.equal("ba", names:sub(1, 2))
    local rest = { names:byte(3, -1) }
    table.sort(rest)
    assert.equal(table.concat(others), string.char(table.unpack(rest)))
    assert.equal("xyz", names_in(encode(setmetatable({ x = 1, y = 2, z = 3 }, order { "x", "y" }))))
  end)

  it("may contain objects with other orders, and be contained in one", function()
    local ZA = order { "z", "a" }
    local inner = setmetatable({ a = ordered { a = 1, b = 2 }, z = { ordered { a = 1, c = 3 } } }, ZA)
    local text = '{"c":{"z":[{"c":3,"a":1}],"a":{"b":2,"a":1}},"a":[]}'
    assert.equal(text, encode(ordered { a = json.array(), c = inner }))
  end)

  it("keeps its order at any depth", function()
    local value = ordered { a = 1, c = 3 }
    for _ = 1, 100 do value = ordered { b = value, a = 1, c = ordered {} } end
    local text = ('{"c":{},"b":'):rep(100) .. '{"c":3,"a":1}' .. (',"a":1}'):rep(100)
    assert.equal(text, encode(value))
    assert.is_true(deep.equal(value, decode(text)))
  end)

  it("comes back as the same value", function()
    local value = ordered { a = { 1, 2.5, ordered { x = "y", a = json.null } }, q = { r = ordered {} }, c = "\n" }
    json.array(value.a)
    assert.is_true(deep.equal(value, decode(encode(value))))
    assert.is_nil(getmetatable(decode(encode(value))))
  end)

  it("may have names of any kind", function()
    local odd = order { "", "a b", "\n", "ä", "1", "__index", "__gc", ("x"):rep(100) }
    local object = setmetatable({ ["1"] = 5, ["ä"] = 4, ["\n"] = 3, ["a b"] = 2, [""] = 1, __index = 6, __gc = 7,
                                  [("x"):rep(100)] = 8 }, odd)
    assert.equal('{"":1,"a b":2,"\\n":3,"ä":4,"1":5,"__index":6,"__gc":7,"' .. ("x"):rep(100) .. '":8}', encode(object))
  end)

  -- An object with some of the names, and its expected text.
  local function random_object(names, depth)
    local object, texts = {}, {}
    for _, name in ipairs(names) do
      if math.random(3) == 1 then
        local value = math.random(1000)
        local text = tostring(value)
        if depth > 0 and math.random(4) == 1 then value, text = random_object(names, depth - 1) end
        object[name] = value
        texts[#texts + 1] = ('"%s":%s'):format(name, text)
      end
    end
    if math.random(4) == 1 then
      object.other = 1
      texts[#texts + 1] = '"other":1'
    end
    return setmetatable(object, order(names)), "{" .. table.concat(texts, ",") .. "}"
  end

  it("is written in order for any number of names and members", function()
    for _, count in ipairs { 1, 2, 3, 5, 8, 13, 31, 42, 63, 64, 65, 127, 128, 129 } do
      local names = {}
      for i = 1, count do names[i] = "n" .. i .. ("x"):rep(i % 60) end
      for _ = 1, 20 do
        local object, text = random_object(names, count < 20 and 3 or 1)
        assert.equal(text, encode(object))
      end
    end
  end)

  it("may have an order with many more names than members", function()
    local names = {}
    for i = 1, 1000 do names[i] = "n" .. i end
    assert.equal('{"n7":1,"n999":2}', encode(setmetatable({ n999 = 2, n7 = 1 }, order(names))))
  end)

  it("does not change with the list that the order was made of", function()
    local names = { "b", "a" }
    local object = setmetatable({ a = 1, b = 2 }, order(names))
    names[1], names[2] = "a", "b"
    assert.equal('{"b":2,"a":1}', encode(object))
  end)

  it("calls no metamethods", function()
    local BA = order { "b", "a" }
    BA.__index = function() error "called" end
    BA.__len, BA.__pairs = BA.__index, BA.__index
    assert.equal('{"a":1}', encode(setmetatable({ a = 1 }, BA)))
  end)

  it("is refused if it has items, even if the order has as many names", function()
    for _, object in ipairs { { 1 }, { 1, 2, 3, 4 }, { 1, a = 1 }, { a = 1, [3] = 1 }, { [2] = 1 } } do
      assert.error_matches(function() encode { x = ordered(object) } end,
        "value%.x%[%d%]: an ordered object with items has no JSON form")
    end
    assert.has_error(function() encode(ordered { [1.5] = 1 }) end)
    assert.has_error(function() encode(ordered { [true] = 1 }) end)
  end)

  it("is refused for the same reasons as other objects, with the same path", function()
    assert.error_matches(function() encode(ordered { a = 1, b = { print } }) end, "value%.b%[1%]: a function")
    assert.error_matches(function() encode(ordered { x = { y = print } }) end, "value%.x%.y: a function")
    assert.error_matches(function() encode(ordered { ["\xff"] = 1 }) end, "invalid UTF%-8")
    assert.error_matches(function() encode(setmetatable({ ["\xff"] = 1 }, order { "\xff" })) end, "invalid UTF%-8")
    local loop = ordered {}
    loop.b = { loop }
    assert.error_matches(function() encode(loop) end, "value%.b%[1%]: a table that contains itself")
    assert.error_matches(function() encode(ordered { a = nested.value(1000) }) end, "nested too deeply")
  end)

  it("is not an array, and cannot become one", function()
    assert.error_matches(function() json.array(ordered {}) end, "metatable")
  end)

  it("is accepted as params, result and data of messages", function()
    local a, b = pair.open { raw = true }
    a:request(1, "m", ordered { a = 1, c = 3 })
    local _, id, _, params = pair.pass(a, b)
    assert.equal('{"c":3,"a":1}', tostring(params))
    b:reply(id, ordered { a = {}, b = 2 })
    assert.equal('{"b":2,"a":{}}', tostring((select(4, pair.pass(b, a)))))
    a:notify("m", ordered {})
    assert.equal("{}", tostring((select(4, pair.pass(a, b)))))
    b:request(1, "m")
    local _, asked = pair.pass(b, a)
    a:fail(asked, 1, "no", ordered { c = 1, b = 2 })
    assert.matches('"data":{"c":1,"b":2}', tostring((select(4, pair.pass(a, b)))), 1, true)
    a:close()
    b:close()
  end)

  it("is written correctly while finalizers run", function()
    local value = {}
    for i = 1, 300 do value[i] = ordered { a = i, b = ordered { c = "x", b = i }, z = i } end
    local expected = encode(value)
    haunting.start(function() assert(encode(ordered { b = {}, c = 1 }) == '{"c":1,"b":{}}') end)
    haunting.drive(10, function() assert(encode(value) == expected) end)
    haunting.stop()
  end)
end)

describe("an order", function()
  it("is made of a list of distinct strings", function()
    assert.error_matches(function() order { "a", "b", "a" } end, "'a' occurs twice")
    assert.error_matches(function() order { "a", 1 } end, "must contain only strings")
    assert.error_matches(function() order { {} } end, "must contain only strings")
    assert.error_matches(function() order { "a", nil, "c" } end, "not a list")
    assert.error_matches(function() order { "a", x = "b" } end, "not a list")
    assert.error_matches(function() order { [0] = "a" } end, "not a list")
    assert.error_matches(function() order "a" end, "table expected")
    assert.error_matches(function() order() end, "table expected")
  end)

  it("is a metatable", function()
    assert.not_equal(order { "a" }, order { "a" })
    assert.matches("^pintle%.order: ", tostring(setmetatable({}, order { "a" })))
  end)
end)
