-- Interrupting a task that computes without yielding.
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
local pintle = require "pintle"
local loop_file = assert(package.searchpath("pintle.loop", package.path))

-- Ticks come fast here, so that the specs do not have to wait.
local TICK = 0.005

-- Computes for this long without yielding.
local function compute(seconds)
  local done = core.now() + seconds
  repeat until core.now() >= done
end

-- Until the tick has come.
local function compute_until(condition)
  local latest = core.now() + children.patience
  repeat
    if core.now() > latest then error "the condition did not become true in time" end
  until condition()
end

-- Runs a function in a task: its object, which has the error if the function raises.
local function run(fn, ...)
  local object = {}
  function object:failed(err, traceback) self.err, self.traceback = err, traceback end
  loop.start(object, fn, ...)
  return object
end

-- As `run`, for a function that does not raise.
local function run_well(fn, ...)
  local object = run(fn, ...)
  if object.err ~= nil then error(object.err, 0) end
end

describe("core.watchdog", function()
  local calls, nothing_left

  -- Counts the ticks, and then calls this function.
  local function watch(f, must_abort)
    assert(core.watchdog(function()
      calls = calls + 1
      if f then f() end
    end, must_abort, TICK))
  end

  local function called(times)
    local want = calls + (times or 1)
    return function() return calls >= want end
  end

  before_each(function()
    calls, nothing_left = 0, children.stock()
  end)

  after_each(function()
    core.watchdog()
    nothing_left()
  end)

  teardown(function() dofile(loop_file) end) -- sets the watchdog of handlers again

  it("interrupts a task that never yields", function()
    watch(function() error("enough", 0) end)
    assert.equal("enough", run(function() while true do end end).err)
    assert.equal("enough", run(function() for _ = 1, math.maxinteger do end end).err)
    assert.equal(2, calls)
  end)

  it("runs its callback in the interrupted task", function()
    local seen, within, thread
    watch(function() seen, within = loop.current(), coroutine.running() end)
    local object = run(function()
      thread = coroutine.running()
      compute_until(called())
    end)
    assert.equal(object, seen)
    assert.equal(thread, within)
  end)

  it("interrupts again, also after its error was caught", function()
    watch(function() error("again", 0) end)
    local caught = 0
    run_well(function()
      repeat
        if not pcall(function() while true do end end) then caught = caught + 1 end
      until caught == 3
    end)
    assert.same({ 3, 3 }, { caught, calls })
  end)

  it("interrupts a task after each of its waits, and the next task in its thread", function()
    watch()
    local done
    for _ = 1, 3 do
      run_well(function()
        for _ = 1, 2 do
          compute_until(called())
          loop.sleep(0.001)
        end
        done = true
      end)
      loop.run_while(function() return not done end)
      done = nil
    end
    assert.truthy(calls >= 6)
  end)

  it("lets the task continue when the callback returns, and leaves no hook", function()
    watch()
    local sum, hook = 0, true
    run_well(function()
      while calls < 3 do sum = sum + 1 end
      hook = debug.gethook()
    end)
    assert.truthy(sum > 0)
    assert.is_nil(hook)
  end)

  it("does not interrupt a task that yields in time", function()
    watch()
    local is_over
    run_well(function()
      repeat coroutine.yield() until is_over
    end)
    local done = core.now() + 40 * TICK
    repeat loop.step() until core.now() >= done
    is_over = true
    loop.step()
    assert.truthy(calls <= 2) -- the system may suspend the process in the middle of one
  end)

  it("does not interrupt code outside of tasks", function()
    watch()
    compute(5 * TICK)
    coroutine.resume(coroutine.create(compute), 5 * TICK)
    loop.soon(compute, 5 * TICK)
    loop.step()
    assert.equal(0, calls)
  end)

  it("ignores a tick that came too late", function()
    watch()
    run_well(os.execute, "sleep " .. 4 * TICK) -- runs no Lua that could be hooked
    local hook = true
    run_well(function() hook = debug.gethook() end)
    assert.is_nil(hook)
    assert.equal(0, calls)
  end)

  it("interrupts the innermost of nested tasks", function()
    local reached = {}
    watch(function() reached[loop.current()] = true end)
    local inner, outer
    outer = run(function()
      inner = run(function() compute_until(called()) end)
      assert.is_nil(next(reached, next(reached)))
      compute_until(called())
    end)
    assert.is_nil(outer.err)
    assert.same({ [inner] = true, [outer] = true }, reached)
  end)

  it("stops the inner task and not the outer", function()
    watch(function() error("enough", 0) end)
    local inner
    local outer = run(function()
      inner = run(function() while true do end end)
    end)
    assert.equal("enough", inner.err)
    assert.is_nil(outer.err)
  end)

  it("does not count the time in which a task turns the loop for others", function()
    watch()
    run_well(function()
      coroutine.wrap(function() loop.sleep(8 * TICK) end)()
    end)
    assert.truthy(calls <= 1)
  end)

  it("interrupts a task after the coroutine that it runs has ended", function()
    local reached
    watch(function() reached = coroutine.running() end)
    local thread
    run_well(function()
      thread = coroutine.running()
      compute_until(function() -- ticks are lost while the system runs other processes
        coroutine.wrap(function() compute(5 * TICK) end)()
        return reached
      end)
      assert.is_nil(debug.gethook())
    end)
    assert.equal(thread, reached)
  end)

  it("keeps other hooks", function()
    watch()
    local lines, returns, mask, hook = 0, 0, nil, nil
    local function count(event)
      if event == "line" then lines = lines + 1 else returns = returns + 1 end
    end
    run_well(function()
      debug.sethook(count, "lr")
      local function work() return core.now() end
      for _ = 1, 3 do
        local done = called()
        repeat work() until done()
      end
      hook, mask = debug.gethook()
      debug.sethook()
    end)
    assert.equal("rl", mask)
    assert.equal(count, hook)
    assert.truthy(lines > 10)
    assert.truthy(returns > 10)
    assert.truthy(calls >= 3)
  end)

  it("keeps every event of other hooks", function()
    watch()
    local returns = 0
    run_well(function()
      debug.sethook(function()
        if debug.getinfo(2, "f").func == os.execute then returns = returns + 1 end
      end, "r")
      os.execute("sleep " .. 4 * TICK) -- hooked before it returns
      compute_until(called(0))
      debug.sethook()
    end)
    assert.equal(1, returns)
    assert.truthy(calls >= 1)
  end)

  it("works although the task sets hooks itself", function()
    watch()
    local count
    run_well(function()
      for i = 1, 2 do
        local done = called()
        repeat debug.sethook(print, "", 1000000000 + i) until done()
      end
      count = select(3, debug.gethook())
      debug.sethook()
    end)
    assert.equal(1000000002, count)
  end)

  describe("beside a count hook", function()
    local COUNT = 2000000 -- instructions; fewer run between two ticks

    -- Counts with a count hook, which notes the numbers that it fires at. Calls `pause` now and then.
    local CODE = [[
      local core, is_protected = ...
      if is_protected then core.protect() end
      return function(count, pause)
        local noted, at = {}, 0
        debug.sethook(function() noted[#noted + 1] = at end, "", count)
        for i = 1, 2 * count + count // 10 do
          at = i
          if i % (count * 3 // 4) == 0 then pause() end
        end
        debug.sethook()
        return noted
      end
    ]]

    local function counter(is_protected)
      return assert(load(CODE, is_protected and "@counting_protected.lua" or "@counting.lua"))(core, is_protected)
    end

    local function do_nothing() end

    -- The hook fires in a task as often as in code that the watchdog does not interrupt.
    local function assert_undisturbed(count_up, count, pause)
      local expected, noted
      local alone = coroutine.wrap(function() expected = count_up(count, pause) end)
      repeat alone() until expected
      assert.truthy(#expected >= 5)
      run_well(function() noted = count_up(count, pause) end)
      loop.run_while(function() return not noted end)
      assert.equal(#expected, #noted)
      for i, at in ipairs(expected) do assert.near(at, noted[i], count / 100) end
    end

    it("does not restart its count", function()
      watch()
      assert_undisturbed(counter(), COUNT, do_nothing)
      assert.truthy(calls >= 3)
    end)

    it("does not restart its count at a wait", function()
      watch()
      assert_undisturbed(counter(), COUNT, coroutine.yield)
      assert.truthy(calls >= 3)
    end)

    it("does not restart its count in protected code", function()
      watch()
      assert_undisturbed(counter(true), COUNT, do_nothing)
    end)

    it("does not restart its count while a task must abort", function()
      watch(nil, function() return true end)
      assert_undisturbed(counter(), 20000, function() os.execute("sleep " .. 4 * TICK) end)
      assert.truthy(calls >= 20000)
    end)
  end)

  it("leaves no hook in coroutines that an interrupted task creates", function()
    watch()
    local hooked = {}
    run_well(function()
      compute_until(function()
        local made = coroutine.create(function() for i = 1, 10 do tostring(i) end end)
        if debug.gethook(made) then hooked[#hooked + 1] = made end
        return calls >= 20
      end)
    end)
    calls = 0
    for _, made in ipairs(hooked) do
      assert(coroutine.resume(made))
      assert.is_nil(debug.gethook(made))
    end
    assert.equal(0, calls)
  end)

  it("can start while a task runs", function()
    local object = run(function()
      watch(function() error("enough", 0) end)
      while true do end
    end)
    assert.equal("enough", object.err)
  end)

  it("can stop while a task runs", function()
    watch(function() core.watchdog() end)
    run_well(function()
      compute_until(called())
      compute(5 * TICK)
    end)
    assert.equal(1, calls)
  end)

  it("accepts another callback and another interval", function()
    watch(error)
    assert.is_true(core.watchdog(function() calls = calls + 100 end, nil, 2 * TICK))
    run_well(compute_until, called(200))
    assert.equal(0, calls % 100)
  end)

  it("interrupts before every instruction if a task must abort, whatever it catches", function()
    local must_abort, caught = false, 0
    watch(function()
      must_abort = true
      error("abort", 0)
    end, function() return must_abort end)
    local object = run(function()
      while true do
        pcall(function() while true do end end)
        caught = caught + 1
      end
    end)
    assert.equal("abort", object.err)
    assert.truthy(caught <= 1)
    must_abort = false
    run_well(function() for i = 1, 100 do tostring(i) end end)
  end)

  it("does not shorten waits", function()
    watch()
    local process <close> = assert(core.spawn { command = { "cat" } })
    for name, wait in pairs {
      poll = function() return select("#", core.poll(8 * TICK)) == 0 end,
      process = function() return process:wait(8 * TICK) == false end,
      loop = function() return select("#", loop.step(8 * TICK)) == 0 end,
    } do
      local begun, is_over = core.now(), nil
      run_well(function() is_over = wait() end)
      assert.same({ name, true }, { name, is_over })
      assert.is_true(core.now() - begun >= 8 * TICK)
    end
  end)

  it("leaves the signals unchanged", function()
    local text = children.run { command = children.lua [[
      local children, core = require "spec.support.children", require "pintle.core"
      local function signals() return table.concat({ children.signals() }, " ") end
      local before = signals()
      assert(core.watchdog(print, nil, 0.005))
      print(signals() == before)
      core.loop.start({}, function()
        local done = core.now() + 0.02
        repeat until core.now() >= done
      end)
      core.watchdog()
      print(signals() == before)
    ]] }
    assert.matches("^false\n.*true\n$", text)
  end)

  it("has no effect on a child", function()
    local show = { command = children.sh "grep 'Sig[BIC]' /proc/self/status" }
    local plain = children.run(show)
    watch()
    assert.equal(plain, (children.run(show)))
  end)

  it("has no timer while no task runs", function()
    local function wakings()
      local file <close> = assert(io.open "/proc/self/status")
      return tonumber(file:read("a"):match "\nvoluntary_ctxt_switches:%s*(%d+)")
    end
    assert(core.watchdog(function() calls = calls + 1 end, nil, 0.001))
    for _ = 1, 3 do
      run_well(compute_until, called())
      local before = wakings()
      core.poll(0.1)
      assert.truthy(wakings() - before < 20)
    end
  end)

  it("reports that no signal is free, and tasks still run", function()
    local code = [[
      local core = require "pintle.core"
      print(core.watchdog(print))
      core.loop.start({}, print, "works")
    ]]
    local ignoring = children.sh('for i in 14 $(seq 32 64); do trap "" $i; done; exec "$@"',
      table.unpack(children.lua(code)))
    local text = children.run { command = ignoring }
    assert.matches("^nil\tno timer is available: [^\t]*\tunsupported\t%d+\nworks\n$", text)
  end)

  it("requires a function, and a valid interval", function()
    assert.has_error(function() core.watchdog "print" end)
    assert.has_error(function() core.watchdog(print, "print") end)
    for _, interval in ipairs { 0, -1, 0 / 0, 1e9, "soon" } do
      assert.has_error(function() core.watchdog(print, nil, interval) end)
    end
    assert.is_true(core.watchdog())
  end)

  it("ends with its Lua state", function()
    local code = [[
      local core = require "pintle.core"
      core.watchdog(print, nil, 0.001)
      core.loop.start({}, function()
        local done = core.now() + 0.01
        repeat until core.now() >= done
      end)
    ]]
    local _, status = children.run { command = children.lua(code) }
    assert.equal(0, status)
  end)

  describe("in protected files", function()
    -- Code of a file with this name.
    local function of_file(name, code) return assert(load("local core = ... " .. code, "@" .. name))(core) end

    it("waits until the task is back in its own code", function()
      local places = {}
      watch(function() places[#places + 1] = debug.getinfo(3, "S").source end)
      local compute_protected = of_file("protected.lua", [[
        core.protect()
        return function(seconds)
          local done = core.now() + seconds
          repeat until core.now() >= done
        end
      ]])
      run_well(function()
        for i = 1, 3 do
          compute_protected(5 * TICK)
          compute_until(function() return calls >= i end)
        end
      end)
      for _, place in ipairs(places) do assert.matches("watchdog_spec.lua$", place) end
    end)

    it("interrupts functions that these files call", function()
      local place
      watch(function()
        place = debug.getinfo(3, "S").source
        error("enough", 0)
      end)
      local call_protected = of_file("calling.lua", "core.protect() return function(fn) fn() return 1 end")
      assert.equal("enough", run(call_protected, function() while true do end end).err)
      assert.matches("watchdog_spec.lua$", place)
    end)

    it("never interrupts the loop, however much time the task spends in it", function()
      local places = {}
      watch(function() places[#places + 1] = debug.getinfo(3, "S").source end)
      local latest, object = core.now() + children.patience, { failed = error }
      loop.start(object, function()
        loop.stop(object, loop.cancelled()) -- so that no wait takes any time
        repeat
          for _ = 1, 100 do loop.sleep(1) end
        until #places >= 15 or core.now() > latest
        assert.is_nil(debug.gethook())
      end)
      assert.truthy(#places >= 15)
      for _, place in ipairs(places) do assert.is_nil(place:find("lua/pintle/", 1, true)) end
    end)
  end)
end)

-- The watchdog that the module of the loop sets: the object of a task may have a method `tick`, and `must_abort`.
describe("the watchdog of handlers", function()
  it("calls the object of a task that computes", function()
    local ticks = 0
    local object = { failed = error }
    function object:tick()
      assert(self == object)
      ticks = ticks + 1
    end
    loop.start(object, function() compute_until(function() return ticks == 3 end) end)
  end)

  it("leaves a task alone if its object does not ask for it", function()
    loop.start({ failed = error }, function() compute(0.2) end)
  end)

  it("tells a computing handler about a cancellation, and interrupts it later", function()
    local one, other = pintle.pair()
    local notes = {}
    other:on("note", function(params) notes[#notes + 1] = params[1] end)
    other:on("compute", function(_, ctx)
      compute_until(function() return ctx:cancelled() end)
      notes[#notes + 1] = "cancelled"
      return true
    end)
    local begun = one:begin "compute"
    one:notify("note", { "after" })
    begun:cancel()
    local latest = core.now() + children.patience
    loop.run_while(function() return #notes < 2 and core.now() < latest end)
    assert.same({ "cancelled", "after" }, notes)
    one:close()
    other:close()
  end)

  -- Runs a handler that has a line hook and does not return. Returns how many lines the hook has seen.
  local function end_hooked(prepare, begin)
    local one, other = pintle.pair()
    local lines, is_over, latest = 0, false, core.now() + children.patience
    other:on("compute", function(_, ctx)
      local _ <close> = setmetatable({}, { __close = function() is_over = true end })
      debug.sethook(function() lines = lines + 1 end, "l")
      prepare(ctx)
      repeat
        pcall(compute_until, function() return false end)
      until core.now() >= latest
    end)
    begin(one)
    loop.run_while(function() return not is_over end)
    assert.truthy(core.now() < latest)
    one:close()
    other:close()
    return lines
  end

  it("ends a cancelled handler that has a line hook", function()
    assert.truthy(end_hooked(function() end, function(one) one:begin("compute"):cancel() end) > 1000)
  end)

  it("ends an overdue handler that has a line hook", function()
    assert.truthy(end_hooked(function(ctx) ctx:set_deadline(0.1) end, function(one) one:begin "compute" end) > 1000)
  end)
end)

-- As luacov does it: a line hook in the main thread, and in every thread that coroutine.create makes.
describe("a coverage tool", function()
  local TOOL = [[
    local loop, pintle, tasks = require "pintle.loop", require "pintle", require "pintle.task"
    local seen = {}
    local function note(_, line)
      if debug.getinfo(2, "S").source == "@code.lua" then seen[#seen + 1] = line end
    end
    local create = coroutine.create
    local function begin()
      debug.sethook(note, "l")
      function coroutine.create(...)
        local thread = create(...)
        debug.sethook(thread, note, "l")
        return thread
      end
    end
    local function show()
      print(table.concat(seen, " "))
      seen = {}
    end
    local code = load("return function()\nlocal x = 1\nx = x + 1\nreturn x\nend", "@code.lua")()
    local one, other = pintle.pair()
    other:on("code", code)
  ]]

  local function run_tool(code)
    local text, status = children.run { command = children.lua(TOOL .. code) }
    assert.equal(0, status)
    return text
  end

  it("sees the lines of tasks and handlers", function()
    assert.equal("2 3 4\n2 3 4\n2 3 4\n", run_tool [[
      begin()
      tasks.run(code)
      show()
      one:call "code"
      show()
      tasks.run(function() tasks.start(code):await() end)
      show()
    ]])
  end)

  it("sees lines in threads that are older than its hook, until it ends", function()
    assert.equal("\n2 3 4\n2 3 4\n\n", run_tool [[
      for _ = 1, 3 do
        tasks.run(code)
        one:call "code"
      end
      show()
      begin()
      tasks.run(code)
      show()
      one:call "code"
      show()
      debug.sethook()
      tasks.run(code)
      one:call "code"
      show()
    ]])
  end)

  it("sees them with the hook that was set last", function()
    assert.equal("2 3 4\nother 3\n", run_tool [[
      begin()
      one:call "code"
      show()
      local others = 0
      debug.sethook(function()
        if debug.getinfo(2, "S").source == "@code.lua" then others = others + 1 end
      end, "l")
      one:call "code"
      debug.sethook()
      print("other " .. others .. table.concat(seen, " "))
    ]])
  end)

  it("sees the lines of a handler after the watchdog has interrupted it", function()
    assert.equal("2 3 4\n", run_tool [[
      local core = require "pintle.core"
      local ticks = 0
      core.watchdog(function() ticks = ticks + 1 end, nil, 0.001)
      begin()
      tasks.run(function()
        while ticks < 3 do end
        code()
      end)
      show()
    ]])
  end)

  it("does not disturb a handler that hooks its own thread", function()
    assert.equal("2 3 4\n\n", run_tool [[
      tasks.run(function()
        debug.sethook(note, "l")
        code()
      end)
      show()
      tasks.run(code)
      one:call "code"
      show()
    ]])
  end)
end)
