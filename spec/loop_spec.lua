local children = require "spec.support.children"
local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

-- Runs it in a thread of the loop's.
local function start(fn, ...)
  local runner = { failed = function(_, err) error(err, 0) end }
  loop.start(runner, fn, ...)
  return runner
end

local function nothing() end

describe("the loop", function()
  local nothing_left, on_error

  before_each(function()
    nothing_left, on_error = children.stock(), loop.on_error
  end)

  after_each(function()
    loop.on_error = on_error
    nothing_left()
  end)

  describe("waits", function()
    it("in a task by letting others go on", function()
      local order = {}
      local one = start(function()
        order[#order + 1] = "one waits"
        local got = loop.wait(loop.waiter(), nothing)
        order[#order + 1] = got
      end)
      order[#order + 1] = "main"
      loop.wake(one.thread, "one goes on")
      assert.same({ "one waits", "main" }, order)
      loop.step()
      assert.same({ "one waits", "main", "one goes on" }, order)
    end)

    it("outside of tasks by turning", function()
      local waiter = loop.waiter()
      start(function()
        loop.sleep(0.001)
        loop.wake(waiter, "result", "and more")
      end)
      assert.same({ "result", "and more" }, { loop.wait(waiter, nothing) })
    end)

    -- Every place where code can run, and the time it takes to sleep there.
    local places = {
      ["the main program"] = function(fn) fn() end,
      ["a coroutine of the user's"] = function(fn) assert(coroutine.resume(coroutine.create(fn))) end,
      ["a task"] = function(fn) tasks.run(fn) end,
      ["a coroutine in a task"] = function(fn)
        tasks.run(function() assert(coroutine.resume(coroutine.create(fn))) end)
      end,
      ["a task in a coroutine"] = function(fn)
        assert(coroutine.resume(coroutine.create(function() tasks.run(fn) end)))
      end,
      ["a function that cannot yield, in a task"] = function(fn)
        tasks.run(function()
          local is_first = true
          table.sort({ 2, 1 }, function(a, b)
            if is_first then fn() end
            is_first = false
            return a < b
          end)
        end)
      end,
      ["a callback of the loop"] = function(fn)
        local done
        loop.after(0, function()
          fn()
          done = true
        end)
        turn_until(function() return done end)
      end,
    }

    for place, within in pairs(places) do
      it("in " .. place .. " while others go on", function()
        local others, latest = 0, loop.now() + children.patience
        local ticking = tasks.start(function()
          while loop.sleep(0.001) do others = others + 1 end
        end)
        within(function()
          repeat assert.is_true(loop.sleep(0.02)) until others > 1 or loop.now() > latest
        end)
        ticking:cancel()
        tasks.run()
        assert.truthy(others > 1)
      end)
    end

    it("in many coroutines of a task at a time", function()
      local done = 0
      tasks.run(function()
        for _ = 1, 20 do
          tasks.start(function()
            coroutine.wrap(function() loop.sleep(0.005) end)()
            done = done + 1
          end)
        end
      end)
      tasks.run()
      assert.equal(20, done)
    end)

    it("not for what cannot come any more", function()
      assert.has_error(function() loop.wait(loop.waiter(), nothing) end, "nothing is left that could end this wait")
    end)

    it("as long as told, and ends with an error", function()
      local given_up
      local function give_up(subject, token, err) given_up = { subject, token, err.kind } end
      for _, within in ipairs { places["the main program"], places["a task"], places["a coroutine in a task"] } do
        within(function()
          local begun = core.now()
          local late = errors.new("timeout", "too late")
          local result, err = loop.wait_within(0.01, late, loop.waiter(), give_up, "subject", "token")
          assert.is_nil(result)
          assert.same({ "timeout", "too late" }, { err.kind, err.message })
          assert.truthy(core.now() - begun >= 0.01)
          assert.same({ "subject", "token", "timeout" }, given_up)
        end)
      end
    end)

    it("and forgets the time once there is an answer", function()
      local waiter = loop.waiter()
      loop.soon(loop.wake, waiter)
      loop.wait_within(children.patience, errors.new("timeout", "too late"), waiter, nothing)
      assert.is_nil(loop.timeout())
    end)
  end)

  describe("gives an answer", function()
    it("once: what comes later is for nobody", function()
      local got = {}
      local task = start(function()
        got[1] = loop.wait(loop.waiter(), nothing)
        got[2] = loop.wait(loop.waiter(), nothing)
      end)
      loop.wake(task.thread, "first")
      loop.wake(task.thread, "second")
      loop.resume(task.thread, "third")
      loop.step()
      assert.same({ "first" }, got)
      loop.resume(task.thread, "fourth")
      assert.same({ "first", "fourth" }, got)
      loop.resume(task.thread, "fifth")
      loop.wake(task.thread, "sixth")
      loop.step()
    end)

    it("to a cell once, too", function()
      local told = 0
      local cell = { done = false, settled = function() told = told + 1 end }
      loop.wake(cell, "first")
      loop.resume(cell, "second")
      loop.wake(cell, "third")
      loop.step()
      assert.same({ "second", 1 }, { cell[1], told })
    end)

    it("to all who are deferred when one of them turns the loop itself", function()
      local order = {}
      for i = 1, 4 do
        local task = start(function()
          loop.wait(loop.waiter(), nothing)
          if i == 1 then coroutine.wrap(function() loop.sleep(0.001) end)() end
          order[#order + 1] = i
        end)
        loop.wake(task.thread)
      end
      loop.step()
      assert.same({ 2, 3, 4, 1 }, order)
    end)
  end)

  describe("stops a task", function()
    it("that waits, with the error, now and later", function()
      local got, given_up = {}, 0
      local err = loop.cancelled "enough"
      local task = start(function()
        for i = 1, 3 do
          local result, why = loop.wait(loop.waiter(), function() given_up = given_up + 1 end)
          got[i] = { result == nil, why }
        end
      end)
      loop.stop(task, err)
      assert.equal(1, given_up)
      loop.step()
      assert.same({ { true, err }, { true, err }, { true, err } }, got)
      assert.equal(3, given_up)
    end)

    it("once: the first reason stays", function()
      local task = start(function() loop.sleep(children.patience) end)
      local first = loop.cancelled "first"
      loop.stop(task, first)
      loop.stop(task, loop.cancelled "second")
      assert.equal(first, task.stopped)
      loop.step()
      assert.is_nil(loop.timeout())
    end)

    it("that waits in a coroutine of its own", function()
      local result, err
      local task = start(function()
        loop.sleep(0)
        coroutine.wrap(function() result, err = loop.sleep(children.patience) end)()
      end)
      loop.after(0.01, function() loop.stop(task, loop.cancelled "enough") end)
      turn_until(function() return err end)
      assert.is_nil(result)
      assert.equal("enough", err.message)
      assert.is_nil(loop.timeout())
    end)

    it("but not the answer it has already", function()
      local got
      local task = start(function() got = loop.wait(loop.waiter(), nothing) end)
      loop.wake(task.thread, "answer")
      loop.stop(task, loop.cancelled())
      loop.step()
      assert.equal("answer", got)
    end)
  end)

  describe("runs tasks", function()
    it("that let others go first", function()
      local order = {}
      for i = 1, 2 do
        start(function()
          for _ = 1, 2 do
            order[#order + 1] = i
            coroutine.yield()
          end
        end)
      end
      for _ = 1, 3 do loop.step() end
      assert.same({ 1, 2, 1, 2 }, order)
    end)

    it("and keeps nothing of one that has ended", function()
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

    it("whose error they are told, with a traceback, and closes what they left open", function()
      local told = {}
      local task = { failed = function(_, ...) told = { ... } end }
      local closed
      loop.start(task, function()
        local _ <close> = setmetatable({}, { __close = function() closed = loop.sleep(0.001) end })
        error({ "as it is" })
      end)
      assert.is_true(closed)
      assert.same({ "as it is" }, told[1])
      assert.matches("loop_spec.lua:%d+: in ", told[2])
    end)

    it("whose error cannot be shown", function()
      local told
      local bad = setmetatable({}, { __tostring = function() error "no" end })
      loop.start({ failed = function(_, err) told = err end }, function() error(bad) end)
      assert.equal(bad, told)
    end)
  end)

  describe("calls back", function()
    it("and does not let an error through", function()
      local told = {}
      loop.on_error = function(...) told = { ... } end
      assert.same({ true, 3 }, { loop.call(function(a, b) return a + b end, 1, 2) })
      assert.is_false((loop.call(error, "no")))
      assert.equal("no", told[1])
      assert.matches("^no\nstack traceback:\n.*loop_spec", told[2])
    end)

    it("soon, in order, and what is added meanwhile the time after", function()
      local order = {}
      loop.soon(function(name)
        order[#order + 1] = name
        loop.soon(function() order[#order + 1] = "three" end)
      end, "one")
      loop.soon(function(name) order[#order + 1] = name end, "two")
      loop.step()
      assert.same({ "one", "two" }, order)
      assert.equal(0, loop.timeout())
      loop.step()
      assert.same({ "one", "two", "three" }, order)
    end)

    it("after a time that is over at once", function()
      local fired = 0
      for _, seconds in ipairs { 0, -1 } do loop.after(seconds, function() fired = fired + 1 end) end
      turn_until(function() return fired == 2 end)
    end)

    it("not after a time that was forgotten", function()
      loop.forget(loop.after(0, error, "no"))
      loop.step(0.01)
    end)
  end)

  describe("sleeps", function()
    it("in the thousands, and wakes each in its time", function()
      local woken = 0
      for i = 1, 3000 do
        tasks.start(function()
          local due = core.now() + (i * 7 % 30) / 1000
          loop.sleep((i * 7 % 30) / 1000)
          assert(core.now() >= due, "too early")
          woken = woken + 1
        end)
      end
      tasks.run()
      assert.equal(3000, woken)
    end)

    it("for a number of seconds and nothing else", function()
      for _, value in ipairs { "1", {}, 0 / 0 } do
        assert.has_error(function() loop.sleep(value) end, "seconds expected")
      end
    end)
  end)

  describe("is driven from outside", function()
    it("one step at a time, as long as told", function()
      local begun = core.now()
      loop.step(0.01)
      assert.truthy(core.now() - begun >= 0.01)
      loop.step()
    end)

    it("with the time it can be left alone", function()
      assert.is_nil(loop.timeout())
      local timer = loop.after(5, nothing)
      assert.truthy(loop.timeout() > 4 and loop.timeout() <= 5)
      loop.forget(timer)
      loop.soon(nothing)
      assert.equal(0, loop.timeout())
      loop.step()
      assert.is_nil(loop.timeout())
    end)
  end)

  describe("watches descriptors", function()
    local read, write

    before_each(function()
      read, write = core.pipe()
    end)

    after_each(function()
      read:close()
      write:close()
    end)

    it("until told otherwise", function()
      local times = 0
      local watcher = { on_ready = function() times = times + 1 end }
      assert(loop.watch(read:fileno(), "r", watcher))
      write:write "x"
      loop.step()
      loop.step()
      loop.unwatch(read:fileno(), watcher)
      loop.step()
      assert.equal(2, times)
    end)

    it("for the last who asked, whatever an earlier one says", function()
      local first, second = {}, {}
      function second:on_ready() self.is_ready = true end
      assert(loop.watch(read:fileno(), "r", first))
      assert(loop.watch(read:fileno(), "r", second))
      loop.unwatch(read:fileno(), first)
      write:write "x"
      loop.step()
      assert.is_true(second.is_ready)
      loop.unwatch(read:fileno(), second)
    end)

    it("and says so if it cannot", function()
      local number = read:fileno()
      read:close()
      local ok, message, kind = loop.watch(number, "r", {})
      assert.is_nil(ok)
      assert.matches("cannot watch", message)
      assert.equal("closed", kind)
    end)
  end)

  describe("flushes", function()
    local function object()
      return { count = 0, flush = function(self) self.count = self.count + 1 end }
    end

    it("at once when nobody turns", function()
      local one = object()
      loop.flush(one)
      assert.equal(1, one.count)
    end)

    it("before it waits when somebody does", function()
      local one, count_before = object(), nil
      loop.soon(function()
        loop.flush(one)
        count_before = one.count
      end)
      loop.step()
      assert.same({ 0, 1 }, { count_before, one.count })
    end)

    it("the others, too, after one that raises", function()
      local bad, good = { flush = function() error "no" end }, object()
      loop.soon(function()
        loop.flush(good)
        loop.flush(bad)
      end)
      assert.has_error(function() loop.step() end)
      loop.step()
      assert.equal(1, good.count)
    end)
  end)

  it("is whole again after an error that went through it", function()
    loop.soon(error, "stop")
    assert.has_error(function() loop.sleep(children.patience) end)
    assert.is_nil(loop.current())
    local one = { flush = function(self) self.is_flushed = true end }
    loop.flush(one)
    assert.is_true(one.is_flushed)
    assert.is_true(loop.sleep(0.001))
    tasks.run(function() assert.is_true(loop.sleep(0.001)) end)
    loop.step()
  end)
end)
