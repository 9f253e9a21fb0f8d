local assert_no_growth = require "spec.support.growth"
local children = require "spec.support.children"
local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

local patience = children.patience

local function sleeper(seconds, ...)
  local results = table.pack(...)
  return function()
    loop.sleep(seconds)
    return table.unpack(results, 1, results.n)
  end
end

-- Sleeps until it is cancelled.
local function until_cancelled()
  local ok, err = loop.sleep(patience)
  assert(not ok, "nobody cancelled it")
  return err
end

describe("a task", function()
  local nothing_left, on_error, heard

  before_each(function()
    nothing_left, on_error = children.stock(), loop.on_error
    heard = {}
    loop.on_error = function(err, traceback, what) heard[#heard + 1] = { err, traceback, what } end
  end)

  after_each(function()
    tasks.run()
    loop.step()
    loop.on_error = on_error
    assert.is_nil(loop.timeout())
    nothing_left()
  end)

  it("runs at once, until it waits", function()
    local order = {}
    local task = tasks.start(function(...)
      order[#order + 1] = table.pack(...)
      loop.sleep(0)
      order[#order + 1] = "later"
    end, 1, nil, 3)
    assert.same({ { 1, nil, 3, n = 3 } }, order)
    assert.equal("running", task.state)
    tasks.run()
    assert.equal("later", order[2])
    assert.equal("done", task.state)
  end)

  it("returns all results of its function, as often as it is awaited", function()
    for _, fn in ipairs { sleeper(0, 1, nil, 3, nil), function() return 1, nil, 3, nil end } do
      local task = tasks.start(fn)
      for _ = 1, 2 do assert.same({ 1, nil, 3, nil, n = 4 }, table.pack(task:await())) end
    end
  end)

  it("can be awaited by many at a time", function()
    local task = tasks.start(sleeper(0.005, "result"))
    local waiting = {}
    for i = 1, 10 do waiting[i] = function() return task:await() end end
    local results = tasks.all(waiting)
    for i = 1, 10 do assert.equal("result", results[i]) end
    assert.equal("result", task:await())
  end)

  it("can be awaited with a timeout", function()
    local task = tasks.start(until_cancelled)
    local result, err = task:await(0.005)
    assert.is_nil(result)
    assert.equal("timeout", err.kind)
    assert.equal("running", task.state)
    task:cancel()
    assert.equal("cancelled", task:await(patience).kind)
  end)

  it("can be started by another, to any depth", function()
    local depth = 0
    local function deeper(given)
      depth = given
      if depth < 1000 then tasks.start(deeper, depth + 1) end
    end
    tasks.run(deeper, 1)
    tasks.run()
    assert.equal(1000, depth)
  end)

  it("can wait in a coroutine that turns the loop, nested in sixty others", function()
    local function deeper(depth)
      if depth == 60 then return depth end
      return coroutine.wrap(function()
        return tasks.start(function()
          loop.sleep(0)
          return deeper(depth + 1)
        end):await(patience)
      end)()
    end
    assert.equal(60, deeper(1))
  end)

  it("cannot await itself", function()
    local task
    task = tasks.start(function()
      loop.sleep(0)
      task:await()
    end)
    assert.error_matches(function() task:await() end, "a task cannot wait for itself")
  end)

  it("requires a function", function()
    assert.error_matches(function() tasks.start("no") end, "a task needs a function, got string")
    assert.error_matches(function() tasks.all { print, {} } end, "a task needs a function, got table")
    assert.error_matches(function() tasks.run(3) end, "a task needs a function, got number")
  end)

  describe("that raises", function()
    it("raises the same error where it is awaited", function()
      local err = errors.new("invalid", "no")
      local task = tasks.start(function()
        loop.sleep(0.001)
        error(err)
      end)
      for _ = 1, 2 do
        local ok, raised = pcall(task.await, task)
        assert.is_false(ok)
        assert.equal(err, raised)
      end
      assert.same({}, heard)
    end)

    it("before it is awaited raises there, and only there", function()
      local task = tasks.start(error, "no")
      assert.has_error(function() task:await() end, "no")
      tasks.run(sleeper(0.001))
      assert.same({}, heard)
    end)

    it("and is not awaited is reported once", function()
      tasks.start(function() error "one" end)
      tasks.start(function()
        loop.sleep(0)
        error "two"
      end)
      tasks.run()
      loop.step()
      assert.equal(2, #heard)
      assert.matches("task_spec.lua:%d+: one", heard[1][1])
      assert.matches("two\nstack traceback:\n.*task_spec", heard[2][2])
      assert.equal("a task", heard[1][3])
    end)

    it("is reported if the wait for it timed out before", function()
      local task = tasks.start(function()
        loop.sleep(0.01)
        error "late"
      end)
      task:await(0.001)
      tasks.run()
      loop.step()
      assert.equal(1, #heard)
    end)

    it("at the end of the program is reported", function()
      local text, code = children.run {
        command = children.lua [[
          io.stderr = io.stdout
          require "pintle.loop".on_error = function(err) print("heard: " .. err) end
          require "pintle.task".start(error, "the last one", 0)
        ]],
        stdin = "null",
      }
      assert.equal("heard: the last one\n", text)
      assert.equal(0, code)
    end)

    it("is printed by default", function()
      local process <close> = assert(core.spawn {
        command = children.lua [[
          local tasks = require "pintle.task"
          tasks.start(function() error "my fault" end)
          tasks.run(function() require "pintle.loop".sleep(0) end)
        ]],
        stdin = "null", stderr = "pipe",
      })
      local text = children.read(process.stderr)
      assert.matches("^pintle: a task failed: .*my fault\nstack traceback:", text)
      assert.equal(0, (process:wait(patience)))
    end)
  end)

  describe("that is cancelled", function()
    it("has its current and later waits end", function()
      local seen = {}
      local task = tasks.start(function()
        for i = 1, 3 do seen[i] = select(2, loop.sleep(patience)) end
        return "end"
      end)
      task:cancel "enough"
      assert.equal("end", task:await())
      for i = 1, 3 do assert.same({ "cancelled", "enough" }, { seen[i].kind, seen[i].message }) end
    end)

    it("while it awaits another does not cancel that one", function()
      local other = tasks.start(sleeper(0.005, "result"))
      local task = tasks.start(function() return select(2, other:await()) end)
      task:cancel()
      assert.equal("cancelled", task:await().kind)
      assert.equal("result", other:await())
    end)

    it("is stopped after a wait in its own coroutine has raised", function()
      loop.on_error = function() error("no more", 0) end -- which is raised to the code that turns the loop
      local caught
      local task = tasks.start(function()
        tasks.start(function()
          loop.sleep(0.001)
          error "any"
        end)
        caught = table.pack(pcall(coroutine.wrap(function() tasks.start(sleeper(0.01)):await() end)))
        return until_cancelled()
      end)
      assert.same({ false, "no more", n = 2 }, caught)
      task:cancel "enough"
      assert.equal("enough", task:await().message)
    end)

    it("and ends with that error is not reported", function()
      local task = tasks.start(function()
        local _, err = loop.sleep(patience)
        error(err)
      end)
      task:cancel()
      tasks.run()
      loop.step()
      assert.equal("failed", task.state)
      assert.same({}, heard)
    end)

    it("and ends with another error is reported", function()
      local task = tasks.start(function()
        loop.sleep(patience)
        error "another"
      end)
      task:cancel()
      tasks.run()
      loop.step()
      assert.equal(1, #heard)
    end)

    it("after its end does not change", function()
      local task = tasks.start(function() return 1 end)
      task:cancel()
      assert.equal(1, task:await())
    end)
  end)

  describe("in task.all", function()
    it("gives its first result, in the order of the list", function()
      local results = tasks.all {
        sleeper(0.01, "slow", "dropped"), sleeper(0, nil), function() return "at once" end,
        tasks.start(sleeper(0.005, "a task")),
      }
      assert.same({ "slow", nil, "at once", "a task", n = 4 }, results)
    end)

    it("may be missing: no tasks, no results", function() assert.same({ n = 0 }, tasks.all {}) end)

    it("may be listed twice", function()
      local task = tasks.start(sleeper(0.001, "x"))
      assert.same({ "x", "x", n = 2 }, tasks.all { task, task })
    end)

    it("raises for all, and the others are cancelled", function()
      local other
      assert.has_error(function()
        tasks.all {
          function() other = until_cancelled() end,
          function()
            loop.sleep(0.001)
            error("no", 0)
          end,
        }
      end, "no")
      loop.step()
      assert.equal("cancelled", other.kind)
      assert.same({}, heard)
    end)

    it("is reported if another one raised before", function()
      local function fail(with)
        return function()
          loop.sleep(0)
          error(with, 0)
        end
      end
      local ok, first = pcall(tasks.all, { fail "a", fail "b", fail "c" })
      loop.step()
      assert.is_false(ok)
      local all = { first }
      for _, report in ipairs(heard) do all[#all + 1] = report[1] end
      table.sort(all)
      assert.same({ "a", "b", "c" }, all)
    end)

    it("is cancelled at the timeout", function()
      local task = tasks.start(until_cancelled)
      local results, err = tasks.all({ task, sleeper(0) }, 0.005)
      assert.is_nil(results)
      assert.equal("timeout", err.kind)
      assert.equal("cancelled", task:await().kind)
    end)

    it("is cancelled with the waiting task", function()
      local inner, err
      local outer = tasks.start(function()
        inner = tasks.start(until_cancelled)
        err = select(2, tasks.all { inner })
      end)
      outer:cancel "enough"
      outer:await()
      assert.equal("enough", err.message)
      assert.equal("cancelled", inner:await().kind)
    end)

    it("takes time in proportion to their number", function()
      local list = {}
      for i = 1, 20000 do list[i] = sleeper(0.0001 * (i % 10), i) end
      local results = tasks.all(list)
      assert.equal(20000, results.n)
      assert.equal(20000, results[20000])
    end)
  end)

  describe("that ends first in task.any", function()
    it("gives its index and results; the others are cancelled", function()
      local other = tasks.start(until_cancelled)
      assert.same({ 2, "a", nil, "c", n = 4 }, table.pack(tasks.any { other, sleeper(0.001, "a", nil, "c") }))
      assert.equal("cancelled", other:await().kind)
    end)

    it("may have ended before", function()
      local task = tasks.start(function() return "early" end)
      assert.same({ 2, "early" }, { tasks.any { until_cancelled, task } })
    end)

    it("in the same turn as others wakes the waiter once", function()
      local which, woken = nil, 0
      tasks.run(function()
        which = tasks.any { sleeper(0), sleeper(0), sleeper(0) }
        loop.sleep(0.005)
        woken = woken + 1
      end)
      assert.truthy(which)
      assert.equal(1, woken)
    end)

    it("raises", function()
      assert.has_error(function() tasks.any { until_cancelled, function() error("no", 0) end } end, "no")
    end)

    it("is awaited until the timeout", function()
      local which, err = tasks.any({ until_cancelled, until_cancelled }, 0.005)
      assert.is_nil(which)
      assert.equal("timeout", err.kind)
    end)

    it("requires at least one task", function()
      assert.error_matches(function() tasks.any {} end, "nothing to wait for")
    end)
  end)

  describe("in task.run", function()
    it("returns its results, or raises", function()
      assert.same({ 1, nil, 3, n = 3 }, table.pack(tasks.run(sleeper(0.001, 1, nil, 3))))
      assert.same({ 7, n = 1 }, table.pack(tasks.run(function(...) return ... end, 7)))
      assert.has_error(function() tasks.run(error, "no") end, "no")
      assert.same({}, heard)
    end)

    it("lets others run, if that is called in a task", function()
      local other = tasks.start(sleeper(0.001))
      assert.equal(5, tasks.run(function() return tasks.run(sleeper(0.01, 5)) end))
      assert.equal("done", other.state)
    end)

    it("is every task, if no function is given", function()
      local done = 0
      for i = 1, 5 do
        tasks.start(function()
          loop.sleep(i / 1000)
          done = done + 1
        end)
      end
      tasks.run()
      assert.equal(5, done)
      assert.error_matches(function() tasks.run(function() tasks.run() end) end, "would wait for itself")
    end)
  end)

  it("leaves no garbage behind", function()
    assert_no_growth(function()
      for _ = 1, 5000 do tasks.start(sleeper(0)) end
      tasks.run()
    end, 9, 200)
  end)
end)
