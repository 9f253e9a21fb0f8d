-- A deadline that progress extends.
local children = require "spec.support.children"
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

local COMMAND = { "lua5.4", "spec/support/plugins/reporting.lua" }

-- Reports come every 0.05 s for 1.3 s: longer than the timeout of 0.8 s, which no pause between reports reaches.
local WORK = { steps = 26, pause = 0.05 }
local ENDLESS = { steps = 6000, pause = 0.05 }

local QUICKLY = { request = 0, eof = 0, term = 0 }

children.leave_nothing()

local function raises(message, fn)
  local ok, raised = pcall(fn)
  assert.is_false(ok)
  local blamed, rest = raised:match "^(.-):%d+: (.*)$"
  assert.same({ "spec/host/extend_spec.lua", message }, { blamed, rest })
end

for _, dialect in ipairs { "gevals", "lsp", "mcp", "reginald" } do
  describe("the deadline of an operation, in the dialect " .. dialect .. ",", function()
    local host

    before_each(function()
      host = hosts {
        log = false, dialect = dialect, extensions = true, stop_timeouts = QUICKLY,
      }
    end)
    after_each(function()
      host:stop()
      host = nil
    end)

    it("is extended by each report of progress", function()
      local plugin = assert(host:start { command = COMMAND })
      local fractions = 0
      local outcome = assert(plugin:execute("work", WORK, {
        timeout = 0.8, extend_on_progress = true, on_progress = function() fractions = fractions + 1 end,
      }))
      assert.equal("done", outcome.message)
      assert.truthy(fractions >= 20)
    end)
  end)
end

describe("a deadline that progress extends", function()
  local host

  before_each(function() host = hosts { log = false, dialect = "mcp", stop_timeouts = QUICKLY } end)
  after_each(function()
    host:stop()
    host = nil
  end)

  it("is an option", function()
    local plugin = assert(host:start { command = COMMAND })
    local _, err = plugin:execute("work", WORK, { timeout = 0.8, on_progress = function() end })
    assert.equal("timeout", err.kind)
  end)

  it("comes at last, whatever is reported", function()
    local plugin = assert(host:start { command = COMMAND })
    local began = loop.now()
    local _, err = plugin:execute("work", ENDLESS, {
      timeout = 0.8, extend_on_progress = true, longest = 1.2,
    })
    assert.equal("timeout", err.kind)
    assert.truthy(loop.now() - began < 20)
  end)

  it("comes when the reports stop", function()
    local plugin = assert(host:start { command = COMMAND })
    local _, err = plugin:execute("stall", {}, { timeout = 0.4, extend_on_progress = true })
    assert.same({ "timeout", 'reporting: "stall": no answer, and no progress for 0.4s', 0.4 },
      { err.kind, err.message, err.elapsed })
  end)

  it("has ten times the timeout as its limit by default", function()
    local plugin = assert(host:start { command = COMMAND })
    local _, err = plugin:execute("work", ENDLESS, { timeout = 0.25, extend_on_progress = true })
    assert.same({ "timeout", 2.5 }, { err.kind, err.elapsed })
    assert.equal('reporting: "work": no answer within 2.5s', err.message)
  end)

  it("can be a setting of the plugin, or of the host", function()
    local plugin = assert(host:start { command = COMMAND, timeout = 0.8, extend_on_progress = true })
    assert.equal("done", assert(plugin:execute("work", WORK)).message)
    local _, err = plugin:execute("work", WORK, { extend_on_progress = false })
    assert.equal("timeout", err.kind)
    local other <close> = hosts {
      log = false, dialect = "mcp", timeout = 0.8, extend_on_progress = true, longest = 0.5,
    }
    plugin = assert(other:start { command = COMMAND })
    _, err = plugin:execute("work", WORK)
    assert.same({ "timeout", 0.5 }, { err.kind, err.elapsed })
  end)

  it("holds for any method", function()
    local plugin = assert(host:start { command = COMMAND })
    local result = assert(plugin:call("tools/call", { name = "work", arguments = WORK }, {
      timeout = 0.8, extend_on_progress = true,
    }))
    assert.equal("done", result.content[1].text)
    local _, err = plugin:call("tools/call", { name = "stall", arguments = {} }, {
      timeout = 0.4, extend_on_progress = true,
    })
    assert.equal('reporting: "tools/call": no answer, and no progress for 0.4s', err.message)
  end)

  it("ends with the task that waits, and the operation is cancelled", function()
    local plugin = assert(host:start { command = COMMAND })
    local task = tasks.start(function()
      return plugin:execute("work", ENDLESS, { timeout = 60, extend_on_progress = true })
    end)
    assert.equal("1", assert(plugin:execute "running").message)
    task:cancel "changed my mind"
    local _, err = task:await(children.patience)
    assert.same({ "cancelled", "changed my mind" }, { err.kind, err.message })
    local give_up = loop.now() + children.patience
    repeat
      assert(loop.now() < give_up, "the operation goes on")
    until assert(plugin:execute "running").message == "0"
  end)

  it("is given with the right types", function()
    local plugin = assert(host:start { command = COMMAND })
    raises("longest: a span of time cannot be negative, got -1", function()
      plugin:execute("work", WORK, { longest = -1 })
    end)
    raises("extend_on_progress: boolean expected, got number", function()
      plugin:call("tools/call", {}, { extend_on_progress = 1 })
    end)
  end)
end)
