local core = require "pintle.core"
local children = require "spec.support.children"
local codecs = require "spec.support.codecs"
local haunting = require "spec.support.haunting"
local pair = require "spec.support.pair"
local wire = require "spec.support.wire"

local items = {}
for i = 1, 500 do items[i] = { name = "item " .. i, list = { i, i + 0.5 } } end

for name, codec in pairs(codecs) do
  describe("a finalizer that uses a stream, with " .. name, function()
    local nothing_left, a, b

    before_each(function()
      nothing_left = children.stock()
      a, b = pair.open(codec)
    end)

    after_each(function()
      haunting.stop()
      a:close()
      b:close()
      a, b = nil, nil
      nothing_left()
    end)

    it("does not disturb receiving", function()
      local extra = 0
      haunting.start(function()
        b:queued()
        b:stats()
        assert(b:receive() ~= nil)
        b:notify("from a finalizer", { "x" })
        if b:queued() > 100000 then b:flush() end
        b:abandon(b:request("ghost", "m"))
        extra = extra + 1
      end)
      for i = 1, 1000 do
        if haunting.runs() >= 20 then break end
        a:notify("m", { i = i, items = items })
        local kind, _, method, params = pair.pass(a, b)
        -- The finalizer may have received it.
        if kind then
          assert(kind == "notification" and method == "m" and params.i == i and #params.items == 500)
          assert(params.items[500].name == "item 500" and params.items[500].list[2] == 500.5)
        end
        b:flush()
        -- Each message that is received may run the finalizer, which sends another.
        for _ = 1, 100 do
          if not a:receive() then break end
        end
      end
      assert.is_true(extra > 0)
      assert.equal(0, b:stats().invalid)
    end)

    it("does not disturb sending", function()
      haunting.start(function()
        a:notify("ghost", { ("x"):rep(100) })
        a:abandon(a:request("ghost", "ghost"))
      end)
      local seen = 0
      for i = 1, 1000 do
        if haunting.runs() >= 20 then break end
        assert(a:request(i, "m", items))
        assert(a:notify("m", { [i] = print }) == nil)
        local kind, id, method, params
        repeat
          kind, id, method, params = pair.pass(a, b)
          assert(kind == "request" or kind == "notification", "not a message")
        until method == "m"
        assert(#params == 500)
        b:reply(id, i)
        seen = seen + 1
        local answer, _, waiter = pair.pass(b, a)
        assert(answer == "result" and waiter == i)
      end
      assert.is_true(haunting.runs() > 0 and seen > 0)
    end)
  end)
end

describe("a finalizer that receives in its own thread", function()
  it("gets nothing in the middle of a message", function()
    local stream, far <close> = wire.open()
    local text = '{"jsonrpc":"2.0","method":"m","params":' .. core.json.encode(items) .. "}\n"
    local asked, taken = 0, 0
    haunting.start(function()
      local thread = coroutine.wrap(function() return (stream:receive()) end)
      asked = asked + 1
      taken = taken + (thread() and 1 or 0)
    end)
    local sent = 0
    local threads = {}
    haunting.drive(50, function()
      far:write(text)
      sent = sent + 1
      threads[sent % 3] = coroutine.wrap(function()
        local kind, _, method, params = wire.next(stream)
        if not kind then return end
        taken = taken + 1
        assert(kind == "notification" and method == "m" and #params == 500 and params[500].name == "item 500")
      end)
      threads[sent % 3]()
    end)
    haunting.stop()
    while stream:receive() do taken = taken + 1 end
    assert.is_true(asked > 0)
    assert.equal(sent, taken)
    assert.equal(sent, stream:stats().received)
    stream:close()
  end)
end)

describe("a finalizer that closes the stream", function()
  it("in the middle of a message does not lose that message", function()
    local nothing_left = children.stock()
    local text = '{"jsonrpc":"2.0","method":"m","params":' .. core.json.encode(items) .. "}\n"
    for _ = 1, 20 do
      local stream, far <close> = wire.open()
      haunting.start(function() stream:close() end)
      haunting.drive(math.huge, function()
        if far:write(text) == nil then return true end
        local kind, id, method, params = wire.next(stream)
        if not kind then return kind == nil end
        assert(kind == "notification" and id == nil and method == "m" and #params == 500)
        assert(params[500].name == "item 500")
      end)
      assert.is_nil((stream:fds()))
      haunting.stop()
    end
    nothing_left()
  end)
end)

describe("the garbage collector", function()
  it("keeps up with large messages, and runs again", function()
    local a, b = pair.open {}
    local large = {}
    for i = 1, 30 do large[i] = items end
    local function send()
      a:notify("m", large)
      assert(pair.pass(a, b) == "notification")
    end
    for _ = 1, 5 do send() end
    collectgarbage()
    local before = collectgarbage("count")
    for _ = 1, 60 do send() end
    assert.is_true(collectgarbage("count") < 3 * before + 20 * 1024)
    assert.is_true(collectgarbage("isrunning"))
    collectgarbage("stop")
    send()
    assert.is_false(collectgarbage("isrunning"))
    collectgarbage("restart")
    a:close()
    b:close()
  end)

  -- In a process that has little else to collect: a peer that has received a large message, for `then_do`.
  local function after_a_large_message(mode, then_do)
    local code = [[
      local core, pintle, streams = require "pintle.core", require "pintle", require "spec.support.stream"
      collectgarbage(...)
      local a, b = core.socketpair()
      local has_received = false
      local peer = pintle.connect { read = a, write = a }
      peer:on("large", function() has_received = true end)
      local far = streams.open { read = b, write = b, framing = "line" }
      far:notify("large", core.json.raw("[" .. ('{"name":"something","value":[1,2,3]},'):rep(9000) .. "0]"))
      collectgarbage()
      local before = collectgarbage("count")
      repeat
        far:flush()
        pintle.loop.step()
      until has_received
      local held = collectgarbage("count") - before
    ]]
    return children.run { command = children.lua(code .. then_do, mode), stdin = "null" }
  end

  for _, mode in ipairs { "incremental", "generational" } do
    it("collects after a large message while the loop waits, in the mode " .. mode, function()
      local said = after_a_large_message(mode, [[
        pintle.sleep(0.05)
        print(held > 1000, collectgarbage("count") - before < held / 2)
      ]])
      assert.equal("true\ttrue\n", said)
    end)

    it("ends the wait if a finalizer closes the peer meanwhile, in the mode " .. mode, function()
      local said = after_a_large_message(mode, ([[
        setmetatable({}, { __gc = function() peer:close() end })
        print(peer:join(%d), peer.ended.kind)
      ]]):format(children.patience))
      assert.equal("true\tclosed\n", said)
    end)
  end
end)
