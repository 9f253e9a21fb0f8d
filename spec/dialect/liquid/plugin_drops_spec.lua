-- The objects of a host, which a plugin with a Liquid engine reads as drops.
local children = require "spec.support.children"
local client = require "spec.support.liquid_client"
local core = require "pintle.core"
local extension = require "spec.support.extension"

local json = core.json

local ENGINE = "spec/support/plugins/lua_for_liquid.lua"
local INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"version":"1.0"}}'

children.leave_nothing()

local engine = client.engine

describe("Drop Callbacks", function()
  local USER = { _rpc_drop = "drop_1", type = "UserDrop" }

  local function with_user(user)
    local self = engine()
    self.drops.drop_1 = user
    return self
  end

  it("are for markers, wherever they are in the environment", function()
    local self <close> = engine()
    local template = [[
      local env = ...
      return json.encode { drops.is(env.user), env.user.type, env.user.id, drops.is(env.list[1].deep),
                           drops.is(env.list), env.list[1].deep == env.user, drops.is(env.name), drops.is(nil) }]]
    assert.equal('[true,"UserDrop","drop_1",true,false,true,false,false]',
      (self:show(template, { user = USER, list = { { deep = USER } }, name = "x" })))
    assert.equal("Drop", (self:show("return (...).x.type", { x = { _rpc_drop = "drop_9" } })))
  end)

  it("are for the same markers in a large environment, with a list of their places", function()
    local self <close> = engine()
    local template = [[
      local env, options = ...
      local places = {}
      for i, place in ipairs(options.markers) do places[i] = tostring(place.name) end
      table.sort(places)
      return json.encode { drops.is(env.user), env.list[1].deep == env.user, drops.is(env.mark.params.value),
                           drops.is(env.list), drops.is(env.odd), table.concat(places, " ") }]]
    assert.equal('[true,true,true,false,false,"deep mark user"]', (self:show(template, {
      user = USER, list = { { deep = USER } }, mark = { _instantiate = "StringDrop", params = { value = USER } },
      odd = { _rpc_drop = 7 }, filler = ("x"):rep(5000),
    })))
    assert.equal("0", (self:show("return tostring(#select(2, ...).markers)", { filler = ("x"):rep(5000) })))
    assert.equal("nil", (self:show("return tostring(select(2, ...).markers)", { user = USER })))
  end)

  it("ignore values that are not markers", function()
    local self <close> = engine()
    local environment = '{"a":{"_instantiate":"BooleanDrop","params":{"value":true}},'
      .. '"b":{"_ruby_type":"Range","begin":1,"end":5,"exclude_end":false,"inspect":"1..5"},"c":{"_rpc_drop":7}}'
    local id = self:compile "return json.encode((...))"
    local output = self:request("render", { template_id = id, environment = json.raw(environment) }).result.output
    assert.same(json.decode(environment), json.decode(output))
  end)

  describe("drop_get", function()
    it("requests a property from a drop", function()
      local self <close> = with_user { get = { name = "Alice" } }
      assert.equal("Alice", (self:show("return (...).user:get 'name'", { user = USER })))
      assert.same({ '{"jsonrpc":"2.0","id":1,"method":"drop_get","params":{"drop_id":"drop_1","property":"name"}}' },
        self.asked)
    end)

    it("may return a drop, which has properties again", function()
      local self <close> = with_user { get = { address = { _rpc_drop = "drop_2", type = "AddressDrop" } } }
      self.drops.drop_2 = { get = { city = "Ottawa" } }
      local template = "local a = (...).user:get 'address' return a.type .. ' ' .. a:get 'city'"
      assert.equal("AddressDrop Ottawa", (self:show(template, { user = USER })))
    end)

    it("may return any value, with drops anywhere in it", function()
      local self <close> = with_user { get = { friends = { { who = USER } }, f = 1.0, n = 1, none = json.null } }
      local template = [[
        local user = (...).user
        local friends = user:get 'friends'
        return json.encode { friends[1].who == user, user:get 'f', user:get 'n', user:get 'none' == null,
                             user:get 'missing' == null }]]
      assert.equal("[true,1.0,1,true,true]", (self:show(template, { user = USER })))
    end)

    it("may ask for items by their number", function()
      local self <close> = with_user { get = function(property) return math.type(property) end }
      assert.equal("integer", (self:show("return (...).user:get(0)", { user = USER })))
    end)
  end)

  describe("drop_iterate", function()
    it("gets all items from an iterable drop", function()
      local self <close> = with_user { items = { 1, 2, USER, 4.0 } }
      local template = [[
        local items = (...).user:iterate()
        return json.encode { #items, items[1], drops.is(items[3]), items[4] }]]
      assert.equal("[4,1,true,4.0]", (self:show(template, { user = USER })))
      assert.same({ '{"jsonrpc":"2.0","id":1,"method":"drop_iterate","params":{"drop_id":"drop_1"}}' }, self.asked)
    end)

    it("may return none", function()
      local self <close> = with_user { items = {} }
      assert.equal("0", (self:show("return tostring(#(...).user:iterate())", { user = USER })))
    end)
  end)

  describe("drop_call", function()
    it("calls a method on a drop with arguments", function()
      local self <close> = with_user { calculate = function(a, b) return a + b end, no = function() return "none" end }
      assert.equal("30", (self:show("return tostring((...).user:call('calculate', { 10, 20 }))", { user = USER })))
      assert.equal("none", (self:show("return (...).user:call 'no'", { user = USER })))
      assert.same({
        '{"jsonrpc":"2.0","id":1,"method":"drop_call",'
          .. '"params":{"drop_id":"drop_1","method":"calculate","args":[10,20]}}',
        '{"jsonrpc":"2.0","id":2,"method":"drop_call","params":{"drop_id":"drop_1","method":"no","args":[]}}',
      }, self.asked)
    end)
  end)

  it("report a drop that fails, as a result or as an error", function()
    local self <close> = with_user { get = function() error("no such luck", 0) end }
    local template = "local value, message = (...).user:%s return tostring(value) .. ' ' .. message"
    assert.equal("nil no such luck", (self:show(template:format "get 'x'", { user = USER })))
    assert.equal("nil Method x not found", (self:show(template:format "call 'x'", { user = USER })))
    assert.equal("nil Unknown drop: drop_9",
      (self:show(template:format "iterate()", { user = { _rpc_drop = "drop_9" } })))
  end)

  it("accept errors and invalid answers", function()
    local plugin <close> = extension.start(ENGINE)
    plugin:ask(INITIALIZE)
    local template = "local value, message = (...).u:get 'x' return tostring(value) .. ' ' .. tostring(message)"
    plugin:call("compile", { template = template })
    local function drop_answer(answer)
      plugin:call("render", { template_id = "tmpl_1", environment = { u = USER } })
      plugin.count = (plugin.count or 0) + 1
      return json.decode(plugin:ask(('{"jsonrpc":"2.0","id":%d,%s}'):format(plugin.count, answer))).result.output
    end
    assert.equal("nil gone", drop_answer '"error":{"code":-32002,"message":"gone"}')
    assert.equal("nil plain", drop_answer '"result":{"error":"plain"}')
    assert.equal("nil the drop failed", drop_answer '"result":{"error":true}')
    assert.equal("nil the answer to drop_get: object expected, got null", drop_answer '"result":null')
    assert.equal(tostring(json.null) .. " nil", drop_answer '"result":{}')
  end)

  it("use their own ids: equal ids may be in use in both directions", function()
    local plugin <close> = extension.start(ENGINE)
    plugin:ask(INITIALIZE)
    plugin:call("compile", { template = "local u = (...).u return u:get 'a' .. u:get 'b'" }, 2)
    local params = '{"template_id":"tmpl_1","environment":{"u":{"_rpc_drop":"drop_1","type":"U"}}}'
    plugin:say('{"jsonrpc":"2.0","id":1,"method":"render","params":' .. params .. "}")
    assert.matches('"id":1,"method":"drop_get".*"property":"a"', plugin:line())
    plugin:say('{"jsonrpc":"2.0","id":2,"method":"render","params":' .. params .. "}")
    assert.matches('"id":2,"method":"drop_get".*"property":"a"', plugin:line())
    plugin:say '{"jsonrpc":"2.0","id":1,"result":{"value":"one"}}'
    assert.matches('"id":3,"method":"drop_get".*"property":"b"', plugin:line())
    plugin:say '{"jsonrpc":"2.0","id":2,"result":{"value":"two"}}'
    assert.matches('"id":4,"method":"drop_get".*"property":"b"', plugin:line())
    plugin:say '{"jsonrpc":"2.0","id":4,"result":{"value":"2"}}'
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"output":"two2","errors":[]}}', plugin:line())
    plugin:say '{"jsonrpc":"2.0","id":3,"result":{"value":"1"}}'
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"output":"one1","errors":[]}}', plugin:line())
  end)

  it("are not confused by an error whose id is null", function()
    local self <close> = with_user { get = { name = "Alice" } }
    self.plugin:say '{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Unknown callback method: log"}}'
    assert.equal("Alice", (self:show("return (...).user:get 'name'", { user = USER })))
  end)

  it("work even if Lua cannot yield", function()
    local self <close> = with_user { get = function(property) return property:upper() end }
    local template = "local u = (...).user return (('a b'):gsub('%a', function(c) return u:get(c) end))"
    assert.equal("A B", (self:show(template, { user = USER })))
  end)
end)
