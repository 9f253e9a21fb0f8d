-- Plugins that call their host while the host waits for their answer.
local children = require "spec.support.children"
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

describe("a host that receives requests", function()
  local host, curious, entries, hints, check_stock, is_slow_running

  local handlers = {
    add = function(params) return params[1] + params[2] end,
    slow = function()
      is_slow_running = true
      local _, err = loop.sleep(600)
      is_slow_running = false
      return nil, err
    end,
    refuse = function() return nil, "not today" end,
    refuse_by_code = function() return nil, { code = -32050, message = "not today" } end,
    raise = function() error "on purpose" end,
  }

  function handlers.count_down(params) return assert(curious:execute("count_down", params)).message end

  function handlers.hint(params) hints[#hints + 1] = params.about end

  before_each(function()
    check_stock = children.stock()
    entries, hints = {}, {}
    host = hosts { log = function(entry) entries[#entries + 1] = tostring(entry) end }
    curious = assert(host:start { command = { "lua5.4", "spec/support/plugins/curious.lua" }, handlers = handlers })
  end)

  after_each(function()
    host:stop()
    check_stock()
  end)

  local function ask(method, params) return assert(curious:execute("ask", { method = method, params = params })) end

  it("answers", function()
    assert.equal("42", ask("add", { 40, 2 }).outputs.answer)
    assert.same({ "add" }, hints)
  end)

  it("answers many requests at once", function()
    local calls = {}
    for i = 1, 50 do calls[i] = function() return ask("add", { i, i }).outputs.answer end end
    for i, answer in ipairs(tasks.all(calls)) do assert.equal(tostring(2 * i), answer) end
  end)

  it("may call the plugin while it handles a request, to any depth", function()
    assert.equal("5 4 3 2 1 lift-off", assert(curious:execute("count_down", { from = 5 })).message)
  end)

  it("may answer with an error", function()
    local outcome = ask "refuse"
    assert.same({ false, "not today", "-32000" }, { outcome.success, outcome.error, outcome.outputs.code })
    assert.equal("-32050", ask("refuse_by_code").outputs.code)
  end)

  it("answers an unknown method with an error", function()
    assert.same({ "Method not found: whatever", "-32601" }, { ask("whatever").error, ask("whatever").outputs.code })
  end)

  it("answers with an internal error if a handler raises, and logs it", function()
    assert.equal("-32603", ask("raise").outputs.code)
    assert.matches("error curious: handler of raise failed: .*on purpose", table.concat(entries, "\n"))
  end)

  it("cancels the handlers of a plugin that dies", function()
    local call = tasks.start(function() return curious:execute("ask", { method = "slow" }) end)
    turn_until(function() return is_slow_running end)
    children.kill(curious:pids()[1])
    local outcome, err = call:await(children.patience)
    assert.is_nil(outcome)
    assert.same({ signal = "KILL" }, err.exit)
    turn_until(function() return not is_slow_running end)
  end)
end)
