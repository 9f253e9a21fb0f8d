-- Requests that are handled in a thread of the stream's own, one after the other.
local children = require "spec.support.children"
local core = require "pintle.core"
local wire = require "spec.support.wire"

local function request(id, method, params)
  return ('{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n'):format(id, method, params or "[1]")
end

local NOTE = '{"jsonrpc":"2.0","method":"note"}\n'

describe("a stream that serves", function()
  local nothing_left, stream, far, owners, peer, late

  before_each(function()
    nothing_left = children.stock()
    stream, far = wire.open()
    owners, late = {}, {}
    peer = { handlers = { echo = function(params) return params end }, reader = { "at rest" } }
  end)

  after_each(function()
    stream:close()
    far:close()
    stream, far, peer, owners, late = nil, nil, nil, nil, nil
    nothing_left()
  end)

  local METHODS = { __name = "request" }

  local function serve()
    local thread = coroutine.create(stream.serve)
    local function answer(...) late[#late + 1] = { ... } end
    assert.same({ true, core.parked }, { core.resume(thread, stream, peer, owners, METHODS, answer) })
    return thread
  end

  local function sent()
    stream:flush()
    return far:read() or ""
  end

  -- A stream that has just read all there was says so once before it asks again.
  local function deliver()
    local results = table.pack(stream:deliver())
    if results.n == 1 then results = table.pack(stream:deliver()) end
    return table.unpack(results, 1, results.n)
  end

  it("answers requests by itself, and says that there is something to send", function()
    serve()
    wire.write(far, request(1, "echo") .. request('"b"', "echo", '{"x":null}') .. request("3.0", "echo", "[]"))
    assert.same({ false, 3, nil, nil, false, true }, { deliver() })
    assert.equal('{"jsonrpc":"2.0","id":1,"result":[1]}\n{"jsonrpc":"2.0","id":"b","result":{"x":null}}\n' ..
      '{"jsonrpc":"2.0","id":3.0,"result":[]}\n', sent())
    wire.write(far, request(4, "echo"))
    assert.same({ false, 1, nil, nil, false, true }, { deliver() })
    assert.same({}, late)
  end)

  it("answers a batch as one", function()
    serve()
    wire.write(far, ("[%s,%s]\n"):format(request(1, "echo"):sub(1, -2), request(2, "echo"):sub(1, -2)))
    assert.same({ false, 2, nil, nil, false, true }, { deliver() })
    assert.equal('[{"jsonrpc":"2.0","id":1,"result":[1]},{"jsonrpc":"2.0","id":2,"result":[1]}]\n', sent())
  end)

  it("gives others their turn after many", function()
    serve()
    wire.write(far, request(1, "echo"):rep(100))
    assert.same({ false, 64, nil, nil, true, true }, { deliver() })
    assert.same({ false, 36, nil, nil, false, true }, { deliver() })
  end)

  it("hands over what it has no handler for, and goes on", function()
    serve()
    wire.write(far, request(1, "echo") .. request(2, "other") .. NOTE .. request(3, "echo"))
    assert.same({ "request", 2, "other", { 1 }, true, true }, { deliver() })
    assert.same({ "notification", nil, "note", nil, true }, { deliver() })
    assert.same({ false, 1, nil, nil, false, true }, { deliver() })
  end)

  it("hands over requests while it may begin none", function()
    serve()
    stream:admit(false)
    wire.write(far, request(1, "echo"))
    assert.equal("request", (deliver()))
    stream:admit(true)
    wire.write(far, request(2, "echo"))
    assert.equal(false, (deliver()))
    assert.matches('"id":2,', sent())
  end)

  it("gives results to those that wait for them, between requests", function()
    serve()
    local got
    local thread = coroutine.create(function()
      stream:request((coroutine.running()), "m")
      got = coroutine.yield(core.parked)
      coroutine.yield(core.parked)
    end)
    core.resume(thread)
    wire.write(far, request(1, "echo") .. '{"jsonrpc":"2.0","id":1,"result":5}\n' .. request(2, "echo"))
    assert.same({ false, 3, nil, nil, false, true }, { deliver() })
    assert.equal(5, got)
  end)

  it("tells what runs in its thread while a handler does", function()
    local seen
    function peer.handlers.look(_, ctx) seen = { ctx, owners[coroutine.running()] } end
    serve()
    wire.write(far, request(7, "look"))
    deliver()
    assert.equal(seen[1], seen[2])
    assert.equal(METHODS, getmetatable(seen[1]))
    assert.same({ peer, 7, "look" }, { seen[1].peer, seen[1].id, seen[1].method })
    assert.equal('{"jsonrpc":"2.0","id":7,"result":null}\n', sent())
  end)

  it("gives no two handlers the same context that could keep it", function()
    local kept = {}
    function peer.handlers.keep(_, ctx) kept[#kept + 1] = ctx end
    function peer.handlers.any(...) kept[#kept + 1] = select(2, ...) end
    peer.handlers.table = setmetatable({}, { __call = function(_, _, ctx) kept[#kept + 1] = ctx end })
    function peer.handlers.one() kept[#kept + 1] = owners[coroutine.running()] end
    serve()
    local methods = { "keep", "keep", "any", "any", "table", "table", "one", "one", "keep" }
    for i, method in ipairs(methods) do wire.write(far, request(i, method)) end
    assert.same({ false, 9, nil, nil, false, true }, { deliver() })
    local ids = {}
    for i, ctx in ipairs(kept) do ids[i] = ctx.id end
    assert.same({ 1, 2, 3, 4, 5, 6, 9, 9, 9 }, ids) -- the two that cannot keep it have left it to the last
    assert.equal(kept[7], kept[9])
  end)

  it("is left by a handler that waits, which is answered later", function()
    function peer.handlers.wait(params) return coroutine.yield(core.parked), params end
    local thread = serve()
    wire.write(far, request(1, "echo") .. request(2, "wait") .. request(3, "echo"))
    assert.same({ "resumed", thread, true, core.parked, true, true }, { deliver() })
    local ctx = stream:dismiss()
    assert.same({ 2, ctx }, { ctx.id, owners[thread] })
    assert.is_nil(stream:dismiss())
    assert.same({ "request", 3, "echo", { 1 }, false }, { deliver() })
    serve()
    wire.write(far, request(4, "echo"))
    deliver()
    assert.same({ true }, { core.resume(thread, "it") })
    assert.same({ { peer, ctx, "it", { 1 } } }, late)
    assert.equal("dead", coroutine.status(thread))
    wire.write(far, request(5, "echo"))
    assert.same({ false, 1, nil, nil, false, true }, { deliver() })
  end)

  it("tells of a handler that raises, or yields something of its own", function()
    function peer.handlers.raise() error({ "oops" }) end
    function peer.handlers.yield() coroutine.yield("something") end
    local thread = serve()
    wire.write(far, request(1, "raise"))
    assert.same({ "resumed", thread, false, { "oops" }, false }, { deliver() })
    assert.equal(1, stream:dismiss().id)
    thread = serve()
    wire.write(far, request(2, "yield"))
    assert.same({ "resumed", thread, true, "something", false }, { deliver() })
    assert.equal(2, stream:dismiss().id)
  end)

  it("leaves errors and what cannot be sent to the function that it was given", function()
    function peer.handlers.fail() return nil, "no" end
    function peer.handlers.odd() return print end
    for i, method in ipairs { "fail", "odd" } do
      local thread = serve()
      wire.write(far, request(i, method))
      local kind, who, ok = deliver()
      assert.same({ "resumed", thread, true }, { kind, who, ok })
      assert.equal(i, late[i][2].id)
      assert.is_nil(stream:dismiss())
    end
    assert.same({ nil, "no" }, { late[1][3], late[1][4] })
    assert.equal(print, late[2][3])
    assert.equal("", sent())
  end)

  it("leaves a request to that function that somebody took note of", function()
    local noted
    function peer.handlers.note()
      noted = stream:dismiss()
      return "result"
    end
    local thread = serve()
    wire.write(far, request(1, "note") .. request(2, "echo"))
    assert.same({ "resumed", thread, true }, { table.unpack({ deliver() }, 1, 3) })
    assert.same({ { peer, noted, "result" } }, late)
    assert.equal("request", (deliver()))
  end)

  it("leaves a request to that function whose handler has taken the id away", function()
    function peer.handlers.mute(_, ctx) ctx.id = nil end
    serve()
    wire.write(far, request(1, "mute"))
    deliver()
    assert.equal("", sent())
    assert.is_nil(late[1][2].id)
  end)

  it("lets a handler use the stream, and close it", function()
    local kinds = {}
    function peer.handlers.take()
      kinds[#kinds + 1] = { stream:deliver() }
      return 1
    end
    function peer.handlers.close() stream:close() end
    serve()
    wire.write(far, request(1, "take") .. request(2, "echo") .. NOTE .. request(3, "close") .. request(4, "echo"))
    assert.same({ "notification", nil, "note", nil, true, true }, { deliver() })
    assert.same({ { "request", 2, "echo", { 1 }, true } }, kinds)
    assert.equal("resumed", (deliver()))
    assert.equal(1, #late)
    assert.same({ nil, "the stream is closed", "closed" }, { deliver() })
  end)

  it("hands over what it has read, also when another has taken its place meanwhile", function()
    serve()
    local thread = coroutine.create(function()
      stream:request((coroutine.running()), "m")
      coroutine.yield(core.parked)
      serve()
      coroutine.yield(core.parked)
    end)
    core.resume(thread)
    wire.write(far, request(1, "echo") .. '{"jsonrpc":"2.0","id":1,"result":5}\n' .. request(2, "echo", "[7]"))
    assert.same({ "request", 2, "echo", { 7 }, false, true }, { deliver() })
    wire.write(far, request(3, "echo"))
    assert.same({ false, 1, nil, nil, false, true }, { deliver() })
  end)

  it("fails between two requests as whatever rests there", function()
    local thread = serve()
    wire.write(far, request(1, "echo"))
    deliver()
    local ok, message = coroutine.resume(thread, "what nobody but the stream has")
    assert.is_false(ok)
    assert.matches("the thread that serves was resumed", message)
    wire.write(far, request(2, "echo"))
    assert.same({ "resumed", thread, false }, { table.unpack({ deliver() }, 1, 3) })
    assert.equal(peer.reader, owners[thread])
  end)

  it("refuses what cannot serve", function()
    local function answer() end
    assert.error_matches(function() stream:serve(peer, owners, METHODS, answer) end, "only a thread that can wait")
    local thread = coroutine.create(stream.serve)
    local ok, message = coroutine.resume(thread, stream, {}, owners, METHODS, answer)
    assert.is_false(ok)
    assert.matches("a peer has handlers", message)
    ok, message = coroutine.resume(coroutine.create(stream.serve), stream, peer, owners, METHODS)
    assert.is_false(ok)
    assert.matches("function expected", message)
  end)
end)
