local core = require "pintle.core"
local children = require "spec.support.children"
local files = require "spec.support.files"
local lfs = require "lfs"

local lua, sh, read, run, patience = children.lua, children.sh, children.read, children.run, children.patience

local linux = children.own_pid ~= nil
local no_watch = "the system has no descriptor for the end of a process"

local nothing_left

local function take_stock() nothing_left = children.stock() end
local function check_stock() nothing_left() end

-- A child that waits for the end of its input, and then ends by itself.
local function waiting(options)
  options = options or {}
  options.command = { "cat" }
  return assert(core.spawn(options))
end

describe("a child", function()
  before_each(take_stock)
  after_each(check_stock)

  it("communicates over pipes", function()
    local process <close> = waiting()
    assert.equal(5, process.stdin:write("hello"))
    assert.equal("hello", read(process.stdout, "hello"))
    assert.is_nil(process.stderr)
    process.stdin:close()
    assert.equal("", read(process.stdout))
    assert.equal(0, process:wait(patience))
  end)

  it("has a separate stderr if that is asked for", function()
    local process <close> = assert(core.spawn { command = sh "echo out; echo err >&2", stderr = "pipe" })
    assert.equal("out\n", read(process.stdout))
    assert.equal("err\n", read(process.stderr))
  end)

  it("gets its arguments unchanged, without a shell", function()
    local arguments = { "", " ", "a b", "$HOME", "*", "'", '"', "\\", "\n", "\xff", "é" }
    local said = run { command = { "printf", "%s|", table.unpack(arguments) } }
    assert.equal(table.concat(arguments, "|") .. "|", said)
  end)

  it("has a pid", function()
    local process <close> = assert(core.spawn { command = sh "echo $$" })
    assert.equal(process:pid() .. "\n", read(process.stdout))
    assert.equal(("pintle.process (%d)"):format(process:pid()), tostring(process))
    process:close()
    assert.equal(("pintle.process (%d, ended)"):format(process:pid()), tostring(process))
  end)

  it("rejects calls on other objects", function()
    local process <close> = waiting()
    for _, method in ipairs { "pid", "fd", "wait", "kill", "close" } do
      assert.has_error(function() process[method](nil) end)
      assert.has_error(function() process[method](process.stdin) end)
    end
    assert.is_nil(process.nothing)
    assert.is_nil(process[1])
  end)
end)

describe("a program with a checksum", function()
  before_each(take_stock)
  after_each(check_stock)

  local function sum_of(path) return (core.sha256(path)) end

  it("is executed by the descriptor that was checked, so another file cannot take its place", function()
    local scratch <close> = files.folder()
    local good, bad, path = scratch.path .. "/good", scratch.path .. "/bad", scratch.path .. "/program"
    for name, text in pairs { [good] = "good", [bad] = "bad" } do
      local source = ([[printf '#include <stdio.h>\nint main(void) { puts("%s"); }' | ${CC:-cc} -x c -o %s -]])
      assert.is_true(os.execute(source:format(text, name)))
    end
    assert(lfs.link(good, path))
    local swapping <close> = assert(core.spawn { stdin = "null", command = lua([[
      local lfs = require "lfs"
      local path = arg[1]
      while true do
        for _, name in ipairs { "bad", "good" } do
          lfs.link(path .. "/" .. name, path .. "/next")
          os.rename(path .. "/next", path .. "/program")
        end
      end]], scratch.path) })
    local sum, seen = sum_of(good), {}
    for _ = 1, 300 do
      local process, message = core.spawn { command = { path }, sha256 = sum }
      local said = process and read(process.stdout) or message:match "is not the expected file" or message
      seen[said] = (seen[said] or 0) + 1
      if process then process:close() end
    end
    assert.truthy(swapping:pid())
    assert.truthy((seen["good\n"] or 0) > 0)
    assert.truthy((seen["is not the expected file"] or 0) > 0)
    seen["good\n"], seen["is not the expected file"] = nil, nil
    assert.same({}, seen)
  end)

  it("runs as it would without, with its descriptors closed", function()
    local shown = run { command = { "ls", "/proc/self/fd" }, sha256 = sum_of(core.which "ls") }
    assert.equal("0\n1\n2\n3\n", shown) -- 3 is the directory
    local scratch <close> = files.folder()
    local file <close> = assert(io.open(scratch.path .. "/script", "w"))
    file:write("#!/bin/sh\necho $0\n")
    file:close()
    os.execute("chmod 755 " .. scratch.path .. "/script")
    assert.equal("./script\n",
      run { command = { "./script" }, cwd = scratch.path, sha256 = sum_of(scratch.path .. "/script") })
  end)

  it("is not executed if it is another file, or none", function()
    local process, message, kind = core.spawn { command = { "true" }, sha256 = ("0"):rep(64) }
    assert.is_nil(process)
    assert.equal("invalid", kind)
    assert.equal("true is not the expected file: its SHA-256 is " .. sum_of(core.which "true"), message)
    process, message, kind = core.spawn { command = { "/no/such" }, sha256 = ("0"):rep(64) }
    assert.is_nil(process)
    assert.same({ "spawn", 'cannot run "/no/such": No such file or directory' }, { kind, message })
  end)

  it("leaves no descriptor open if it is not executed in its sandbox", function()
    local _, has_filter = core.sandbox()
    if not has_filter then return pending "this system has no sandbox" end
    collectgarbage()
    collectgarbage "stop"
    local before = children.count_descriptors()
    for _, path in ipairs { "true", "/no/such" } do
      core.spawn { command = { path }, sha256 = ("0"):rep(64), sandbox = { filter = true } }
    end
    local after = children.count_descriptors()
    collectgarbage "restart"
    assert.equal(before, after)
  end)
end)

