-- Calls from outside of tasks: the caller turns the loop until it has its answer.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local transports = require "spec.support.transports"
local turn_until = require "spec.support.turning"

local nothing_left

local function echo(params) return params end

local function settle()
  tasks.run()
  loop.step()
  assert.is_nil(loop.current())
  nothing_left()
end

for name, open in pairs(transports) do
  describe("calls from outside of tasks, over " .. name .. ",", function()
    local peer, far

    before_each(function()
      nothing_left = children.stock()
      peer, far = open { framing = "line", timeout = children.patience }
      peer:on("ping", function(params, ctx)
        return params.depth == 0 and 0 or ctx:call("ping", { depth = params.depth - 1 }) + 1
      end)
    end)

    after_each(function()
      peer:close()
      if far then far:close() end
      peer, far = nil, nil
      settle()
    end)

    local function assert_usable()
      for i = 1, 3 do assert.same({ i }, peer:call("echo", { i })) end
    end

    it("are answered one after another", function()
      for i = 1, 200 do assert.same({ i }, peer:call("echo", { i })) end
      assert.is_nil(loop.timeout())
    end)

    it("can be nested to any depth", function()
      assert.equal(150, peer:call("ping", { depth = 150 }))
      assert_usable()
    end)

    for title, wrap in pairs {
      ["in a callback of C"] = function(fn)
        local result, err
        string.gsub("x", "x", function() result, err = fn() end)
        return result, err
      end,
      ["in a coroutine"] = function(fn) return coroutine.wrap(fn)() end,
    } do
      it("can be nested in handlers that cannot yield, at least 40 levels, and then fail: " .. title, function()
        peer.on_error = function() end
        peer:on("ping", function(params, ctx)
          if params.depth == 0 then return 0 end
          local result, err = wrap(function() return ctx:call("ping", { depth = params.depth - 1 }) end)
          return result and result + 1, err
        end)
        assert.equal(40, peer:call("ping", { depth = 40 }))
        local result, err = peer:call("ping", { depth = 2000 })
        assert.same({ nil, "remote" }, { result, err.kind })
        assert.matches("C stack overflow", err.message)
        assert_usable()
      end)
    end

    it("can be made in coroutines, many at a time", function()
      local function generate()
        return coroutine.wrap(function()
          for i = 1, 5 do coroutine.yield(peer:call("echo", { i })[1]) end
        end)
      end
      local all = { generate(), generate(), generate() }
      for i = 1, 5 do
        for _, one in ipairs(all) do assert.equal(i, one()) end
      end
    end)

    it("can be made where yielding is impossible", function()
      local list = { 3, 1, 2 }
      table.sort(list, function(a, b) return peer:call("echo", { a < b })[1] end)
      assert.same({ 1, 2, 3 }, list)
    end)

    it("can be made by callbacks of the loop", function()
      local got
      loop.soon(function() got = peer:call("echo", { 1 })[1] + peer:call("echo", { 2 })[1] end)
      turn_until(function() return got end)
      assert.equal(3, got)
    end)

    it("let others run", function()
      local others = 0
      local timer = loop.after(0.001, function() others = others + 1 end)
      local task = tasks.start(function()
        while loop.sleep(0.001) do others = others + 1 end
      end)
      turn_until(function()
        assert.same({ 1 }, peer:call("echo", { 1 }))
        return others > 5
      end)
      loop.cancel(timer)
      task:cancel()
    end)

    it("continue while tasks make other calls", function()
      local done = 0
      for i = 1, 5 do
        tasks.start(function()
          peer:call("echo", { i })
          coroutine.wrap(function() peer:call("echo", { i }) end)()
          done = done + 1
        end)
      end
      assert.same({ "x" }, peer:call("echo", { "x" }))
      tasks.run()
      assert.equal(5, done)
    end)

    it("work beside other descriptors", function()
      local read, write = core.pipe()
      local seen = 0
      local watcher = { on_ready = function() seen = seen + #read:read() end }
      assert(loop.watch(read:fileno(), "r", watcher))
      for i = 1, 3 do
        write:write "x"
        turn_until(function()
          assert_usable()
          return seen == i
        end)
      end
      loop.unwatch(read:fileno(), watcher)
      read:close()
      write:close()
    end)

    it("work beside other peers", function()
      local one, other = connect.pair()
      other:on("echo", echo)
      for i = 1, 50 do
        assert.same({ i }, one:call("echo", { i }))
        assert.same({ i }, peer:call("echo", { i }))
      end
      one:close()
      other:close()
    end)

    it("can send more than a pipe holds", function()
      local text = ("x"):rep(3 << 20)
      assert.equal(text, peer:call("echo", { text })[1])
      assert_usable()
    end)

    it("return a result and nil, or nil and an error", function()
      local result, err = peer:call("fail_with", { "no" })
      assert.same({ nil, "remote", "no" }, { result, err.kind, err.message })
      assert.same({ core.json.null, nil, n = 2 }, table.pack(peer:call "nothing"))
      assert_usable()
    end)

    it("fail if they cannot be encoded", function()
      local result, err = peer:call("echo", { print })
      assert.same({ nil, "invalid" }, { result, err.kind })
      assert.error_matches(function() peer:call(nil) end, "method: string expected, got nil")
      assert.error_matches(function() peer:call("echo", nil, { typo = 1 }) end, 'no option "typo"')
      assert.error_matches(function() peer:call("echo", nil, { timeout = -1 }) end, "timeout: seconds expected")
      assert_usable()
    end)

    it("end at their deadlines, and a late answer is dropped", function()
      for _ = 1, 3 do
        local begun = core.now()
        local result, err = peer:call("hold", {}, { timeout = 0.02 })
        assert.same({ nil, "timeout" }, { result, err.kind })
        assert.truthy(core.now() - begun >= 0.02)
        peer:call "release"
        assert_usable()
      end
      assert.is_nil(loop.timeout())
    end)

    it("end at their own deadlines when they are nested", function()
      local inner
      loop.after(0.001, function() inner = select(2, peer:call("hold", {}, { timeout = 0.02 })) end)
      local _, err = peer:call("hold", {}, { timeout = 0.05 })
      assert.same({ "timeout", 0.05, 0.02 }, { err.kind, err.elapsed, inner.elapsed })
      peer:call "release"
      assert_usable()
    end)

    it("work after an error that passed through the turn, once and many times", function()
      for i = 1, 20 do
        loop.after(0.001, error, "through " .. i)
        assert.error_matches(function() peer:call("hold", {}) end, "through " .. i)
        if i % 3 == 0 then peer:call "release" end
        assert_usable()
      end
      assert.equal(150, peer:call("ping", { depth = 150 }))
    end)

    it("work after an error that passed through nested calls", function()
      for _ = 1, 3 do
        loop.after(0.001, function()
          loop.after(0.001, error, "from within")
          peer:call("hold", {})
        end)
        assert.error_matches(function() peer:call("hold", {}) end, "from within")
        peer:call "release"
        assert_usable()
      end
    end)

    it("keep nothing of answers that come after such an error", function()
      local function kilobytes()
        collectgarbage()
        collectgarbage()
        return collectgarbage "count"
      end
      local function abandon()
        loop.soon(error, "through")
        assert.error_matches(function() peer:call("echo", { ("x"):rep(100000) }) end, "through")
        assert_usable()
      end
      abandon()
      local before = kilobytes()
      for _ = 1, 30 do abandon() end
      assert.equal(0, peer.stream:waiting())
      assert.truthy(kilobytes() - before < 1000)
    end)

    it("fail when the other side ends, and from then on", function()
      loop.after(0.001, function() peer:notify "leave" end)
      local _, err = peer:call("hold", {})
      assert.equal("closed", err.kind)
      _, err = peer:call("echo", {})
      assert.equal("closed", err.kind)
    end)

    it("fail when the peer is closed meanwhile", function()
      loop.after(0.001, function() peer:close() end)
      local result, err = peer:call("hold", {})
      assert.same({ nil, "closed" }, { result, err.kind })
    end)

    it("keep nothing of their answers", function()
      local kept = setmetatable({}, { __mode = "k" })
      for i = 1, 3 do
        local params = { i }
        kept[params], kept[peer:call("echo", params)] = true, true
      end
      collectgarbage()
      collectgarbage()
      assert.is_nil(next(kept))
    end)
  end)
end

-- A program that answers each method in a different way.
local ANSWERING = [[
  local ways = {}
  function ways.hang() return true end
  function ways.whisper() io.stderr:write "psst\n" end
  function ways.spill() io.stderr:write(("so much to say\n"):rep(100000)) end
  function ways.late() os.execute "sleep 0.1" end
  function ways.note() print '{"jsonrpc":"2.0","method":"note"}' end
  function ways.leave()
    os.execute "sleep 1000 &"
    os.exit(3)
  end
  io.stdout:setvbuf "line"
  for line in io.lines() do
    local id, method = line:match '"id":(%d+),"method":"(%a+)"'
    local way = ways[method]
    if id and (not way or not way()) then print(('{"jsonrpc":"2.0","id":%s,"result":true}'):format(id)) end
  end
]]

describe("calls to a program from outside of tasks", function()
  local peer, lines

  before_each(function()
    nothing_left = children.stock()
    lines = {}
    peer = assert(connect.open {
      command = children.lua(ANSWERING), timeout = children.patience,
      on_stderr = function(line) lines[#lines + 1] = line end,
    })
    for _ = 1, 20 do assert.is_true(peer:call "echo") end
  end)

  after_each(function()
    peer:close()
    peer = nil
    settle()
  end)

  it("end at their deadlines, also if the answer comes later", function()
    for _ = 1, 3 do
      local _, err = peer:call("late", nil, { timeout = 0.02 })
      assert.equal("timeout", err.kind)
      assert.is_true(peer:call "echo")
    end
  end)

  it("fail at once when the program ends, although another process holds its output", function()
    local _, err = peer:call("leave", nil, { timeout = false })
    assert.same({ "closed", { code = 3 } }, { err.kind, err.exit })
  end)

  it("do not block a program that writes to its stderr", function()
    assert.is_true(peer:call("spill", nil, { timeout = false }))
    turn_until(function() return #lines == 100000 end)
  end)

  it("let its stderr be read meanwhile", function()
    peer:call "whisper"
    turn_until(function()
      peer:call "echo"
      return lines[1] == "psst"
    end)
  end)

  it("let its notifications be handled meanwhile", function()
    local noted = 0
    peer:on("note", function() noted = noted + 1 end)
    for _ = 1, 3 do assert.is_true(peer:call "note") end
    assert.equal(3, noted)
  end)

  it("are sent completely although other messages are queued first", function()
    peer:on("note", function() peer:notify("filler", { ("y"):rep(1 << 20) }) end)
    peer:notify "note"
    assert.is_true(peer:call("echo", { ("x"):rep(4 << 20) }))
    assert.is_true(peer:call "echo")
  end)

  it("work with a new peer that gets the same descriptor numbers", function()
    for _ = 1, 3 do
      peer:close()
      peer = assert(connect.open { command = children.lua(ANSWERING) })
      for _ = 1, 5 do assert.is_true(peer:call "echo") end
    end
  end)
end)

describe("a program in the middle of a call", function()
  local HOST = [[
    local peer = require("pintle").connect { command = { "lua5.4", "-e", %q }, stderr = "null" }
    for _ = 1, 10 do peer:call "echo" end
    print(pcall(function()
      io.stderr:write "ready\n"
      peer:call("hang", nil, { timeout = %s })
    end))
    print((peer:call "echo"))
    peer:close()
  ]]

  local function is_asleep(pid)
    local stat <close> = assert(io.open(("/proc/%d/stat"):format(pid)))
    return stat:read("a"):match "%) (%a)" == "S"
  end

  local function await_sleep(pid)
    local latest = core.now() + children.patience
    while not is_asleep(pid) do assert(core.now() < latest, "it never waited") end
  end

  before_each(function() nothing_left = children.stock() end)
  after_each(function() nothing_left() end)

  for how, timeout in pairs { ["for ever"] = "false", ["for a time"] = "60" } do
    it("that waits " .. how .. " is stopped by Ctrl-C, and can call again", function()
      local process <close> = assert(core.spawn {
        command = children.lua(HOST:format(ANSWERING, timeout)), stderr = "pipe",
      })
      assert.equal("ready\n", children.read(process.stderr, "ready\n"))
      await_sleep(process:pid())
      process:kill "INT"
      assert.matches("^false\t.*interrupted!\ntrue\n$", children.read(process.stdout))
      assert.equal(0, (process:wait(children.patience)))
    end)
  end

  it("has one timer, for the watchdog", function()
    if not io.open "/proc/self/timers" then return pending "no /proc/self/timers here" end
    local text = children.run {
      command = children.lua(([[
        local peer = require("pintle").connect { command = { "lua5.4", "-e", %q } }
        for _ = 1, 100 do assert(peer:call "echo") end
        local list <close> = assert(io.open "/proc/self/timers")
        print((select(2, list:read("a"):gsub("signal:", ""))))
        peer:close()
      ]]):format(ANSWERING)),
    }
    assert.equal("1\n", text)
  end)
end)

describe("calls of a host from outside of tasks", function()
  local host, greeter

  before_each(function()
    nothing_left = children.stock()
    host = require("pintle").host { log = false }
    greeter = assert(host:start { command = { "lua5.4", "spec/support/plugins/greeter.lua" } })
  end)

  after_each(function()
    host:stop()
    host, greeter = nil, nil
    settle()
  end)

  local function greet() return greeter:execute("greet", { name = "Ada" }).message end

  it("can be made in turn, in coroutines and by callbacks", function()
    for _ = 1, 10 do assert.equal("Hello, Ada", greet()) end
    assert.equal("Hello, Ada", coroutine.wrap(greet)())
    local got
    loop.soon(function() got = greet() end)
    assert.equal("Hello, Ada", greet())
    turn_until(function() return got end)
  end)

  it("work after an error that passed through the turn", function()
    for _ = 1, 3 do
      loop.soon(error, "through")
      assert.error_matches(greet, "through")
      assert.equal("Hello, Ada", greet())
    end
  end)
end)
