-- However a host's program ends, its plugins are stopped.
local children = require "spec.support.children"
local core = require "pintle.core"

local function is_running(pid) return io.open(("/proc/%s/stat"):format(pid)) ~= nil end

local function await_end(pid)
  local deadline = core.now() + children.patience
  while is_running(pid) do
    assert(core.now() < deadline, "the plugin still runs")
    core.poll(0.01)
  end
end

describe("a plugin is stopped when its host", function()
  local witness, host

  before_each(function()
    witness = os.tmpname()
    os.remove(witness)
  end)

  after_each(function()
    host:close()
    os.remove(witness)
  end)

  local function start(way)
    host = assert(core.spawn {
      command = { "lua5.4", "spec/support/ending_host.lua", way, witness },
      stdin = "null", stderr = "null",
    })
    return children.read(host.stdout, way:find "^compute" and "computing\n" or "\n"):match "%d+"
  end

  local function last_words()
    local file <close> = io.open(witness)
    return file and file:read "l"
  end

  for way, status in pairs {
    normal = 0, error = 1, exit = 3, exit_closing = 3, exit_in_task = 3, exit_in_cancelled_task = 3,
    exit_in_coroutine = 3, collected = 0, stopped_twice = 0,
  } do
    it("ends by " .. way, function()
      local pid = start(way)
      assert.equal(status, (host:wait(children.patience)))
      assert.is_false(is_running(pid))
      assert.equal("shutdown", last_words())
    end)
  end

  for _, signal in ipairs { "TERM", "HUP" } do
    for _, way in ipairs { "wait", "wait_for_answer", "compute_in_task", "compute_in_handler" } do
      it(("gets SIG%s while it is in %s, and ends by that signal"):format(signal, way), function()
        local pid = start(way)
        host:kill(signal)
        local code, ended_by = host:wait(children.patience)
        assert.is_nil(code)
        assert.equal(signal, ended_by)
        assert.is_false(is_running(pid))
        assert.equal("shutdown", last_words())
      end)
    end
  end

  for _, way in ipairs { "wait", "compute_in_task", "compute_in_handler" } do
    it(("gets SIGINT, as Ctrl-C sends it, while it is in %s"):format(way), function()
      local pid = start(way)
      host:kill "INT"
      assert.equal(1, (host:wait(children.patience)))
      assert.is_false(is_running(pid))
      assert.equal("shutdown", last_words())
    end)
  end

  it("is killed: it is not asked to end, but no process is left", function()
    local pid = start "wait"
    host:kill "KILL"
    local _, signal = host:wait(children.patience)
    assert.equal("KILL", signal)
    await_end(pid)
  end)
end)
