-- The loop: timers, callbacks, descriptors, other loops, and errors that pass through it.
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
local stage = require "spec.support.loop_stage"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

local places, start = stage.places, stage.start

local function nothing() end

stage.leave_idle()

describe("sleeping", function()
  for place, within in pairs(places) do
    it("in " .. place .. " lets others run", function()
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

  it("works in many coroutines of tasks at the same time", function()
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

  it("wakes thousands of tasks in the right order", function()
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

  it("requires a number of seconds", function()
    for _, value in ipairs { "1", {}, 0 / 0 } do
      assert.has_error(function() loop.sleep(value) end, "seconds expected")
    end
    assert.is_true(loop.sleep(-1))
  end)
end)

describe("a callback", function()
  local fired

  before_each(function() fired = {} end)

  local function note(name) fired[#fired + 1] = name end

  it("has its errors reported, not raised", function()
    local reported = {}
    loop.on_error = function(...) reported = { ... } end
    assert.same({ true, 3 }, { loop.call(function(a, b) return a + b end, 1, 2) })
    assert.is_false((loop.call(error, "no")))
    assert.equal("no", reported[1])
    assert.matches("^no\nstack traceback:\n.*loop_spec", reported[2])
  end)

  it("of loop.soon is called in order, and one added meanwhile in the next turn", function()
    loop.soon(function(name)
      note(name)
      loop.soon(note, "three")
    end, "one")
    loop.soon(note, "two")
    loop.step()
    assert.same({ "one", "two" }, fired)
    assert.equal(0, loop.timeout())
    loop.step()
    assert.same({ "one", "two", "three" }, fired)
  end)

  it("of loop.after is called in the order of time", function()
    loop.after(0.003, note, "three")
    loop.after(0.001, note, "one")
    loop.after(0.002, note, "two")
    turn_until(function() return #fired == 3 end)
    assert.same({ "one", "two", "three" }, fired)
  end)

  it("of loop.after is called at once after 0 seconds", function()
    for _, seconds in ipairs { 0, -1 } do loop.after(seconds, note, seconds) end
    turn_until(function() return #fired == 2 end)
  end)

  it("is not called if it was cancelled, also twice", function()
    local timer = loop.after(0, error, "no")
    loop.cancel(timer)
    loop.cancel(timer)
    loop.step(0.01)
    local fires = loop.after(0, note, "fires")
    loop.step(0.01)
    loop.cancel(fires)
    assert.same({ "fires" }, fired)
  end)

  it("may cancel others and add new ones", function()
    local second
    loop.after(0.001, function()
      loop.cancel(second)
      loop.after(0.002, note, "later")
    end)
    second = loop.after(0.001, note, "second")
    turn_until(function() return #fired > 0 end)
    assert.same({ "later" }, fired)
  end)

  it("that raises does not prevent the others", function()
    loop.after(0, error, "no")
    loop.after(0.001, note, "two")
    loop.soon(error, "soon")
    loop.soon(note, "one")
    for _, message in ipairs { "soon", "no" } do
      assert.error_matches(function() loop.sleep(children.patience) end, message)
    end
    turn_until(function() return #fired == 2 end)
    assert.same({ "one", "two" }, fired)
    turn_until(function() return not loop.timeout() end)
  end)

  it("keeps its order among thousands, whichever are cancelled", function()
    math.randomseed(7)
    local kept, all = {}, {}
    for i = 1, 5000 do
      local milliseconds = math.random(1, 20)
      all[i] = { milliseconds, loop.after(milliseconds / 1000, note, milliseconds) }
    end
    for i, one in ipairs(all) do
      if i % 3 == 0 then loop.cancel(one[2]) else kept[#kept + 1] = one[1] end
    end
    turn_until(function() return not loop.timeout() end)
    assert.equal(#kept, #fired)
    table.sort(kept)
    local sorted = table.move(fired, 1, #fired, 1, {})
    table.sort(sorted)
    assert.same(kept, sorted)
  end)

  it("is kept until it was called, and not longer", function()
    local kept = setmetatable({}, { __mode = "k" })
    do
      local subject = {}
      kept[subject] = true
      loop.after(0.001, function(given) fired[1] = given == next(kept) end, subject)
    end
    collectgarbage()
    loop.sleep(0.01)
    assert.same({ true }, fired)
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(kept))
  end)

  it("requires a time that is a number", function()
    for _, seconds in ipairs { 0 / 0, "soon", {} } do
      assert.has_error(function() loop.after(seconds, nothing) end)
    end
    assert.has_error(function() loop.after(1) end)
    assert.has_error(function() loop.cancel {} end)
  end)
end)

describe("a loop that is driven from outside", function()
  it("limits a step to the given time", function()
    local begun = core.now()
    loop.step(0.01)
    assert.truthy(core.now() - begun >= 0.01)
    loop.step()
  end)

  it("tells when the next step is due", function()
    assert.is_nil(loop.timeout())
    local timer = loop.after(5, nothing)
    assert.truthy(loop.timeout() > 4 and loop.timeout() <= 5)
    loop.cancel(timer)
    loop.soon(nothing)
    assert.equal(0, loop.timeout())
    loop.step()
    assert.is_nil(loop.timeout())
  end)

  it("turns while a function returns true", function()
    local times = 0
    local timer = loop.after(0.001, function() times = 5 end)
    loop.run_while(function() return times < 5 end)
    loop.cancel(timer)
    assert.equal(5, times)
  end)

  it("can take a step inside another", function()
    local order = {}
    loop.soon(function()
      loop.step()
      order[#order + 1] = "outer"
    end)
    loop.soon(function() order[#order + 1] = "inner" end)
    loop.step()
    assert.same({ "inner", "outer" }, order)
  end)

  -- In a separate program: the loop works differently once its descriptor was asked for.
  local function prints(text, program)
    assert.same({ text, 0 }, { children.run { command = children.lua(program), stdin = "null" } })
  end

  it("has a descriptor that is readable when a step has something to do", function()
    prints("hello\n", [[
      local core, loop = require "pintle.core", require "pintle.loop"
      local read, write = core.pipe()
      assert(loop.watch(read:fileno(), "r", { on_ready = function() print(read:read()) end }))
      assert(core.poll(0, loop.fileno(), "r") == false)
      write:write "hello"
      assert(core.poll(30, loop.fileno(), "r") == "r")
      loop.step()
      assert(core.poll(0, loop.fileno(), "r") == false)
    ]])
  end)

  it("has that descriptor also after calls", function()
    prints("told\n", [[
      local connect, core, loop = require "pintle.connect", require "pintle.core", require "pintle.loop"
      local peer = connect.open { command = { "lua5.4", "spec/support/far_side.lua", "line" } }
      for i = 1, 50 do peer:call("echo", { i }) end
      for _ = 1, 50 do
        local call = peer:begin("echo", { "x" })
        while not call:is_done() do
          assert(core.poll(30, loop.fileno(), "r") == "r")
          loop.step()
        end
      end
      peer:close()
      print "told"
    ]])
  end)
end)

describe("a watched descriptor", function()
  local read, write

  before_each(function() read, write = core.pipe() end)

  after_each(function()
    read:close()
    write:close()
  end)

  it("is reported until it is unwatched", function()
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

  it("is reported as readable, writable, or neither", function()
    local got = {}
    local watcher = { on_ready = function(self, ...) got = { self.name, ... } end, name = "watcher" }
    assert(loop.watch(write, "w", watcher))
    loop.step()
    assert.same({ "watcher", false, true }, got)
    loop.unwatch(write, watcher)
    assert(loop.watch(read, "", watcher))
    got = {}
    write:write "x"
    loop.step()
    assert.same({}, got)
    assert(loop.watch(read, "r", watcher))
    loop.step()
    assert.same({ "watcher", true, false }, got)
    loop.unwatch(read, watcher)
  end)

  it("belongs to its last watcher, whatever the earlier one does", function()
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

  it("may be unwatched by a callback while both are ready", function()
    local other_read, other_write = core.pipe()
    local reported = 0
    local one, other = {}, {}
    function one.on_ready()
      reported = reported + 1
      loop.unwatch(other_read, other)
      loop.unwatch(read, one)
    end
    other.on_ready = one.on_ready
    assert(loop.watch(read, "r", one))
    assert(loop.watch(other_read, "r", other))
    write:write "x"
    other_write:write "x"
    loop.step()
    loop.step()
    assert.equal(1, reported)
    other_read:close()
    other_write:close()
  end)

  it("is refused if it cannot be watched", function()
    local number = read:fileno()
    read:close()
    local ok, message, kind = loop.watch(number, "r", {})
    assert.is_nil(ok)
    assert.matches("cannot watch", message)
    assert.equal("closed", kind)
    assert.has_error(function() loop.watch(write, "x", {}) end)
    assert.has_error(function() loop.watch(write, "w") end)
    assert.has_error(function() loop.watch("stdout", "w", {}) end)
  end)
end)

describe("the loop after an error that passed through it", function()
  it("works again", function()
    loop.soon(error, "stop")
    assert.has_error(function() loop.sleep(children.patience) end)
    assert.is_nil(loop.current())
    assert.is_true(loop.sleep(0.001))
    tasks.run(function() assert.is_true(loop.sleep(0.001)) end)
    loop.step()
  end)

  it("continues with the tasks that were ready", function()
    local woken = 0
    local event = loop.event()
    for _ = 1, 3 do
      start(function()
        event:wait()
        woken = woken + 1
      end)
    end
    loop.soon(error, "stop")
    event:set()
    assert.has_error(function() loop.step() end)
    loop.step()
    assert.equal(3, woken)
  end)

  it("restores its depth and the current task", function()
    for _ = 1, 200 do
      local object = { failed = error }
      loop.start(object, function()
        loop.soon(error, "stop")
        assert.is_false((pcall(coroutine.wrap(function() loop.sleep(children.patience) end))))
        assert.equal(object, loop.current())
      end)
    end
    local began
    start(function() began = true end)
    assert.is_true(began)
    loop.run_while(function() return loop.timeout() ~= nil end)
  end)
end)
