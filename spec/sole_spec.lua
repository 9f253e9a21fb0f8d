-- A program that only serves on stdin and stdout begins without a loop. Nobody must notice when that takes over.
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
local pintle = require "pintle"

local SET_UP = [[
  local pintle = require "pintle"
  local peer = assert(pintle.connect { stdio = true })
  peer:on("echo", function(params) return params end)
  peer:on("has_loop", function() return package.loaded["pintle.loop"] ~= nil end)
  peer:on("sleep", function() pintle.sleep(0.01) return "slept" end)
  peer:on("raise", function() error { message = "no", code = 7 } end)
  peer:on("exit", function() os.exit(3) end)
  peer:on("fail", function() return nil, "not today" end)
  peer:on("unsendable", function() return print end)
  peer:on("method", function(_, ctx) return { ctx.method, ctx:cancelled() } end)
  peer:on("ask", function(params) return peer:call("answer", params) end)
  peer:on("compute", function() while true do end end)
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

describe("a program that only serves", function()
  local nothing_left, peer, told

  local function open(code)
    local command = children.lua(SET_UP .. (code or "peer:join()"))
    peer = assert(pintle.connect { command = command, timeout = children.patience, on_stderr = function() end })
    told = {}
    peer:on("answer", function(params) return { "answered", params[1] } end)
    peer:on("later", function(params) told[#told + 1] = params[1] end)
  end

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    peer:close()
    peer = nil
    loop.step()
    nothing_left()
  end)

  local function assert_whole()
    assert.is_true(peer:call "has_loop")
    assert.same({ 1 }, peer:call("echo", { 1 }))
    assert.equal("slept", peer:call "sleep")
  end

  it("has no loop for that", function()
    open()
    for i = 1, 100 do assert.same({ i }, peer:call("echo", { i })) end
    assert.is_false(peer:call "has_loop")
  end)

  it("takes as many as come at once", function()
    open()
    local calls = {}
    for i = 1, 100 do calls[i] = peer:begin("echo", { i }) end
    for i = 1, 100 do assert.same({ i }, calls[i]:wait()) end
    assert.is_false(peer:call "has_loop")
  end)

  it("goes on with others while a handler waits", function()
    open()
    local slow = peer:begin "sleep"
    assert.same({ 1 }, peer:call("echo", { 1 }))
    assert.equal("slept", slow:wait())
    assert_whole()
  end)

  it("tells of every kind of failure", function()
    for method, code in pairs { raise = 7, fail = -32000, unsendable = -32603, nonsense = -32601 } do
      open()
      assert.same({ 1 }, peer:call("echo", { 1 }))
      local ok, err = peer:call(method)
      assert.same({ nil, "remote", code }, { ok, err.kind, err.code }, method)
      assert_whole()
      peer:close()
    end
  end)

  it("gives handlers what they take", function()
    open()
    assert.same({ "method", false }, peer:call "method")
    assert_whole()
  end)

  it("calls back, also where that cannot yield", function()
    open()
    assert.same({ "answered", 1 }, peer:call("ask", { 1 }))
    assert.same({ "answered", 2 }, peer:call "yielding")
    assert_whole()
    peer:close()
    open()
    assert.same({ "answered", 2 }, peer:call "yielding")
    assert_whole()
  end)

  it("is told, in order", function()
    open()
    for i = 1, 3 do peer:notify("note", { i }) end
    assert.same({ 1, 2, 3 }, peer:call "noted")
    assert_whole()
  end)

  it("may begin something beside that", function()
    open()
    assert.equal("started", peer:call("start", { 5 }))
    loop.turn_while(function() return not told[1] end)
    assert.same({ 5 }, told)
    assert_whole()
  end)

  it("is reached while it computes", function()
    open()
    assert.same({ 1 }, peer:call("echo", { 1 }))
    local begun = peer:begin "compute"
    begun:cancel()
    assert_whole()
  end)

  it("is not woken while nothing is asked", function()
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

  it("may turn the loop instead of joining", function()
    open "peer:on('go', function() go = true return 'gone' end) while not go do pintle.loop.step(1) end"
    assert_whole()
    assert.equal("gone", peer:call "go")
    assert.is_true(peer:join(children.patience))
  end)

  it("may leave that to another loop", function()
    open [[
      local core = require "pintle.core"
      local poller, loop = core.poller(), pintle.loop
      poller:set(loop.fileno(), "r", true)
      while true do
        poller:wait(loop.timeout() or 1)
        loop.step()
      end
    ]]
    assert.same({ 1 }, peer:call("echo", { 1 }))
    assert.equal("slept", peer:call "sleep")
  end)

  it("may have begun something before it joins", function()
    open "pintle.task(function() pintle.sleep(0.01) peer:notify('later', { 6 }) end) peer:join()"
    assert_whole()
    loop.turn_while(function() return not told[1] end)
    assert.same({ 6 }, told)
  end)

  it("may join for a time, in a coroutine, and again", function()
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

  it("ends with its input, whole or not", function()
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
    open "peer:on('exit', function() os.exit(3) end) peer:join()"
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

  it("says what was wrong where it was done", function()
    local function says(code)
      local text = children.run { command = children.lua("print(pcall(function() " .. code .. " end))") }
      return text
    end
    local connect = "require 'pintle'.connect "
    assert.matches('^false%s.*no option "odd"', says(connect .. "{ stdio = true, odd = 1 }"))
    assert.matches("^false%s.*connect to what", says(connect .. "{}"))
    assert.matches("^false%s", says(connect .. "(nil)"))
    open()
  end)

  it("says what is wrong with a handler where it is given, whole or not", function()
    open [[
      local said = {}
      local function try(...)
        local _, message = pcall(function(...) peer:on(...) end, ...)
        said[#said + 1] = message
      end
      try()
      try("method", 1)
      peer:otherwise(nil)
      try()
      try("method", 1)
      peer:on("said", function() return said end)
      peer:join()
    ]]
    local said = peer:call "said"
    assert.equal(4, #said)
    for i = 1, 4, 2 do
      assert.matches("^%(command line%):%d+: method: string expected, got nil$", said[i])
      assert.matches("^%(command line%):%d+: handler: function expected, got number$", said[i + 1])
    end
  end)
end)

describe("a program that only serves, and is written to at once,", function()
  local function said_to(text)
    local process <close> = assert(core.spawn { command = children.lua(SET_UP .. "peer:join()"), stderr = "null" })
    process.stdin:write(text)
    process.stdin:close()
    return children.read(process.stdout), (process:wait(children.patience))
  end

  local ECHO = '{"jsonrpc":"2.0","id":1,"method":"echo","params":[1]}\n'
  local ECHOED = '{"jsonrpc":"2.0","id":1,"result":[1]}\n'

  it("answers what is no message", function()
    local said, status = said_to(ECHO .. "nonsense\n[]\n" .. ECHO)
    assert.equal(ECHOED .. '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not JSON"}}\n' ..
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: empty batch"}}\n' .. ECHOED, said)
    assert.equal(0, status)
  end)

  it("sends what is queued before a handler exits", function()
    local said, status = said_to(ECHO .. ECHO .. '{"jsonrpc":"2.0","id":2,"method":"exit"}\n')
    assert.same({ ECHOED .. ECHOED, 3 }, { said, status })
  end)
end)
