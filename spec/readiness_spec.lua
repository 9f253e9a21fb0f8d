-- A stream that is waited for by itself must not be noticed by anybody.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local transports = require "spec.support.transports"
local turn_until = require "spec.support.turning"

local MANY = 600 -- calls after which a peer is the favourite

for name, open in pairs(transports) do
  describe("readiness, with a favourite over " .. name .. ",", function()
    local nothing_left, peer, far

    before_each(function()
      nothing_left = children.stock()
      peer, far = open { framing = "line" }
      for i = 1, MANY do assert.same({ i }, peer:call("echo", { i })) end
    end)

    after_each(function()
      peer:close()
      if far then far:close() end
      peer, far = nil, nil
      tasks.run()
      loop.step()
      nothing_left()
    end)

    it("sees other descriptors", function()
      local read, write = core.pipe()
      local seen = 0
      local watcher = { on_ready = function() seen = seen + #read:read() end }
      assert(loop.watch(read:fileno(), "r", watcher))
      write:write "x"
      turn_until(function() return seen == 1 end)
      for i = 1, MANY do peer:call("echo", { i }) end
      write:write "x"
      turn_until(function() return seen == 2 end)
      loop.unwatch(read:fileno(), watcher)
      read:close()
      write:close()
    end)

    it("sees timers", function()
      assert.is_true(loop.sleep(0.01))
      local ok, err = peer:call("hold", {}, { timeout = 0.01 })
      assert.is_nil(ok)
      assert.equal("timeout", err.kind)
      peer:call "release"
    end)

    it("sees other peers, and the favourite beside them", function()
      local one, other = connect.pair()
      other:on("echo", function(params) return params end)
      for i = 1, MANY do
        assert.same({ i }, one:call("echo", { i }))
        assert.same({ i }, peer:call("echo", { i }))
      end
      for i = 1, MANY do assert.same({ i }, one:call("echo", { i })) end
      for i = 1, MANY do assert.same({ i }, peer:call("echo", { i })) end
      one:close()
      other:close()
    end)

    it("sends more than a pipe holds", function()
      local text = ("x"):rep(3 << 20)
      assert.equal(text, peer:call("echo", { text })[1])
      assert.same({ 1 }, peer:call("echo", { 1 }))
    end)

    it("lets it end, and begin again with the same numbers", function()
      peer:close()
      if far then far:close() end
      peer, far = open { framing = "line" }
      for i = 1, MANY do assert.same({ i }, peer:call("echo", { i })) end
    end)

    it("sees its end", function()
      peer:notify "leave"
      assert.is_true(peer:join(children.patience))
    end)
  end)
end

describe("readiness, with a favourite that is interrupted,", function()
  local nothing_left, peer

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    peer:close()
    loop.step()
    nothing_left()
  end)

  it("sends the rest of a call all the same", function()
    -- Speaks up, twice, when it has read some of the call after the first MANY.
    local program = [[
      local function answer(line)
        io.write('{"jsonrpc":"2.0","id":', line:match '"id":(%d+)', ',"result":[]}\n')
        io.flush()
      end
      for _ = 1, tonumber(arg[1]) do answer(io.read()) end
      local first = io.read(100000)
      io.write '{"jsonrpc":"2.0","method":"note"}\n'
      io.flush()
      io.stderr:write "note\n"
      os.execute "sleep 0.05"
      answer(first .. io.read())
    ]]
    local noted, lines = 0, 0
    peer = assert(connect.open {
      command = children.lua(program, tostring(MANY)), on_stderr = function() lines = lines + 1 end,
    })
    peer:on("note", function() noted = noted + 1 end)
    for _ = 1, MANY do peer:call("echo", {}) end
    assert.same({}, peer:call("echo", { ("x"):rep(4 << 20) }, { timeout = children.patience }))
    assert.same({ 1, 1 }, { noted, lines })
  end)

  it("goes on with what it has read when a task turns the loop inside", function()
    peer = assert(transports["a program"] { framing = "line" })
    for i = 1, MANY do peer:call("echo", { i }) end
    local done = 0
    for i = 1, 5 do
      tasks.start(function()
        peer:call("echo", { i })
        coroutine.wrap(function() peer:call("echo", { i }, { timeout = children.patience }) end)()
        done = done + 1
      end)
    end
    assert.same({ "x" }, peer:call("echo", { "x" }, { timeout = children.patience }))
    tasks.run()
    assert.equal(5, done)
  end)
end)

-- In a program of its own, for nobody is the favourite from then on.
describe("readiness for another loop", function()
  local function prints(text, program)
    assert.same({ text, 0 }, { children.run { command = children.lua(program), stdin = "null" } })
  end

  it("is told by a descriptor", function()
    prints("hello\n", [[
      local core, loop = require "pintle.core", require "pintle.loop"
      local read, write = core.pipe()
      assert(loop.watch(read:fileno(), "r", { on_ready = function() print(read:read()) end }))
      local poller = core.poller()
      assert(poller:set(loop.fileno(), "r", true))
      assert(poller:wait(0) == 0)
      write:write "hello"
      assert(poller:wait(30) == 1)
      loop.step()
      assert(poller:wait(0) == 0)
    ]])
  end)

  it("is told although a peer was waited for by itself before", function()
    prints("told\n", [[
      local connect, core, loop = require "pintle.connect", require "pintle.core", require "pintle.loop"
      local peer = connect.open { command = { "lua5.4", "spec/support/far_side.lua", "line" } }
      for i = 1, 50 do peer:call("echo", { i }) end
      local poller = core.poller()
      poller:set(loop.fileno(), "r", true)
      for _ = 1, 50 do
        local call = peer:begin("echo", { "x" })
        while not call.done do
          assert(poller:wait(30) == 1)
          loop.step()
        end
      end
      peer:close()
      print "told"
    ]])
  end)
end)
