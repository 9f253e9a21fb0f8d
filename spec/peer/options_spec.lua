-- The options of a peer, as the other end sees them.
local assert_no_growth = require "spec.support.growth"
local cjson = require "cjson"
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

describe("a peer", function()
  local nothing_left, peer, wire, reported, on_error

  before_each(function()
    nothing_left, on_error = children.stock(), loop.on_error
    reported = {}
    loop.on_error = function(...) reported[#reported + 1] = { ... } end
  end)

  after_each(function()
    if peer then peer:close() end
    if wire then wire:close() end
    peer, wire = nil, nil
    tasks.run()
    loop.step()
    loop.on_error = on_error
    nothing_left()
  end)

  local function open(options)
    local one, other = core.socketpair()
    wire = other
    local given = { read = one, write = one }
    for name, value in pairs(options or {}) do given[name] = value end
    peer = assert(connect.open(given))
    return peer
  end

  -- The next message that it sends.
  local function heard()
    local text
    turn_until(function()
      text = wire:read()
      return text
    end)
    return text
  end

  local function decoded() return core.json.decode(heard()) end

  -- Its answer to this.
  local function answer(message)
    wire:write(message .. "\n")
    return decoded()
  end

  local ASK = '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}'

  it("reports the traceback of a handler's error locally, and does not send it", function()
    open()
    peer:on("m", function() error "oops" end)
    local err = answer(ASK).error
    assert.matches("^Internal error: .*options_spec.lua:%d+: oops$", err.message)
    assert.is_nil(err.data)
    assert.matches("oops\nstack traceback:", reported[1][2])
    assert.equal("the handler of m", reported[1][3])
  end)

  it("sends the traceback with an option", function()
    open { traceback = true, on_error = function() end }
    peer:on("m", function() error "oops" end)
    assert.matches("oops\nstack traceback:", answer(ASK).error.data.traceback)
  end)

  it("reports a handler's error once, to its on_error", function()
    local mine = {}
    open { on_error = function(...) mine[#mine + 1] = { ... } end }
    peer:on("m", function() error("oops", 0) end)
    answer(ASK)
    assert.same({ { "oops", mine[1][2], "m" } }, mine)
    peer:on("n", function() return nil, "to nobody" end)
    wire:write '{"jsonrpc":"2.0","method":"n"}\n'
    turn_until(function() return mine[2] end)
    assert.same({ "to nobody", nil, "n" }, mine[2])
    assert.same({}, reported)
  end)

  it("continues if on_error fails", function()
    open { on_error = function() error "worse" end, on_noise = function() error "worst" end }
    peer:on("m", function() error "oops" end)
    assert.equal(-32603, answer(ASK).error.code)
    wire:write "noise\n"
    turn_until(function() return #reported == 2 end)
    assert.matches("worse", reported[1][1])
    assert.matches("worst", reported[2][1])
    assert.equal(-32603, answer(ASK).error.code)
  end)

  it("can use other error codes", function()
    local codes = { invalid = 1, cancelled = 2, full = 3 }
    open { codes = codes }
    for kind, code in pairs { invalid = 1, requirement = -32002, closed = -32000 } do
      peer:on("m", function() return nil, errors.new(kind, "no") end)
      assert.equal(code, answer(ASK).error.code)
    end
    assert.is_nil(getmetatable(codes))
  end)

  it("passes on the error of a third peer unchanged", function()
    open()
    peer:on("m", function() return nil, errors.new("remote", "theirs", { code = -5, data = { 1 } }) end)
    assert.same({ code = -5, message = "theirs", data = { 1 } }, answer(ASK).error)
  end)

  it("sends an error that has no text", function()
    open { on_error = function() end }
    local shy = setmetatable({}, { __tostring = function() error "no" end })
    peer:on("m", function() error(shy) end)
    assert.same({ code = -32603, message = "Internal error: an error that cannot be shown" }, answer(ASK).error)
    peer:on("m", function() return nil, "\xff" end)
    assert.same({ code = -32000, message = "\u{FFFD}" }, answer(ASK).error)
    peer:on("m", function() return nil, { code = 1, message = "\xff", data = print } end)
    assert.same({ code = 1, message = "\u{FFFD}" }, answer(ASK).error)
  end)

  it("replaces an error that is too long for a message", function()
    open { on_error = function() end, limits = { message = 200 } }
    peer:on("m", function() return nil, ("x"):rep(200) end)
    assert.same({ code = -32603, message = "Internal error: an error that cannot be sent" }, answer(ASK).error)
  end)

  it("has its name in its reports", function()
    open { name = "Ada", timeout = 0.01 }
    assert.equal('Ada: no answer to "m" within 0.01s', tostring(select(2, peer:call "m")))
  end)

  it("rounds the time of a call that was not answered", function()
    open { timeout = 0.012345 }
    assert.equal('no answer to "m" within 0.012s', tostring(select(2, peer:call "m")))
    assert.equal('no answer to "m" within 1s', tostring(select(2, peer:call("m", nil, { timeout = 1.0009 }))))
  end)

  it("cancels in the way of LSP, in another way, or not at all", function()
    open()
    peer:begin("m"):cancel()
    assert.matches('"method":"$/cancelRequest","params":{"id":1}', heard(), 1, true)
    peer:adopt {
      cancellation = {
        method = "stop",
        params = function(id, reason) return { what = id, why = reason } end,
        id = function(params) return params.what end,
      },
    }
    peer:begin("m"):cancel "enough"
    local text = heard()
    assert.matches('"method":"stop"', text, 1, true)
    assert.matches('"why":"enough"', text, 1, true)
    local err
    peer:on("m", function()
      err = select(2, loop.sleep(children.patience))
      return nil, err
    end)
    wire:write(ASK .. '\n{"jsonrpc":"2.0","method":"stop","params":{"what":1}}\n')
    assert.equal(-32800, decoded().error.code)
    peer:adopt { cancellation = false }
    peer:begin("m"):cancel()
    peer:notify "last"
    assert.is_nil(heard():find('"stop"', 1, true))
  end)

  it("receives progress in another way", function()
    open {
      progress = {
        method = "progress",
        attach = function(params, token) return { token = token, params = params } end,
        report = function(params) return params.token, params.part, params.of end,
      },
    }
    local got = {}
    local call = peer:begin("m", { 1 }, { on_progress = function(...) got[#got + 1] = { ... } end })
    assert.same({ token = 1, params = { 1 } }, decoded().params)
    wire:write '{"jsonrpc":"2.0","method":"progress","params":{"token":1,"part":2,"of":3}}\n'
    wire:write '{"jsonrpc":"2.0","method":"progress","params":{"token":9}}\n'
    wire:write '{"jsonrpc":"2.0","method":"progress"}\n'
    wire:write '{"jsonrpc":"2.0","id":1,"result":true}\n'
    assert.is_true(call:wait())
    assert.same({ { 2, 3 } }, got)
  end)

  it("passes progress reports without a call to a handler", function()
    open()
    local got = {}
    peer:on("$/progress", function(params) got[#got + 1] = params.token end)
    local call = peer:begin("m", {}, { on_progress = function() got[#got + 1] = "mine" end })
    wire:write '{"jsonrpc":"2.0","method":"$/progress","params":{"token":"else"}}\n'
    wire:write '{"jsonrpc":"2.0","method":"$/progress","params":{"token":1,"value":5}}\n'
    wire:write '{"jsonrpc":"2.0","id":1,"result":true}\n'
    call:wait()
    assert.same({ "else", "mine" }, got)
    assert.error_matches(function() peer:call("m", "text", { on_progress = print }) end, "params have to be a table")
  end)

  it("does not answer a malformed response", function()
    local noise = {}
    open { answer_noise = true, on_noise = function(report) noise[#noise + 1] = report.message end }
    peer:on("m", function() return true end)
    wire:write('{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}\n' ..
      '[{"jsonrpc":"2.0","id":9,"error":5},{"jsonrpc":"2.0","id":9,"result":1,"error":{"code":1,"message":"no"}}]\n')
    assert.is_true(answer(ASK).result)
    assert.same({ "an answer without an id", "error is not an object with a number as code and a message",
      "both a result and an error" }, noise)
  end)

  it("reports a handler that raises nil", function()
    local heard_of = {}
    open { on_error = function(err, traceback, method) heard_of = { err, traceback:match "^[^\n]*", method } end }
    peer:on("m", function() error() end)
    assert.same({ code = -32603, message = "Internal error: nil" }, answer(ASK).error)
    assert.same({ nil, "nil", "m" }, heard_of)
  end)

  it("answers noise only with an option", function()
    local noise = {}
    open { on_noise = function(report) noise[#noise + 1] = report.text end }
    wire:write "hello\n"
    peer:on("m", function() return true end)
    assert.is_true(answer(ASK).result)
    assert.same({ "hello" }, noise)
    peer:close()
    wire:close()
    open { answer_noise = true }
    assert.same({ code = -32700, id = core.json.null },
      (function(got) return { code = got.error.code, id = got.id } end)(answer "hello"))
  end)

  it("can keep payloads as text, and still reads what it needs", function()
    open { raw = true }
    peer:on("m", function(params) return params end)
    wire:write(ASK .. "\n")
    assert.equal('{"jsonrpc":"2.0","id":1,"result":[1]}\n', heard())
    local call = peer:begin("m")
    heard()
    wire:write '{"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"no","data":[1]}}\n'
    local _, err = call:wait()
    assert.same({ "remote", 7, "no", { 1 } }, { err.kind, err.code, err.message, err.data })
    peer:on("m", function() return nil, select(2, loop.sleep(children.patience)) end)
    wire:write(ASK .. '\n{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}\n')
    assert.equal(-32800, decoded().error.code)
  end)

  it("can use another codec", function()
    open { json = cjson }
    peer:on("m", function() return nil, select(2, loop.sleep(children.patience)) end)
    wire:write(ASK .. '\n{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}\n')
    assert.equal(-32800, decoded().error.code)
    local call = peer:begin("m", { 1 })
    assert.same({ 1 }, decoded().params)
    wire:write '{"jsonrpc":"2.0","id":1,"result":{"a":1}}\n'
    assert.same({ a = 1 }, call:wait())
  end)

  it("can have string ids and extra members in every message", function()
    open { ids = "string", extra = { protocol = "x" } }
    local call = peer:begin("m")
    assert.same({ jsonrpc = "2.0", protocol = "x", id = "1", method = "m" }, decoded())
    wire:write '{"jsonrpc":"2.0","protocol":"x","id":"1","result":5}\n'
    assert.equal(5, call:wait())
  end)

  it("drops and counts responses without a call, also repeated ones", function()
    open()
    local call = peer:begin("m")
    wire:write '{"jsonrpc":"2.0","id":99,"result":1}\n{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"x"}}\n'
    wire:write '{"jsonrpc":"2.0","id":1,"result":1}\n{"jsonrpc":"2.0","id":1,"result":2}\n'
    assert.equal(1, call:wait())
    turn_until(function() return peer.stream:stats().stray == 3 end)
    assert.same({}, reported)
  end)

  it("reads everything that a dead program has written, and then ends", function()
    open()
    local heard_of = {}
    peer:on("n", function(params) heard_of[#heard_of + 1] = params[1] end)
    wire:write '{"jsonrpc":"2.0","method":"n","params":[1]}\n'
    turn_until(function() return #heard_of == 1 end)
    wire:write '{"jsonrpc":"2.0","method":"n","params":[2]}\n'
    peer.stream:expect_end()
    assert.is_true(peer:join(children.patience))
    assert.same({ 1, 2 }, heard_of)
    assert.equal("closed", peer.ended.kind)
  end)

  it("passes the first message to on_first before it is handled", function()
    open()
    local seen = {}
    peer:on_first(function(given, method, params)
      seen[#seen + 1] = { method, params }
      given:on("m", function() return "known by now" end)
    end)
    assert.equal("known by now", answer(ASK).result)
    assert.equal("known by now", answer(ASK).result)
    assert.same({ { "m", { 1 } } }, seen)
  end)

  it("has wait_idle, which returns when there is nothing to do", function()
    open()
    assert.is_true(peer:wait_idle())
    peer:on("m", function(_, ctx)
      local ok, err = ctx.peer:wait_idle(0.01)
      local besides = ctx.peer:wait_idle(0.01, ctx)
      loop.sleep(0.02)
      return { ok == nil and err.kind, besides }
    end)
    wire:write(ASK .. "\n")
    turn_until(function() return (peer.stream:running()) == 1 end)
    assert.is_true(peer:wait_idle(children.patience))
    assert.same({ "timeout", true }, decoded().result)
  end)

  it("has flush, which returns when all output is sent", function()
    open()
    peer:notify("n", { ("x"):rep(1 << 20) })
    assert.is_false(peer:flush(0.01))
    local reading = tasks.start(function()
      repeat
        local data = wire:read()
        if not data then loop.sleep(0.001) end
      until peer.stream:queued() == 0
    end)
    assert.is_true(peer:flush(children.patience))
    reading:await()
  end)

  it("does not grow over many calls", function()
    local near, far = connect.pair()
    far:on("echo", function(params) return params end)
    assert_no_growth(function()
      tasks.run(function()
        for i = 1, 10000 do near:call("echo", { i }) end
      end)
    end, 2, 50)
    near:close()
    far:close()
  end)
end)
