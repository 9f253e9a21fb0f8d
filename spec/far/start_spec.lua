-- How a program is started at the far end: what it gets, what it needs there, and what is said when that is missing.
local children = require "spec.support.children"
local core = require "pintle.core"
local engines = require "spec.support.engines"
local lfs = require "lfs"
local via = require "pintle.via"

children.leave_nothing()

local EVERY_BYTE = {}
for byte = 1, 255 do EVERY_BYTE[byte] = string.char(byte) end
EVERY_BYTE = table.concat(EVERY_BYTE)

local function way_of(words, options)
  local given = {}
  for i, word in ipairs(words or {}) do given[i] = word end
  for name, value in pairs(options or {}) do given[name] = value end
  return assert(via.check(given))
end

-- Runs a program to its end by a way. Returns its stdout, its stderr, and how it ended.
local function run(words, spawning, options)
  spawning.stderr = "pipe"
  local relay <close> = assert(core.spawn(assert(via.relay(way_of(words, options), spawning))))
  relay.stdin:close()
  return children.read(relay.stdout), children.read(relay.stderr), relay:wait(children.patience)
end

local function run_here(spawning, options) return run({}, spawning, options) end

local function assert_failure(status, message, spawning)
  local output, complaint, code = run_here(spawning)
  assert.equal("", output)
  assert.equal("pintle: this machine: " .. message .. "\n", complaint)
  assert.equal(status, code)
end

local directory

before_each(function()
  directory = os.tmpname()
  os.remove(directory)
  assert(lfs.mkdir(directory))
end)

after_each(function() os.execute(("rm -rf '%s'"):format(directory)) end)

local function write(name, text, mode)
  local file <close> = assert(io.open(directory .. "/" .. name, "w"))
  file:write(text)
  file:close()
  if mode then assert(os.execute(("chmod %s '%s'/*"):format(mode, directory))) end
  return directory .. "/" .. name
end

-- Makes a directory of programs: names of programs of the PATH, or pairs of a name and a file.
local function programs(...)
  local path = directory .. "/bin"
  lfs.mkdir(path)
  for _, name in ipairs { ... } do assert(lfs.link(core.which(name), path .. "/" .. name, true)) end
  return path
end

describe("the program", function()
  it("that does not exist is named", function()
    assert_failure(127, 'cannot run "nosuch": No such file or directory', { command = { "nosuch" } })
    assert_failure(127, 'cannot run "/no/such": No such file or directory', { command = { "/no/such" } })
  end)

  it("that cannot be executed is named", function()
    local file = write("file", "", "644")
    assert_failure(126, ('cannot run "%s": Permission denied'):format(file), { command = { file } })
    assert_failure(126, ('cannot run "%s": Permission denied'):format(directory), { command = { directory } })
  end)

  for _, name in ipairs { "-n", "a=b", "two words", "it's", "a\\nb", "$HOME" } do
    it("may be called " .. name, function()
      write(name, "#!/bin/sh\nprintf '%s|' \"$@\" \"$V\"\n", "755")
      local path = directory .. ":" .. os.getenv "PATH"
      for _, env in ipairs { {}, { V = "v" } } do
        local output, complaint = run({ "env", "PATH=" .. path }, { command = { name, "", "-x", "b=c" }, env = env })
        assert.equal("", complaint)
        assert.equal("|-x|b=c|" .. (env.V or "") .. "|", output)
        assert.equal("||", (run({}, { command = { "./" .. name, "" }, cwd = directory })))
      end
    end)
  end

  it("has no other descriptors, and signals with their default effect", function()
    local code = [[ls /proc/self/fd | tr '\n' ' '; grep -h '^Sig[IB]' /proc/self/status]]
    local descriptors, blocked, ignored = run_here({ command = { "sh", "-c", code } })
      :match "^(.-) SigBlk:%s*(%x+)%s*SigIgn:%s*(%x+)"
    assert.equal("0 1 2 3", descriptors) -- 3 is that of ls
    assert.equal(0, tonumber(blocked, 16))
    assert.equal(0, tonumber(ignored, 16) & 0x7FFFFFFF) -- those that the C library keeps for itself are above
  end)

  it("has a session of its own", function()
    local pid, session = run_here({ command = { "sh", "-c", "read -r pid _ _ _ group session _ < /proc/$$/stat;"
      .. 'echo "$pid $group $session"' } }):match "^(%d+) %d+ (%d+)\n$"
    assert.equal(pid, session)
  end)
end)

