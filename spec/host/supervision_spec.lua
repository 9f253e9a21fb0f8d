-- Plugins that start, die, restart and stop at the same time.
local children = require "spec.support.children"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local files = require "spec.support.files"
local gevals = require "pintle.dialect.gevals"
local hosts = require "pintle.host"
local lfs = require "lfs"
local logged_host = require "spec.support.logged_host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

local function plugin(behaviour, ...)
  return { "lua5.4", "spec/support/bad_plugin.lua", behaviour, ... }
end

local function is_running(pid) return io.open(("/proc/%d/stat"):format(pid)) ~= nil end

describe("a host", function()
  local host, entries, path, check_stock

  local quick = { max = 3, within = 60, backoff = 0.01, jitter = 0 }
  local slow = { max = 3, within = 60, backoff = 600, max_backoff = 600, jitter = 0 }

  local function said(pattern) return logged_host.find(entries, pattern) end

  local function lives() return lfs.attributes(path, "size") or 0 end

  -- The results of the function, which must return in time.
  local function in_time(fn, ...)
    local begun = core.now()
    local results = table.pack(fn(...))
    assert.truthy(core.now() - begun < children.patience)
    return table.unpack(results, 1, results.n)
  end

  before_each(function()
    check_stock = children.stock()
    path = os.tmpname()
    os.remove(path)
    host, entries = logged_host.open()
  end)

  after_each(function()
    host:stop()
    os.remove(path)
    check_stock()
  end)

  describe("that is stopped", function()
    it("while a plugin starts cancels that", function()
      local given = { command = plugin "slow", handshake_timeout = 600 }
      local starting = tasks.start(host.start, host, given)
      in_time(host.stop, host)
      local started, err = in_time(starting.await, starting)
      assert.is_nil(started)
      assert.same({ "closed", "bad_plugin was stopped" }, { err.kind, err.message })
      assert.is_nil(next(host.plugins))
    end)

    it("while a plugin waits for its restart cancels that, and fails the waiting calls", function()
      local mortal = assert(host:start { command = plugin("mortal", path, "9"), name = "mortal", restart = slow })
      assert.is_nil((mortal:execute "go"))
      local waiting = tasks.start(function() return mortal:execute("go", {}, { timeout = false }) end)
      host:stop()
      local outcome, err = in_time(waiting.await, waiting)
      assert.is_nil(outcome)
      assert.same({ "closed", "mortal was stopped" }, { err.kind, err.message })
      in_time(tasks.run) -- no task is left
      assert.equal(1, lives())
    end)

    it("during the handshake of a restarted plugin ends that process", function()
      local slow_again = assert(host:start {
        command = plugin("slow_again", path), restart = quick, handshake_timeout = 600,
      })
      children.kill(slow_again:pids()[1])
      turn_until(function() return lives() == 2 end)
      in_time(slow_again.stop, slow_again)
      in_time(tasks.run)
      assert.is_nil(said "restarted")
    end)

    it("does not restart a plugin that dies while it is stopped", function()
      local touchy = assert(host:start { command = plugin("touchy", path), restart = quick })
      touchy:stop()
      in_time(tasks.run)
      assert.equal(1, lives())
      assert.is_nil(said "^error")
    end)

    it("fails pending calls", function()
      local stop_timeouts = { request = 0, eof = 0.1, term = 0.1 }
      local slow_one = assert(host:start { command = plugin "slow_operation", stop_timeouts = stop_timeouts })
      local calls = {}
      for i = 1, 3 do calls[i] = tasks.start(function() return slow_one:execute("go", {}, { timeout = false }) end) end
      in_time(host.stop, host)
      for _, call in ipairs(calls) do
        local outcome, err = in_time(call.await, call)
        assert.is_nil(outcome)
        assert.equal("closed", err.kind)
      end
    end)

    it("can be used again", function()
      host:stop()
      assert(host:start { command = plugin "good" })
    end)
  end)

  describe("stops a plugin", function()
    local function stubborn()
      local stop_timeouts = { request = 0.2, eof = 0, term = 0.2 }
      local command = { "sh", "-c", "trap '' TERM; exec lua5.4 spec/support/bad_plugin.lua stubborn" }
      return assert(host:start { command = command, stop_timeouts = stop_timeouts })
    end

    it("once, and a second caller waits, too", function()
      local one = stubborn()
      local pid = one:pids()[1]
      local first = tasks.start(one.stop, one)
      one:stop()
      assert.is_false(is_running(pid))
      assert.equal("done", first.state)
    end)

    it("with all steps although the calling task was cancelled", function()
      local task = tasks.start(function()
        local _ <close> = assert(host:start { command = plugin("witness", path) })
        loop.sleep(600)
      end)
      turn_until(function() return host.plugins.bad_plugin and host.plugins.bad_plugin.manifest end)
      task:cancel()
      turn_until(function() return lives() > 0 end)
      assert.equal("shutdown", io.lines(path)())
      host:stop()
    end)

    it("and removes that plugin, not a newer one with its name", function()
      local first = assert(host:start { command = plugin "good", name = "good" })
      first:stop()
      local second = assert(host:start { command = plugin "good", name = "good" })
      first:stop()
      assert.equal(second, host.plugins.good)
      assert(second:execute "go")
    end)

    it("whose dialect raises at the end", function()
      local side = setmetatable({ close = function() error "on purpose" end }, { __index = gevals.host })
      dialects.add(setmetatable({ name = "broken", host = side }, { __index = gevals }))
      local good = assert(host:start { command = plugin "good", dialect = "broken" })
      in_time(good.stop, good)
      assert.truthy(said "asking it to end failed: .*on purpose")
    end)
  end)

  describe("starts a pool", function()
    it("as a whole: if one process fails, none is left", function()
      local pool, err = host:start { command = plugin("one_fails", path, "2"), pool = 3 }
      assert.is_nil(pool)
      assert.same({ code = 10 }, err.exit)
      assert.equal(3, lives())
      assert.is_nil(next(host.plugins))
    end)

    it("of which one process dies during the handshake of the others, and restarts", function()
      local pool = assert(host:start { command = plugin("early_death", path), pool = 2, restart = quick })
      turn_until(function() return #pool:pids() == 2 end)
      assert.equal(3, lives())
      assert(pool:execute "go")
    end)

    it("of which one process dies, and continues with the other", function()
      local pool = assert(host:start { command = plugin "pid", pool = 2 })
      children.kill(pool:pids()[1])
      turn_until(function() return #pool:pids() == 1 end)
      for _ = 1, 2 do assert(pool:execute "go") end
    end)

    it("and restarts each of its processes within a budget of its own", function()
      local once = { max = 1, within = 600, backoff = 0.01, jitter = 0 }
      local pool, old = assert(host:start { command = plugin "pid", pool = 3, restart = once }), {}
      for _, pid in ipairs(pool:pids()) do
        old[pid] = true
        children.kill(pid)
      end
      turn_until(function()
        local pids = pool:pids()
        return #pids == 3 and not old[pids[1]] and not old[pids[2]] and not old[pids[3]]
      end)
      assert.is_nil(said "given up")
      children.kill(pool:pids()[1])
      turn_until(function() return said "given up after 1 restart within 600s" end)
      assert(pool:execute "go")
    end)

    it("and stops it if the calling task is cancelled", function()
      local task = tasks.start(function()
        return host:start { command = plugin "slow", pool = 2, handshake_timeout = 600 }
      end)
      turn_until(function() return host.plugins.bad_plugin end)
      task:cancel "never mind"
      local started, err = in_time(task.await, task)
      assert.is_nil(started)
      assert.equal("cancelled", err.kind)
      turn_until(function() return not next(host.plugins) end)
      in_time(tasks.run)
    end)
  end)

  describe("starts a lazy plugin", function()
    it("once, however many calls wait for it", function()
      local lazy = assert(host:start { command = plugin("mortal", path, "1"), lazy = true })
      local calls = {}
      for i = 1, 5 do calls[i] = function() return assert(lazy:execute "go").message end end
      for _, message in ipairs(tasks.all(calls)) do assert.equal("life 1", message) end
      assert.equal(1, lives())
    end)

    it("that cannot be started: all waiting calls fail with the reason, and the next call tries again", function()
      local lazy = assert(host:start { command = plugin("one_fails", path, "1"), lazy = true })
      local calls = {}
      for i = 1, 3 do calls[i] = function() return select(2, lazy:execute "go") end end
      for _, err in ipairs(tasks.all(calls)) do assert.same({ code = 10 }, err.exit) end
      assert.equal(1, lives())
      assert(lazy:execute "go")
      assert.equal(2, lives())
    end)

    it("whose program does not exist", function()
      local lazy = assert(host:start { command = { "./no such program" }, lazy = true })
      for _ = 1, 2 do
        local outcome, err = in_time(lazy.execute, lazy, "go", {}, { timeout = false })
        assert.is_nil(outcome)
        assert.equal("spawn", err.kind)
      end
    end)

    it("and waits for it until the timeout, but continues for the next call", function()
      local lazy = assert(host:start { command = plugin("gated", path), lazy = true, name = "lazy" })
      local outcome, err = in_time(lazy.execute, lazy, "go", {}, { timeout = "100ms" })
      assert.is_nil(outcome)
      assert.same({ "timeout", "lazy was not ready in time" }, { err.kind, err.message })
      local started = children.pids()
      files.write(path, "")
      assert(lazy:execute "go")
      assert.same(started, lazy:pids())
    end)

    it("that is stopped before, while and after it starts", function()
      local lazy = assert(host:start { command = plugin("gated", path), lazy = true })
      local waiting = tasks.start(function() return lazy:execute("go", {}, { timeout = false }) end)
      in_time(lazy.stop, lazy)
      assert.equal("closed", select(2, in_time(waiting.await, waiting)).kind)
      assert.equal("closed", select(2, lazy:execute "go").kind)
      local unused = assert(host:start { command = plugin("gated", path), lazy = true })
      unused:stop()
      assert.equal("closed", select(2, unused:call "x").kind)
    end)
  end)

  describe("starts several", function()
    it("and raises for a wrong list before anything is started", function()
      assert.has_error(function()
        host:start_all { { command = plugin("mortal", path, "1") }, { command = {} } }
      end)
      for _, none in ipairs { { command = plugin("mortal", path, "1") }, "mortal", 1 } do
        assert.error_matches(function() host:start_all(none) end, "a list of plugins expected")
      end
      assert.same({}, (host:start_all {}))
      assert.is_nil(next(host.plugins))
      assert.equal(0, lives())
    end)

    it("and reports a name that is in use", function()
      local started, failed = host:start_all {
        { command = plugin "good", name = "a" }, { command = plugin "good", name = "a" },
      }
      assert.equal(1, #started)
      assert.equal("a plugin called a is already running", failed.a.message)
    end)

    it("and stops it if the calling task is cancelled", function()
      local task = tasks.start(function()
        local started, failed = host:start_all { { command = plugin "slow", name = "a", handshake_timeout = 600 } }
        return #started, failed.a.kind
      end)
      task:cancel()
      assert.same({ 0, "cancelled" }, { in_time(task.await, task) })
    end)
  end)

  describe("runs an operation", function()
    it("without a deadline, with timeout = false", function()
      local one = assert(host:start { command = plugin "pid", timeout = "100ms" })
      assert.equal("timeout", select(2, one:execute("go", { sleep = 0.3 })).kind)
      assert(in_time(one.execute, one, "go", { sleep = 0.3 }, { timeout = false }))
    end)

    it("without a deadline, and fails when the plugin dies", function()
      local one = assert(host:start { command = plugin "crash_during" })
      local outcome, err = in_time(one.execute, one, "go", {}, { timeout = false })
      assert.is_nil(outcome)
      assert.same({ code = 5 }, err.exit)
    end)

    it("with a timeout of 0 without sending it", function()
      local one = assert(host:start { command = plugin "counting" })
      local outcome, err = one:execute("go", {}, { timeout = 0 })
      assert.is_nil(outcome)
      assert.equal("timeout", err.kind)
      assert.equal("1", assert(one:execute "go").message)
    end)

    it("when the plugin has restarted, unless the timeout is over", function()
      local mortal = assert(host:start { command = plugin("mortal", path, "9"), name = "mortal", restart = slow })
      assert.is_nil((mortal:execute "go"))
      for _, use in ipairs { mortal.execute, mortal.call } do
        local outcome, err = in_time(use, mortal, "go", {}, { timeout = 0.05 })
        assert.is_nil(outcome)
        assert.same({ "timeout", "mortal was not ready in time" }, { err.kind, err.message })
      end
    end)

    it("within its timeout, however often it is retried", function()
      local endless = { max = 1000, within = 60, backoff = 0.01, factor = 1, jitter = 0 }
      local mortal = assert(host:start { command = plugin("mortal", path, "9999"), restart = endless })
      local outcome, err = in_time(mortal.execute, mortal, "go", {}, { timeout = 0.5, idempotent = true })
      assert.is_nil(outcome)
      assert.equal("timeout", err.kind)
    end)
  end)

  describe("enforces limits", function()
    it("of pending calls", function()
      local given = {
        command = plugin "slow_operation", limits = { calls = 2 }, stop_timeouts = { request = 0, eof = 0 },
      }
      local one = assert(host:start(given))
      local calls = {}
      for i = 1, 3 do
        calls[i] = function() return select(2, one:execute("go", {}, { timeout = i < 3 and 0.3 or 600 })).kind end
      end
      local kinds = tasks.all(calls)
      assert.same({ "timeout", "timeout", "full" }, { table.unpack(kinds) })
    end)

    it("of messages in both directions, and continues", function()
      local function note(entry) entries[#entries + 1] = entry end
      local strict <close> = hosts { log = note, limits = { message = 1000 } }
      local one = assert(strict:start { command = { "lua5.4", "spec/support/plugins/chatty.lua" } })
      local outcome, err = one:execute("echo", { text = ("x"):rep(1000) })
      assert.is_nil(outcome)
      assert.equal("invalid", err.kind)
      outcome, err = one:execute("repeat", { text = "x", times = 2000 }, { timeout = false })
      assert.is_nil(outcome)
      assert.equal("protocol", err.kind)
      assert.matches("longer than the limit of 1000", err.message, 1, true)
      assert.truthy(said "^warn  chatty stdout| line is longer than the limit of 1000")
      assert.equal("x", assert(one:execute("echo", { text = "x" })).message)
    end)

    it("of its process", function()
      local one, err = host:start { command = plugin "good", process_limits = { files = 0 } }
      assert.is_nil(one)
      assert.truthy(err.kind == "closed" or err.kind == "spawn")
    end)
  end)

  it("survives listeners and a log that raise", function()
    local command = { "lua5.4", "spec/support/plugins/chatty.lua" }
    local good = assert(host:start { command = command, extensions = true })
    local outcome = assert(good:execute("go", {}, { on_progress = function() error "on purpose" end }))
    assert.is_true(outcome.success)
    assert.truthy(said "handler of progress failed: .*on purpose")
    host:stop()
    local complaints = children.run { command = { "sh", "-c", 'exec lua5.4 -e "$1" 2>&1', "sh", [[
      local host = require "pintle.host" { log = function() error "full" end }
      local plugin = assert(host:start { command = { "lua5.4", "spec/support/plugins/chatty.lua" } })
      print(assert(plugin:execute "go").success)
      host:stop()
    ]] } }
    assert.matches("pintle: the host's log function failed: .*full", complaints)
    assert.matches("true\n$", complaints)
  end)

  it("leaks nothing when plugins are started and stopped many times", function()
    local function cycle(n)
      for i = 1, n do
        local one <close> = assert(host:start { command = { "spec/support/sober.sh" }, restart = i % 2 == 0 })
        assert(one:execute("go", {}))
      end
      collectgarbage()
      collectgarbage()
      return collectgarbage "count"
    end
    local before = cycle(40)
    local after = cycle(160)
    assert.truthy(after - before < 40, ("%.0f KiB more"):format(after - before))
    assert.is_nil(loop.timeout())
  end)
end)
