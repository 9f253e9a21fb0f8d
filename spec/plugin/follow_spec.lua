-- Ending with a process that is not a child, while the pipes are still open.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"
local in_process = require "spec.support.in_process"
local pintle = require "pintle"

local INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}'
local SOON = 8 -- seconds on a busy machine; last words that nobody reads take longer

children.leave_nothing()

-- A process that runs until it is killed.
local function run_process() return assert(core.spawn { command = { "sleep", "600" } }) end

local function gone_pid()
  local process <close> = run_process()
  return process:pid()
end

local function follower(...)
  local plugin = extension.plugin("follower", { ... })
  plugin:ask(INITIALIZE)
  return plugin
end

-- How the plugin ends while its input is open, and how long that took.
local function ending(plugin, begin)
  local started = core.now()
  if begin then begin() end
  local status, signal = plugin.process:wait(children.patience)
  local seconds = core.now() - started
  return { status or signal, plugin:complaints() }, seconds
end

local function assert_ends_with(followed, plugin)
  local how, seconds = ending(plugin, function() followed:close() end)
  assert.same({ 1, ("follower: warn: process %d, which it serves, has ended\nshut down\n"):format(
    followed:pid()) }, how)
  return seconds
end

describe("core.pidfd", function()
  local function is_readable(descriptor, seconds)
    return core.poll(seconds, descriptor, "r") == "r"
  end

  it("reports the end of a grandchild", function()
    local parent <close> = assert(core.spawn { command = children.sh "sleep 600 & echo $!; wait" })
    local pid = math.tointeger(children.read(parent.stdout, "\n"):match "%d+")
    local observed <close> = assert(core.pidfd(pid))
    assert.is_false(is_readable(observed, 0.05))
    os.execute("kill " .. pid)
    assert.is_true(is_readable(observed, children.patience))
  end)

  it("reports that there is no such process", function()
    local pid = gone_pid()
    local _, message, kind = core.pidfd(pid)
    assert.same({ ("cannot watch process %d: No such process"):format(pid), "closed" }, { message, kind })
    assert.is_false(core.alive(pid))
  end)

  it("raises for anything but a process id", function()
    for _, wrong in ipairs { 0, -1, 1 << 31, 1 << 40 } do
      assert.error_matches(function() core.pidfd(wrong) end, "process id expected")
      assert.error_matches(function() core.alive(wrong) end, "process id expected")
    end
  end)

  it("knows the own process id, and whether other processes are alive", function()
    assert.equal(children.own_pid, core.getpid())
    assert.is_true(core.alive(core.getpid()))
    assert.is_true(core.alive(1))
  end)
end)

describe("a plugin that follows a process", function()
  local host, plugin

  local function follow(pid) return plugin:call("follow", { pid = pid }, 2).result end

  -- Starts the plugin, which follows a process.
  local function follow_host(...)
    host, plugin = run_process(), follower(...)
    assert.is_true(follow(host:pid()))
  end

  after_each(function()
    if host then host:close() end
    if plugin then getmetatable(plugin).__close(plugin) end
    host, plugin = nil, nil
  end)

  it("ends with it", function()
    follow_host()
    assert.truthy(assert_ends_with(host, plugin) < SOON)
  end)

  it("stops its pending requests", function()
    follow_host()
    plugin:ask(extension.execution "wait")
    assert.truthy(assert_ends_with(host, plugin) < SOON)
  end)

  it("stops requests that are pending after the end of its input", function()
    follow_host()
    plugin:ask(extension.execution "wait")
    plugin.process.stdin:close()
    assert.is_false((plugin.process:wait(0.1)))
    assert.truthy(assert_ends_with(host, plugin) < SOON)
  end)

  it("stops a handler that computes without waiting", function()
    follow_host()
    plugin:ask(extension.execution "compute")
    local started = core.now()
    host:close()
    assert.equal(1, (plugin.process:wait(children.patience)))
    assert.truthy(core.now() - started < SOON)
    local complaints = plugin:complaints()
    assert.equal(1, select(2, complaints:gsub("which it serves, has ended", "")))
    assert.matches("shut down\n$", complaints)
  end)

  it("does not wait until its last output is read", function()
    follow_host()
    plugin:ask(extension.execution "flood")
    assert.truthy(assert_ends_with(host, plugin) < SOON)
  end)

  it("ends at once if the process has ended already", function()
    plugin = follower()
    local how, seconds = ending(plugin, function() follow(gone_pid()) end)
    assert.equal(1, how[1])
    assert.truthy(seconds < SOON)
  end)

  it("polls where the system does not report the end of processes", function()
    follow_host "poll"
    assert.truthy(assert_ends_with(host, plugin) < SOON)
  end)

  it("follows only the last process", function()
    follow_host()
    local second <close> = run_process()
    follow(second:pid())
    host:close()
    assert.equal("waiting", core.json.decode(plugin:ask(extension.execution "wait")).params.message)
    assert.truthy(assert_ends_with(second, plugin) < SOON)
  end)

  it("refuses a wrong process id, and continues", function()
    plugin = follower()
    for _, wrong in ipairs { 0, -1, 1.5, 1 << 31, "1", true, core.json.null } do
      local err = plugin:call("follow", { pid = wrong }, 2).error
      assert.equal("a process id expected, got " .. tostring(wrong), err.message)
    end
    local text, status = plugin:finish()
    assert.same({ "", 0 }, { text, status })
  end)

  it("leaks nothing when it ends for another reason", function()
    local same = pintle.plugin { name = "follower", version = "1.0.0" }
    same:method("follow", function(params, ctx) return ctx.server:exit_with(params.pid) end)
    local served <close> = in_process.serve(same)
    assert.is_true(served.peer:call("follow", { pid = core.getpid() }))
  end)
end)