describe("the environment", function()
  local function environment(spawning)
    spawning.command = { "lua5.4", "-e", 'io.write((io.open("/proc/self/environ", "rb"):read "a"))' }
    local output, complaint, status = run_here(spawning)
    assert.equal("", complaint)
    assert.equal(0, status)
    local variables = {}
    for name, value in output:gmatch "([^=%z]+)=(%Z*)" do variables[name] = value end
    return variables
  end

  it("is what was given, with every byte", function()
    local given = { A = "", ["a.b"] = EVERY_BYTE, ["-i"] = "-u", ["two words"] = "x=y", ["n\n'"] = "\n" }
    assert.same(given, environment { env = given, inherit = false })
  end)

  it("has the listed variables of the far end", function()
    assert.same({ PATH = os.getenv "PATH", B = "b" }, environment { inherit = { "PATH", "NOSUCH" }, env = { B = "b" } })
  end)

  it("is that of the far end, with changes and without our variables", function()
    local variables = environment { env = { PATH = "/other", HOME = false } }
    assert.equal("/other", variables.PATH)
    assert.is_nil(variables.HOME)
    for name in pairs(variables) do assert.is_nil(name:match "^PINTLE_[LMPSFD]", name) end
  end)
end)

describe("the directory", function()
  it("that does not exist is named", function()
    assert_failure(126, 'cannot enter "/no\'such"', { command = { "true" }, cwd = "/no'such" })
  end)

  for _, name in ipairs { "-", "-P", "it's", "new\nline", "$HOME" } do
    it("may be called " .. name:gsub("\n", "\\n"), function()
      lfs.mkdir(directory .. "/" .. name)
      lfs.mkdir(directory .. "/" .. name .. "/sub")
      local output, complaint = run({ "env", "-C", directory, "CDPATH=/:/tmp", "OLDPWD=/usr" }, {
        command = { "sh", "-c", "/bin/pwd; cat" }, cwd = name .. "/sub",
      })
      assert.equal("", complaint)
      assert.equal(directory .. "/" .. name .. "/sub\n", output)
    end)
  end
end)

describe("limits", function()
  it("are set", function()
    local code = "ulimit -n; ulimit -t; ulimit -v"
    assert.equal("100\n50\n1048576\n", (run_here { command = { "sh", "-c", code },
      limits = { files = 100, cpu = 50, memory = 1 << 30 } }))
  end)

  it("that cannot be set are named", function()
    assert_failure(126, "cannot set the files limit", { command = { "true" }, limits = { files = 1 << 40 } })
  end)
end)

describe("a long command", function()
  it("is an error before anything is started", function()
    local options, err = via.relay(way_of {}, { command = { "cat", ("x"):rep(140000) } })
    assert.is_nil(options)
    assert.equal("spawn", err.kind)
    assert.matches("the command and its environment are too long", err.message)
  end)

  it("is an error if the far end's shell does not take it", function()
    local _, complaint, status = run_here { command = { "true", ("'"):rep(40000) } }
    assert.matches("the command and its environment have %d+ bytes as words of a shell, which takes 131071", complaint)
    assert.equal(126, status)
  end)

  it("has 100,000 bytes without trouble", function()
    local word = ("x"):rep(100000)
    assert.equal(word, (run_here { command = { "printf", "%s", word } }))
  end)
end)