describe("a program", function()
  before_each(take_stock)
  after_each(check_stock)

  local function fails(options, message, errno)
    local process, said, kind, number = core.spawn(options)
    assert.is_nil(process)
    assert.equal(message, said)
    assert.equal("spawn", kind)
    assert.equal(errno, number)
  end

  local function with_file(mode, text, try)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    os.execute(("chmod %s %s"):format(mode, path))
    local ok, err = pcall(try, path)
    os.remove(path)
    assert(ok, err)
  end

  it("that does not exist fails with its name", function()
    fails({ command = { "no-such-program" } }, 'cannot run "no-such-program": No such file or directory', 2)
    fails({ command = { "/no/such" } }, 'cannot run "/no/such": No such file or directory', 2)
    fails({ command = { "./no-such" } }, 'cannot run "./no-such": No such file or directory', 2)
  end)

  it("that cannot be executed fails with its name", function()
    fails({ command = { "/" } }, 'cannot run "/": Permission denied', 13)
    with_file("600", "#!/bin/sh\n", function(path)
      fails({ command = { path } }, ('cannot run "%s": Permission denied'):format(path), 13)
    end)
  end)

  it("without an interpreter line is not given to a shell", function()
    with_file("700", "echo oops\n", function(path)
      fails({ command = { path } }, ('cannot run "%s": Exec format error'):format(path), 8)
    end)
  end)

  it("with a missing interpreter fails with its name", function()
    with_file("700", "#!/no/such\n", function(path)
      fails({ command = { path } }, ('cannot run "%s": No such file or directory'):format(path), 2)
    end)
  end)

  it("with more arguments than the system allows fails with its name", function()
    fails({ command = { "true", ("x"):rep(1 << 24) } }, 'cannot run "true": Argument list too long', 7)
    local long = ("x"):rep(5000)
    fails({ command = { long } }, ('cannot run "%s": File name too long'):format(long), 36)
    fails({ command = { "/" .. long } }, ('cannot run "/%s": File name too long'):format(long), 36)
  end)

  it("is not started if its directory cannot be entered", function()
    fails({ command = { "true" }, cwd = "/no/such" }, 'cannot enter "/no/such": No such file or directory', 2)
  end)

  it("is not started if a limit cannot be set", function()
    fails({ command = { "true" }, limits = { core = 0, files = math.maxinteger } },
      "cannot set the files limit: Operation not permitted", 1)
  end)

  it("is not started if one of its descriptors is closed", function()
    fails({ command = { "true" }, stdin = 999 }, "cannot connect stdin: Bad file descriptor", 9)
    fails({ command = { "true" }, stderr = 999 }, "cannot connect stderr: Bad file descriptor", 9)
    -- the numbers that the pipes for stdin and stdout are about to get
    for number = 3, 20 do
      local info = io.open("/proc/self/fdinfo/" .. number)
      if info then
        info:close()
      else
        fails({ command = { "true" }, stderr = number }, "cannot connect stderr: Bad file descriptor", 9)
      end
    end
  end)

  it("is not started if there are no descriptors left", function()
    local said = run {
      command = sh("ulimit -n 16; exec \"$@\"", table.unpack(lua [[
        local core = require "pintle.core"
        local kept = {}
        local function fill(free)
          repeat
            local file = io.open("/dev/null")
            kept[#kept + 1] = file
          until not file
          for _ = 1, free do table.remove(kept):close() end
        end
        fill(0)
        local open = #kept
        for free = 0, 6 do
          local process, message, kind, errno = core.spawn { command = { "true" } }
          print(free, message, kind, errno)
          if process then process:close() end
          fill(0)
          assert(#kept == open, "lost " .. open - #kept)
          fill(free + 1)
        end
      ]])),
    }
    local failures = ""
    for free = 0, 5 do
      failures = failures .. free .. '\tcannot start "true": Too many open files\tspawn\t24\n'
    end
    assert.equal(failures .. "6\tnil\tnil\tnil\n", said)
  end)

  it("is searched in the host's PATH, whatever the child's PATH is", function()
    assert.equal("yes\n", (run { command = sh "echo yes", env = { PATH = "/no/such" } }))
    assert.equal("yes\n", (run { command = sh "echo yes", inherit = false }))
  end)

  it("with a slash in its name is taken relative to the child's directory", function()
    assert.equal("/bin/sh\n", (run { command = { "./sh", "-c", "echo /bin/sh" }, cwd = "/bin" }))
  end)

  it("is what core.which returns", function()
    local path = assert(core.which("sh"))
    assert.equal("/", path:sub(1, 1))
    assert.equal(path, core.which(path))
    assert.equal("/bin/sh", core.which("sh", "/no/such:/etc/passwd:/bin"))
    assert.same({ nil, 'cannot run "sh": No such file or directory', "spawn", 2 }, { core.which("sh", "/no/such") })
    assert.same({ nil, 'cannot run "": No such file or directory', "spawn", 2 }, { core.which("") })
    assert.same({ nil, 'cannot run "passwd": Permission denied', "spawn", 13 }, { core.which("passwd", "/etc:/no") })
    assert.same({ nil, 'cannot run "/bin": Permission denied', "spawn", 13 }, { core.which("/bin") })
    assert.has_error(function() core.which("a\0b") end)
    assert.has_error(function() core.which() end)
  end)

  it("found through a relative PATH gets its absolute name", function()
    local said = run {
      command = lua [[
        local core = require "pintle.core"
        for _, path in ipairs { "", "bin", "/no/such:bin", "./bin/.", "bin:/no/such" } do
          print((core.which("sh", path)))
        end
      ]],
      cwd = "/",
    }
    assert.equal("nil\n//bin/sh\n//bin/sh\n//./bin/./sh\n//bin/sh\n", said)
    local directory = core.which("sh"):match("^(.*)/")
    said = run { command = lua [[print(require "pintle.core".which("sh", ""))]], cwd = directory }
    assert.matches("^/.*bin/sh\n$", said)
  end)

  it("is found without a PATH", function()
    local said = run {
      command = { "env", "-u", "PATH", core.which("lua5.4"), "-e", [[print(require "pintle.core".which("sh"))]] },
    }
    assert.matches("^/[%w/]*bin/sh\n$", said)
  end)
end)

describe("the child's environment", function()
  before_each(take_stock)
  after_each(check_stock)

  local function environment(options)
    options.command = { "env", "-0" }
    local variables = {}
    for name, value in run(options):gmatch("([^=]*)=([^\0]*)\0") do variables[name] = value end
    return variables
  end

  it("is the host's", function()
    local variables = environment {}
    assert.equal(os.getenv("PATH"), variables.PATH)
    assert.equal(os.getenv("HOME"), variables.HOME)
    assert.same(variables, environment { inherit = true, env = {} })
  end)

  it("is the host's with additions, changes and removals", function()
    local expected = environment {}
    expected.PINTLE_NEW, expected.PATH, expected.HOME = "a=b\nc", "/changed", nil
    local env = { PINTLE_NEW = "a=b\nc", PATH = "/changed", HOME = false, NOT_THERE = false }
    assert.same(expected, environment { env = env })
  end)

  it("has only the listed variables", function()
    assert.same({ PATH = os.getenv("PATH") }, environment { inherit = { "PATH", "NOT_THERE" } })
    assert.same({ PATH = "/changed", NEW = "" },
      environment { inherit = { "PATH" }, env = { PATH = "/changed", NEW = "" } })
    assert.same({}, environment { inherit = {} })
    assert.same({}, environment { inherit = { "PATH" }, env = { PATH = false } })
  end)

  it("is exactly the given table", function()
    assert.same({}, environment { inherit = false })
    assert.same({ ONE = "1", TWO = "" }, environment { inherit = false, env = { ONE = "1", TWO = "" } })
  end)

  it("can be large", function()
    local env = {}
    for i = 1, 2000 do env["NAME" .. i] = tostring(i) end
    assert.same(env, environment { inherit = false, env = env })
  end)
end)

describe("the child's directory", function()
  before_each(take_stock)
  after_each(check_stock)

  it("is the host's by default", function()
    assert.equal(run { command = { "pwd", "-P" } }, (run { command = { "pwd", "-P" }, cwd = "." }))
    assert.equal("/\n", (run { command = { "pwd", "-P" }, cwd = "/" }))
  end)
end)

describe("the child's stdio", function()
  before_each(take_stock)
  after_each(check_stock)

  it("can be null", function()
    local process <close> = assert(core.spawn {
      command = sh "cat; echo out; echo err >&2", stdin = "null", stdout = "null", stderr = "null",
    })
    assert.is_nil(process.stdin)
    assert.is_nil(process.stdout)
    assert.is_nil(process.stderr)
    assert.equal(0, process:wait(patience))
  end)

  it("can be a descriptor, which the caller keeps", function()
    local r, w = core.pipe()
    local process <close> = assert(core.spawn { command = sh "echo out; echo err >&2", stdout = w, stderr = w })
    assert.equal(0, process:wait(patience))
    assert.is_false(w:closed())
    w:close()
    assert.equal("out\nerr\n", read(r))
    r:close()
  end)

  it("can be the number of a descriptor", function()
    local r, w = core.pipe()
    w:write("input")
    local process <close> = assert(core.spawn { command = { "head", "-c", "5" }, stdin = r:fileno() })
    assert.equal("input", read(process.stdout))
    r:close()
    w:close()
  end)

  it("is right when the descriptors swap numbers", function()
    local input, host_input = core.socketpair()
    local output, host_output = core.socketpair()
    local host <close> = assert(core.spawn {
      command = lua [[
        local core = require "pintle.core"
        local stdio = { { 1, 0, 2 }, { 2, 0, 1 } }
        for _, s in ipairs(stdio) do
          local p <close> = assert(core.spawn {
            command = { "sh", "-c", "echo to 1; echo to 2 >&2" },
            stdin = s[1], stdout = s[2], stderr = s[3],
          })
          assert(p:wait(30) == 0)
        end
      ]],
      stdin = host_input,
      stdout = host_output,
      stderr = "pipe",
    })
    assert.equal("to 2\n", read(host.stderr))
    assert.equal(0, host:wait(patience))
    assert.equal("to 1\nto 1\n", read(input, "1\n"))
    assert.equal("to 2\n", read(output, "2\n"))
    for _, fd in ipairs { input, host_input, output, host_output } do fd:close() end
  end)

  it("can be read when the descriptors swap numbers", function()
    local input, host_input = core.socketpair()
    local output, host_output = core.socketpair()
    output:write("question\n")
    local host <close> = assert(core.spawn {
      command = lua [[
        local p <close> = assert(require "pintle.core".spawn {
          command = { "head", "-n", "1" }, stdin = 1, stdout = 0,
        })
        assert(p:wait(30) == 0)
      ]],
      stdin = host_input,
      stdout = host_output,
    })
    assert.equal(0, host:wait(patience))
    assert.equal("question\n", input:read())
    for _, fd in ipairs { input, host_input, output, host_output } do fd:close() end
  end)

  it("is right when some of the host's own are closed", function()
    local path = os.tmpname()
    for closed = 0, 7 do
      local redirections = ""
      for number = 0, 2 do
        if closed & 1 << number ~= 0 then redirections = redirections .. number .. ">&- " end
      end
      local host <close> = assert(core.spawn {
        command = sh("exec \"$@\" " .. redirections, table.unpack(lua([[
          local core = require "pintle.core"
          local children = require "spec.support.children"
          local said = {}
          local function say(text) said[#said + 1] = tostring(text) end
          for _, stdio in ipairs { "pipe", "null", "inherit" } do
            local p <close> = assert(core.spawn {
              command = { "sh", "-c", "ls /proc/self/fd; cat >&2; echo err >&2" },
              stdin = "pipe", stdout = "pipe", stderr = stdio,
            })
            p.stdin:write("in ")
            p.stdin:close()
            say(children.read(p.stdout))
            if p.stderr then say(children.read(p.stderr)) end
            say(p:wait(30))
          end
          local p <close> = assert(core.spawn { command = { "ls" }, stdin = "inherit", stdout = "inherit" })
          say(p:wait(30))
          local file = assert(io.open(arg[1], "w"))
          file:write(table.concat(said, " "))
          file:close()
        ]], path))),
        stdin = "null",
        stdout = "null",
        stderr = "null",
      })
      assert.equal(0, host:wait(patience), "closed " .. redirections)
      local file = io.open(path)
      assert.equal("0\n1\n2\n3\n in err\n 0 0\n1\n2\n3\n 0 0\n1\n2\n3\n 0 0", file:read("a"), "closed " .. redirections)
      file:close()
    end
    os.remove(path)
  end)

  it("is all that the child has open", function()
    local r, w = core.pipe()
    local one, other = core.socketpair()
    local file = assert(io.open("/dev/null")) -- which is not closed on exec
    local sibling <close> = waiting()
    assert.equal("0\n1\n2\n3\n", (run { command = { "ls", "/proc/self/fd" } }))
    for _, fd in ipairs { r, w, one, other, file, sibling.stdin } do fd:close() end
  end)

  it("is blocking at the child's end", function()
    -- otherwise cat would fail at once
    local process <close> = waiting()
    assert.is_false(process:wait(0.05))
    assert.is_false(process.stdout:read())
    process.stdin:close()
    assert.equal(0, process:wait(patience))
  end)
end)

describe("the child's signals", function()
  before_each(take_stock)
  after_each(check_stock)

  it("are neither blocked, ignored nor caught, whatever the host does", function()
    if not linux then return pending("only Linux shows them") end
    local said = run {
      command = {
        "env", "--ignore-signal=HUP,PIPE,USR1,RTMIN", "--block-signal=USR2,TERM",
        table.unpack(lua [[
          local core = require "pintle.core"
          local children = require "spec.support.children"
          print(children.signals())
          print((children.run { command = { "cat", "/proc/self/status" } }))
          print(children.signals())
        ]]),
      },
    }
    local host, child, after = said:match("^(.-)\n(.*)\n(%x+\t.*)\n$")
    local blocked, ignored = host:match("^(%x+)\t(%x+)")
    assert.not_equal(0, tonumber(blocked, 16))
    assert.not_equal(0, tonumber(ignored, 16))
    for _, kind in ipairs { "SigBlk", "SigIgn", "SigCgt" } do
      assert.equal(0, tonumber(child:match(kind .. ":%s*(%x+)"), 16), kind)
    end
    assert.equal(host, after)
  end)

  it("leave the host's signals unchanged, except for SIGPIPE", function()
    if not linux then return pending("only Linux shows them") end
    assert.equal(0, select(2, run { command = { "true" } }))
    local before = { children.signals() }
    assert.not_equal(0, tonumber(before[2], 16) & 1 << 12)
    assert.equal(0, select(2, run { command = { "true" } }))
    assert.same(before, { children.signals() })
    assert.equal(0, tonumber(before[3], 16) & 1 << 16, "SIGCHLD is caught")
    assert.equal(0, tonumber(before[2], 16) & 1 << 16, "SIGCHLD is ignored")
  end)

  it("let it die from a pipe that nobody reads", function()
    local process <close> = assert(core.spawn { command = { "yes" } })
    process.stdout:close()
    assert.same({ nil, "PIPE" }, { process:wait(patience) })
  end)
end)

describe("the child's limits", function()
  before_each(take_stock)
  after_each(check_stock)

  it("are those that were set", function()
    local ask = sh "ulimit -v; ulimit -t; ulimit -n; ulimit -p; ulimit -c"
    local before = run { command = ask }
    local limits = { memory = 1 << 30, cpu = 77, files = 55, processes = 4321, core = 512 }
    assert.equal("1048576\n77\n55\n4321\n1\n", (run { command = ask, limits = limits }))
    assert.equal(before, (run { command = ask }))
  end)

  it("cannot be raised by the child", function()
    local ask = sh "ulimit -Hv; ulimit -Ht; ulimit -Hn"
    local limits = { memory = 1 << 30, cpu = 77, files = 55 }
    assert.equal("1048576\n78\n55\n", (run { command = ask, limits = limits }))
  end)

  it("can be small", function()
    local _, code = run { command = { "true" }, limits = { files = 4, core = 0 } }
    assert.equal(0, code)
  end)

  it("end a child that has used up its time", function()
    local process <close> = assert(core.spawn { command = sh "while :; do :; done", limits = { cpu = 1 } })
    assert.same({ nil, "XCPU" }, { process:wait(patience) })
  end)
end)

describe("the end of a child", function()
  before_each(take_stock)
  after_each(check_stock)

  it("gives its exit code", function()
    for _, code in ipairs { 0, 1, 7, 127, 255 } do
      local process <close> = assert(core.spawn { command = sh("exit " .. code) })
      assert.same({ code }, { process:wait(patience) })
    end
  end)

  it("gives its signal", function()
    for _, name in ipairs { "KILL", "TERM", "USR1", "HUP" } do
      local process <close> = waiting()
      assert.is_true(process:kill(name))
      assert.same({ nil, name }, { process:wait(patience) })
    end
  end)

  it("gives the number of a signal without a name", function()
    local process <close> = assert(core.spawn { command = sh "kill -40 $$" })
    assert.same({ nil, "40" }, { process:wait(patience) })
  end)

  it("can be asked for repeatedly", function()
    local process <close> = assert(core.spawn { command = sh "exit 3" })
    assert.equal(3, process:wait(patience))
    assert.equal(3, process:wait())
    process:close()
    assert.equal(3, process:wait())
    assert.equal(3, process:wait(patience))
  end)

  it("is awaited no longer than the timeout", function()
    local process <close> = waiting()
    assert.is_false(process:wait())
    assert.is_false(process:wait(0))
    local start = core.now()
    assert.is_false(process:wait(0.1))
    local took = core.now() - start
    assert.is_true(took >= 0.1 and took < patience)
    for _, wrong in ipairs { -1, 0 / 0, "soon", {} } do
      assert.has_error(function() process:wait(wrong) end)
    end
  end)

  it("ends a wait without a timeout", function()
    local process <close> = assert(core.spawn { command = sh "read line; exit 4" })
    local other <close> = assert(core.spawn { command = sh "sleep 0.05; echo", stdout = process.stdin })
    process.stdin:close()
    assert.equal(4, process:wait(math.huge))
    assert.equal(0, other:wait(patience))
  end)

  it("makes its descriptor readable", function()
    local process <close> = waiting()
    if not process:fd() then return pending(no_watch) end
    assert.is_false(core.poll(0, process:fd(), "r"))
    process.stdin:close()
    assert.equal("r", core.poll(patience, process:fd(), "r"))
    assert.equal(0, process:wait())
    process:close()
    assert.is_nil(process:fd())
  end)

  it("is not confused with another child's", function()
    local popen = io.popen("exit 7")
    local seven <close> = assert(core.spawn { command = sh "exit 17" })
    local process <close> = waiting()
    assert.equal(17, seven:wait(patience))
    process:close()
    run { command = { "true" } }
    assert.same({ nil, "exit", 7 }, { popen:close() })
  end)

  it("is reported as lost if other code has reaped it", function()
    local interpreter <close> = io.open(core.which("lua5.4"))
    if interpreter:read(2) == "#!" then return pending("lua5.4 is a script, and sh waits for SIGCHLD") end
    local said = run {
      command = {
        "env", "--ignore-signal=CHLD",
        table.unpack(lua [[
          local core = require "pintle.core"
          local p = assert(core.spawn { command = { "cat" } })
          print(p:wait(0))
          p.stdin:close()
          print(select("#", p:wait(30)), select(3, p:wait(30)))
          print(p:kill("KILL"))
          print(p:kill("KILL", true))
          local q = assert(core.spawn { command = { "true" } })
          require "spec.support.children".read(q.stdout)
          local ok, message, kind
          repeat ok, message, kind = q:kill("CONT", true) until not ok
          print(kind)
          print(core.spawn { command = { "/no/such" } })
        ]]),
      },
    }
    assert.matches("^false\n3\tclosed\n"
      .. "nil\tprocess %d+ has already ended\tclosed\n"
      .. "nil\tprocess %d+ has already ended\tclosed\n"
      .. "closed\n"
      .. "nil\tcannot run \"/no/such\": No such file or directory\tspawn\t2\n$", said)
  end)
end)

describe("a signal", function()
  before_each(take_stock)
  after_each(check_stock)

  local tree = [[sh -c 'echo ready; exec sleep 1000' & wait]]

  it("is TERM by default", function()
    local process <close> = waiting()
    assert.is_true(process:kill())
    assert.same({ nil, "TERM" }, { process:wait(patience) })
  end)

  it("can be given by name", function()
    local process <close> = waiting()
    for _, wrong in ipairs { "SIGTERM", "term", "NOPE", "", {} } do
      assert.has_error(function() process:kill(wrong) end)
    end
    assert.error_matches(function() process:kill("NOPE") end, "unknown signal 'NOPE'")
  end)

  it("reaches a grandchild in the group", function()
    local process <close> = assert(core.spawn { command = sh(tree) })
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    assert.is_true(process:kill("KILL", true))
    assert.equal("", read(process.stdout)) -- its last writer is gone
    assert.same({ nil, "KILL" }, { process:wait(patience) })
  end)

  it("reaches the group of a leader that has ended and was not reaped", function()
    local process <close> = assert(core.spawn { command = sh(tree) })
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    process:kill("KILL")
    if not process:fd() then return pending(no_watch) end
    children.await(process:fd())
    assert.is_false(process.stdout:read()) -- the grandchild lives
    assert.is_true(process:kill("TERM", true))
    assert.equal("", read(process.stdout))
  end)

  it("is not sent to a process that was reaped", function()
    local process <close> = assert(core.spawn { command = { "true" } })
    assert.equal(0, process:wait(patience))
    for _, group in ipairs { false, true } do
      local ok, message, kind = process:kill("KILL", group)
      assert.is_nil(ok)
      assert.equal(("process %d has already ended"):format(process:pid()), message)
      assert.equal("closed", kind)
    end
  end)

  it("is not sent to a group that the process does not lead", function()
    local process <close> = waiting { group = false }
    assert.error_matches(function() process:kill("KILL", true) end, "the process does not lead a group")
  end)
end)

describe("the child's group", function()
  before_each(take_stock)
  after_each(check_stock)

  local function groups(options)
    options.command = { "cat", "/proc/self/stat" }
    local pid, group, session = run(options):match("^(%d+) %(.-%) %a %d+ (%d+) (%d+)")
    return group == pid, session == pid, group, session
  end

  it("is its own, in the host's session", function()
    local leads, leads_session, _, session = groups {}
    assert.is_true(leads)
    assert.is_false(leads_session)
    assert.equal(session, (select(4, groups { group = true })))
  end)

  it("is the host's if that is asked for", function()
    local leads, _, group = groups { group = false }
    assert.is_false(leads)
    assert.equal(group, (select(3, groups { group = false })))
  end)

  it("is in a new session if that is asked for", function()
    local leads, leads_session = groups { group = "session" }
    assert.is_true(leads)
    assert.is_true(leads_session)
  end)
end)

describe("the death of the host", function()
  before_each(take_stock)
  after_each(check_stock)

  -- A host with a child that has these options and shares its stdio; both wait.
  local function host(options)
    return assert(core.spawn {
      command = lua(([[
        local p = assert(require "pintle.core".spawn { stdin = "inherit", stdout = "inherit", %s })
        print "ready"
        p:wait(60)
      ]]):format(options)),
    })
  end

  it("kills the child", function()
    if not linux then return pending("the system has no such signal") end
    local process <close> = host [[command = { "sleep", "1000" }]]
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    process:kill("KILL")
    assert.equal("", read(process.stdout))
  end)

  it("can send the child a gentler signal", function()
    if not linux then return pending("the system has no such signal") end
    local process <close> = host [[
      death_signal = "TERM",
      command = { "sh", "-c", "sleep 1000 >&2 & trap 'echo told; kill $!; exit' TERM; echo set; wait" }
    ]]
    local said = read(process.stdout, "\n")
    while not (said:find("ready") and said:find("set")) do said = said .. read(process.stdout, "\n") end
    process:kill("KILL")
    assert.equal("told\n", read(process.stdout))
  end)

  it("can leave the child alone", function()
    local process <close> = host [[death_signal = false, command = { "cat" }]]
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    process:kill("KILL")
    assert.same({ nil, "KILL" }, { process:wait(patience) })
    process.stdin:write("still here")
    assert.equal("still here", read(process.stdout, "here"))
    process.stdin:close()
    assert.equal("", read(process.stdout))
  end)
end)

describe("closing a child", function()
  before_each(take_stock)
  after_each(check_stock)

  local stubborn = [[trap "" TERM HUP INT; echo ready; sleep 1000]]

  it("kills and reaps it", function()
    local process = assert(core.spawn { command = sh(stubborn) })
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    local stdout = process.stdout
    process:close()
    assert.is_true(stdout:closed())
    assert.same({ nil, "KILL" }, { process:wait() })
    process:close()
  end)

  it("happens at the end of a block", function()
    local kept
    do
      local process <close> = waiting()
      kept = process
    end
    assert.same({ nil, "KILL" }, { kept:wait() })
    assert.is_true(kept.stdin:closed())
  end)

  it("happens when it is collected", function()
    local r, w = core.pipe()
    core.spawn { command = { "sleep", "1000" }, stdout = w }
    w:close()
    collectgarbage()
    assert.equal("", read(r))
    r:close()
  end)

  it("happens at the end of the program", function()
    local said = run {
      command = lua [[
        kept = assert(require "pintle.core".spawn {
          command = { "sleep", "1000" }, stdout = "inherit", death_signal = false
        })
      ]],
    }
    assert.equal("", said)
  end)

  it("kills its group, even if it has ended itself", function()
    local r, w = core.pipe()
    local process = assert(core.spawn { command = sh "sleep 1000 & exit 5", stdout = w })
    w:close()
    local watched = process:fd() ~= nil
    if watched then children.await(process:fd()) end
    process:close()
    assert.equal("", read(r))
    if watched then assert.equal(5, process:wait()) end
    r:close()
  end)
end)

describe("a thousand children", function()
  before_each(take_stock)
  after_each(check_stock)

  it("can be spawned and reaped one after the other", function()
    for i = 1, 1000 do
      local process <close> = assert(core.spawn { command = { "true" }, stdin = "null", stdout = "null" })
      if process:wait(patience) ~= 0 then error("the child " .. i .. " failed") end
    end
  end)

  it("can be spawned and reaped at the same time", function()
    for _ = 1, 10 do
      local all = {}
      for i = 1, 100 do all[i] = waiting() end
      for i = 1, 100 do all[i].stdin:close() end
      for i = 1, 100 do
        if all[i]:wait(patience) ~= 0 then error("the child " .. i .. " failed") end
        all[i]:close()
      end
    end
  end)

  it("can fail to start and leave nothing behind", function()
    for _ = 1, 1000 do
      if core.spawn { command = { "/no/such" } } then error("it is there") end
    end
  end)
end)

describe("an option of spawn", function()
  before_each(take_stock)
  after_each(check_stock)

  local function refuses(options, message)
    if type(options) == "table" and options.command == nil then options.command = { "true" } end
    assert.error_matches(function() core.spawn(options) end, message, 1, true)
  end

  it("is refused by name", function()
    local r, w = core.pipe()
    r:close()
    w:close()
    refuses({ comand = {} }, "spawn options: unknown name 'comand'")
    refuses({ [1] = "true" }, "spawn options: every key must be a name")
    refuses({ command = "true" }, "option 'command': table expected, got string")
    refuses({ command = {} }, "option 'command': a program and its arguments expected")
    refuses({ command = { "" } }, "option 'command': the name of the program is empty")
    refuses({ command = { "true", 1 } }, "option 'command': string expected, got number")
    refuses({ command = { "true\0" } }, "option 'command': a zero byte in the string")
    refuses({ env = "A=B" }, "option 'env': table expected, got string")
    refuses({ env = { "A=B" } }, "option 'env': string expected, got number")
    refuses({ env = { ["A=B"] = "" } }, "option 'env': 'A=B' is not a name")
    refuses({ env = { [""] = "" } }, "option 'env': '' is not a name")
    refuses({ env = { A = 1 } }, "option 'env.A': string expected, got number")
    refuses({ env = { A = true } }, "option 'env.A': string expected, got boolean")
    refuses({ env = { A = "\0" } }, "option 'env.A': a zero byte in the string")
    refuses({ inherit = "PATH" }, "option 'inherit': boolean or list of names expected, got string")
    refuses({ inherit = { 1 } }, "option 'inherit': string expected, got number")
    refuses({ cwd = 1 }, "option 'cwd': string expected, got number")
    refuses({ cwd = "/\0" }, "option 'cwd': a zero byte in the string")
    refuses({ stdin = "pipes" }, "option 'stdin': 'pipe', 'inherit', 'null' or a descriptor expected")
    refuses({ stdout = true }, "option 'stdout': string or descriptor expected, got boolean")
    refuses({ stderr = -1 }, "option 'stderr': no descriptor has this number")
    refuses({ stderr = 1.5 }, "option 'stderr': string or descriptor expected, got number")
    refuses({ stdin = r }, "option 'stdin': the descriptor is closed")
    refuses({ group = "own" }, "option 'group': a boolean or 'session' expected")
    refuses({ death_signal = "SIGKILL" }, "option 'death_signal': unknown signal 'SIGKILL'")
    refuses({ death_signal = true }, "option 'death_signal': string expected, got boolean")
    refuses({ limits = 5 }, "option 'limits': table expected, got number")
    refuses({ limits = { heap = 5 } }, "option 'limits': unknown limit 'heap'")
    refuses({ limits = { 5 } }, "option 'limits': the name of a limit is a string")
    refuses({ limits = { cpu = 0.5 } }, "option 'limits': 'cpu' is not a whole number")
    refuses({ limits = { cpu = -1 } }, "option 'limits': 'cpu' is not a whole number")
    refuses(nil, "table expected")
    assert.error_matches(function() core.spawn {} end, "option 'command': table expected, got nil", 1, true)
  end)

  it("is read without calling metamethods", function()
    local function fail() error("called") end
    local trap = { __index = fail, __len = fail, __pairs = fail }
    local process <close> = assert(core.spawn(setmetatable({
      command = setmetatable({ "true" }, trap),
      env = setmetatable({ A = "1" }, trap),
      inherit = setmetatable({}, trap),
    }, trap)))
    assert.equal(0, process:wait(patience))
  end)
end)
