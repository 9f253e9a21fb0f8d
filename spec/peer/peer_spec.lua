-- What is true for every transport and framing.
local assert_no_growth = require "spec.support.growth"
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
local policy = require "pintle.peer.policy"
local tasks = require "pintle.task"
local transports = require "spec.support.transports"
local turn_until = require "spec.support.turning"

local patience = children.patience

local function behaviours(open)
  local nothing_left, peer, far

  -- Both sides are closed; leaks are found then.
  local function close()
    if peer then peer:close() end
    if far then far:close() end
    tasks.run()
    peer, far = nil, nil
  end

  local function start(options)
    close()
    peer, far = open(options or {})
    return peer
  end

  before_each(function()
    nothing_left = children.stock()
    start()
  end)

  after_each(function()
    close()
    loop.step()
    nothing_left()
  end)

  describe("calls", function()
    it("and gets the exact result of the handler", function()
      local values = {
        1, 1.0, 0.1, math.maxinteger, math.mininteger, "naïve 😀\0", true, false, core.json.null,
        { list = { 1, 2, 3 }, empty = core.json.array {}, object = {}, nested = { { { "deep" } } } },
      }
      for _, value in ipairs(values) do
        local result, err = peer:call("echo", { value })
        assert.is_nil(err)
        assert.same({ value }, result)
        assert.equal(math.type(value), math.type(result[1]))
      end
    end)

    it("without params and without a result", function()
      assert.same({ core.json.null, n = 1 }, table.pack((peer:call("nothing"))))
      assert.is_nil((select(2, peer:call "nothing")))
    end)

    it("from a task, a coroutine, a coroutine in a task, and outside of them all", function()
      local function ask() return peer:call("echo", { "x" })[1] end
      assert.equal("x", ask())
      assert.equal("x", tasks.run(ask))
      assert.equal("x", coroutine.wrap(ask)())
      assert.equal("x", tasks.run(function() return coroutine.wrap(ask)() end))
      assert.equal("x", select(2, pcall(ask)))
    end)

    it("with a megabyte there and back", function()
      local text = ("0123456789abcdef"):rep(1 << 16)
      assert.equal(text, peer:call("echo", { text })[1])
    end)

    it("many at a time, more than are handled at once", function()
      local asking = {}
      for i = 1, 700 do
        asking[i] = function() return peer:call("sleep", { seconds = 0.001 * (i % 5) }) and i end
      end
      local results = tasks.all(asking)
      for i = 1, 700 do assert.equal(i, results[i]) end
    end)

    it("thousands one after the other, without growing", function()
      assert_no_growth(function()
        tasks.run(function()
          for i = 1, 2000 do assert(peer:call("echo", { i })[1] == i) end
        end)
      end, 3, 100)
    end)

    it("and gets the answers in any order", function()
      local order = {}
      local holding = {}
      for i = 1, 5 do
        holding[i] = tasks.start(function()
          local result = peer:call("hold", { i })
          order[#order + 1] = result[1]
        end)
      end
      assert.equal(5, peer:call "release")
      tasks.all(holding)
      assert.same({ 5, 4, 3, 2, 1 }, order)
    end)

    it("an unknown method and gets an error", function()
      local result, err = peer:call "no/such/method"
      assert.is_nil(result)
      assert.same({ "remote", -32601, "Method not found: no/such/method" }, { err.kind, err.code, err.message })
    end)

    it("and raises for a wrong method or timeout", function()
      assert.error_matches(function() peer:call(nil) end, "method: string expected, got nil")
      assert.error_matches(function() peer:begin {} end, "method: string expected, got table")
      assert.error_matches(function() peer:notify(7) end, "method: string expected, got number")
      for _, timeout in ipairs { -1, 0 / 0, "1s" } do
        assert.error_matches(function() peer:call("echo", {}, { timeout = timeout }) end, "timeout: seconds expected")
      end
      for _, ask in ipairs { peer.call, peer.begin } do
        assert.error_matches(function() ask(peer, "echo", {}, { timout = 5 }) end, 'no option "timout"')
        assert.error_matches(function() ask(peer, "echo", {}, 5) end, "options: table expected, got number")
      end
    end)

    it("and raises for params that cannot be encoded", function()
      local result, err = peer:call("echo", { print })
      assert.is_nil(result)
      assert.equal("invalid", err.kind)
      assert.same({ 1 }, peer:call("echo", { 1 }))
    end)
  end)

  describe("gets an error", function()
    local function fails(method, params)
      local result, err = peer:call(method, params)
      assert.is_nil(result)
      assert.equal("remote", err.kind)
      return { err.code, err.message, err.data }
    end

    it("that the handler returned as text", function()
      assert.same({ -32000, "no such file" }, fails("fail_with", { "no such file" }))
    end)

    it("that the handler returned as a table", function()
      local given = { code = 404, message = "not found", data = { path = "/x" } }
      assert.same({ 404, "not found", { path = "/x" } }, fails("fail_with", { given }))
      assert.same({ -32000, "not found" }, fails("fail_with", { { message = "not found" } }))
      assert.same({ 404, "an error without a message" }, fails("fail_with", { { code = 404 } }))
    end)

    it("whose text is repaired if it is not UTF-8", function()
      assert.same({ 5, "no file caf\u{FFFD} here, é", { 1 } }, fails "illegible")
    end)

    it("with a code of 32 bits, whatever the handler returned", function()
      for _, code in ipairs { -2147483648, 2147483647 } do
        assert.same({ code, "x" }, fails("fail_with", { { code = code, message = "x" } }))
      end
      for _, code in ipairs { -2147483649, 2147483648, 1 << 62, 0.5, 1e300, "x" } do
        assert.same({ -32000, "x" }, fails("fail_with", { { code = code, message = "x" } }))
      end
      assert.same({ -32602, "x" }, fails("fail_with", { { code = 1 << 40, kind = "invalid", message = "x" } }))
    end)

    it("that the handler returned as an error", function()
      assert.same({ -32602, "it does not fit", { at = "x" } }, fails "fail_invalid")
    end)

    it("that the handler raised, without its traceback", function()
      assert.same({ -32603, "Internal error: oh no" }, fails("raise", { "oh no" }))
      assert.same({ 5, "mine" }, fails("raise", { { code = 5, message = "mine" } }))
    end)

    it("if the result of the handler cannot be encoded", function()
      assert.same({ -32603, "Internal error: result[1]: a function has no JSON form" }, fails "unsendable")
      assert.same({ 7, "with data" }, fails "bad_data")
    end)
  end)

  describe("notifies", function()
    it("in order", function()
      for i = 1, 100 do assert.is_true(peer:notify("note", { i })) end
      local notes = peer:call "notes"
      for i = 1, 100 do assert.equal(i, notes[i]) end
      assert.equal(100, #notes)
    end)

    it("and receives notifications, in order", function()
      local heard = {}
      peer:on("heard", function(params) heard[#heard + 1] = params[1] end)
      peer:call("shout", { times = 100 })
      for i = 1, 100 do assert.equal(i, heard[i]) end
    end)
  end)

  describe("is called back", function()
    it("while its own call is pending, to any depth", function()
      peer:on("ping", function(params, ctx)
        if params.depth == 0 then return 0 end
        local below, err = ctx:call("ping", { depth = params.depth - 1 })
        return below and below + 1, err
      end)
      assert.equal(1000, peer:call("ping", { depth = 1000 }))
      assert.equal(0, peer.stream:waiting())
    end)

    it("by many handlers at a time", function()
      peer:on("double", function(params)
        loop.sleep(0.001)
        return params[1] * 2
      end)
      local asking = {}
      for i = 1, 50 do
        asking[i] = function() return peer:call("call_back", { method = "double", params = { i } }).result end
      end
      local results = tasks.all(asking)
      for i = 1, 50 do assert.equal(2 * i, results[i]) end
    end)

    it("from coroutines of the handlers, while more messages have arrived", function()
      peer:on("nested", function(params, ctx)
        return coroutine.wrap(function() return ctx:call("echo", params)[1] end)()
      end)
      local asking = {}
      for i = 1, 10 do
        asking[i] = function() return peer:call("call_back", { method = "nested", params = { i } }).result end
      end
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, n = 10 }, tasks.all(asking))
    end)

    it("and may fail", function()
      peer.on_error = function() end
      peer:on("fail", function() return nil, "no" end)
      peer:on("raise", function() error("no", 0) end)
      assert.same({ kind = "remote", message = "no", code = -32000 }, peer:call("call_back", { method = "fail" }))
      assert.same({ kind = "remote", message = "Internal error: no", code = -32603 },
        peer:call("call_back", { method = "raise" }))
      assert.equal(-32601, peer:call("call_back", { method = "nothing" }).code)
    end)

    it("for any method without a handler of its own, with on_unknown", function()
      peer:on_unknown(function(params, ctx) return { ctx.method, params } end)
      assert.same({ "any", { 1 } }, peer:call("call_back", { method = "any", params = { 1 } }).result)
      peer:on_unknown(nil)
      assert.equal(-32601, peer:call("call_back", { method = "any" }).code)
    end)

    it("and accepts only callable handlers", function()
      peer:on("any", setmetatable({}, { __call = function(_, params) return params[1] end }))
      assert.equal(1, peer:call("call_back", { method = "any", params = { 1 } }).result)
      assert.error_matches(function() peer:on("any", 5) end, "handler: function expected, got number")
      assert.error_matches(function() peer:on_unknown {} end, "handler: function expected, got table")
    end)
  end)

  describe("gives up", function()
    it("at the deadline, and drops the late answer", function()
      local begun = core.now()
      local result, err = peer:call("hold", { 1 }, { timeout = 0.05 })
      assert.is_nil(result)
      assert.equal("timeout", err.kind)
      assert.matches('no answer to "hold" within 0.05s', err.message)
      assert.truthy(core.now() - begun >= 0.05)
      turn_until(function() return peer.stream:stats().stray == 1 end)
      assert.equal(0, peer.stream:waiting())
      assert.same({ 2 }, peer:call("echo", { 2 }))
    end)

    it("on each call at its own deadline", function()
      local function hold(seconds)
        return function() return select(2, peer:call("hold", {}, { timeout = seconds })) end
      end
      local results = tasks.all { hold(0.03), hold(0.01), hold(0.02), hold(0.01) }
      for i = 1, 4 do assert.equal("timeout", results[i].kind) end
      peer:call "release"
    end)

    it("on a call made with begin, and cancels it on the other side", function()
      local call = peer:begin("sleep", { seconds = patience })
      peer:call "nothing"
      call:cancel "changed my mind"
      local result, err = call:wait()
      assert.is_nil(result)
      assert.same({ "cancelled", "changed my mind" }, { err.kind, err.message })
      turn_until(function() return peer.stream:stats().stray == 1 end)
      assert.equal("cancelled", peer:call "last_error")
      call:cancel()
      assert.equal(err, select(2, call:wait()))
    end)

    it("when the calling task is cancelled", function()
      local err
      local task = tasks.start(function() err = select(2, peer:call("sleep", { seconds = patience })) end)
      peer:call "nothing"
      task:cancel "enough"
      task:await()
      assert.same({ "cancelled", "enough" }, { err.kind, err.message })
      turn_until(function() return peer.stream:stats().stray == 1 end)
      assert.equal("cancelled", peer:call "last_error")
      assert.equal(0, peer.stream:waiting())
    end)

    it("never with timeout = false", function()
      local call = peer:begin("hold", { 7 }, { timeout = false })
      peer:call "nothing"
      assert.equal(1, peer.stream:waiting())
      peer:call "release"
      assert.same({ 7 }, call:wait())
    end)
  end)

  it("begins calls and waits for them later, also repeatedly", function()
    local calls = {}
    for i = 1, 10 do calls[i] = peer:begin("echo", { i }) end
    for i = 10, 1, -1 do
      assert.same({ i }, calls[i]:wait())
      assert.same({ i }, calls[i]:wait())
    end
    local call = peer:begin("hold", { "x" })
    local waiting = {}
    for i = 1, 3 do waiting[i] = function() return call:wait()[1] end end
    peer:begin "release"
    assert.same({ "x", "x", "x", n = 3 }, tasks.all(waiting))
    assert.equal("invalid", select(2, peer:begin("echo", { print }):wait()).kind)
  end)

  it("receives progress", function()
    local progress_values = {}
    local function on_progress(value) progress_values[#progress_values + 1] = value end
    assert.equal("done", peer:call("work", { x = 1 }, { on_progress = on_progress }))
    assert.same({ 1, 2, 3 }, progress_values)
    assert.equal("done", peer:begin("work", nil, { on_progress = on_progress }):wait())
    assert.equal(6, #progress_values)
  end)

  it("receives no progress of calls that were answered", function()
    local last_value
    local function on_progress(value) last_value = value end
    peer:call("work", nil, { on_progress = on_progress })
    peer:begin("work", nil, { on_progress = on_progress }):wait()
    for token = 1, 2 do peer:call("report", { token = token, value = "late" }) end
    assert.equal(3, last_value)
  end)

  describe("ends", function()
    it("when the other side ends, and fails its calls", function()
      local calls = {}
      for i = 1, 3 do calls[i] = peer:begin("hold", {}) end
      local closed
      peer.on_close = function(err) closed = err end
      peer:notify "leave"
      for i = 1, 3 do assert.equal("closed", select(2, calls[i]:wait()).kind) end
      assert.equal(closed, peer.ended)
      assert.is_true(peer:join())
      assert.equal(closed, select(2, peer:call "echo"))
      assert.equal(closed, select(2, peer:notify "note"))
      assert.equal(closed, select(2, peer:begin("echo"):wait()))
    end)

    it("when it is closed, and fails its calls", function()
      local call = peer:begin("hold", {})
      peer:close()
      assert.equal("closed", peer.ended.kind)
      assert.equal("closed", select(2, call:wait()).kind)
      peer:close()
      assert.is_true(peer:join(0))
    end)

    it("after sending what is queued", function()
      local text = ("x"):rep(10000)
      for _ = 1, 100 do peer:notify("note", { text }) end
      peer:close()
      if not far then return end
      turn_until(function() return far.ended end)
      assert.equal(100, #far.notes)
    end)

    it("after answering running requests, if the other side has only stopped sending", function()
      if not far then return end
      local call = peer:begin("sleep", { seconds = 0.02 })
      peer:close_output()
      assert.equal(0.02, call:wait())
      turn_until(function() return far.ended end)
      assert.equal("closed", far.ended.kind)
    end)

    it("not before", function()
      local ok, err = peer:join(0.01)
      assert.is_nil(ok)
      assert.equal("timeout", err.kind)
      assert.same({ 1 }, peer:call("echo", { 1 }))
    end)

    it("without waking the waiting tasks for every message", function()
      local reports, moved = 0, policy.after_activity
      finally(function() policy.after_activity = moved end)
      function policy.after_activity(...)
        reports = reports + 1
        return moved(...)
      end
      local waiting = tasks.start(peer.join, peer, patience)
      for i = 1, 3 do assert.same({ i }, peer:call("echo", { i })) end
      assert.equal(0, reports)
      peer:close()
      assert.is_true(waiting:await())
    end)
  end)
end

for name, open in pairs(transports) do
  for _, framing in ipairs { "line", "header" } do
    describe(("a peer over %s, framed by %s,"):format(name, framing), function()
      behaviours(function(options)
        options.framing = framing
        return open(options)
      end)
    end)
  end
end

describe("a peer that nobody reads", function()
  local UNREAD = [[
    local core = require "pintle.core"
    local loop = core.loop
    local function ask()
      local one, other = assert(core.socketpair())
      local settings = { policy = {}, handlers = {}, controls = {}, context = {}, requests = 1 }
      local peer = assert(core.peer({ read = one, write = one, framing = "line" }, {}, settings))
      assert(peer:ask(loop.event(), "wait", nil, 1000))
      return peer, other
    end
    ask()
    assert(loop.timeout() > 900)
    collectgarbage()
    collectgarbage()
    io.write(tostring(loop.timeout()))
  ]]

  it("may be collected while a call is pending, and leaves no timer behind", function()
    assert.equal("nil", (children.run { command = { "lua5.4", "-e", UNREAD }, stdin = "null" }))
  end)
end)
