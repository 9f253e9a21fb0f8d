local core = require "pintle.core"
local children = require "spec.support.children"

-- A separate program that takes these signals and then runs `code`.
local prelude = [[
  local core = require "pintle.core"
  local signals = assert(core.signals(%s))
  local function say(...) print(...) io.stdout:flush() end
  local function await()
    assert(core.poll(%d, signals:fd(), "r"))
    return signals:next()
  end
]]

local function start(names, code)
  return assert(core.spawn { command = children.lua(prelude:format(names, children.patience) .. code) })
end

local function ending(process)
  local rest = children.read(process.stdout)
  local code, signal = process:wait(children.patience)
  return { rest, code or signal }
end

local function caught()
  return (select(3, children.signals()))
end

-- The mask with these signals in it, too.
local function more(mask, ...)
  local bits = tonumber(mask, 16)
  for _, signal in ipairs { ... } do bits = bits | 1 << (signal - 1) end
  return ("%016x"):format(bits)
end

describe("core.signals", function()
  local nothing_left, before

  before_each(function()
    nothing_left, before = children.stock(), caught()
  end)

  after_each(function()
    nothing_left()
    assert.equal(before, caught())
  end)

  it("returns signals as they arrive", function()
    local process <close> = start('{ "TERM", "HUP", "USR1" }', [[
      say "ready"
      say(await())
      say(await(), signals:next(), signals:next())
    ]])
    children.read(process.stdout, "ready\n")
    process:kill "TERM"
    children.read(process.stdout, "TERM\n")
    process:kill "USR1"
    assert.same({ "USR1\tnil\tnil\n", 0 }, ending(process))
  end)

  it("lets the second signal have its default effect", function()
    local process <close> = start('{ "TERM" }', [[
      say "ready"
      say(await())
      core.poll()
      core.poll()
    ]])
    children.read(process.stdout, "ready\n")
    process:kill "TERM"
    children.read(process.stdout, "TERM\n")
    process:kill "TERM"
    assert.same({ "", "TERM" }, ending(process))
  end)

  it("returns every signal if that is asked for", function()
    local process <close> = start('{ "TERM" }, false, true', [[
      say "ready"
      say(await())
      say(await())
    ]])
    children.read(process.stdout, "ready\n")
    process:kill "TERM"
    children.read(process.stdout, "TERM\n")
    process:kill "TERM"
    assert.same({ "TERM\n", 0 }, ending(process))
  end)

  it("lets the second signal end a program that does not read the first", function()
    local process <close> = start('{ "TERM" }', [[
      say "ready"
      while true do core.poll(0.01) end
    ]])
    children.read(process.stdout, "ready\n")
    process:kill "TERM"
    assert.is_false((process:wait(0.1)))
    process:kill "TERM"
    assert.same({ "", "TERM" }, ending(process))
  end)

  it("is noticed by the loop during another wait, and does not end that wait", function()
    local process <close> = start('{ "USR1" }', [[
      local loop = require "pintle.loop"
      local event = loop.event()
      loop.watch(signals:fd(), "r", { on_ready = function()
        say(signals:next())
        loop.after(0.01, function() event:set "set" end)
      end })
      say "ready"
      say((event:wait()))
    ]])
    children.read(process.stdout, "ready\n")
    process:kill "USR1"
    assert.same({ "USR1\nset\n", 0 }, ending(process))
  end)

  it("leaves signals alone that the program handles or ignores", function()
    local _, code, signal = children.run {
      command = { "env", "--ignore-signal=HUP", table.unpack(children.lua [[
        local core = require "pintle.core"
        local function caught()
          return tonumber(io.open "/proc/self/status":read "a":match "SigCgt:%s*(%x+)", 16)
        end
        local before = caught()
        local signals = core.signals { "HUP", "INT", "TERM", "KILL", "TERM" } -- lua has INT
        assert(caught() == before | 1 << 14)
        signals:close()
        assert(core.raise "TERM")
      ]]) },
    }
    assert.same({ n = 2, nil, "TERM" }, table.pack(code, signal))
  end)

  it("takes over handled signals with an option, and restores the handlers", function()
    local output, code = children.run {
      command = { "env", "--ignore-signal=HUP", table.unpack(children.lua [[
        local core = require "pintle.core"
        local function take() return assert(core.signals({ "HUP", "INT", "INT" }, true)) end
        local function interrupt() return io.popen "kill -INT $PPID":close() end -- os.execute would ignore it
        local signals = take()
        print(interrupt(), signals:next(), signals:next())
        signals:close()
        signals = take()
        print(interrupt(), signals:next())
      ]]) },
    }
    assert.same({ "true\tINT\tnil\ntrue\tINT\n", 0 }, { output, code })
    assert.same({ "false\tinterrupted!\n", 0 }, { children.run { command = children.lua [[
      local core = require "pintle.core"
      assert(core.signals({ "INT" }, true)):close()
      local ok, message = pcall(function()
        io.popen "kill -INT $PPID":close()
        for _ = 1, 1e6 do end
      end)
      print(ok, (message:gsub("^.*: ", "")))
    ]] } })
  end)

  it("restores the handlers when it is closed", function()
    local signals = assert(core.signals { "USR1", "USR2" })
    assert.equal(more(before, 10, 12), caught())
    assert.equal("integer", math.type(signals:fd()))
    signals:close()
    assert.equal(before, caught())
    assert.is_nil(signals:fd())
    assert.is_nil(signals:next())
    signals:close()
    do
      local _ <close> = assert(core.signals { "USR1" })
    end
    assert.equal(before, caught())
    assert(core.signals { "USR1" })
    assert.equal(more(before, 10), caught())
    collectgarbage()
    assert.equal(before, caught())
  end)

  it("exists once per process", function()
    local one <close> = assert(core.signals { "USR1" })
    local two, message, kind = core.signals { "USR2" }
    assert.same({ n = 3, nil, "signals are watched in this process already", "full" },
      table.pack(two, message, kind))
    one:close()
    local again <close> = assert(core.signals { "USR2" })
    assert.equal(more(before, 12), caught())
    again:close()
  end)

  it("has no effect on a child", function()
    local signals <close> = assert(core.signals { "TERM", "USR1" })
    local process <close> = assert(core.spawn { command = { "cat" } })
    process:kill "USR1"
    assert.same({ "", "USR1" }, ending(process))
    assert.is_nil(signals:next())
  end)

  it("returns names of signals", function()
    assert.has_error(function() core.signals { "TERM", "NONSENSE" } end,
      "bad argument #1 to 'signals' (unknown signal 'NONSENSE')")
    assert.has_error(function() core.signals { 15 } end, "bad argument #1 to 'signals' (a signal's name expected)")
    assert.has_error(function() core.signals "TERM" end)
    local many = {}
    for i = 1, 33 do many[i] = "TERM" end
    assert.has_error(function() core.signals(many) end, "bad argument #1 to 'signals' (too many names)")
    local none <close> = assert(core.signals {})
    assert.equal(before, caught())
    none:close()
  end)
end)

describe("core.raise", function()
  local function ended(code)
    local _, status, signal = children.run { command = children.lua('local core = require "pintle.core" ' .. code) }
    return status or signal
  end

  it("ends the program by the signal", function()
    assert.equal("TERM", ended 'core.raise "TERM"')
    assert.equal("KILL", ended 'core.raise "KILL"')
    assert.equal("INT", ended 'core.raise "INT"') -- which lua has taken
  end)

  it("does so if the signal is caught, ignored or blocked", function()
    assert.equal("TERM", ended 'local s = core.signals { "TERM" } core.raise "TERM" print(s:next())')
    local _, _, signal = children.run {
      command = { "env", "--ignore-signal=HUP", "--block-signal=HUP",
        table.unpack(children.lua 'require "pintle.core".raise "HUP"') },
    }
    assert.equal("HUP", signal)
  end)

  it("returns if the signal does nothing", function()
    assert.is_true(core.raise "WINCH")
    assert.has_error(function() core.raise "NONSENSE" end, "bad argument #1 to 'raise' (unknown signal 'NONSENSE')")
    assert.has_error(function() core.raise() end)
  end)
end)
