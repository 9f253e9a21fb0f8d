-- Reads that wait under a guard: by itself (see spec/support/guard.c), and in hosts that call again and again.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local lfs = require "lfs"

local is_linux = lfs.attributes("/proc/self/fdinfo", "mode") ~= nil
local describe_here = is_linux and describe or pending

describe_here("a guard over a read", function()
  local program

  setup(function()
    program = os.tmpname()
    local sources = "spec/support/guard.c csrc/guard.c csrc/io.c csrc/tick.c"
    assert(os.execute(("${CC:-cc} -std=c11 -O1 -o %s %s"):format(program, sources)))
  end)

  teardown(function() os.remove(program) end)

  -- After a start, and that it holds from then on.
  local function plays(scene, expected)
    it(scene.what, function()
      local text, code = children.run { command = { program, scene[1] } }
      assert.equal("no holds " .. expected, text)
      assert.equal(0, code)
    end)
  end

  plays({ "what is there", what = "gives what is there, from a file that may wait" }, "2 blocking ")
  plays({ "in vain", what = "ends it by itself, and does not hinder the next" }, "EAGAIN not 2 blocking ")
  plays({ "too late", what = "ends one that only begins after the beat" }, "2 blocking EAGAIN ")
  plays({ "rest", what = "rests when nobody needs it, and starts again" }, "no holds ")
  plays({ "after all", what = "does not let one begin that it no longer watches over" }, "EAGAIN ")
  plays({ "going on", what = "does not rest while one is under way" }, "beats ")
  plays({ "blocked", what = "does not hold while signals are blocked" }, "no holds ")
  plays({ "taken", what = "does not hold once its signal is somebody else's" }, "holds no ")
  plays({ "forked", what = "does not hold in a fork" }, "no holds ")
  plays({ "closed", what = "does not hold when it is closed" }, "no ")
end)

-- A program that answers by hand, unless it is told to do otherwise.
local ANSWERING = [[
  local ways = {}
  function ways.hang() return true end
  function ways.whisper() io.stderr:write "psst\n" end
  function ways.spill() io.stderr:write(("so much to say\n"):rep(100000)) end
  function ways.leave()
    os.execute "sleep 1000 &"
    os.exit(3)
  end
  io.stdout:setvbuf "line"
  for line in io.lines() do
    local id, method = line:match '"id":(%d+),"method":"(%a+)"'
    local way = ways[method]
    if not way or not way() then print(('{"jsonrpc":"2.0","id":%s,"result":true}'):format(id)) end
  end
]]

describe_here("calls that follow each other closely", function()
  local nothing_left, peer, lines

  before_each(function()
    nothing_left = children.stock()
    lines = {}
    peer = assert(connect.open {
      command = children.lua(ANSWERING),
      on_stderr = function(line) lines[#lines + 1] = line end,
    })
  end)

  after_each(function()
    peer:close()
    peer = nil
    nothing_left()
  end)

  local function calls_until(is_so)
    local latest = core.now() + children.patience
    repeat
      assert(core.now() < latest, "it never came to that")
      assert.is_true(peer:call "echo")
    until is_so()
  end

  -- Whether the last answer was read by a read that might have waited.
  local function is_guarded()
    local info <close> = assert(io.open("/proc/self/fdinfo/" .. peer.stream:fds()))
    local flags = tonumber(info:read("a"):match "flags:%s*(%d+)", 8)
    return flags & tonumber("4000", 8) == 0
  end

  it("wait for their answers alone", function() calls_until(is_guarded) end)

  it("are given up in time", function()
    for _ = 1, 3 do
      calls_until(is_guarded)
      local _, err = peer:call("hang", nil, { timeout = 0.15 })
      assert.equal("timeout", err.kind)
    end
    calls_until(is_guarded)
  end)

  it("fail at once when the program ends and something else holds its output", function()
    calls_until(is_guarded)
    local _, err = peer:call("leave", nil, { timeout = children.patience })
    assert.same({ "closed", { code = 3 } }, { err.kind, err.exit })
  end)

  it("do not keep the program from writing to its stderr", function()
    calls_until(is_guarded)
    assert.is_true(peer:call("spill", nil, { timeout = children.patience }))
    calls_until(function() return #lines == 100000 end)
  end)

  it("let its stderr be seen in between", function()
    calls_until(is_guarded)
    peer:call "whisper"
    calls_until(function() return lines[1] == "psst" end)
  end)
end)

local has_timers = lfs.attributes("/proc/self/timers", "mode") ~= nil

-- One is there to reach who computes, and a guard has another.
(has_timers and describe or pending)("the timers of a program that calls again and again", function()
  local HOST = [[
    local core = require "pintle.core"
    local pintle = require "pintle"
    local process
    local transports = {}
    function transports.pipes(command)
      process = assert(core.spawn { command = command })
      return { read = process.stdout, write = process.stdin }
    end
    function transports.sockets(command)
      local here, there = assert(core.socketpair())
      process = assert(core.spawn { command = command, stdin = there, stdout = there })
      return { read = here, write = here }
    end
    local function timers()
      local list <close> = assert(io.open "/proc/self/timers")
      return select(2, list:read("a"):gsub("signal:", ""))
    end
    local peer = assert(pintle.connect(transports.%s { "lua5.4", "-e", %q }))
    for _ = 1, 1000 do assert(peer:call "echo") end
    print(timers())
    peer:close()
  ]]
  local SERVER = [[
    local peer = require("pintle").connect { stdio = true }
    peer:on("echo", function() return true end)
    peer:join()
  ]]

  local function are(transport, count)
    it("are " .. count .. " over " .. transport, function()
      local text = children.run { command = children.lua(HOST:format(transport, SERVER)) }
      assert.equal(count .. "\n", text)
    end)
  end

  are("pipes", 2)
  are("sockets", 1)
end)

describe_here("a program in the middle of such calls", function()
  local HOST = [[
    local peer = require("pintle").connect { command = { "lua5.4", "-e", %q }, stderr = "null" }
    for _ = 1, 1000 do peer:call "echo" end
    print(pcall(function()
      io.stderr:write "ready\n"
      peer:call("hang", nil, { timeout = false })
    end))
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

  it("is stopped by Ctrl-C", function()
    local process <close> = assert(core.spawn {
      command = children.lua(HOST:format(ANSWERING)),
      stderr = "pipe",
    })
    assert.equal("ready\n", children.read(process.stderr, "ready\n"))
    await_sleep(process:pid())
    process:kill "INT"
    assert.matches("^false\t.*interrupted!", children.read(process.stdout))
    assert.equal(0, (process:wait(children.patience)))
  end)
end)
