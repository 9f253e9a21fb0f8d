local core = require "pintle.core"
local children = require "spec.support.children"

local lua, sh, read, run = children.lua, children.sh, children.read, children.run

describe("a descriptor", function()
  local nothing_left, opened

  local function keep(one, other)
    opened = { one, other }
    return one, other
  end

  before_each(function() nothing_left, opened = children.stock(), {} end)

  after_each(function()
    for _, fd in ipairs(opened) do fd:close() end
    nothing_left()
  end)

  it("reads what the other end of the pipe wrote", function()
    local r, w = keep(core.pipe())
    assert.equal(5, w:write("hello"))
    assert.equal("hello", r:read())
  end)

  it("reads no more than it is asked for", function()
    local r, w = keep(core.pipe())
    w:write("hello")
    assert.equal("he", r:read(2))
    assert.equal("llo", r:read(1 << 40))
  end)

  it("transfers every byte value", function()
    local r, w = keep(core.pipe())
    local bytes = {}
    for i = 0, 255 do bytes[#bytes + 1] = string.char(i) end
    w:write(table.concat(bytes))
    assert.equal(table.concat(bytes), r:read())
  end)

  it("returns false when there is nothing to read yet", function()
    local r, w = keep(core.pipe())
    assert.is_false(r:read())
    assert.is_false(w:closed())
  end)

  it("returns an empty string at the end of input", function()
    local r, w = keep(core.pipe())
    w:close()
    assert.equal("", r:read())
    assert.equal("", r:read())
  end)

  it("returns false when there is no room to write", function()
    local r, w = keep(core.pipe())
    local written, n = 0, 0
    while n do
      written = written + n
      n = w:write(("x"):rep(100000))
    end
    assert.is_false(n)
    assert.is_true(written >= 4096)
    assert.equal("x", r:read(1))
  end)

  it("fails to write when the reader has closed, and the program survives", function()
    local r, w = keep(core.pipe())
    r:close()
    local n, message, kind, errno = w:write("x")
    assert.is_nil(n)
    assert.equal("cannot write: Broken pipe", message)
    assert.equal("closed", kind)
    assert.equal(32, errno)
  end)

  it("fails to write to the reading end, and to read from the writing end", function()
    local r, w = keep(core.pipe())
    assert.equal("closed", select(3, r:write("x")))
    local data, message = w:read()
    assert.is_nil(data)
    assert.equal("cannot read: Bad file descriptor", message)
  end)

  it("can be closed twice, and does nothing afterwards", function()
    local r = keep(core.pipe())
    r:close()
    r:close()
    assert.is_true(r:closed())
    assert.equal("pintle.fd (closed)", tostring(r))
    for _, method in ipairs { "read", "write", "fileno" } do
      assert.error_matches(function() r[method](r, "1") end, "the descriptor is closed")
    end
  end)

  it("is closed by the collector", function()
    core.pipe()
  end)

  it("has a number", function()
    local r, w = keep(core.pipe())
    assert.is_true(r:fileno() > 2)
    assert.not_equal(r:fileno(), w:fileno())
    assert.equal(("pintle.fd (%d)"):format(r:fileno()), tostring(r))
  end)

  it("rejects wrong objects and arguments", function()
    local r, w = keep(core.pipe())
    for _, method in ipairs { "read", "write", "close", "closed", "fileno" } do
      assert.has_error(function() r[method](nil) end)
      assert.has_error(function() r[method](io.stdout) end)
    end
    assert.has_error(function() r:read(0) end)
    assert.has_error(function() r:read("many") end)
    assert.has_error(function() w:write({}) end)
  end)

  it("of a socket pair transfers in both directions", function()
    local one, other = keep(core.socketpair())
    one:write("there")
    other:write("back")
    assert.equal("there", other:read())
    assert.equal("back", one:read())
    assert.is_false(one:read())
    other:close()
    assert.equal("", one:read())
    assert.equal("closed", select(3, one:write("x")))
  end)

  it("cannot be opened when the process has too many", function()
    local said = run {
      command = sh("ulimit -n 16; exec \"$@\"", table.unpack(lua [[
        local core = require "pintle.core"
        local kept = {}
        for _, make in ipairs { core.pipe, core.socketpair } do
          local one, message, kind, errno
          repeat
            one, message, kind, errno = make()
            kept[#kept + 1] = one
            kept[#kept + 1] = one and message
          until not one
          print(message, kind, errno)
        end
      ]])),
    }
    assert.equal("cannot make a pipe: Too many open files\tfull\t24\n"
      .. "cannot make a socket pair: Too many open files\tfull\t24\n", said)
  end)

  it("is never 0, 1 or 2, even if these are closed", function()
    local said = run {
      command = sh("exec \"$@\" 0<&- 2>&-", table.unpack(lua [[
        local core = require "pintle.core"
        local r, w = core.pipe()
        local a, b = core.socketpair()
        print(math.min(r:fileno(), w:fileno(), a:fileno(), b:fileno()) > 2, core.isatty(0))
      ]])),
    }
    assert.equal("true\tfalse\n", said)
  end)
end)

describe("claiming stdin and stdout", function()
  children.leave_nothing()

  local function start(code, stdio)
    local options = { command = lua(code), stdin = "pipe", stdout = "pipe", stderr = "pipe" }
    for name, value in pairs(stdio or {}) do options[name] = value end
    return assert(core.spawn(options))
  end

  it("keeps the output of print, libraries and children out of the protocol", function()
    local process <close> = start [[
      io.write("before\n")
      local core = require "pintle.core"
      local input, output = assert(core.claim_stdio())
      print "print"
      io.stdout:write("io\n"):flush()
      os.execute("echo child")
      output:write("protocol")
    ]]
    assert.equal("protocol", read(process.stdout))
    assert.equal("before\nprint\nio\nchild\n", read(process.stderr))
    assert.equal(0, process:wait(children.patience))
  end)

  it("keeps other readers and children away from the protocol's input", function()
    local process <close> = start [[
      local core = require "pintle.core"
      local input, output = assert(core.claim_stdio())
      io.stderr:write(tostring(io.read("a")), "|")
      io.stderr:write(io.popen("cat"):read("a"), "|")
      output:write("ready")
      core.poll(30, input, "r")
      io.stderr:write(input:read())
    ]]
    assert.equal("ready", read(process.stdout, "ready"))
    process.stdin:write("protocol")
    assert.equal("||protocol", read(process.stderr))
  end)

  it("returns descriptors that do not block", function()
    local process <close> = start [[
      local input, output = assert(require "pintle.core".claim_stdio())
      output:write(tostring(input:read()))
    ]]
    assert.equal("false", read(process.stdout))
  end)

  it("lets the program survive a reader that has closed", function()
    local process <close> = start [[
      local input, output = assert(require "pintle.core".claim_stdio())
      require "pintle.core".poll(30, input, "r")
      io.stderr:write(tostring(select(3, output:write("x"))))
    ]]
    process.stdout:close()
    process.stdin:write("go")
    assert.equal("closed", read(process.stderr))
    assert.equal(0, process:wait(children.patience))
  end)

  it("works once", function()
    local process <close> = start [[
      local core = require "pintle.core"
      assert(core.claim_stdio())
      print(core.claim_stdio())
    ]]
    assert.equal("nil\tstdin and stdout are claimed already\tclosed\n", read(process.stderr))
  end)

  it("fails without stdin or stdout, and changes nothing", function()
    local said = run {
      command = sh("exec \"$@\" 0<&-", table.unpack(lua [[
        local core = require "pintle.core"
        local function descriptors()
          local list = ""
          for number = 0, 20 do
            local info <close> = io.open("/proc/self/fdinfo/" .. number)
            list = list .. (info and "o" or ".")
          end
          return list
        end
        local before = descriptors()
        print(core.claim_stdio())
        print(core.claim_stdio())
        print(before == descriptors())
      ]])),
    }
    local failure = "nil\tcannot claim stdin and stdout: Bad file descriptor\tclosed\t9\n"
    assert.equal(failure .. failure .. "true\n", said)
  end)

  it("reports a closed stdin, even if its number is in use again", function()
    local said = run {
      command = sh("exec \"$@\" 0<&-", table.unpack(lua [[
        local core = require "pintle.core"
        core.loop.step(0)
        local process <close> = assert(core.spawn { command = { "true" } })
        print((select(2, core.claim_stdio())))
      ]])),
    }
    assert.equal("cannot claim stdin and stdout: Bad file descriptor\n", said)
  end)

  it("works without stderr", function()
    local said = run {
      command = sh("exec \"$@\" 2>&-", table.unpack(lua [[
        local input, output = assert(require "pintle.core".claim_stdio())
        print "print"
        io.stdout:flush()
        output:write("protocol")
      ]])),
    }
    assert.equal("protocol", said)
  end)
end)

describe("the clock", function()
  it("never goes back", function()
    local last = core.now()
    for _ = 1, 1000 do
      local now = core.now()
      assert.is_true(now >= last)
      last = now
    end
    assert.equal("float", math.type(last))
  end)
end)

describe("the terminal", function()
  children.leave_nothing()

  it("is not a pipe", function()
    local r <close>, w = core.pipe()
    assert.is_false(core.isatty(r))
    assert.is_false(core.isatty(w:fileno()))
    assert.is_nil(core.columns(r))
    w:close()
  end)

  it("is recognised by descriptor", function()
    for _, ask in ipairs { core.isatty, core.columns } do
      for _, wrong in ipairs { "1", 1.5, -1, 1 << 40, {} } do
        assert.has_error(function() ask(wrong) end)
      end
      assert.has_error(function() ask() end)
    end
    assert.is_false(core.isatty(999999))
    assert.is_nil(core.columns(999999))
  end)

  it("has a width", function()
    local makes_terminals = { command = { "script", "-qec", "true", "/dev/null" }, stdin = "null", stderr = "null" }
    if not core.which("script") or select(2, run(makes_terminals)) ~= 0 then
      return pending("script(1) is not here to make a terminal, or has none")
    end
    local code = [[
      local core = require "pintle.core"
      io.write(core.isatty(0) and "tty " or "", core.columns(1), "\n")
    ]]
    local text = run {
      command = { "script", "-qec", ("stty cols 123; lua5.4 -e '%s'"):format(code), "/dev/null" },
      stdin = "null",
      group = "session",
    }
    assert.equal("tty 123", text:match("tty %d+"))
  end)
end)
