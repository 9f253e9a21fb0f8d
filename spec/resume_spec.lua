local core = require "pintle.core"
local children = require "spec.support.children"

-- Ticks come fast here, so that the specs do not have to wait.
local TICK = 0.005

local function thread(f)
  return coroutine.create(f)
end

-- Computes for that long, and yields nothing.
local function compute(seconds)
  local done = core.now() + seconds
  repeat until core.now() >= done
end

-- Until the tick has come, which it must.
local function compute_until(condition)
  local latest = core.now() + children.patience
  repeat
    if core.now() > latest then error "it never came to that" end
  until condition()
end

describe("core.resume", function()
  -- What a resume of either kind gives, for threads made anew each time.
  local function same_as_lua(make, ...)
    local ours = table.pack(core.resume(make(), ...))
    local lua = table.pack(coroutine.resume(make(), ...))
    assert.same(lua, ours)
    return table.unpack(ours, 1, ours.n)
  end

  it("passes values in and out", function()
    local t = thread(function(...)
      local got = table.pack(coroutine.yield(...))
      return got.n, nil
    end)
    assert.same({ n = 4, true, 1, nil, 3 }, table.pack(core.resume(t, 1, nil, 3)))
    assert.same({ n = 3, true, 2, nil }, table.pack(core.resume(t, nil, nil)))
    assert.equal("dead", coroutine.status(t))
  end)

  it("passes none and many", function()
    assert.same({ n = 1, true }, table.pack(core.resume(thread(function() end))))
    local many = {}
    for i = 1, 5000 do many[i] = i end
    local back = table.pack(core.resume(thread(function(...) return ... end), table.unpack(many)))
    assert.equal(5001, back.n)
    assert.equal(5000, back[5001])
  end)

  it("gives an error as it is", function()
    local err = {}
    local ok, message = core.resume(thread(function() error(err) end))
    assert.is_false(ok)
    assert.equal(err, message)
  end)

  it("refuses a thread that cannot go on, as Lua does", function()
    local function dead()
      local t = thread(function() end)
      coroutine.resume(t)
      return t
    end
    assert.matches("dead", select(2, same_as_lua(dead, 1, 2)))
    assert.matches("non%-suspended", select(2, same_as_lua(coroutine.running, 1, 2)))
    assert.matches("dead", select(2, same_as_lua(function()
      local t = thread(error)
      coroutine.resume(t)
      return t
    end)))
    local outer
    outer = thread(function()
      return core.resume(thread(function() return core.resume(outer, 1) end))
    end)
    assert.same({ true, true, false, "cannot resume non-suspended coroutine" }, { core.resume(outer) })
  end)

  it("takes nothing but threads", function()
    assert.has_error(function() core.resume(print) end, "bad argument #1 to 'resume' (thread expected, got function)")
    assert.has_error(function() core.resume() end, "bad argument #1 to 'resume' (thread expected, got no value)")
  end)

  it("does not overflow the C stack", function()
    local function deeper()
      return core.resume(thread(deeper))
    end
    local results = table.pack(deeper())
    assert.is_false(results[results.n - 1])
    assert.matches("C stack overflow", results[results.n])
  end)
end)

