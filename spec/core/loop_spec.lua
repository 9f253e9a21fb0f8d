local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

-- Runs a function in a task of the loop.
local function start(fn, ...)
  local object = { failed = function(_, err) error(err, 0) end }
  loop.start(object, fn, ...)
  return object
end

local function nothing() end

-- All places where code can run.
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

local nothing_left, on_error

local function before()
  nothing_left, on_error = children.stock(), loop.on_error
end

local function after()
  loop.on_error = on_error
  assert.is_nil(loop.current())
  assert.is_nil(loop.timeout())
  nothing_left()
end

describe("an event", function()
  before_each(before)
  after_each(after)

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
  before_each(before)
  after_each(after)

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
  before_each(before)
  after_each(after)

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
    assert.matches("^stack traceback:\n.*loop_spec.lua:%d+: in .*'raise'", reported[2])
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

describe("sleeping", function()
  before_each(before)
  after_each(after)

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

  before_each(function()
    before()
    fired = {}
  end)

  after_each(after)

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
  before_each(before)
  after_each(after)

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

  before_each(function()
    before()
    read, write = core.pipe()
  end)

  after_each(function()
    read:close()
    write:close()
    after()
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
  before_each(before)
  after_each(after)

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
