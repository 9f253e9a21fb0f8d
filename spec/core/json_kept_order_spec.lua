-- Objects that keep the order of their members.
local core = require "pintle.core"
local deep = require "spec.support.deep"
local haunting = require "spec.support.haunting"
local pair = require "spec.support.pair"
local peers = require "pintle.peer"
local random_json = require "spec.support.random_json"
local tasks = require "pintle.task"

local json = core.json

local function decode(text) return json.decode(text, nil, true) end

local function names_of(object)
  local names = {}
  for name in pairs(object) do names[#names + 1] = name end
  return table.concat(names, " ")
end

-- The text of an object with this many members, in an order that a table would not have.
local function large(count)
  local members = {}
  for i = 1, count do members[i] = ('"n%d":%d'):format(i * 7919 % 1000003, i) end
  return "{" .. table.concat(members, ",") .. "}"
end

describe("an object decoded with its order", function()
  it("is iterated and written in the order of the text", function()
    local text = '{"zebra":1,"apple":{"y":[{"q":1,"b":2}],"x":{}},"mango":null,"":0}'
    local object = decode(text)
    assert.equal("zebra apple mango ", names_of(object))
    assert.equal("y x", names_of(object.apple))
    assert.equal("q b", names_of(object.apple.y[1]))
    assert.equal(text, json.encode(object))
  end)

  it("has the same members as without the order", function()
    local text = '{"a":1,"b":{"c":[1.0,null,{}]},"1":true}'
    assert.is_true(deep.equal(json.decode(text), decode(text)))
    assert.equal(1, decode(text).a)
    assert.is_nil(decode(text).x)
  end)

  it("differs from an empty array", function()
    assert.equal("[{},[]]", json.encode(decode "[{},[]]"))
    assert.equal(json.array_mt, getmetatable(decode("[]")))
    assert.equal("", names_of(decode "{}"))
  end)

  it("may have any number of members", function()
    for _, count in ipairs { 1, 2, 63, 64, 65, 127, 128, 129, 5000 } do
      local text = large(count)
      assert.equal(text, json.encode(decode(text)))
    end
  end)

  it("has a repeated name at its first place, with its last value", function()
    assert.equal('{"a":3,"b":2}', json.encode(decode '{"a":1,"b":2,"a":3}'))
    assert.equal('{"a":3,"b":2,"d":4,"c":5}', json.encode(decode '{"a":1,"b":2,"a":3,"d":4,"c":5}'))
    local text = large(200)
    assert.equal(text:gsub(":1,", ":0,", 1), json.encode(decode(text:sub(1, -2) .. ',"n7919":0}')))
  end)

  it("may have names of any kind", function()
    local text = '{"__pairs":1,"__index":2,"__gc":3,"\\u0000":4,"1":5,"' .. ("x"):rep(100) .. '":6,"ä":7}'
    assert.equal(text, json.encode(decode(text)))
    assert.is_nil(decode(text).missing)
  end)

  it("appends added members, and drops removed ones", function()
    local object = decode '{"b":1,"a":2,"c":3}'
    object.x, object.a = 4, nil
    assert.equal("b c x", names_of(object))
    object.a = 5
    assert.equal('{"b":1,"a":5,"c":3,"x":4}', json.encode(object))
  end)

  it("may be emptied while it is iterated", function()
    local object, seen = decode '{"c":1,"a":2,"b":3}', {}
    for name in pairs(object) do
      seen[#seen + 1] = name
      object[name] = nil
    end
    assert.same({ "c", "a", "b" }, seen)
    assert.is_nil(next(object))
  end)

  it("keeps its order at any depth and size", function()
    local text = ('{"b":[{"z":0,"a":'):rep(300) .. large(70) .. (',"c":1}],"a":2}'):rep(300)
    assert.equal(text, json.encode(decode(text)))
    text = "[" .. (large(100) .. ","):rep(200) .. "0]" -- large enough to be decoded with the collector stopped
    assert.equal(text, json.encode(decode(text)))
  end)

  it("is written as the same text, whatever it contains", function()
    for _ = 1, 300 do
      local text = json.encode(random_json.value(json.null, json.array))
      assert.equal(text, json.encode(decode(text)))
    end
  end)

  it("is refused with the same errors as without the order", function()
    for _, text in ipairs { '{"a":1', '{"a"}', '{"a":1,}', "{1:2}", '{"a":1}x', ("[{"):rep(10) } do
      local _, message = json.decode(text)
      assert.equal(message, select(2, decode(text)))
    end
    assert.matches("nested too deeply", select(2, json.decode('{"a":{}}', 1, true)))
  end)

  it("is decoded correctly while finalizers run", function()
    local text = "[" .. (large(70) .. ',{"b":{},"a":[]},'):rep(20) .. "0]"
    haunting.start(function() assert(json.encode(decode '{"b":1,"a":2}') == '{"b":1,"a":2}') end)
    haunting.drive(10, function() assert(json.encode(decode(text)) == text) end)
    haunting.stop()
  end)
end)

-- The metatables of the objects in a list.
local function orders_in(text)
  local orders = {}
  for i, object in ipairs(decode(text)) do orders[i] = getmetatable(object) end
  return orders
end

describe("the order of decoded objects", function()
  it("is shared by objects with the same names in the same order", function()
    local orders = orders_in '[{"a":1,"b":2},{"a":{},"b":[]},{"b":1,"a":2},{"a":1},{"a":1,"b":2,"c":3},{},{}]'
    assert.equal(orders[1], orders[2])
    assert.equal(orders[6], orders[7])
    for i = 3, 6 do assert.not_equal(orders[1], orders[i]) end
    assert.equal(getmetatable(decode '{"a":1,"b":2}'), getmetatable(decode '{"a":1,"b":2}'))
    orders = orders_in("[" .. large(64) .. "," .. large(64) .. "]")
    assert.equal(orders[1], orders[2])
  end)

  it("does not change when members are added to another object with it", function()
    local list = decode '[{"b":1,"a":2},{"b":3,"a":4}]'
    list[1].c, list[1].b = 5, nil
    assert.equal('[{"a":2,"c":5},{"b":3,"a":4}]', json.encode(list))
  end)

  it("is right for repeated, long and many names", function()
    local long = ("x"):rep(100)
    local with_long_names = ('{"%sb":1,"%sa":2}'):format(long, long)
    for _, object in ipairs { '{"a":1,"b":2,"a":3}', with_long_names, large(65), large(200) } do
      local once = json.encode(decode(object))
      assert.equal("[" .. (once .. ","):rep(50) .. "0]", json.encode(decode("[" .. (object .. ","):rep(50) .. "0]")))
    end
  end)

  it("is right when there are more orders than the cache keeps", function()
    local parts = {}
    for i = 1, 3000 do parts[i] = ('{"z%d":1,"a%d":2,"m":%d}'):format(i % 1000, i % 700, i) end
    local text = "[" .. table.concat(parts, ",") .. "]"
    for _ = 1, 3 do
      assert.equal(text, json.encode(decode(text)))
      collectgarbage()
    end
  end)

  it("survives changes to its metatable", function()
    local function empty(metatable)
      for key in next, metatable do metatable[key] = nil end
    end
    for i = 1, 200 do
      local text = ('{"z%d":1,"a":2}'):format(i)
      empty(getmetatable(decode(text)))
      collectgarbage()
      local object = decode(text)
      assert.same({ ["z" .. i] = 1, a = 2 }, object)
      assert.same(object, json.decode(json.encode(object)))
    end
  end)

  local function kilobytes(text, ordered)
    collectgarbage()
    local before = collectgarbage "count"
    local value = json.decode(text, nil, ordered)
    local taken = collectgarbage "count" - before
    return taken, value
  end

  it("takes no memory per object when it is shared", function()
    local text = "[" .. ('{"zebra":1,"apple":2,"mango":3},'):rep(20000) .. "0]"
    assert.is_true(kilobytes(text, true) < kilobytes(text, false) * 1.1)
  end)

  it("takes at most half as much memory as a large object", function()
    local text = large(20000)
    local plain = kilobytes(text, false)
    local ordered, object = kilobytes(text, true)
    assert.is_true(ordered < plain * 1.6, ordered / plain)
    object.added = 1
    local step = pairs(object)
    assert.equal("n" .. 2 * 7919, (step(object, "n7919")))
    assert.equal(text:sub(1, -2) .. ',"added":1}', json.encode(object))
  end)

  it("is used by pairs and json.encode alike, whichever comes first", function()
    local text = large(300):sub(1, -2) .. ',"n7919":0}'
    local expected = text:gsub(":1,", ":0,", 1):gsub(',"n7919":0}$', "}")
    local object = decode(text)
    assert.equal(expected, json.encode(object))
    local names = names_of(object)
    object = decode(text)
    assert.equal(names, names_of(object))
    assert.equal(expected, json.encode(object))
  end)
end)

describe("pairs on an object with an order", function()
  it("follows the order, then visits the other members", function()
    local object = setmetatable({ a = 1, b = 2, c = 3, x = 4 }, json.order { "c", "missing", "a" })
    assert.equal("c a", names_of(object):sub(1, 3))
    assert.equal(7, #names_of(object))
    assert.equal("x", names_of(setmetatable({ x = 1 }, json.order {})))
  end)

  it("returns a step function that rejects other tables", function()
    local step = pairs(decode "{}")
    for _, wrong in ipairs { {}, setmetatable({}, {}), json.array(), "x", 1 } do
      assert.has_error(function() step(wrong) end)
    end
    assert.has_error(function() step() end)
    assert.is_nil((step(decode "{}")))
    assert.has_error(function() step(decode '{"a":1}', "missing") end)
  end)
end)

describe("a stream that keeps order", function()
  local TEXT = '{"z":{"b":1,"a":2},"y":[{"d":1,"c":2}]}'

  it("does so from the next message on, until the option is off again", function()
    local a, b = pair.open {}
    local function passed()
      a:notify("m", json.raw(TEXT))
      return (select(4, pair.pass(a, b)))
    end
    assert.is_nil(getmetatable(passed()))
    b:set_envelope { ordered = true }
    assert.equal(TEXT, json.encode(passed()))
    assert.equal("z y", names_of(passed()))
    b:set_envelope { ordered = false }
    assert.is_nil(getmetatable(passed()))
    a:close()
    b:close()
  end)

  it("does so for results, errors and batches", function()
    local a, b = pair.open {}
    a:set_envelope { ordered = true }
    a:request(1, "m")
    local _, id = pair.pass(a, b)
    b:reply(id, json.raw(TEXT))
    assert.equal(TEXT, json.encode((select(4, pair.pass(b, a)))))
    a:request(2, "m")
    _, id = pair.pass(a, b)
    b:fail(id, 1, "no", json.raw(TEXT))
    assert.equal(TEXT, json.encode(select(4, pair.pass(b, a)).data))
    a:close()
    b:close()
  end)
end)

describe("a peer that keeps order", function()
  it("is opened with the option, or adopts it", function()
    local near, far = core.socketpair()
    local one = assert(peers.open { read = near, write = near, framing = "line" })
    local other = assert(peers.open { read = far, write = far, framing = "line", ordered = true })
    local function echo(params) return json.encode(params) end
    one:on("echo", echo)
    other:on("echo", echo)
    local text = large(50)
    tasks.run(function()
      assert.equal(text, one:call("echo", json.raw(text)))
      assert.not_equal(text, other:call("echo", json.raw(text)))
      one:adopt { ordered = true }
      assert.equal(text, other:call("echo", json.raw(text)))
      one:adopt {}
      assert.equal(text, other:call("echo", json.raw(text)))
    end)
    one:close()
    other:close()
  end)
end)