describe("core.watch", function()
  local calls, nothing_left

  -- Watches with a callback that counts, and then does this.
  local function watch(f)
    assert(core.watch(function(t)
      calls = calls + 1
      if f then f(t) end
    end, TICK))
  end

  local function called(times)
    local want = calls + (times or 1)
    return function() return calls >= want end
  end

  before_each(function()
    calls, nothing_left = 0, children.stock()
  end)

  after_each(function()
    core.watch()
    nothing_left()
  end)

  it("reaches a thread that never yields", function()
    watch(function() error "enough" end)
    local ok, message = core.resume(thread(function() while true do end end))
    assert.same({ false, "enough" }, { ok, (message:gsub("^.*: ", "")) })
    ok = core.resume(thread(function() for _ = 1, math.maxinteger do end end))
    assert.is_false(ok)
    assert.equal(2, calls)
  end)

  it("hands over the thread, and runs in it", function()
    local seen, within
    watch(function(t) seen, within = t, coroutine.running() end)
    local t = thread(function() compute_until(called()) end)
    assert.is_true(core.resume(t))
    assert.equal(t, seen)
    assert.equal(t, within)
  end)

  it("reaches it again and again, also when its error was caught", function()
    watch(function(t) error(t, 0) end)
    local caught = 0
    local t = thread(function()
      repeat
        local ok = pcall(function() while true do end end)
        if not ok then caught = caught + 1 end
      until caught == 3
      return "done"
    end)
    assert.same({ true, "done" }, { core.resume(t) })
    assert.equal(3, caught)
    assert.equal(3, calls)
  end)

  it("goes on where it was when the callback returns", function()
    watch()
    local sum = 0
    local t = thread(function()
      while calls < 3 do sum = sum + 1 end
      return sum
    end)
    local _, result = core.resume(t)
    assert.equal(sum, result)
    assert.is_nil(debug.gethook(t))
  end)

  it("does not reach what yields in time", function()
    watch()
    local t = thread(function() while true do coroutine.yield() end end)
    local done = core.now() + 40 * TICK
    repeat core.resume(t) until core.now() >= done
    assert.truthy(calls <= 2) -- the system may let it wait in the middle of one
  end)

  it("does not reach what is not run by core.resume", function()
    watch()
    compute(5 * TICK)
    coroutine.resume(thread(compute), 5 * TICK)
    assert.equal(0, calls)
  end)

  it("forgets a tick that came too late", function()
    watch()
    local t = thread(os.execute) -- runs no Lua that could be hooked
    assert.is_true(core.resume(t, "sleep " .. 4 * TICK))
    assert.is_nil(debug.gethook(t))
    assert.equal(0, calls)
  end)

  it("reaches the innermost of threads that run each other", function()
    local reached = {}
    watch(function(t) reached[t] = true end)
    local inner = thread(function() compute_until(called()) end)
    local outer = thread(function()
      assert(core.resume(inner))
      assert.is_nil(reached[coroutine.running()])
      compute_until(function() return reached[coroutine.running()] end)
    end)
    assert.is_true(core.resume(outer))
    assert.is_true(reached[inner])
    assert.is_true(reached[outer])
  end)

  it("stops the inner thread and not the outer", function()
    watch(function() error("enough", 0) end)
    local inner = thread(function() while true do end end)
    local outer = thread(function() return core.resume(inner) end)
    assert.same({ true, false, "enough" }, { core.resume(outer) })
  end)

  it("reaches a thread once those are done that it runs by itself", function()
    local reached
    watch(function(t) reached = t end)
    local outer = thread(function()
      local inner = coroutine.wrap(function() compute(5 * TICK) end)
      inner()
      assert.is_nil(debug.gethook())
    end)
    assert.is_true(core.resume(outer))
    assert.equal(outer, reached)
  end)

  it("leaves other hooks as they were", function()
    watch()
    local lines, returns = 0, 0
    local function hook(event)
      if event == "line" then lines = lines + 1 else returns = returns + 1 end
    end
    local t = thread(function()
      local function work() return core.now() end
      for _ = 1, 3 do
        local done = called()
        repeat work() until done()
      end
      return select(2, debug.gethook())
    end)
    debug.sethook(t, hook, "lr")
    local _, mask = core.resume(t)
    assert.equal("rl", mask)
    assert.equal(hook, (debug.gethook(t)))
    assert.truthy(lines > 10)
    assert.truthy(returns > 10)
    assert.truthy(calls >= 3)
  end)

  it("keeps no event from other hooks", function()
    watch()
    local returns = 0
    local t = thread(function()
      os.execute("sleep " .. 4 * TICK) -- hooked before it returns
      compute_until(called(0))
    end)
    debug.sethook(t, function()
      if debug.getinfo(2, "f").func == os.execute then returns = returns + 1 end
    end, "r")
    assert(core.resume(t))
    assert.equal(1, returns)
    assert.truthy(calls >= 1)
  end)

  it("is not hindered by hooks that the thread sets itself", function()
    watch()
    local t = thread(function()
      for i = 1, 2 do
        local done = called()
        repeat debug.sethook(print, "", 1000000000 + i) until done()
      end
      return (select(3, debug.gethook()))
    end)
    assert.same({ true, 1000000002 }, { core.resume(t) })
  end)

  it("begins in the midst of a thread", function()
    local t = thread(function()
      watch(function() error("enough", 0) end)
      while true do end
    end)
    assert.same({ false, "enough" }, { core.resume(t) })
  end)

  it("ends in the midst of a thread", function()
    watch(function() core.watch(nil) end)
    local t = thread(function()
      compute_until(called())
      compute(5 * TICK)
    end)
    assert.is_true(core.resume(t))
    assert.equal(1, calls)
  end)

  it("does not reach those that were made by one who was just about to be reached", function()
    local makes = setmetatable({}, { __index = core.worker }) -- nothing but C runs while they are made
    local made
    watch()
    assert(core.resume(thread(function()
      compute_until(function()
        made = table.pack(table.unpack(makes, 1, 2000))
        return debug.gethook(made[made.n]) ~= nil
      end)
    end)))
    calls = 0
    assert(core.watch(function() calls = calls + 1 end, 3600))
    for _, worker in ipairs(made) do
      assert.same({ true, core.idle }, { core.resume(worker, string.rep, "x", 2) })
      assert.same({ true, core.idle }, { core.resume(worker, function() for i = 1, 10 do tostring(i) end end) })
      assert.is_nil(debug.gethook(worker))
    end
    assert.equal(0, calls)
  end)

  it("takes another callback and another interval", function()
    watch(error)
    assert.is_true(core.watch(function() calls = calls + 100 end, 2 * TICK))
    assert.is_true(core.resume(thread(function() compute_until(called(200)) end)))
    assert.equal(0, calls % 100)
  end)

  it("does not cut short what waits", function()
    watch()
    local poller <close> = assert(core.poller())
    local read <close>, write = core.pipe()
    local stream <close> = assert(core.stream { read = read:fileno(), write = write, framing = "line" })
    local process <close> = assert(core.spawn { command = { "cat" } })
    for name, wait in pairs {
      poller = function() return poller:wait(8 * TICK) == 0 end,
      stream = function() return stream:wait(8 * TICK) == false end,
      process = function() return process:wait(8 * TICK) == false end,
    } do
      local begun = core.now()
      local ok, is_over = core.resume(thread(wait))
      assert.same({ name, true, true }, { name, ok, is_over })
      assert.is_true(core.now() - begun >= 8 * TICK)
    end
  end)

  it("leaves the signals as it found them", function()
    local text = children.run { command = children.lua [[
      local children, core = require "spec.support.children", require "pintle.core"
      local function signals() return table.concat({ children.signals() }, " ") end
      local before = signals()
      assert(core.watch(print, 0.005))
      print(signals() == before)
      core.resume(coroutine.create(function()
        local done = core.now() + 0.015
        repeat until core.now() >= done
      end))
      core.watch()
      print(signals() == before)
    ]] }
    assert.matches("^false\n.*true\n$", text)
  end)

  it("is nothing to a child", function()
    local show = { command = children.sh "grep 'Sig[BIC]' /proc/self/status" }
    local plain = children.run(show)
    watch()
    assert.equal(plain, (children.run(show)))
  end)

  it("wakes nobody once nothing runs", function()
    local function wakings()
      local file <close> = assert(io.open "/proc/self/status")
      return tonumber(file:read("a"):match "\nvoluntary_ctxt_switches:%s*(%d+)")
    end
    assert(core.watch(function() calls = calls + 1 end, 0.001))
    local poller <close> = assert(core.poller())
    for _ = 1, 3 do
      assert(core.resume(thread(function() compute_until(called()) end)))
      local before = wakings()
      assert.equal(0, poller:wait(0.1))
      assert.truthy(wakings() - before < 20)
    end
  end)

  it("finds no signal where the program has taken them all", function()
    local code = [[
      local core = require "pintle.core"
      local ok, message, kind = core.watch(print)
      print(ok, message, kind)
      print(core.resume(coroutine.create(function() return "works" end)))
    ]]
    local ignoring = children.sh('for i in 14 $(seq 32 64); do trap "" $i; done; exec "$@"',
      table.unpack(children.lua(code)))
    local text = children.run { command = ignoring }
    assert.matches("^nil\tthere is no timer to be had: .*\tunsupported\ntrue\tworks\n$", text)
  end)

  it("takes only functions, and times that make sense", function()
    assert.has_error(function() core.watch "print" end)
    for _, interval in ipairs { 0, -1, 0 / 0, 1e9, "soon" } do
      assert.has_error(function() core.watch(print, interval) end)
    end
  end)

  it("ends with its state", function()
    local code = [[
      local core = require "pintle.core"
      core.watch(print, 0.001)
      core.resume(coroutine.create(function()
        local done = core.now() + 0.01
        repeat until core.now() >= done
      end))
    ]]
    local _, status = children.run { command = children.lua(code) }
    assert.equal(0, status)
  end)
end)
