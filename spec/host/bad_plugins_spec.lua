-- Plugins that misbehave give a clear error in time, and leave nothing behind.
local core = require "pintle.core"
local children = require "spec.support.children"
local logged_host = require "spec.support.logged_host"

local function bad(behaviour, ...)
  return { "lua5.4", "spec/support/bad_plugin.lua", behaviour, ... }
end

local function lines_of(entries)
  local lines = {}
  for i, entry in ipairs(entries) do lines[i] = tostring(entry) end
  return table.concat(lines, "\n")
end

describe("a host", function()
  local host, entries, check_stock

  local function start(behaviour, options)
    local given = { command = bad(behaviour), name = behaviour, handshake_timeout = children.patience }
    for name, value in pairs(options or {}) do given[name] = value end
    return host:start(given)
  end

  local function fails_to_start(behaviour, options)
    local plugin, err = start(behaviour, options)
    assert.is_nil(plugin)
    assert.equal("pintle.error", getmetatable(err).__name)
    assert.is_nil(tostring(err):find("\n", 1, true))
    return err
  end

  logged_host.start_first()

  before_each(function()
    check_stock = children.stock()
    host, entries = logged_host.open()
  end)

  after_each(function()
    host:stop()
    check_stock()
  end)

  describe("at the handshake", function()
    for _, behaviour in ipairs { "silent", "deaf", "slow" } do
      it("waits until the timeout for a plugin that is " .. behaviour, function()
        local started = core.now()
        local err = fails_to_start(behaviour, { handshake_timeout = "300ms" })
        assert.equal("timeout", err.kind)
        assert.matches(behaviour .. ": no answer to \"initialize\" within 0.3s", err.message, 1, true)
        assert.truthy(core.now() - started < children.patience)
      end)
    end

    it("reports how a plugin ended that crashed before it", function()
      local err = fails_to_start "crash_before"
      assert.equal("closed", err.kind)
      assert.same({ code = 3 }, err.exit)
      assert.same({ "cannot find my configuration" }, err.stderr)
      assert.matches("crash_before ended with status 3: cannot find my configuration", err.message, 1, true)
    end)

    it("reports how a plugin ended that crashed during it", function()
      local err = fails_to_start "crash_in_handshake"
      assert.same({ code = 4 }, err.exit)
      assert.same({ "no such thing as 0.0.1" }, err.stderr)
    end)

    it("reports the output of a plugin that does not speak the protocol", function()
      local err = fails_to_start "nonsense"
      assert.equal("protocol", err.kind)
      assert.matches("nonsense", err.message, 1, true)
      assert.matches("Traceback (most recent call last):", lines_of(entries), 1, true)
    end)

    it("refuses a plugin without a name", function()
      local err = fails_to_start "nameless"
      assert.equal("protocol", err.kind)
      assert.matches("name", err.message, 1, true)
    end)

    it("refuses a plugin of another protocol version, and names it", function()
      local err = fails_to_start "other_version"
      assert.equal("protocol", err.kind)
      assert.matches("9.9.9", err.message, 1, true)
    end)

    it("treats an error beside a null result as an error", function()
      local err = fails_to_start "refusing"
      assert.equal("remote", err.kind)
      assert.equal(-32603, err.code)
      assert.matches("no licence", err.message, 1, true)
    end)

    it("names the program that cannot be started", function()
      local plugin, err = host:start { command = { "./no such program" } }
      assert.is_nil(plugin)
      assert.equal("spawn", err.kind)
      assert.matches("./no such program", err.message, 1, true)
    end)
  end)

  describe("while an operation runs", function()
    local function executes(behaviour, options)
      local plugin = assert(start(behaviour))
      return plugin:execute("go", {}, options)
    end

    local function fails(behaviour, options)
      local outcome, err = executes(behaviour, options)
      assert.is_nil(outcome)
      return err
    end

    it("ends at the timeout", function()
      local err = fails("slow_operation", { timeout = "300ms" })
      assert.equal("timeout", err.kind)
    end)

    it("continues after noise on stdout, and reports it", function()
      local outcome = assert(executes "chatty")
      assert.is_true(outcome.success)
      assert.matches("Welcome to the bad plugin!", lines_of(entries), 1, true)
      assert.matches("stdout|", lines_of(entries), 1, true)
    end)

    it("reads a flood on stderr, and keeps its end", function()
      assert.is_true(assert(executes "flood").success)
      local count = 0
      for _, entry in ipairs(entries) do
        if entry.source == "stderr" then count = count + 1 end
      end
      assert.truthy(count >= 1)
    end)

    it("fails the pending call at once when the plugin dies", function()
      local started = core.now()
      local err = fails("crash_during", { timeout = 600 })
      assert.equal("closed", err.kind)
      assert.same({ code = 5 }, err.exit)
      assert.same({ "out of cheese" }, err.stderr)
      assert.truthy(core.now() - started < children.patience)
    end)

    it("reports the signal that killed the plugin", function()
      assert.same({ signal = "KILL" }, fails("killed").exit)
    end)

    it("keeps the answer of a plugin that dies after it, and fails the next call", function()
      local plugin = assert(start "crash_after")
      assert.is_true(assert(plugin:execute("go", {})).success)
      local outcome, err = plugin:execute("go", {})
      assert.is_nil(outcome)
      assert.same({ code = 6 }, err.exit)
    end)

    it("drops the second of two answers", function()
      local plugin = assert(start "twice")
      for _ = 1, 3 do assert.equal("done", assert(plugin:execute("go", {})).message) end
    end)

    it("does not accept an answer with a wrong id", function()
      assert.equal("timeout", fails("wrong_id", { timeout = 0.3 }).kind)
    end)

    it("reports half a message and the death after it", function()
      local err = fails "half"
      assert.same({ code = 7 }, err.exit)
      assert.same({ "half a message is enough" }, err.stderr)
    end)

    it("does not wait for a grandchild that holds the pipe", function()
      local started = core.now()
      assert.same({ code = 8 }, fails("grandchild", { timeout = 600 }).exit)
      assert.truthy(core.now() - started < children.patience)
    end)

    it("refuses a result without `success`", function()
      local err = fails "wrong_outcome"
      assert.equal("protocol", err.kind)
      assert.matches("success", err.message, 1, true)
    end)

    it("runs an operation whose schema is not understood, without a check of its arguments", function()
      local plugin = assert(start "bad_schema")
      assert.is_true(assert(plugin:execute("go", {})).success)
      assert.is_true(assert(plugin:execute("broken", { any = "thing" })).success)
      assert.matches("strnig", plugin.manifest.operations.broken.problem, 1, true)
    end)
  end)

  describe("when it stops", function()
    it("kills a plugin that ignores everything else", function()
      local command = { "sh", "-c", "trap '' TERM; exec lua5.4 spec/support/bad_plugin.lua stubborn" }
      local stop_timeouts = { request = 0.1, eof = 0.1, term = 0.1 }
      local plugin = assert(host:start { command = command, name = "stubborn", stop_timeouts = stop_timeouts })
      local pid = plugin:pids()[1]
      plugin:stop()
      assert.is_false(core.alive(pid))
    end)

    it("kills a grandchild, too", function()
      local plugin = assert(start "grandchild_at_rest")
      local pid = plugin:pids()[1]
      plugin:stop()
      local _, code = children.run { command = children.sh("kill -0 -- -$1 2>/dev/null", tostring(pid)) }
      assert.not_equal(0, code)
    end)
  end)
end)
