-- How a child starts: its program, environment, directory, stdio, signals and limits.
local core = require "pintle.core"
local children = require "spec.support.children"
local files = require "spec.support.files"
local lfs = require "lfs"

local lua, sh, read, run, patience = children.lua, children.sh, children.read, children.run, children.patience

local linux = children.own_pid ~= nil

children.leave_nothing()

describe("a program with a checksum", function()
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
  it("is the host's by default", function()
    assert.equal(run { command = { "pwd", "-P" } }, (run { command = { "pwd", "-P" }, cwd = "." }))
    assert.equal("/\n", (run { command = { "pwd", "-P" }, cwd = "/" }))
  end)
end)

describe("the child's stdio", function()
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
    local sibling <close> = children.wait_for_end()
    assert.equal("0\n1\n2\n3\n", (run { command = { "ls", "/proc/self/fd" } }))
    for _, fd in ipairs { r, w, one, other, file, sibling.stdin } do fd:close() end
  end)

  it("is blocking at the child's end", function()
    -- otherwise cat would fail at once
    local process <close> = children.wait_for_end()
    assert.is_false(process:wait(0.05))
    assert.is_false(process.stdout:read())
    process.stdin:close()
    assert.equal(0, process:wait(patience))
  end)
end)

describe("the child's signals", function()
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

describe("an option of spawn", function()
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
