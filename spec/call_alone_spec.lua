-- Calls that the core makes for who is outside of the loop, while there is nothing else to do.
local children = require "spec.support.children"
local core = require "pintle.core"
local wire = require "spec.support.wire"

local function request(id, method, params)
  return ('{"jsonrpc":"2.0","id":%d,"method":"%s"%s}\n'):format(id, method, params and ',"params":' .. params or "")
end

local function result(id, value) return ('{"jsonrpc":"2.0","id":%d,"result":%s}\n'):format(id, value) end

local NOTE = '{"jsonrpc":"2.0","method":"note"}\n'

describe("a call from outside of the loop", function()
  local nothing_left, stream, far, peer, poller, readiness, timers, call, handlers

  before_each(function()
    nothing_left = children.stock()
    stream, far = wire.open()
    handlers = {}
    peer = { stream = stream, handlers = handlers, reader = {} }
    poller = assert(core.poller())
    readiness, timers = { focus = { false }, poller = poller }, { due = math.huge }
    assert(core.resume(coroutine.create(function() stream:serve(peer, {}, {}, function() end) end)))
    stream:plan(peer, children.patience)
    call = core.alone(readiness, timers,
      function(...) return "something else", ... end,
      function(...) return "the long way", ... end)
  end)

  after_each(function()
    stream:close()
    far:close()
    poller:close()
    stream, far, peer, poller, readiness, call, handlers = nil, nil, nil, nil, nil, nil, nil
    nothing_left()
  end)

  -- Has something that the poller tells of.
  local function with_another(fn)
    local read, write = core.pipe()
    assert(poller:set(read, "r", "token"))
    write:write "x"
    fn()
    poller:set(read)
    read:close()
    write:close()
  end

  it("asks, and has the answer", function()
    wire.write(far, result(1, '"yes"'))
    assert.same({ "yes", n = 1 }, table.pack(call(peer, nil, "m", { 1 })))
    assert.equal(request(1, "m", "[1]"), far:read())
    wire.write(far, result(2, "false"))
    assert.is_false(call(peer, false, "m"))
    assert.same({ 0, false }, { stream:waiting(), readiness.focus[1] })
  end)

  it("serves meanwhile, as what the loop waits for", function()
    local seen
    function handlers.first()
      seen = readiness.focus[1]
      wire.write(far, result(1, 5))
    end
    wire.write(far, request(7, "first"))
    assert.equal(5, call(peer, nil, "m"))
    assert.equal(peer, seen)
    assert.equal(request(1, "m") .. result(7, "null"), far:read())
  end)

  it("goes the long way if there is anything to do before", function()
    local function assert_long()
      assert.same({ "the long way", peer, 3, "m", { 1 }, n = 5 }, table.pack(call(peer, 3, "m", { 1 })))
    end
    for _, focus in ipairs { {}, { peer } } do
      readiness.focus[1] = focus[1]
      assert_long()
    end
    readiness.focus[1] = false
    stream:admit(false)
    assert_long()
    stream:admit(true)
    stream:notify "something unsent"
    assert_long()
    stream:flush()
    stream:close_output()
    assert_long()
    assert.equal(0, stream:waiting())
  end)

  it("goes the long way if nobody has planned it", function()
    local other, its_far = wire.open()
    assert.equal("the long way", (call({ stream = other }, nil, "m")))
    other:close()
    its_far:close()
    assert.equal("the long way", (call({ stream = io.stderr }, nil, "m")))
  end)

  it("goes the long way with what cannot be sent, and is at rest", function()
    assert.same({ "the long way", peer, children.patience, "m", print, n = 5 },
      table.pack(call(peer, nil, "m", print)))
    assert.same({ "the long way", peer, false, "m", print, n = 5 }, table.pack(call(peer, false, "m", print)))
    assert.same({ 0, false }, { stream:waiting(), readiness.focus[1] })
  end)

  it("leaves it to the loop if something else comes first", function()
    wire.write(far, NOTE)
    local what, given, waiter, method, timeout, id, due, kind, _, note, _, more = call(peer, 4, "m")
    assert.same({ "something else", peer, "m", 4, 1, "notification", "note", false },
      { what, given, method, timeout, id, kind, note, more })
    assert.truthy(due > core.now())
    assert.is_nil(readiness.focus[1])
    readiness.focus[1] = false
    wire.write(far, result(1, 5))
    local asked = table.pack(call(peer, false, "n"))
    assert.same({ "n", false, 2, math.huge, "result" }, { asked[4], asked[5], asked[6], asked[7], asked[8] })
    assert.equal(waiter, asked[10])
    assert.not_equal(waiter, asked[3])
  end)

  it("leaves it to the loop if there is more than the answer", function()
    wire.write(far, result(1, 5) .. NOTE)
    local asked = table.pack(call(peer, nil, "m"))
    assert.same({ "something else", "result", 5, true }, { asked[1], asked[8], asked[11], asked[12] })
    assert.equal(asked[3], asked[10])
  end)

  it("waits no longer than told", function()
    local asked = table.pack(call(peer, 0.001, "m"))
    assert.same({ "something else", false }, { asked[1], asked[8] })
    assert.truthy(asked[7] <= core.now())
    assert.equal(1, stream:waiting())
  end)

  it("waits until the next timer", function()
    timers.due = core.now()
    local asked = table.pack(call(peer, nil, "m"))
    assert.same({ "something else", false }, { asked[1], asked[8] })
    assert.truthy(asked[7] > core.now())
  end)

  it("sees what the poller has", function()
    with_another(function()
      local asked = table.pack(call(peer, nil, "m"))
      assert.same({ "something else", false, true }, { asked[1], asked[8], asked[14] })
    end)
  end)

  it("lets the loop see to it next if it was disturbed", function()
    function handlers.disturb()
      stream:disturb()
      wire.write(far, result(1, 5))
    end
    wire.write(far, request(7, "disturb"))
    call(peer, nil, "m")
    assert.is_nil(readiness.focus[1])
  end)

  it("lets the loop see to others next if they are known to be ready", function()
    readiness.favourite = peer
    with_another(function()
      wire.write(far, result(1, 5))
      assert.equal(5, call(peer, nil, "m"))
      assert.is_nil(readiness.focus[1])
    end)
  end)

  it("lets the loop look now and then whether they are", function()
    local latest, seen, i = core.now() + children.patience, {}, 0
    with_another(function()
      repeat
        assert(core.now() < latest, "it either always looks, or never")
        i = i + 1
        readiness.focus[1] = false
        wire.write(far, result(i, i))
        assert.equal(i, call(peer, nil, "m"))
        far:read()
        seen[readiness.focus[1] == nil and "looked" or "rested"] = true
      until seen.looked and seen.rested
    end)
  end)

  it("is made of a poller and functions", function()
    assert.error(function() core.alone({ focus = {} }, timers, print, print) end)
    assert.error(function() core.alone(readiness, timers, print) end)
    assert.error(function() core.alone(readiness, nil, print, print) end)
  end)
end)
