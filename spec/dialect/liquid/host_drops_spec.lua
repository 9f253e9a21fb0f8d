-- The objects of a host as drops of a Liquid engine: a fake one.
local children = require "spec.support.children"
local fake_engine = require "spec.support.liquid_engine"
local json = require("pintle.core").json
local logged_host = require "spec.support.logged_host"
local pintle = require "pintle"

logged_host.start_first()

children.leave_nothing()

local opened, close, execute = fake_engine.opened, fake_engine.close, fake_engine.execute
local sent, asking = fake_engine.sent, fake_engine.asking

describe("Drop Callbacks", function()
  local User = { __name = "UserDrop" }
  User.__index = User
  function User:shout() return self.name:upper() end
  function User.add(_, a, b) return a + (b or 0) end
  function User.fail() return nil, "out of order" end
  function User.raise() error("broken", 0) end

  local function user(name) return setmetatable({ name = name }, User) end

  it("are for tables with a metatable, or with functions, and for userdata", function()
    local file <close> = assert(io.open "README.md")
    assert.equal('{"x":{"_rpc_drop":"drop_1","type":"UserDrop"}}', asking({ x = user "Ada" }, function(_, received)
      return '{"x":' .. json.encode(setmetatable(received.x, json.order { "_rpc_drop", "type" })) .. "}"
    end))
    local function is_drop(value)
      return asking({ x = value }, function(_, received)
        return type(received.x) == "table" and received.x._rpc_drop ~= nil
      end)
    end
    for _, value in ipairs { user "Ada", { f = print }, { print }, setmetatable({}, {}), file } do
      assert.is_true(is_drop(value))
    end
    for _, value in ipairs {
      1, "x", true, {}, { 1, 2 }, { a = 1 }, pintle.null, pintle.array(), pintle.raw "{}",
      setmetatable({ a = 1 }, json.order { "a" }), json.decode('{"a":{}}', nil, true),
    } do assert.is_false(is_drop(value)) end
  end)

  it("leave other values as they are", function()
    local text = '{"f":1.0,"i":1,"n":null,"s":"\u{1F600}","a":[],"o":{},"l":[1,[2.5,{"x":false}]]}'
    local _, outcome = sent("render", { template = "", environment = json.decode(text, nil, true) },
      { render = function(_, params) return { output = json.encode(params.environment), errors = {} } end })
    assert.is_true(outcome.success)
    local asked = sent("render", { template = "", environment = json.decode(text, nil, true) })
    assert.equal('render {"template_id":"tmpl_1","environment":' .. text .. ',"options":{}}', asked[2])
  end)

  it("know the same object by one id, and may hold each other", function()
    local one, other = user "one", user "other"
    one.friend, other.friend = other, one
    assert.equal("drop_1 drop_1 drop_2 drop_1", asking({ a = one, b = { one } }, function(ask, received)
      local friend = json.decode(ask("drop_get", { drop_id = "drop_1", property = "friend" })).value._rpc_drop
      local back = json.decode(ask("drop_get", { drop_id = friend, property = "friend" })).value._rpc_drop
      return table.concat({ received.a._rpc_drop, received.b[1]._rpc_drop, friend, back }, " ")
    end))
  end)

  local function get(object, property)
    return asking({ x = object }, function(ask) return ask("drop_get", { drop_id = "drop_1", property = property }) end)
  end

  describe("drop_get", function()
    it("gives a property", function()
      assert.equal('{"value":"Ada"}', get(user "Ada", "name"))
      assert.equal('{"value":null}', get(user "Ada", "missing"))
      assert.equal('{"value":1.0}', get(setmetatable({ f = 1.0 }, {}), "f"))
      assert.equal('{"value":{"a":[1,{}]}}', get(setmetatable({ o = { a = { 1, {} } } }, {}), "o"))
      assert.equal('{"value":false}', get(setmetatable({ is = false }, {}), "is"))
    end)

    it("returns the result of a method", function()
      assert.equal('{"value":"ADA"}', get(user "Ada", "shout"))
      assert.equal('{"value":7}', get({ seven = function() return 7 end }, "seven"))
      assert.equal('{"value":"dynamic x"}',
        get(setmetatable({}, { __index = function(_, name) return "dynamic " .. name end }), "x"))
    end)

    it("returns a drop for an object", function()
      local object = user "Ada"
      object.address = setmetatable({ city = "Ottawa" }, { __name = "AddressDrop" })
      assert.equal('{"value":{"_rpc_drop":"drop_2","type":"AddressDrop"}}', get(object, "address"))
      local city = asking({ x = object }, function(ask)
        ask("drop_get", { drop_id = "drop_1", property = "address" })
        return ask("drop_get", { drop_id = "drop_2", property = "city" })
      end)
      assert.equal('{"value":"Ottawa"}', city)
    end)

    it("answers the properties of every drop", function()
      local list = setmetatable({ "a", "b", "c" }, { __name = "ListDrop" })
      local printable = setmetatable({}, {
        __tostring = function() return "in words" end, __len = function() return 0 end,
      })
      for _, case in ipairs {
        { list, "size", "3" }, { list, "first", '"a"' }, { list, "last", '"c"' }, { list, "to_s", '"ListDrop"' },
        { list, "to_liquid_value", "null" }, { list, "to_number", "null" }, { printable, "to_s", '"in words"' },
        { printable, "size", "0" }, { printable, "first", "null" }, { printable, "last", "null" },
        { user "x", "size", "null" },
        { setmetatable({ size = 9, to_number = function() return 4 end }, {}), "size", "9" },
        { setmetatable({ size = 9, to_number = function() return 4 end }, {}), "to_number", "4" },
      } do assert.equal(('{"value":%s}'):format(case[3]), get(case[1], case[2]), case[2]) end
    end)

    it("hides metamethods, constructors and private methods", function()
      local ran = {}
      local Account = { __name = "AccountDrop", __mode = "k", secret = "class" }
      Account.__index = Account
      local account = setmetatable({ _id = 7, __own = "own" }, Account)
      for _, name in ipairs { "__gc", "__close", "__call", "new", "_delete" } do
        Account[name] = function() ran[#ran + 1] = name return "ran" end
      end
      for _, property in ipairs {
        "__gc", "__close", "__call", "__index", "__name", "__mode", "__metatable", "__own", "new", "_delete",
      } do
        assert.equal('{"value":null}', get(account, property), property)
        assert.matches("has no method", asking({ x = account }, function(ask)
          return ask("drop_call", { drop_id = "drop_1", method = property, args = {} })
        end), property)
      end
      assert.same({}, ran)
      assert.equal('{"value":7}', get(account, "_id"))
      assert.equal('{"value":true}', get(setmetatable({ new = true }, {}), "new"))
    end)

    it("returns a class as a drop, and hides its metamethods", function()
      local Class = { __index = {}, name = "Class" }
      local object = setmetatable({ class = Class, items = setmetatable({ print, "b" }, {}) }, { __name = "Object" })
      local answers = asking({ x = object }, function(ask)
        local class = ask("drop_get", { drop_id = "drop_1", property = "class" })
        ask("drop_get", { drop_id = "drop_1", property = "items" })
        return class .. ask("drop_get", { drop_id = "drop_2", property = "__index" })
          .. ask("drop_get", { drop_id = "drop_2", property = "name" })
          .. ask("drop_get", { drop_id = "drop_3", property = 0 })
      end)
      assert.equal('{"value":{"_rpc_drop":"drop_2","type":"Drop"}}{"value":null}{"value":"Class"}{"value":null}',
        answers)
    end)

    it("counts items from 0, and from the end", function()
      local list = setmetatable({ "a", "b", "c" }, {})
      assert.equal('{"value":"a"}', get(list, 0))
      assert.equal('{"value":"c"}', get(list, -1))
      assert.equal('{"value":null}', get(list, 3))
      assert.equal('{"value":null}', get(list, -4))
    end)

    it("returns the error that a drop raises or returns, and goes on", function()
      assert.equal('{"error":{"code":-32002,"message":"broken"}}', (get(user "x", "raise"):gsub(
        '{"message":"broken","code":%-32002}', '{"code":-32002,"message":"broken"}')))
      assert.matches("out of order", get(user "x", "fail"))
      assert.matches('"error"', get(setmetatable({}, { __index = function() error "no" end }), "x"))
      assert.matches('"error"', get(user "x", json.null))
    end)
  end)

  describe("drop_iterate", function()
    local function items(object)
      return asking({ x = object }, function(ask) return ask("drop_iterate", { drop_id = "drop_1" }) end)
    end

    it("gives all items", function()
      assert.equal('{"items":[1,2,3,4,5]}', items(setmetatable({ 1, 2, 3, 4, 5 }, {})))
      assert.equal('{"items":[]}', items(user "nobody"))
      assert.equal('{"items":[10,20]}', items(setmetatable({}, {
        __len = function() return 2 end, __index = function(_, i) return i ~= "each" and i * 10 or nil end,
      })))
    end)

    it("returns the items of the method each, an array or an iterator", function()
      assert.equal('{"items":["a","b"]}', items { each = function() return { "a", "b" } end })
      assert.equal('{"items":["a","b"]}', items { each = function() return ("a b"):gmatch "%a" end })
      assert.equal('{"items":[]}', items { each = function() end })
      assert.matches("no items today", items { each = function() return nil, "no items today" end })
    end)

    it("gives drops among them", function()
      assert.equal('{"items":[{"_rpc_drop":"drop_2","type":"UserDrop"},1]}', items(setmetatable({ user "x", 1 }, {})))
    end)

    it("fails for an iterator that does not end", function()
      assert.matches("more than 1000000 items", items { each = function() return function() return 1 end end })
    end)
  end)

  describe("drop_call", function()
    local function call(object, method, args)
      return asking({ x = object }, function(ask)
        return ask("drop_call", { drop_id = "drop_1", method = method, args = args })
      end)
    end

    it("calls a method with arguments", function()
      assert.equal('{"value":30}', call(user "x", "add", { 10, 20 }))
      assert.equal('{"value":10}', call(user "x", "add", { 10, json.null }))
      assert.equal('{"value":"X"}', call(user "x", "shout"))
      assert.equal('{"value":true}', call({ is = function(self, other) return rawequal(self, other) end }, "is",
        { { _rpc_drop = "drop_1" } }))
    end)

    it("returns an error for a missing method", function()
      assert.matches("UserDrop has no method 'dance'", call(user "x", "dance", {}))
      assert.matches("UserDrop has no method 'name'", call(user "x", "name", {}))
      assert.matches("has no method", call(user "x", json.null))
    end)
  end)

  it("are for objects that live as long as their render, and ids are not used again", function()
    local ids, late = {}, nil
    local session, _, far = opened {
      render = function(far, params)
        ids[#ids + 1] = params.environment.x._rpc_drop
        late = late or select(2, far:call("drop_get", { drop_id = "drop_99", property = "x" }))
        return { output = "", errors = {} }
      end,
    }
    for _ = 1, 3 do assert(execute(session, "render", { template = "", environment = { x = user "x" } })) end
    assert.same({ "drop_1", "drop_2", "drop_3" }, ids)
    assert.equal(-32602, late.code)
    assert.equal("Unknown drop_id 'drop_99'. A drop lives as long as its render.", late.message)
    for _, params in ipairs { { drop_id = "drop_1" }, {}, json.array { "drop_1" }, { drop_id = 1 } } do
      for _, method in ipairs { "drop_get", "drop_iterate", "drop_call" } do
        local value, err = far:call(method, params)
        assert.is_nil(value)
        assert.matches("Unknown drop_id", err.message)
      end
    end
    close(session, far)
  end)

  it("may wait, and run concurrently", function()
    local slow = { value = function()
      pintle.sleep(0.01)
      return "slept"
    end }
    local all = asking({ x = slow }, function(ask)
      local waiting = {}
      for i = 1, 20 do
        waiting[i] = function() return ask("drop_get", { drop_id = "drop_1", property = "value" }) end
      end
      return assert(pintle.all(waiting, children.patience))
    end)
    for i = 1, 20 do assert.equal('{"value":"slept"}', all[i][1] or all[i]) end
  end)

  it("are ignored as notifications", function()
    assert.equal('{"value":"Ada"}', asking({ x = user "Ada" }, function(ask)
      return ask("drop_get", { drop_id = "drop_1", property = "name" })
    end))
    local session, _, far = opened {
      render = function(far)
        far:notify("drop_get", { drop_id = "drop_1", property = "name" })
        far:notify("log", { message = "x" })
        return { output = "done", errors = {} }
      end,
    }
    assert.equal("done", execute(session, "render", { template = "", environment = { x = user "x" } }).message)
    close(session, far)
  end)
end)
