-- Protocols in which a cancelled request gets no answer.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

local patience = children.patience

describe("a peer whose protocol leaves cancelled requests unanswered", function()
  local nothing_left, near, far, reported, stopped

  local function open(limits)
    near, far = connect.pair({ timeout = patience }, {
      limits = limits,
      on_error = function(err) reported[#reported + 1] = err end,
      cancellation = {
        method = "stop", is_unanswered = true,
        params = function(id) return { request = id } end,
        id = function(params) return params.request end,
      },
    })
    far:on("echo", function(params) return params end)
    far:on("hold", function()
      local _, err = loop.sleep(patience)
      stopped[#stopped + 1] = err.kind
      return nil, err
    end)
  end

  before_each(function() nothing_left, reported, stopped = children.stock(), {}, {} end)

  after_each(function()
    near:close()
    far:close()
    near, far = nil, nil
    tasks.run()
    nothing_left()
  end)

  it("stops the handler and sends nothing", function()
    open()
    local call = near:begin("hold", {})
    near:notify("stop", { request = call.id })
    assert.same({ "later" }, near:call("echo", { "later" }))
    assert.same({ "cancelled" }, stopped)
    assert.is_false(call:is_done())
    assert.same({}, reported)
    call:cancel()
  end)

  it("sends nothing either if the handler raises or returns a result", function()
    open()
    far:on("raise", function()
      local _, err = loop.sleep(patience)
      error(err, 0)
    end)
    far:on("answer", function()
      loop.sleep(patience)
      return "here"
    end)
    local calls = { near:begin("raise", {}), near:begin("answer", {}) }
    for _, call in ipairs(calls) do near:notify("stop", { request = call.id }) end
    assert.same({ "later" }, near:call("echo", { "later" }))
    for _, call in ipairs(calls) do
      assert.is_false(call:is_done())
      call:cancel()
    end
  end)

  it("removes queued requests", function()
    open { requests = 1 }
    local first, second = near:begin("hold", {}), near:begin("hold", {})
    near:notify("stop", { request = second.id })
    near:notify("stop", { request = first.id })
    assert.same({ "later" }, near:call("echo", { "later" }))
    assert.same({ "cancelled" }, stopped)
    assert.same({ false, false }, { first:is_done(), second:is_done() })
    first:cancel()
    second:cancel()
  end)

  it("lets a request be marked as uncancellable", function()
    open()
    far:on("begin", function(_, request)
      request.is_uncancellable = true
      return loop.sleep(0.05)
    end)
    local call = near:begin("begin", {})
    near:notify("stop", { request = call.id })
    assert.is_true(call:wait())
  end)

  it("answers in a batch, which would wait forever otherwise", function()
    open()
    local one, other = core.socketpair()
    local peer <close> = assert(connect.open { read = one, write = one, cancellation = far.cancellation })
    peer:on("hold", function() return loop.sleep(patience) end)
    assert(other:write('[{"jsonrpc":"2.0","id":1,"method":"hold"}]\n'
      .. '{"jsonrpc":"2.0","method":"stop","params":{"request":1}}\n'))
    local task = tasks.start(function()
      while true do
        local text = other:read()
        if text then return text end
        loop.sleep(0.01)
      end
    end)
    assert.matches('"id":1,"error"', task:await(patience), 1, true)
    other:close()
  end)
end)
