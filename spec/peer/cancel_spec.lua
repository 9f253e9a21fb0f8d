-- Stopping a handler that waits, computes, or ignores the cancellation.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

local patience = children.patience

-- Computes until the function returns true, or until the spec must fail.
local function compute_until(condition)
  local latest = core.now() + patience
  repeat until condition() or core.now() > latest
end

local function never() return false end

describe("a handler", function()
  local nothing_left, near, far, reported

  before_each(function()
    nothing_left, reported = children.stock(), {}
    near, far = connect.pair({ timeout = patience }, {
      on_error = function(err) reported[#reported + 1] = err end,
    })
    far:on("echo", function(params) return params end)
  end)

  after_each(function()
    near:close()
    far:close()
    near, far = nil, nil
    tasks.run()
    loop.step()
    assert.is_nil(loop.timeout())
    nothing_left()
  end)

  -- The error of a call, as a list.
  local function error_of(call)
    local _, err = call:wait()
    return { err.kind, err.code, err.message }
  end

  describe("that is cancelled", function()
    -- Begins the method and cancels it on the wire, but still waits for the answer.
    local function cancelled(method, params)
      local call = near:begin(method, params)
      near:notify("$/cancelRequest", { id = call.id })
      return call
    end

    local waits = {
      ["a sleep"] = function() return loop.sleep(patience) end,
      ["a call"] = function(ctx) return ctx:call("hold", {}) end,
      ["a call that was begun"] = function(ctx) return ctx.peer:begin("hold", {}):wait() end,
      ["the end of a task"] = function() return tasks.start(loop.sleep, 0.1):await() end,
      ["all of several tasks"] = function()
        return tasks.all { function() loop.sleep(patience) end, function() loop.sleep(patience) end }
      end,
      ["the end of the conversation"] = function(ctx) return ctx.peer:join(patience) end,
      ["a sleep in a coroutine of its own"] = function()
        return coroutine.wrap(function() return loop.sleep(patience) end)()
      end,
      ["a call in a coroutine of its own"] = function(ctx)
        return coroutine.wrap(function() return ctx:call("hold", {}) end)()
      end,
    }

    for name, wait in pairs(waits) do
      it("ends its wait for " .. name .. ", and every later one", function()
        near:on("hold", function() loop.sleep(0.2) end)
        local first, second, is_cancelled
        far:on("wait", function(_, ctx)
          first = table.pack(wait(ctx))
          second = table.pack(wait(ctx))
          is_cancelled = ctx:cancelled()
          return nil, first[2]
        end)
        assert.same({ "remote", -32800, "Cancelled" }, error_of(cancelled "wait"))
        for _, got in ipairs { first, second } do
          assert.is_nil(got[1])
          assert.equal("cancelled", got[2].kind)
        end
        assert.is_true(is_cancelled)
        assert.same({}, reported)
        turn_until(function() return (near.stream:running()) == 0 end)
      end)
    end

    it("while it computes can notice it, and answer normally", function()
      local why
      far:on("compute", function(_, ctx)
        compute_until(function() return (ctx:cancelled()) end)
        why = select(2, ctx:cancelled())
        return "half of it"
      end)
      assert.equal("half of it", cancelled("compute"):wait())
      assert.equal("cancelled", why.kind)
    end)

    it("while it computes without checking is interrupted, and cleans up", function()
      local closed
      far:on("compute", function()
        local _ <close> = setmetatable({}, { __close = function(_, err) closed = err end })
        compute_until(never)
      end)
      assert.same({ "remote", -32800, "Cancelled" }, error_of(cancelled "compute"))
      assert.equal("cancelled", closed.kind)
      assert.same({}, reported)
      assert.same({ 1 }, near:call("echo", { 1 }))
    end)

    it("and catches every error is stopped anyway", function()
      local caught = 0
      far:on("compute", function()
        while true do
          local ok = pcall(compute_until, never)
          if not ok then caught = caught + 1 end
        end
      end)
      assert.same({ "remote", -32800, "Cancelled" }, error_of(cancelled "compute"))
      assert.truthy(caught > 1)
      assert.same({ 1 }, near:call("echo", { 1 }))
      assert.same({ 2 }, near:call("echo", { 2 }))
    end)

    it("and keeps trying to wait is stopped, and the peer stays intact", function()
      far:on("try", function(_, ctx)
        while true do
          loop.sleep(patience)
          ctx:call("hold", {})
          tasks.start(function() loop.sleep(0) end):await()
        end
      end)
      far:on("try_and_catch", function(_, ctx)
        while true do
          pcall(loop.sleep, patience)
          pcall(ctx.notify, ctx, "nothing")
          pcall(tasks.all, { function() loop.sleep(0) end, function() loop.sleep(0) end })
        end
      end)
      for _, method in ipairs { "try", "try_and_catch", "try" } do
        assert.same({ "remote", -32800, "Cancelled" }, error_of(cancelled(method)))
      end
      tasks.run()
      for i = 1, 10 do assert.same({ i }, near:call("echo", { i })) end
    end)

    it("and fails for another reason is reported; the answer is that it was cancelled", function()
      far:on("wait", function()
        loop.sleep(patience)
        error "in cleaning up"
      end)
      assert.same({ "remote", -32800, "Cancelled" }, error_of(cancelled "wait"))
      assert.equal(1, #reported)
      assert.matches("in cleaning up", reported[1])
    end)

    it("with an unknown or missing id has no effect", function()
      near:notify("$/cancelRequest", { id = 99 })
      near:notify("$/cancelRequest", {})
      near:notify("$/cancelRequest", { 1 })
      near:notify "$/cancelRequest"
      assert.same({ 1 }, near:call("echo", { 1 }))
    end)
  end)

  describe("that has a deadline", function()
    local function limited(seconds, fn)
      far:on("limited", function(params, ctx)
        ctx:set_deadline(seconds)
        return fn(params, ctx)
      end)
      return near:begin "limited"
    end

    it("has its waits end at the deadline", function()
      local err, left
      local call = limited(0.05, function(_, ctx)
        left = ctx:deadline()
        err = select(2, loop.sleep(patience))
        return nil, err
      end)
      assert.same({ "remote", -32001, "the request timed out after 50ms" }, error_of(call))
      assert.truthy(left > 0 and left <= 0.05)
      assert.same({ "timeout", 0.05 }, { err.kind, err.elapsed })
    end)

    it("is interrupted while it computes", function()
      local call = limited(0.05, function() compute_until(never) end)
      assert.same({ "remote", -32001, "the request timed out after 50ms" }, error_of(call))
    end)

    it("is interrupted while it computes and catches every error", function()
      local call = limited(0.05, function()
        while true do pcall(compute_until, never) end
      end)
      assert.same({ "remote", -32001, "the request timed out after 50ms" }, error_of(call))
    end)

    it("can read it", function()
      local call = limited(0.02, function(_, ctx)
        compute_until(function() return (ctx:cancelled()) end)
        return { ctx:deadline(), select(2, ctx:cancelled()).kind }
      end)
      assert.same({ 0, "timeout" }, call:wait())
    end)

    it("can move it", function()
      local call = limited(0.02, function(_, ctx)
        ctx:set_deadline(patience, "the second")
        return loop.sleep(0.03)
      end)
      assert.is_true(call:wait())
    end)

    it("has no deadline by default", function()
      far:on("free", function(_, ctx) return { ctx:deadline() == nil, (ctx:cancelled()) } end)
      assert.same({ true, false }, near:call "free")
    end)
  end)

  describe("that computes", function()
    local function busy(seconds)
      local done = core.now() + seconds
      repeat until core.now() >= done
    end

    it("delays the next messages, and keeps their order", function()
      local order = {}
      far:on("compute", function()
        busy(0.3)
        order[#order + 1] = "compute"
      end)
      far:on("note", function(params) order[#order + 1] = params[1] end)
      local call = near:begin "compute"
      for i = 1, 5 do near:notify("note", { i }) end
      call:wait()
      near:call("echo", {})
      assert.same({ "compute", 1, 2, 3, 4, 5 }, order)
    end)

    it("delays answers to other calls only while it runs", function()
      far:on("ask", function(_, ctx) return ctx:call("answer") end)
      far:on("compute", function() busy(0.3) end)
      near:on("answer", function() return "x" end)
      near:on("fail", function() return nil, "no" end)
      far:on("ask_wrong", function(_, ctx) return select(2, ctx:call("fail")).message end)
      local asking, wrong = near:begin "ask", near:begin "ask_wrong"
      near:begin "compute"
      assert.equal("x", asking:wait())
      assert.equal("no", wrong:wait())
    end)

    it("has its notifications sent meanwhile", function()
      local heard
      local plugin = [[
        local connect, core = require "pintle.connect", require "pintle.core"
        local peer = connect.open { stdio = true }
        peer:on("compute", function(_, ctx)
          ctx:notify("started", {})
          repeat until ctx:cancelled()
          return "stopped"
        end)
        peer:join()
      ]]
      local peer <close> = assert(connect.open { command = children.lua(plugin) })
      peer:on("started", function() heard = true end)
      local call = peer:begin "compute"
      turn_until(function() return heard end)
      call:cancel()
      turn_until(function() return peer.stream:stats().stray == 1 end)
    end)
  end)
end)
