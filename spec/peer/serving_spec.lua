-- Peers that serve: handlers and their exact output, and programs that serve on stdin and stdout.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local pintle = require "pintle"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"
local wire = require "spec.support.wire"

local function request(id, method, params)
  return ('{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n'):format(id, method, params or "[1]")
end

local function result(id, value) return ('{"jsonrpc":"2.0","id":%s,"result":%s}\n'):format(id, value) end

local NOTE = '{"jsonrpc":"2.0","method":"note"}\n'

local nothing_left

describe("a peer that serves", function()
  local peer, far, reported, sent

  before_each(function()
    nothing_left = children.stock()
    reported, sent = {}, ""
    local near
    near, far = core.socketpair()
    peer = assert(connect.open {
      read = near, write = near, on_error = function(...) reported[#reported + 1] = table.pack(...) end,
    })
    peer:on("echo", function(params) return params end)
  end)

  after_each(function()
    peer:close()
    far:close()
    peer, far = nil, nil
    tasks.run()
    loop.step()
    assert.is_nil(loop.current())
    nothing_left()
  end)

  -- What it has sent, as soon as it is this many bytes or lines.
  local function await(count)
    turn_until(function()
      sent = sent .. (far:read() or "")
      return select(2, sent:gsub("\n", "")) >= count
    end)
    local all = sent
    sent = ""
    return all
  end

  it("answers requests with every kind of id, in order", function()
    wire.write(far, request(1, "echo") .. request('"b"', "echo", '{"x":null}') .. request("3.0", "echo", "[]"))
    assert.equal(result(1, "[1]") .. result('"b"', '{"x":null}') .. result("3.0", "[]"), await(3))
  end)

  it("answers with false, null and no value", function()
    peer:on("no", function() return false end)
    peer:on("null", function() return core.json.null end)
    peer:on("nothing", function() end)
    peer:on("many", function() return 1, nil, 3 end)
    wire.write(far, request(1, "no") .. request(2, "null") .. request(3, "nothing") .. request(4, "many"))
    assert.equal(result(1, "false") .. result(2, "null") .. result(3, "null") .. result(4, "1"), await(4))
  end)

  it("answers a batch with one message", function()
    wire.write(far, ("[%s,%s]\n"):format(request(1, "echo"):sub(1, -2), request(2, "echo"):sub(1, -2)))
    assert.equal("[" .. result(1, "[1]"):sub(1, -2) .. "," .. result(2, "[1]"):sub(1, -2) .. "]\n", await(1))
  end)

  it("lets others run after many requests", function()
    local handled, most, turns = 0, 0, 0
    peer:on("count", function() handled = handled + 1 end)
    wire.write(far, request(1, "count"):rep(500))
    turn_until(function()
      most, handled, turns = math.max(most, handled), 0, turns + 1
      return peer.stream:stats().received == 500
    end)
    assert.equal(64, most)
    assert.truthy(turns >= 8)
  end)

  it("answers unknown methods with an error, and continues", function()
    local noted = 0
    peer:on("note", function() noted = noted + 1 end)
    wire.write(far, request(1, "echo") .. request(2, "other") .. NOTE .. request(3, "echo"))
    assert.equal(result(1, "[1]") ..
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: other"}}\n' ..
      result(3, "[1]"), await(3))
    assert.equal(1, noted)
  end)

  it("delivers answers to its own calls between requests", function()
    local got
    tasks.start(function() got = peer:call "m" end)
    wire.write(far, request(1, "echo") .. result(1, 5) .. request(2, "echo"))
    assert.equal('{"jsonrpc":"2.0","id":1,"method":"m"}\n' .. result(1, "[1]") .. result(2, "[1]"), await(3))
    assert.equal(5, got)
  end)

  it("continues while a handler waits", function()
    local events = {}
    peer:on("wait", function(params)
      events[params[1]] = loop.event()
      return (events[params[1]]:wait())
    end)
    wire.write(far, request(1, "wait", "[1]") .. request(2, "echo") .. request(3, "wait", "[2]"))
    assert.equal(result(2, "[1]"), await(1))
    events[2]:set "second"
    events[1]:set "first"
    assert.equal(result(3, '"second"') .. result(1, '"first"'), await(2))
  end)

  it("continues while a handler yields a value of its own", function()
    peer:on("yield", function()
      for i = 1, 3 do coroutine.yield(i) end
      return "yielded"
    end)
    wire.write(far, request(1, "yield") .. request(2, "echo"))
    assert.equal(result(2, "[1]") .. result(1, '"yielded"'), await(2))
  end)

  it("gives a handler a context that describes the request", function()
    local seen
    peer:on("look", function(_, ctx)
      seen = { ctx.peer == peer, ctx.id, ctx.method, ctx:cancelled(), loop.current() == ctx, peer:requests()[1] == ctx }
      return true
    end)
    wire.write(far, request(7, "look"))
    await(1)
    assert.same({ true, 7, "look", false, true, true }, seen)
    assert.same({}, peer:requests())
  end)

  it("gives each handler its own context", function()
    local kept = {}
    local function keep(ctx) kept[#kept + 1] = ctx end
    peer:on("keep", function(_, ctx) keep(ctx) end)
    peer:on("any", function(...) keep((select(2, ...))) end)
    peer:on("current", function()
      keep(loop.current())
      loop.sleep(0)
      assert.equal(kept[#kept], loop.current())
    end)
    for i, method in ipairs { "keep", "keep", "any", "any", "current", "keep" } do
      wire.write(far, request(i, method))
      await(1)
    end
    for i, ctx in ipairs(kept) do assert.equal(i, ctx.id) end
    assert.equal(6, #kept)
  end)

  it("can create the context of a handler that did not ask for it", function()
    local ctx
    peer:on("wait", function() return loop.sleep(children.patience) end)
    wire.write(far, request(4, "wait"))
    turn_until(function()
      ctx = peer:requests()[1]
      return ctx
    end)
    assert.same({ 4, "wait" }, { ctx.id, ctx.method })
    assert.equal(ctx, peer:requests()[1])
    ctx:stop(loop.cancelled "enough")
    assert.matches('"id":4,"error":{"code":%-32800,"message":"enough"}', await(1))
  end)

  it("does not answer a request if its handler has removed the id", function()
    peer:on("mute", function(_, ctx) ctx.id = nil end)
    wire.write(far, request(1, "mute") .. request(2, "echo"))
    assert.equal(result(2, "[1]"), await(1))
  end)

  it("answers with the error that a handler returns or raises", function()
    peer:on("text", function() return nil, "no" end)
    peer:on("table", function() return nil, { code = 7, message = "no", data = { 1 } } end)
    peer:on("raise", function() error({ code = 8, message = "raised" }) end)
    peer:on("late", function()
      loop.sleep(0.001)
      error("late", 0)
    end)
    for i, method in ipairs { "text", "table", "raise", "late" } do wire.write(far, request(i, method)) end
    local function failure(id, rest) return ('{"jsonrpc":"2.0","id":%d,"error":{%s}}\n'):format(id, rest) end
    assert.equal(failure(1, '"code":-32000,"message":"no"') .. failure(2, '"code":7,"message":"no","data":[1]') ..
      failure(3, '"code":8,"message":"raised"') .. failure(4, '"code":-32603,"message":"Internal error: late"'),
      await(4))
    assert.same({ "raise", "late" }, { reported[1][3], reported[2][3] })
    assert.matches("^late\nstack traceback:\n", reported[2][2])
  end)

  it("answers with an error if the result cannot be sent, and reports it", function()
    peer:on("odd", function() return { print } end)
    wire.write(far, request(1, "odd") .. request(2, "echo"))
    local said = await(2)
    assert.matches('"id":1,"error":{"code":%-32603,"message":"Internal error: [^\n]*function', said)
    assert.matches('"id":2,"result"', said)
    assert.same({ 1, "odd" }, { #reported, reported[1][3] })
  end)

  it("closes the to-be-closed variables of a handler, however it ends", function()
    local closed = {}
    local function closing(name)
      return setmetatable({}, { __close = function() closed[#closed + 1] = name end })
    end
    peer:on("return", function()
      local _ <close> = closing "return"
      loop.sleep(0.001)
      return 1
    end)
    peer:on("raise", function()
      local _ <close> = closing "raise"
      error "no"
    end)
    wire.write(far, request(1, "return") .. request(2, "raise"))
    await(2)
    assert.same({ "raise", "return" }, closed)
  end)

  it("lets a handler turn the loop, and handles the next messages meanwhile", function()
    local order = {}
    peer:on("turn", function()
      coroutine.wrap(function() turn_until(function() return #order == 2 end) end)()
      order[#order + 1] = "turned"
      return 1
    end)
    peer:on("note", function() order[#order + 1] = "noted" end)
    wire.write(far, request(1, "turn") .. NOTE .. NOTE .. request(2, "echo"))
    assert.equal(result(2, "[1]"), await(2):match "[^\n]*\"id\":2[^\n]*\n")
    assert.same({ "noted", "noted", "turned" }, order)
  end)

  it("lets handlers call back where yielding is impossible, nested in each other", function()
    local one, other = connect.pair()
    local function nest(params, ctx)
      if params[1] == 0 then return 0 end
      local below
      table.sort({ 2, 1 }, function(a, b)
        below = below or ctx:call("nest", { params[1] - 1 })
        return a < b
      end)
      return below + 1
    end
    one:on("nest", nest)
    other:on("nest", nest)
    assert.equal(20, one:call("nest", { 20 }))
    one:close()
    other:close()
  end)

  it("lets a handler close it", function()
    peer:on("close", function() peer:close() end)
    wire.write(far, request(1, "close") .. request(2, "echo"))
    turn_until(function() return peer.ended end)
    assert.equal("", far:read())
  end)

  it("lets a handler be replaced and removed between its messages", function()
    peer:on("swap", function()
      peer:on("swap", function()
        peer:on("swap", nil)
        return "second"
      end)
      return "first"
    end)
    wire.write(far, request(1, "swap") .. request(2, "swap") .. request(3, "swap"))
    local said = await(3)
    assert.equal(result(1, '"first"') .. result(2, '"second"'), said:match "^[^\n]*\n[^\n]*\n")
    assert.matches('"id":3,"error":{"code":%-32601', said)
  end)

  it("sends all answers although nobody reads them for a while", function()
    peer:on("large", function() return ("x"):rep(1 << 20) end)
    wire.write(far, request(1, "large"):rep(3))
    turn_until(function() return peer.stream:queued() > 0 end)
    assert.equal(3 * #result(1, '"' .. ("x"):rep(1 << 20) .. '"'), #await(3))
    assert.equal(0, peer.stream:queued())
  end)

  it("works after an error of a callback passed through the turn", function()
    peer:on("soon", function()
      loop.soon(error, "through")
      return "soon"
    end)
    for i = 1, 3 do
      wire.write(far, request(i, "soon") .. request(i, "echo"))
      assert.error_matches(function() await(3) end, "through")
      assert.equal(result(i, '"soon"') .. result(i, "[1]"), await(2))
    end
  end)

  it("keeps nothing of answered requests", function()
    local kept = setmetatable({}, { __mode = "k" })
    peer:on("keep", function(params, ctx)
      kept[params], kept[ctx] = true, true
      local answer = { 1 }
      kept[answer] = true
      return answer
    end)
    wire.write(far, request(1, "keep"):rep(10))
    await(10)
    loop.step()
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(kept))
  end)
end)

local SET_UP = [[
  local pintle = require "pintle"
  local peer = assert(pintle.connect { stdio = true })
  peer:on("echo", function(params) return params end)
  peer:on("sleep", function() pintle.sleep(0.01) return "slept" end)
  peer:on("raise", function() error { message = "no", code = 7 } end)
  peer:on("exit", function() os.exit(3) end)
  peer:on("fail", function() return nil, "not today" end)
  peer:on("unsendable", function() return print end)
  peer:on("method", function(_, ctx) return { ctx.method, ctx:cancelled() } end)
  peer:on("ask", function(params) return peer:call("answer", params) end)
  peer:on("compute", function() while true do end end)
  peer:on("print", function() print "to nobody" return true end)
  peer:on("start", function(params)
    pintle.task(function()
      pintle.sleep(0.01)
      peer:notify("later", params)
    end)
    return "started"
  end)
  peer:on("yielding", function()
    local result
    coroutine.wrap(function() result = peer:call("answer", { 2 }) end)()
    return result
  end)
  local seen = {}
  peer:on("note", function(params) seen[#seen + 1] = params[1] end)
  peer:on("noted", function() return pintle.array(seen) end)
]]

describe("a program that serves on stdin and stdout", function()
  local peer, received

  local function open(code)
    local command = children.lua(SET_UP .. (code or "peer:join()"))
    peer = assert(pintle.connect { command = command, timeout = children.patience, on_stderr = function() end })
    received = {}
    peer:on("answer", function(params) return { "answered", params[1] } end)
    peer:on("later", function(params) received[#received + 1] = params[1] end)
  end

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    if peer then peer:close() end
    peer = nil
    loop.step()
    nothing_left()
  end)

  local function assert_whole()
    assert.same({ 1 }, peer:call("echo", { 1 }))
    assert.equal("slept", peer:call "sleep")
  end

  it("handles many requests that arrive at once", function()
    open()
    local calls = {}
    for i = 1, 100 do calls[i] = peer:begin("echo", { i }) end
    for i = 1, 100 do assert.same({ i }, calls[i]:wait()) end
  end)

  it("continues with others while a handler waits", function()
    open()
    local slow = peer:begin "sleep"
    assert.same({ 1 }, peer:call("echo", { 1 }))
    assert.equal("slept", slow:wait())
    assert_whole()
  end)

  it("reports every kind of failure", function()
    open()
    for method, code in pairs { raise = 7, fail = -32000, unsendable = -32603, nonsense = -32601 } do
      local ok, err = peer:call(method)
      assert.same({ nil, "remote", code }, { ok, err.kind, err.code }, method)
      assert_whole()
    end
  end)

  it("gives handlers the arguments that they declare", function()
    open()
    assert.same({ "method", false }, peer:call "method")
    assert_whole()
  end)

  it("keeps printed text out of the messages", function()
    open()
    assert.is_true(peer:call "print")
    assert_whole()
  end)

  it("calls back, also where yielding is impossible", function()
    open()
    assert.same({ "answered", 1 }, peer:call("ask", { 1 }))
    assert.same({ "answered", 2 }, peer:call "yielding")
    assert_whole()
  end)

  it("handles notifications in order", function()
    open()
    for i = 1, 3 do peer:notify("note", { i }) end
    assert.same({ 1, 2, 3 }, peer:call "noted")
  end)

  it("runs tasks that a handler has started", function()
    open()
    assert.equal("started", peer:call("start", { 5 }))
    turn_until(function() return received[1] end)
    assert.same({ 5 }, received)
    assert_whole()
  end)

  it("is interrupted while it computes", function()
    open()
    local begun = peer:begin "compute"
    begun:cancel()
    assert_whole()
  end)

  it("is not woken while it is idle", function()
    open()
    local function wakings()
      local file <close> = assert(io.open(("/proc/%d/status"):format(peer.child.pid)))
      return tonumber(file:read("a"):match "\nvoluntary_ctxt_switches:%s*(%d+)")
    end
    for i = 1, 3 do assert.same({ i }, peer:call("echo", { i })) end
    local before = wakings()
    pintle.sleep(0.6) -- twelve ticks, if there are any
    assert.truthy(wakings() - before < 6)
  end)

  it("is stopped by SIGINT, however much it has served", function()
    for served = 0, 2 do
      open()
      for i = 1, served do assert.same({ i }, peer:call("echo", { i })) end
      if served == 0 then assert.is_true(peer:notify "nothing") end
      peer.child:kill "INT"
      assert.is_true(peer:join(children.patience))
      assert.truthy(peer.ended.exit.code == 1 or peer.ended.exit.signal == "INT")
      peer:close()
    end
  end)

  it("reports that SIGINT stopped its wait, and may continue", function()
    open [[
      io.stderr:write "ready\n"
      local ok, message = pcall(peer.join, peer)
      assert(not ok and message:find "interrupted!")
      peer:join()
    ]]
    peer:call "echo"
    peer.child:kill "INT"
    assert.same({ 1 }, peer:call("echo", { 1 }))
    peer:close_output()
    assert.is_true(peer:join(children.patience))
    assert.same({ code = 0 }, peer.ended.exit)
  end)

  it("may turn the loop instead of joining", function()
    open "peer:on('go', function() go = true return 'gone' end) while not go do pintle.loop.step(1) end"
    assert_whole()
    assert.equal("gone", peer:call "go")
    assert.is_true(peer:join(children.patience))
  end)

  it("may be driven by another loop", function()
    open [[
      local core = require "pintle.core"
      local loop = pintle.loop
      while true do
        core.poll(loop.timeout() or 1, loop.fileno(), "r")
        loop.step()
      end
    ]]
    assert_whole()
  end)

  it("may use the loop before it joins", function()
    open "pintle.task(function() pintle.sleep(0.01) peer:notify('later', { 6 }) end) peer:join()"
    assert_whole()
    turn_until(function() return received[1] end)
    assert.same({ 6 }, received)
  end)

  it("may join with a timeout, in a coroutine, and again", function()
    open [[
      local ok, err = peer:join(0.01)
      assert(ok == nil and err.kind == "timeout")
      coroutine.wrap(function() peer:join() end)()
      assert(peer:join() and peer.ended.kind == "closed")
      io.stderr:write "joined twice\n"
    ]]
    assert_whole()
    peer:close_output()
    assert.is_true(peer:join(children.patience))
    assert.same({ "joined twice" }, peer.ended.stderr)
  end)

  it("ends with its input, whatever it handled last", function()
    for _, last in ipairs { "echo", "sleep" } do
      open()
      peer:call(last)
      peer:close_output()
      assert.is_true(peer:join(children.patience))
      assert.same({ code = 0 }, peer.ended.exit)
      peer:close()
    end
  end)

  it("sends what is queued before it exits", function()
    open()
    local calls = {}
    for i = 1, 20 do calls[i] = peer:begin("echo", { i }) end
    local last = peer:begin "exit"
    for i = 1, 20 do assert.same({ i }, calls[i]:wait()) end
    local ok, err = last:wait()
    assert.same({ nil, "closed", { code = 3 } }, { ok, err.kind, err.exit })
  end)

  it("may be closed", function()
    open "local closed <close> = peer"
    assert.is_true(peer:join(children.patience))
    assert.same({ code = 0 }, peer.ended.exit)
  end)

  it("raises for misuse at the right line", function()
    local function says(code)
      local text = children.run { command = children.lua("print(pcall(function() " .. code .. " end))") }
      return text
    end
    local connecting = "require 'pintle'.connect "
    assert.matches('^false%s.*no option "odd"', says(connecting .. "{ stdio = true, odd = 1 }"))
    assert.matches("^false%s.*connect to what", says(connecting .. "{}"))
    assert.matches("^false%s", says(connecting .. "(nil)"))
  end)

  it("raises for a wrong handler at the right line", function()
    open [[
      local said = {}
      local function try(...)
        local _, message = pcall(function(...) peer:on(...) end, ...)
        said[#said + 1] = message
      end
      try()
      try("method", 1)
      peer:on("said", function() return said end)
      peer:join()
    ]]
    local said = peer:call "said"
    assert.matches("^%(command line%):%d+: method: string expected, got nil$", said[1])
    assert.matches("^%(command line%):%d+: handler: function expected, got number$", said[2])
  end)
end)

describe("a program that serves, and gets all its input at once,", function()
  before_each(function() nothing_left = children.stock() end)
  after_each(function() nothing_left() end)

  local function said_to(text, code)
    local command = children.lua(SET_UP .. (code or "") .. " peer:join()")
    local process <close> = assert(core.spawn { command = command, stderr = "null" })
    process.stdin:write(text)
    process.stdin:close()
    return children.read(process.stdout), (process:wait(children.patience))
  end

  local ECHO, ECHOED = request(1, "echo"), result(1, "[1]")

  it("answers malformed input", function()
    local said, status = said_to(ECHO .. "nonsense\n[]\n" .. ECHO)
    assert.equal(ECHOED .. '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not JSON"}}\n' ..
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: empty batch"}}\n' .. ECHOED, said)
    assert.equal(0, status)
  end)

  it("sends what is queued before a handler exits", function()
    local said, status = said_to(ECHO .. ECHO .. request(2, "exit"))
    assert.same({ ECHOED .. ECHOED, 3 }, { said, status })
  end)

  it("answers running requests although its input has ended", function()
    local said, status = said_to(request(1, "sleep") .. ECHO)
    assert.same({ ECHOED .. result(1, '"slept"'), 0 }, { said, status })
  end)

  it("does not read after the exit", function()
    local said, status = said_to(request(1, "exit") .. ECHO)
    assert.same({ "", 3 }, { said, status })
  end)
end)

-- The child has the descriptors, too, and must not write to them.
describe("a program that serves and forks", function()
  local folder

  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir %s && ${CC:-cc} -shared -fPIC -o %s/fork.so spec/support/fork.c"):format(folder, folder)))
  end)

  teardown(function() os.execute("rm -r " .. folder) end)

  it("is answered by the parent alone, however the child ends", function()
    for _, ending in ipairs { "os.exit(0)", "os.exit(0, true)" } do
      local peer = assert(pintle.connect {
        command = children.lua(SET_UP .. ([[
          package.cpath = "%s/?.so;" .. package.cpath
          local fork = require "fork"
          peer:on("fork", function()
            peer:notify("later", { 1 })
            if fork() then %s end
            return "forked"
          end)
          peer:join()
        ]]):format(folder, ending)),
        timeout = children.patience,
      })
      local heard = 0
      peer:on("later", function() heard = heard + 1 end)
      assert.equal("forked", peer:call "fork")
      assert.same({ 1 }, peer:call("echo", { 1 }))
      peer:close_output()
      assert.is_true(peer:join(children.patience))
      assert.same({ 1, 0 }, { heard, peer.stream:stats().stray })
      peer:close()
    end
  end)
end)
