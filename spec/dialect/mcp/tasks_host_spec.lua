-- Tools that run as tasks, on the host's side: `execute` waits for their results.
local json = require("pintle.core").json
local loop = require "pintle.loop"
local stage = require "spec.support.mcp_stage"
local tasks = require "pintle.task"

local new_host, methods, wait_until = stage.host, stage.methods, stage.wait_until

local function start(host, era, options) return stage.start(host, era, options, "spec/support/mcp_tasks.lua") end

before_each(stage.set)
after_each(stage.clear)

local function count(method)
  local n = 0
  for _, heard in ipairs(methods()) do
    if heard == method then n = n + 1 end
  end
  return n
end

local HANDLERS = {
  ["elicitation/create"] = function(params)
    return { action = "accept", content = { name = params.message .. " Ada" } }
  end,
}

for _, era in ipairs { "classic", "modern" } do
  describe("a task of the " .. era .. " era", function()
    it("is polled until it has a result", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local outcome = assert(plugin:execute "work")
      assert.same({ true, "work: done" }, { outcome.success, outcome.message })
      assert.equal(3, count "tasks/get")
      assert.equal(0, count "tasks/cancel")
      assert.equal("plain", assert(plugin:execute "plain").message)
    end)

    it("can have ended before it is first polled", function()
      local host <close> = new_host()
      assert.equal("at_once: done", assert(assert(start(host, era)):execute "at_once").message)
      assert.equal(1, count "tasks/get")
    end)

    it("reports its status messages as progress, or logs them", function()
      local host <close> = new_host { verbosity = "debug" }
      local plugin = assert(start(host, era))
      local reports = {}
      assert(plugin:execute("work", {}, {
        on_progress = function(fraction, message) reports[#reports + 1] = { fraction, message } end,
      }))
      assert.same({ { 0.0, "reading" }, { 0.0, "writing" } }, reports)
      assert(plugin:execute "work")
      assert.same({ "reading", "writing" }, stage.said "debug")
    end)

    it("reports progress with the token of its call", function()
      local host <close> = new_host()
      local fractions = {}
      assert(assert(start(host, era)):execute("progress", {}, {
        on_progress = function(fraction) fractions[#fractions + 1] = fraction end,
      }))
      assert.same({ 0.5 }, fractions)
    end)

    it("reports failure, errors, cancellation, expiry and malformed answers of the server", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local outcome = assert(plugin:execute "fail")
      assert.same({ false, "it is broken" }, { outcome.success, outcome.error })
      local _, err = plugin:execute "break_down"
      assert.same({ "remote", -32603, "out of paper" }, { err.kind, err.code, err.message })
      _, err = plugin:execute "give_up"
      assert.same({ "remote", "it has cancelled the task: no time" }, { err.kind, err.message })
      _, err = plugin:execute "forget"
      assert.same({ "remote", -32602 }, { err.kind, err.code })
      assert.equal(0, count "tasks/cancel")
      _, err = plugin:execute "odd"
      assert.same({ "protocol", "a task with the status pondering" }, { err.kind, err.message })
    end)

    it("receives the input that it asks for, once", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era, { handlers = HANDLERS }))
      assert.equal("ask: Who? Ada", assert(plugin:execute "ask").message)
      assert.equal(era == "modern" and 1 or 0, count "tasks/update")
    end)

    it("is cancelled after the timeout", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local began = loop.now()
      local _, err = plugin:execute("hang", {}, { timeout = 0.3 })
      assert.same({ "timeout", era .. ": no result of a task within 0.3s" }, { err.kind, err.message })
      assert.truthy(loop.now() - began < 10)
      wait_until(function() return count "tasks/cancel" == 1 end)
    end)

    it("is cancelled when the caller is cancelled", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local waiting = tasks.start(function() return plugin:execute "hang" end)
      wait_until(function() return count "tasks/get" > 0 end)
      waiting:cancel "changed my mind"
      local _, err = waiting:await(10)
      assert.same({ "cancelled", "changed my mind" }, { err.kind, err.message })
      wait_until(function() return count "tasks/cancel" == 1 end)
    end)

    it("is polled at once when the server notifies of its status", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local waiting = tasks.start(function() return plugin:execute("wake", {}, { timeout = 600 }) end)
      wait_until(function() return count "tools/call" > 0 end)
      assert(plugin:call("nudge", json.decode "{}"))
      assert.equal("wake: done", assert(waiting:await(30)).message)
    end)

    it("fails when the server exits", function()
      local host <close> = new_host()
      local plugin = assert(start(host, era))
      local waiting = tasks.start(function() return plugin:execute "hang" end)
      wait_until(function() return count "tasks/get" > 0 end)
      os.execute("kill -9 " .. plugin:pids()[1])
      local _, err = waiting:await(10)
      assert.equal("closed", err.kind)
    end)
  end)
end

describe("a task of the modern era", function()
  it("is awaited by every call that is answered with one", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern"))
    local result = assert(plugin:call("tools/call", { name = "work", arguments = json.decode "{}" }))
    assert.equal("work: done", result.content[1].text)
  end)

  it("fails and is cancelled if no handler provides its input", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern"))
    local _, err = plugin:execute "ask"
    assert.equal("invalid", err.kind)
    assert.matches("^it asks for elicitation/create", err.message)
    wait_until(function() return count "tasks/cancel" == 1 end)
  end)

  it("is not offered if the user replaces the extensions", function()
    local host <close> = new_host()
    local plugin = assert(start(host, "modern", { options = { capabilities = { extensions = json.decode "{}" } } }))
    local _, err = plugin:execute "work"
    assert.same({ "remote", -32021 }, { err.kind, err.code })
  end)
end)