describe("the far end", function()
  it("has Lua by one of several names", function()
    local names = { "nosuch", "lua5.1", "luajit", "lua5.4" }
    local output, complaint = run_here({ command = { "echo", "on" } }, { lua = names })
    assert.equal("", complaint)
    assert.equal("on\n", output)
  end)

  it("may have Lua 5.3", function()
    if not core.which "lua5.3" then return pending "no lua5.3 here" end
    local output, complaint = run_here({ command = { "echo", "on" } }, { lua = "lua5.3" })
    assert.equal("", complaint)
    assert.equal("on\n", output)
  end)

  it("is not disturbed by LUA_INIT", function()
    assert.equal("on\n", (run({ "env", "LUA_INIT=print 'init'" }, { command = { "echo", "on" } })))
  end)

  it("says that there is no Lua that is new enough", function()
    for _, name in ipairs { "nosuch", "lua5.1", "luajit", "false" } do
      local _, complaint, status = run_here({ command = { "true" } }, { lua = name })
      assert.equal("pintle: this machine: there is no Lua 5.3 or newer\n", complaint)
      assert.equal(255, status)
    end
  end)

  for _, name in ipairs { "setsid", "env", "sleep" } do
    it("says that there is no " .. name, function()
      local others = {}
      for _, other in ipairs { "setsid", "env", "sleep", "sh", "lua5.4" } do
        if other ~= name then others[#others + 1] = other end
      end
      local _, complaint, status = run({ "env", "PATH=" .. programs(table.unpack(others)) }, { command = { "sh" } })
      assert.matches(("^pintle: env .*: there is no program %s\n$"):format(name), complaint)
      assert.equal(255, status)
    end)
  end

  it("says that there is no /proc", function()
    local client = { "unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "sh" }
    if os.execute "unshare -m true 2> /dev/null" == nil then return pending "no unshare here" end
    local _, complaint = run(client, { command = { "true" } })
    assert.matches("^pintle: .*: there is no /proc\n$", complaint)
  end)

  it("may have a file system that cannot be written", function()
    local code = 'mount -o remount,bind,ro /tmp || mount -o remount,bind,ro /; exec "$@"'
    local client = { "unshare", "-m", "sh", "-c", code, "sh" }
    if os.execute "unshare -m true 2> /dev/null" == nil then return pending "no unshare here" end
    assert.equal("on\n", (run(client, { command = { "echo", "on" }, env = { TMPDIR = "/nosuch" } })))
  end)

  it("may have the programs of busybox", function()
    local busybox = core.which "busybox"
    if not busybox then return pending "no busybox here" end
    local path = programs "lua5.4"
    for _, name in ipairs { "sh", "env", "setsid", "sleep", "cat", "printf" } do
      lfs.link(busybox, path .. "/" .. name, true)
    end
    local client = { core.which "env", "PATH=" .. path }
    local code = "trap 'exit 7' TERM; echo \"$0 $V\"; while :; do sleep 0.01; done"
    local spawning = { command = { "sh", "-c", code, "-a=b" }, env = { V = "v" }, cwd = directory,
      limits = { files = 64 }, stderr = "pipe" }
    local relay <close> = assert(core.spawn(assert(via.relay(way_of(client), spawning))))
    assert.equal("-a=b v\n", children.read(relay.stdout, "\n"))
    relay:kill "TERM"
    assert.equal(7, relay:wait(children.patience))
    for _, name in ipairs { "KILL", "TERM" } do
      local _, complaint, status, signal = run(client, { command = { "sh", "-c", "kill -" .. name .. " $$" } })
      assert.equal("", complaint)
      assert.is_nil(status)
      assert.equal(name, signal)
    end
  end)

  for _, shell in ipairs { "bash", "csh", "fish", "dash" } do
    it("may have the login shell " .. shell, function()
      local engine <close>, reason = engines.sshd { login_shell = core.which(shell) or shell }
      if not engine then return pending(reason) end
      local output, complaint, status = run(engine.prefix, { command = { "printf", "%s", EVERY_BYTE } })
      assert.equal("", complaint)
      assert.equal(0, status)
      assert.is_true(output == EVERY_BYTE)
    end)
  end

  it("may print text at login, which comes before that of the program", function()
    local engine <close>, reason = engines.sshd { login_shell = core.which "bash" or "bash" }
    if not engine then return pending(reason) end
    engine.kept:write("home/.bashrc", "echo welcome; echo careful >&2\n")
    local output, complaint, status = run(engine.prefix, { command = { "sh", "-c", "echo on; echo off >&2; exit 3" } })
    assert.matches("^welcome\n.*on\n$", output)
    assert.matches("^careful\n.*off\n$", complaint)
    assert.equal(3, status)
  end)
end)
