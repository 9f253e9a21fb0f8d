-- Events and tasks of the loop.
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
local stage = require "spec.support.loop_stage"
local turn_until = require "spec.support.turning"

local places, start = stage.places, stage.start

local function nothing() end

stage.leave_idle()

describe("an event", function()
  it("is awaited by a task while others run", function()
    local order, event = {}, loop.event()
    start(function()
      order[#order + 1] = "waits"
      local got = event:wait()
      order[#order + 1] = got
    end)
    order[#order + 1] = "main"
    event:set "goes on"
    assert.same({ "waits", "main" }, order)
    loop.step()
    assert.same({ "waits", "main", "goes on" }, order)
  end)

  it("is awaited outside of tasks by turning the loop", function()
    local event = loop.event()
    start(function()
      loop.sleep(0.001)
      event:set("result", "and more")
    end)
    assert.same({ "result", "and more", n = 2 }, table.pack(event:wait()))
  end)

  it("gives two values to all its waiters, also to later ones", function()
    local event, got = loop.event(), {}
    for i = 1, 3 do start(function() got[i] = table.pack(event:wait()) end) end
    loop.soon(function() event:set(nil, "second", "third") end)
    start(function()
      coroutine.wrap(function() got[4] = table.pack(event:wait()) end)()
    end)
    got[5] = table.pack(event:wait())
    loop.step()
    got[6] = table.pack(event:wait())
    for i = 1, 6 do assert.same({ nil, "second", n = 2 }, got[i], i) end
  end)

  it("can be set only once", function()
    local event = loop.event()
    assert.is_false(event:is_set())
    event:set "first"
    event:set "second"
    assert.is_true(event:is_set())
    assert.equal("first", (event:wait()))
  end)

  it("can be set without values", function()
    local event = loop.event()
    event:set()
    assert.is_true(event:is_set())
    assert.same({ n = 2 }, table.pack(event:wait()))
  end)

  it("calls a function in the turn after it was set", function()
    local event, calls = loop.event(), {}
    event:on_set(function(given) calls[#calls + 1] = given end)
    event:set(1)
    event:set(2)
    assert.equal(0, #calls)
    loop.step()
    loop.step()
    assert.same({ event }, calls)
    assert.has_error(function() event:on_set "no function" end)
  end)

  for place, within in pairs(places) do
    it("times out in " .. place, function()
      within(function()
        local begun, late = core.now(), {}
        local result, err = loop.event():wait(0.01, late)
        assert.is_nil(result)
        assert.equal(late, err)
        assert.truthy(core.now() - begun >= 0.01)
      end)
    end)

    it("ends the wait as soon as it is set, in " .. place, function()
      within(function()
        local event = loop.event()
        loop.soon(function() event:set "in time" end)
        assert.equal("in time", (event:wait(children.patience, "late")))
        assert.is_nil(loop.timeout())
      end)
    end)
  end

  it("ends the wait if nothing is left that could set it", function()
    assert.has_error(function() loop.event():wait() end, "nothing is left that could end this wait")
  end)

  it("wakes all tasks although one of them turns the loop itself", function()
    local order, event = {}, loop.event()
    for i = 1, 4 do
      start(function()
        event:wait()
        if i == 1 then coroutine.wrap(function() loop.sleep(0.001) end)() end
        order[#order + 1] = i
      end)
    end
    event:set()
    turn_until(function() return #order == 4 end)
    table.sort(order)
    assert.same({ 1, 2, 3, 4 }, order)
  end)

  it("is collected with its waiting task if nothing can set it", function()
    local kept = setmetatable({}, { __mode = "k" })
    do
      local event = loop.event()
      kept[event] = true
      event:set({})
      event:wait()
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(kept))
  end)

  it("rejects other objects", function()
    local event = loop.event()
    for _, other in ipairs { {}, io.stderr, 1, "event" } do
      assert.has_error(function() event.set(other) end)
      assert.has_error(function() event.wait(other) end)
    end
    assert.has_error(function() event:wait "soon" end)
  end)
end)

describe("stopping a task", function()
  it("ends its current wait and every later one", function()
    local got, err = {}, loop.cancelled "enough"
    local task = start(function()
      for i = 1, 3 do got[i] = table.pack(loop.event():wait()) end
      got[4] = table.pack(loop.sleep(children.patience))
    end)
    loop.stop(task, err)
    loop.step()
    for i = 1, 4 do assert.same({ nil, err, n = 2 }, got[i]) end
  end)

  it("keeps the first reason", function()
    local got
    local first = loop.cancelled "first"
    local task = start(function() got = select(2, loop.sleep(children.patience)) end)
    loop.stop(task, first)
    loop.stop(task, loop.cancelled "second")
    loop.step()
    assert.equal(first, got)
  end)

  it("ends a wait in a coroutine that the task created", function()
    local result, err
    local task = start(function()
      loop.sleep(0)
      coroutine.wrap(function() result, err = loop.sleep(children.patience) end)()
    end)
    loop.after(0.01, function() loop.stop(task, loop.cancelled "enough") end)
    turn_until(function() return err end)
    assert.is_nil(result)
    assert.equal("enough", err.message)
  end)

  it("does not take away a value that has arrived", function()
    local got
    local event = loop.event()
    local task = start(function() got = event:wait() end)
    event:set "answer"
    loop.stop(task, loop.cancelled())
    loop.step()
    assert.equal("answer", got)
  end)

  it("does not affect the next function in its thread", function()
    local one = start(nothing)
    local slept
    local other = start(function() slept = loop.sleep(0.001) end)
    loop.stop(one, loop.cancelled())
    turn_until(function() return slept ~= nil end)
    assert.is_true(slept)
    loop.stop(other, loop.cancelled())
    loop.stop({}, loop.cancelled())
  end)

  it("works before the task waits", function()
    local err
    local object = { failed = error }
    loop.start(object, function()
      loop.stop(object, "why")
      err = select(2, loop.sleep(children.patience))
    end)
    assert.equal("why", err)
  end)
end)

describe("a task of the loop", function()
  it("gets its arguments, and is identified by its object", function()
    local got
    local object = { failed = error }
    loop.start(object, function(...)
      got = table.pack(...)
      assert.equal(object, loop.current())
      loop.sleep(0)
      assert.equal(object, loop.current())
      coroutine.wrap(function() assert.equal(object, loop.current()) end)()
    end, 1, nil, 3, nil)
    assert.is_nil(loop.current())
    turn_until(function() return not loop.timeout() end)
    assert.same({ 1, nil, 3, nil, n = 4 }, got)
  end)

  it("is not the current task in callbacks that run while it turns the loop", function()
    local seen = {}
    start(function()
      loop.soon(function() seen[1] = tostring(loop.current()) end)
      coroutine.wrap(function() loop.sleep(0.001) end)()
      seen[2] = loop.current() ~= nil
    end)
    assert.same({ "nil", true }, seen)
  end)

  it("lets others run when it yields, whatever it yields", function()
    local order = {}
    for i = 1, 2 do
      start(function()
        for _ = 1, 2 do
          order[#order + 1] = i
          assert.same({ n = 0 }, table.pack(coroutine.yield("any", "thing")))
        end
      end)
    end
    assert.same({ 1, 2 }, order)
    assert.equal(0, loop.timeout())
    for _ = 1, 3 do loop.step() end
    assert.same({ 1, 2, 1, 2 }, order)
  end)

  it("can yield and wait in turn", function()
    local event, got = loop.event(), nil
    start(function()
      coroutine.yield()
      got = event:wait()
      coroutine.yield()
      loop.sleep(0.001)
      got = got .. " slept"
    end)
    event:set "set"
    turn_until(function() return got == "set slept" end)
  end)

  it("can start other tasks to any depth", function()
    local depth = 0
    local function deeper(n)
      depth = math.max(depth, n)
      if n < 1000 then start(deeper, n + 1) end
    end
    start(deeper, 1)
    turn_until(function() return depth == 1000 end)
    assert.is_nil(loop.timeout())
  end)

  it("leaves nothing behind when it has ended", function()
    local kept = setmetatable({}, { __mode = "k" })
    for i = 1, 300 do
      local big = {}
      kept[big] = i
      start(function(one, two) kept[two] = one[1] end, big, {})
    end
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(kept))
  end)

  it("reports an error and its traceback to its object", function()
    local reported = {}
    local object = { failed = function(_, ...) reported = { ... } end }
    local function raise() error({ "as it is" }) end
    loop.start(object, function()
      loop.sleep(0)
      raise()
    end)
    turn_until(function() return reported[1] end)
    assert.same({ "as it is" }, reported[1])
    assert.matches("^stack traceback:\n.*event_spec.lua:%d+: in .*'raise'", reported[2])
  end)

  it("runs its to-be-closed variables before it reports an error", function()
    local order = {}
    local object = { failed = function(_, err) order[#order + 1] = err end }
    loop.start(object, function()
      local _ <close> = setmetatable({}, { __close = function(_, err)
        order[#order + 1] = "closed for " .. err
        order[#order + 1] = loop.sleep(0.001)
      end })
      loop.sleep(0)
      error("no", 0)
    end)
    turn_until(function() return order[3] end)
    assert.same({ "closed for no", true, "no" }, order)
  end)

  it("fails with the error that closing raises", function()
    local reported
    loop.start({ failed = function(_, err) reported = err end }, function()
      local _ <close> = setmetatable({}, { __close = function() error("while closing", 0) end })
      error("no", 0)
    end)
    assert.equal("while closing", reported)
  end)

  it("runs its to-be-closed variables when it returns, and may wait in them", function()
    local order = {}
    start(function()
      local _ <close> = setmetatable({}, { __close = function()
        loop.sleep(0.001)
        order[#order + 1] = "closed"
      end })
      order[#order + 1] = "returns"
    end)
    turn_until(function() return order[2] end)
    assert.same({ "returns", "closed" }, order)
  end)

  it("can fail with an error that has no text", function()
    local reported
    local bad = setmetatable({}, { __tostring = function() error "no" end })
    loop.start({ failed = function(_, err) reported = err end }, function() error(bad) end)
    assert.equal(bad, reported)
  end)

  it("passes an error of its object to the code that turns the loop", function()
    loop.start({ failed = function() error("from failed", 0) end }, function()
      loop.sleep(0)
      error "no"
    end)
    assert.has_error(function() turn_until(function() return false end) end, "from failed")
  end)

  it("can wait in a protected call, a metamethod and an iterator", function()
    local got = {}
    start(function()
      got[1] = select(2, pcall(function()
        loop.sleep(0)
        error("caught", 0)
      end))
      got[2] = setmetatable({}, { __index = function(_, key)
        loop.sleep(0)
        return key
      end }).key
      for value in function(_, last)
        loop.sleep(0)
        return not last and "iterated" or nil
      end do got[3] = value end
    end)
    turn_until(function() return not loop.timeout() end)
    assert.same({ "caught", "key", "iterated" }, got)
  end)

  it("reports its deadline to its object unless it has ended", function()
    local expired = {}
    local function object(name)
      return { failed = error, expire = function() expired[#expired + 1] = name end }
    end
    local slow, quick = object "slow", object "quick"
    loop.start(quick, function() loop.set_deadline(quick, 0.005) end)
    loop.start(slow, function()
      loop.set_deadline(slow, children.patience)
      loop.set_deadline(slow, 0.005)
      loop.sleep(0.02)
    end)
    assert.is_true(loop.sleep(0.03))
    turn_until(function() return not loop.timeout() end)
    assert.same({ "slow" }, expired)
  end)

  it("requires a table and a function", function()
    assert.has_error(function() loop.start(nil, nothing) end)
    assert.has_error(function() loop.start {} end)
    assert.has_error(function() loop.stop(1, "why") end)
    assert.has_error(function() loop.stop({ task = io.stderr }, "why") end)
  end)
end)
