-- Child processes on the loop: their stderr, their end, and how they are stopped.
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
local process = require "pintle.process"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

local patience = children.patience

describe("a child", function()
  local nothing_left, child, lines, exits

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    if child then child:close() end
    child = nil
    loop.step()
    assert.is_nil(loop.timeout())
    nothing_left()
  end)

  local function start(command, options)
    lines, exits = {}, {}
    local given = {
      command = command, stdin = "null", stdout = "null",
      on_stderr = function(line) lines[#lines + 1] = line end,
      on_exit = function(exit) exits[#exits + 1] = exit end,
    }
    for name, value in pairs(options or {}) do given[name] = value end
    child = assert(process.start(given))
    return child
  end

  -- A zombie counts as dead.
  local function is_alive(pid)
    local file <close> = io.open(("/proc/%d/stat"):format(pid))
    return file ~= nil and not file:read "a":find "%) Z"
  end

  describe("ends", function()
    it("with a status", function()
      start(children.sh "exit 3")
      assert.same({ code = 3 }, child:wait(patience))
      assert.same({ { code = 3 } }, exits)
      assert.same({ code = 3 }, child:wait())
    end)

    it("by a signal", function()
      start(children.sh "kill -KILL $$")
      assert.same({ signal = "KILL" }, child:wait(patience))
    end)

    it("and is no zombie, even if nothing waits for it", function()
      start(children.sh "exit 0")
      local path = ("/proc/%d/stat"):format(child.pid)
      turn_until(function() return child.exit end)
      assert.is_nil(io.open(path))
    end)

    it("after a wait for it has timed out", function()
      start { "sleep", "1000" }
      local exit, err = child:wait(0.01)
      assert.is_nil(exit)
      assert.equal("timeout", err.kind)
      assert.is_nil(child.exit)
    end)

    it("for all waiting callers, in tasks and outside", function()
      start(children.sh "sleep 0.05; exit 4")
      local function wait() return child:wait(patience) end
      local waiting = { tasks.start(wait), tasks.start(wait) }
      assert.same({ code = 4 }, wait())
      for _, task in ipairs(waiting) do assert.same({ code = 4 }, task:await()) end
    end)

    it("and the rest of its process group is killed", function()
      start(children.sh "sleep 1000 & echo $! >&2; exit 0")
      child:wait(patience)
      turn_until(function() return not is_alive(tonumber(lines[1])) end)
    end)

    it("with an error of on_exit going to loop.on_error", function()
      local on_error, reported = loop.on_error, nil
      loop.on_error = function(err) reported = err end
      start(children.sh "exit 5", { on_exit = function() error("oops", 0) end })
      assert.same({ code = 5 }, child:wait(patience))
      loop.on_error = on_error
      assert.equal("oops", reported)
    end)
  end)

  it("that cannot be started is an error", function()
    local started, err = process.start { command = { "/no/such/program" } }
    assert.is_nil(started)
    assert.equal("spawn", err.kind)
    assert.matches('cannot run "/no/such/program"', err.message)
    assert.equal(2, err.errno)
  end)

  describe("writes to stderr", function()
    local function say(code)
      start(children.sh(code))
      child:wait(patience)
      return lines
    end

    it("lines, whatever they end with", function()
      assert.same({ "one", "two", "", "three" }, say [[printf 'one\ntwo\r\n\nthree' >&2]])
      assert.same({ "one", "two", "", "three" }, child.lines)
    end)

    it("nothing at all", function() assert.same({}, say "true") end)

    it("a line in pieces", function()
      local pieces = "printf 'in ' >&2; sleep 0.02; printf 'three ' >&2; sleep 0.02; echo pieces >&2"
      assert.same({ "in three pieces" }, say(pieces))
    end)

    it("many lines, and the last are kept", function()
      assert.equal(1000, #say "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo line $i; done >&2")
      assert.equal(20, #child.lines)
      assert.equal("line 1000", child.lines[20])
      assert.equal("line 981", child.lines[1])
    end)

    it("a line without end, and its beginning is kept", function()
      say "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo short >&2"
      assert.same({ ("x"):rep(8192) .. "…", "short" }, lines)
    end)

    it("a line without end, and memory does not grow", function()
      start(children.sh "exec tr '\\0' x < /dev/zero >&2")
      turn_until(function() return #child.rest > 8192 end)
      for _ = 1, 50 do loop.step(0.001) end
      assert.truthy(#child.rest <= 2 * 8192 + 1)
    end)

    it("its last line when it is killed", function()
      start(children.sh "echo last words >&2; sleep 1000")
      turn_until(function() return #lines == 1 end)
      child:close()
      assert.same({ "last words" }, lines)
      assert.same({ signal = "KILL" }, child.exit)
    end)

    it("a flood, and other tasks still run", function()
      local count = 0
      start({ "sh", "-c", "exec yes flood >&2" }, { on_stderr = function() count = count + 1 end })
      turn_until(function() return count > 10000 end)
      for _ = 1, 10 do assert.is_true(loop.sleep(0.001)) end
      child:close()
      assert.equal(20, #child.lines)
    end)

    it("its last line although another process holds its stderr", function()
      local leaving = "setsid sh -c 'echo $$ >&2; exec sleep 1000' & read go; echo bye >&2; exit 6"
      start(children.sh(leaving), { stdin = "pipe" })
      turn_until(function() return lines[1] end)
      local pid = tonumber(lines[1])
      child.process.stdin:write "go\n"
      assert.same({ code = 6 }, child:wait(patience))
      assert.equal("bye", lines[2])
      assert.is_true(is_alive(pid))
      os.execute("kill -KILL " .. pid)
    end)

    it("a line for which on_stderr raises, and continues", function()
      local on_error, reported, heard = loop.on_error, 0, 0
      loop.on_error = function() reported = reported + 1 end
      start(children.sh "echo a >&2; echo b >&2", {
        on_stderr = function()
          heard = heard + 1
          error "no"
        end,
      })
      child:wait(patience)
      loop.on_error = on_error
      assert.same({ 2, 2 }, { reported, heard })
    end)
  end)

  describe("is stopped", function()
    local steps

    local function stop(stop_timeouts, options)
      steps = {}
      local given = {
        stop_timeouts = stop_timeouts,
        ask = function(seconds) steps[#steps + 1] = "ask " .. seconds end,
        close_input = function()
          steps[#steps + 1] = "eof"
          if child.process.stdin then child.process.stdin:close() end
        end,
      }
      for name, value in pairs(options or {}) do given[name] = value end
      return child:stop(given)
    end

    -- Writes to stderr when it is ready.
    local function ready(code, options)
      start(children.sh(code), options)
      turn_until(function() return lines[1] == "ready" end)
    end

    it("by `ask`", function()
      ready("echo ready >&2; read line; exit 0", { stdin = "pipe" })
      local exit = stop({ request = patience }, {
        ask = function() child.process.stdin:write "enough\n" end,
      })
      assert.same({ code = 0 }, exit)
      assert.same({}, steps)
    end)

    it("by closing its input", function()
      ready("echo ready >&2; cat > /dev/null; exit 7", { stdin = "pipe" })
      assert.same({ code = 7 }, stop { request = 0.01, eof = patience })
      assert.same({ "ask 0.01", "eof" }, steps)
    end)

    it("by SIGTERM", function()
      ready("trap 'exit 8' TERM; echo ready >&2; while :; do sleep 0.01; done")
      assert.same({ code = 8 }, stop { request = 0, eof = 0.01, term = patience })
      assert.same({ "eof" }, steps)
    end)

    it("by SIGKILL if it ignores SIGTERM", function()
      ready("trap '' TERM; echo ready >&2; while :; do sleep 0.01; done")
      assert.same({ signal = "KILL" }, stop { request = 0, eof = 0, term = 0.02 })
    end)

    it("with its process group", function()
      ready("trap '' TERM; sleep 1000 & echo ready >&2; echo $! >&2; wait")
      turn_until(function() return lines[2] end)
      stop { request = 0, eof = 0, term = 0 }
      turn_until(function() return not is_alive(tonumber(lines[2])) end)
    end)

    it("even without a process group of its own", function()
      ready("echo ready >&2; exec sleep 1000", { group = false })
      assert.same({ signal = "TERM" }, stop { request = 0, eof = 0, term = patience })
    end)

    it("although `ask` raises", function()
      local on_error, reported = loop.on_error, nil
      loop.on_error = function(err) reported = err end
      ready("echo ready >&2; exec sleep 1000")
      assert.same({ signal = "TERM" }, stop({ request = 0.01, eof = 0, term = patience }, {
        ask = function() error("no", 0) end,
      }))
      loop.on_error = on_error
      assert.equal("no", reported)
    end)

    it("when it has ended already", function()
      start(children.sh "exit 0")
      child:wait(patience)
      assert.same({ code = 0 }, stop {})
      assert.same({}, steps)
    end)

    it("without changing the given stop_timeouts", function()
      start(children.sh "exit 0")
      local stop_timeouts = { eof = 1 }
      stop(stop_timeouts)
      assert.same({ eof = 1 }, stop_timeouts)
      assert.is_nil(getmetatable(stop_timeouts))
    end)
  end)

  describe("is closed", function()
    it("twice, and is gone", function()
      start { "sleep", "1000" }
      local pid = child.pid
      child:close()
      child:close()
      assert.is_false(is_alive(pid))
      assert.same({ signal = "KILL" }, child.exit)
      assert.same({ { signal = "KILL" } }, exits)
    end)

    it("at the end of a block", function()
      local pid
      do
        local started <close> = start { "sleep", "1000" }
        pid = started.pid
      end
      assert.is_false(is_alive(pid))
    end)

    it("while a task waits for it, which returns", function()
      start { "sleep", "1000" }
      local task = tasks.start(function() return child:wait(patience) end)
      child:close()
      assert.same({ signal = "KILL" }, task:await())
    end)
  end)

  it("is polled where the system has no descriptor for its end", function()
    local spawn = core.spawn
    -- A process without a descriptor for its end.
    core.spawn = function(options) -- luacheck: ignore 122
      local real = assert(spawn(options))
      return setmetatable({}, {
        __index = function(_, name)
          if name == "fd" then return function() return nil end end
          local value = real[name]
          if type(value) ~= "function" then return value end
          return function(_, ...) return value(real, ...) end
        end,
      })
    end
    start(children.sh "sleep 0.03; exit 9")
    core.spawn = spawn -- luacheck: ignore 122
    assert.same({ code = 9 }, child:wait(patience))
  end)
end)
