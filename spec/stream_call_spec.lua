-- Calls that the core makes by itself, for threads that core.resume runs.
local children = require "spec.support.children"
local core = require "pintle.core"
local wire = require "spec.support.wire"

local function result(id, value) return ('{"jsonrpc":"2.0","id":%d,"result":%s}\n'):format(id, value) end

describe("a call that the core makes", function()
  local nothing_left, stream, far, peer, owners, call, marked

  before_each(function()
    nothing_left = children.stock()
    stream, far = wire.open()
    owners, marked, peer = {}, 0, { stream = stream }
    stream:plan(peer)
    call = core.caller(owners,
      function(...) return "the long way", ... end,
      function(...) return "outside", ... end,
      function(given)
        assert.equal(peer, given)
        marked = marked + 1
      end,
      function(given, id, method, err, timeout) return { given, id, method, err, timeout } end)
  end)

  after_each(function()
    stream:close()
    far:close()
    stream, far, peer, owners, call = nil, nil, nil, nil, nil
    nothing_left()
  end)

  local function start(fn)
    local thread = coroutine.create(fn)
    owners[thread] = { stopped = false }
    return thread, core.resume(thread)
  end

  local function sent()
    stream:flush()
    return far:read() or ""
  end

  it("asks, waits, and returns the answer", function()
    local got = {}
    local thread, ok, what = start(function()
      got[1] = table.pack(call(peer, "m", { 1 }))
      got[2] = table.pack(call(peer, "n"))
    end)
    assert.same({ true, core.parked, 1 }, { ok, what, marked })
    assert.equal('{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}\n', sent())
    assert.same({ peer, 1 }, { core.asking(thread) })
    wire.write(far, result(1, '"x"'))
    assert.same({ false, 1, nil, nil, false }, { stream:deliver() })
    assert.same({ peer, 2, 2 }, { core.asking(thread), stream:waiting() + 1, marked })
    assert.equal('{"jsonrpc":"2.0","id":2,"method":"n"}\n', sent())
    wire.write(far, result(2, "null"))
    assert.equal("resumed", (stream:deliver()))
    assert.same({ { "x", n = 1 }, { core.json.null, n = 1 } }, got)
    assert.is_nil(core.asking(thread))
  end)

  it("has it sent once for all that ask until then", function()
    for _ = 1, 3 do start(function() call(peer, "m") end) end
    assert.equal(1, marked)
    stream:flush()
    start(function() call(peer, "m") end)
    assert.equal(2, marked)
  end)

  it("has errors explained", function()
    local got
    local thread = start(function() got = table.pack(call(peer, "m")) end)
    assert.truthy(stream:abandon(1))
    core.resume(thread, nil, "wrong")
    assert.same({ nil, { peer, 1, "m", "wrong", false }, n = 2 }, got)
  end)

  it("may be told how long it may take", function()
    local got = {}
    stream:alarm(0)
    for i, timeout in ipairs { 7, false } do
      start(function() got[i] = table.pack(call(peer, "m", nil, { timeout = timeout })) end)
    end
    assert.equal(2, stream:waiting())
    local id, waiter = stream:overdue(core.now() + 8)
    assert.equal(1, id)
    core.resume(waiter, nil, "late")
    assert.same({ nil, { peer, 1, "m", "late", 7 }, n = 2 }, got[1])
    assert.is_nil((stream:overdue(core.now() + 8)))
  end)

  it("is overdue when its time is over", function()
    stream:plan(peer, 0)
    stream:alarm(0)
    local thread = start(function() call(peer, "m") end)
    assert.same({ 1, thread }, { stream:overdue(core.now()) })
  end)

  it("goes the long way if there is anything special", function()
    local got = {}
    local function try(...)
      local arguments = table.pack(...)
      local thread = start(function() got = table.pack(call(table.unpack(arguments, 1, arguments.n))) end)
      assert.equal("dead", coroutine.status(thread))
      assert.equal("the long way", got[1])
      return got
    end
    local options = { on_progress = print, timeout = 1 }
    assert.same({ "the long way", peer, "m", { 1 }, options, n = 5 }, try(peer, "m", { 1 }, options, "and more"))
    for _, odd in ipairs { -1, 0 / 0, "7", true } do try(peer, "m", nil, { timeout = odd }) end
    try(peer, "m", nil, 7)
    for _, odd in ipairs { {}, { 1 }, { timeout = 1, typo = 1 } } do try(peer, "m", nil, odd) end
    assert.same({ "the long way", peer, 7, n = 5 }, try(peer, 7))
    assert.same({ "the long way", "peer", "m", n = 5 }, try("peer", "m"))
    -- it cannot be sent
    assert.same({ "the long way", peer, "m", print, nil, false, n = 6 }, try(peer, "m", print))
    stream:alarm(0)
    assert.same({ "the long way", peer, "m", print, nil, 9, n = 6 }, try(peer, "m", print, { timeout = 9 }))
    stream:alarm(math.huge)
    try({ stream = io.stderr }, "m")
    stream:admit(false)
    try(peer, "m")
    stream:admit(true)
    stream:plan(peer, 1) -- and there is no alarm yet
    try(peer, "m")
    stream:close()
    try(peer, "m")
    assert.equal(0, stream:waiting())
  end)

  it("goes the long way for who is stopped, or no thread of the loop", function()
    local got
    local function ask() got = table.pack(call(peer, "m")) end
    local thread = coroutine.create(ask)
    owners[thread] = { stopped = "why" }
    core.resume(thread)
    assert.equal("the long way", got[1])
    core.resume(coroutine.create(ask))
    assert.equal("the long way", got[1])
    start(function() coroutine.wrap(ask)() end)
    assert.equal("the long way", got[1])
    ask()
    assert.same({ "outside", peer, nil, "m", n = 5 }, got)
    got = table.pack(call(peer, "m", { 1 }, { timeout = 5 }))
    assert.same({ "outside", peer, 5, "m", { 1 }, n = 5 }, got)
    assert.equal(0, stream:waiting())
  end)

  it("may wait on the long way, too", function()
    local long = core.caller(owners, function(...) return coroutine.yield "somewhere", ... end, print, print, print)
    local got
    local thread, _, where = start(function() got = table.pack(long(peer, "m", nil, "odd")) end)
    assert.equal("somewhere", where)
    assert.is_nil(core.asking(thread))
    core.resume(thread, "back")
    assert.same({ "back", peer, "m", nil, "odd", n = 5 }, got)
  end)

  it("is not asked of anything but a thread", function()
    assert.error(function() core.asking(7) end)
    assert.is_nil(core.asking(coroutine.create(print)))
    assert.error(function() core.caller(owners, print, print, print) end)
  end)
end)
