-- Results that are given to the threads that wait for them, without a detour.
local children = require "spec.support.children"
local core = require "pintle.core"
local wire = require "spec.support.wire"

local function result(id, value) return ('{"jsonrpc":"2.0","id":%d,"result":%s}\n'):format(id, value) end

describe("a stream that delivers", function()
  local nothing_left, stream, far

  before_each(function()
    nothing_left = children.stock()
    stream, far = wire.open()
  end)

  after_each(function()
    stream:close()
    far:close()
    stream, far = nil, nil
    nothing_left()
  end)

  -- A thread that asks, and waits for the answer, `times` times; what it got is in the list.
  local function asking(times, got)
    local thread = coroutine.create(function()
      for _ = 1, times do
        stream:request((coroutine.running()), "m")
        local value = coroutine.yield(core.parked)
        got[#got + 1] = value
      end
      return "all", "of it"
    end)
    assert(core.resume(thread))
    return thread
  end

  it("resumes a thread with its result, and goes on if that waits again", function()
    local got = {}
    asking(3, got)
    wire.write(far, result(1, 10))
    assert.same({ false, 1, nil, nil, false }, { stream:deliver() })
    wire.write(far, result(2, '"x"'))
    assert.is_false((stream:deliver())) -- it had read all there was
    assert.same({ false, 1, nil, nil, false }, { stream:deliver() })
    assert.same({ 10, "x" }, got)
  end)

  it("says how many it has resumed, and that others should have a turn after many", function()
    local got = {}
    for i = 1, 100 do
      asking(2, got)
      wire.write(far, result(i, i))
    end
    assert.same({ false, 64, nil, nil, true }, { stream:deliver() })
    assert.same({ false, 36, nil, nil, false }, { stream:deliver() })
    assert.equal(100, #got)
    assert.is_false((stream:deliver()))
  end)

  it("tells what else a thread does: it returns", function()
    local got = {}
    local thread = asking(1, got)
    wire.write(far, result(1, 1))
    assert.same({ "resumed", thread, true, "all", false }, { stream:deliver() })
  end)

  it("tells what else a thread does: it yields", function()
    local thread = coroutine.create(function()
      stream:request((coroutine.running()), "m")
      coroutine.yield(core.parked)
      coroutine.yield("other", "things")
      coroutine.yield()
    end)
    core.resume(thread)
    wire.write(far, result(1, 1))
    assert.same({ "resumed", thread, true, "other", false }, { stream:deliver() })
  end)

  it("tells what else a thread does: it raises", function()
    local thread = coroutine.create(function()
      stream:request((coroutine.running()), "m")
      coroutine.yield(core.parked)
      error({ "oops" })
    end)
    core.resume(thread)
    wire.write(far, result(1, 1) .. '{"jsonrpc":"2.0","method":"next"}\n')
    assert.same({ "resumed", thread, false, { "oops" }, true }, { stream:deliver() })
    assert.equal("notification", (stream:deliver()))
  end)

  it("hands over everything else, also what comes after results", function()
    asking(2, {})
    wire.write(far, result(1, 1) .. '{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}\n')
    local kind, id, method, params, more = stream:deliver()
    assert.same({ "request", 7, "m", { 1 }, false }, { kind, id, method, params, more })
  end)

  it("hands over errors, and results that no thread waits for", function()
    asking(2, {})
    stream:request("not a thread", "m")
    wire.write(far, '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}\n' .. result(2, 5))
    assert.equal("error", (stream:deliver()))
    assert.same({ "result", 2, "not a thread", 5, false }, { stream:deliver() })
  end)

  it("has nothing, or is at its end, as when it receives", function()
    assert.is_false((stream:deliver()))
    far:close()
    stream:deliver()
    assert.same({ nil, "the other side has closed the stream", "closed" }, { stream:deliver() })
  end)

  it("lets a thread use it meanwhile, and close it", function()
    local kinds = {}
    local thread = coroutine.create(function()
      stream:request((coroutine.running()), "m")
      coroutine.yield(core.parked)
      kinds[1] = stream:receive()
      stream:close()
      coroutine.yield(core.parked)
    end)
    core.resume(thread)
    wire.write(far, result(1, 1) .. '{"jsonrpc":"2.0","method":"next"}\n' .. result(9, 9))
    assert.is_nil((stream:deliver()))
    assert.same({ "notification" }, kinds)
  end)
end)

describe("the thread that runs", function()
  it("is told if it may yield", function()
    assert.is_nil((select(2, pcall(table.sort, { 2, 1 }, function(a, b)
      assert.is_nil(core.yielder())
      return a < b
    end))))
    local thread
    thread = coroutine.create(function()
      assert.equal(thread, core.yielder())
      table.sort({ 2, 1 }, function(a, b)
        assert.is_nil(core.yielder())
        return a < b
      end)
    end)
    assert(coroutine.resume(thread))
  end)

  it("is the innermost that core.resume runs, whatever that runs itself", function()
    assert.same({ nil, false }, { core.innermost() })
    local seen, outer, inner = {}, nil, nil
    inner = coroutine.create(function() seen[#seen + 1] = core.innermost() == inner end)
    local function is_outer(may_yield)
      local thread, may = core.innermost()
      seen[#seen + 1] = thread == outer and may == may_yield
    end
    outer = coroutine.create(function()
      is_outer(true)
      coroutine.wrap(is_outer)(false)
      core.resume(inner)
      is_outer(true)
      table.sort({ 2, 1 }, function(a, b)
        is_outer(false)
        return a < b
      end)
    end)
    assert(core.resume(outer))
    for i = 1, #seen do assert.is_true(seen[i], i) end
    assert.same({ nil, false }, { core.innermost() })
  end)
end)
