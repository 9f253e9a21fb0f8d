-- Programs that try to get out of their sandbox. Each attempt succeeds without a sandbox, and is refused in one.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"
local pintle = require "pintle"
local process = require "pintle.process"

local REFUSED, INVISIBLE = "Operation not permitted", "Permission denied"

local landlock, has_filter, is_root = core.sandbox()
local is_complete = landlock >= 6 and has_filter

local function write(path, text, mode)
  files.write(path, text, mode)
  return path
end

local function read(path)
  local file <close> = io.open(path)
  return file and file:read "a"
end

if not is_complete then
  describe("a sandbox", function()
    it("is refused where the system cannot enforce it", function()
      local child, err = process.start { command = { "true" }, sandbox = "strict" }
      assert.is_nil(child)
      assert.matches("^sandbox: this system", err.message)
    end)
  end)
  return
end

describe("a sandbox", function()
  local work, home, inside, escape, without

  setup(function()
    work = files.folder()
    local path = assert(core.realpath(work.path))
    home, inside, escape, without = path .. "/home", path .. "/bin", path .. "/bin/escape", path .. "/bin/without"
    for _, directory in ipairs { home, inside, path .. "/out" } do assert(lfs.mkdir(directory)) end
    for name, program in pairs { escape = escape, without = without } do
      assert.is_true(os.execute(("${CC:-cc} -O1 -w -o %s spec/support/%s.c"):format(program, name)))
    end
    os.execute("chmod 755 " .. path)
  end)

  teardown(function() os.execute("rm -rf " .. work.path) end)

  local nothing_left

  before_each(function()
    nothing_left = children.stock()
    os.execute(("rm -rf %s %s/out && mkdir %s && mkdir -m 777 %s/out"):format(home, work.path, home, work.path))
    write(home .. "/secret", "the secret\n")
  end)

  after_each(function() nothing_left() end)

  local function start(command, sandbox, more)
    local options = { command = command, sandbox = sandbox, stdin = "null", stderr = "null" }
    for name, value in pairs(more or {}) do options[name] = value end
    return assert(process.start(options))
  end

  -- The first line that a program writes; "" without one.
  local function line_of(child)
    local stdout, text = child.process.stdout, ""
    while not text:find "\n" do
      local data = stdout:read()
      if data == "" or data == nil then break end
      if data then text = text .. data else children.await(stdout) end
    end
    return text:match "^[^\n]*"
  end

  local function run(command, sandbox, more)
    local child <close> = start(command, sandbox, more)
    return line_of(child)
  end

  local function try(sandbox, ...) return run({ escape, ... }, sandbox) end

  -- An attempt that succeeds without a sandbox, and fails for this reason in one.
  local function assert_refused(reason, sandbox, ...)
    assert.not_equal(reason, try(nil, ...))
    assert.equal(reason, try(sandbox, ...))
  end

  describe("keeps a program from", function()
    it("reading a secret", function()
      assert.equal("the secret", try(nil, "read", home .. "/secret"))
      assert.equal(INVISIBLE, try("strict", "read", home .. "/secret"))
      assert.equal("the secret", try("read-only", "read", home .. "/secret"))
      assert.equal("the secret", try({ read = { home } }, "read", home .. "/secret"))
      assert_refused(INVISIBLE, "strict", "list", home)
    end)

    it("writing, truncating, removing and moving files", function()
      for _, preset in ipairs { "strict", "read-only" } do
        assert.equal(INVISIBLE, try(preset, "write", home .. "/new"))
        assert.equal(INVISIBLE, try(preset, "write", home .. "/secret"))
        assert.equal(INVISIBLE, try(preset, "cut", home .. "/secret"))
        assert.equal(INVISIBLE, try(preset, "remove", home .. "/secret"))
        assert.equal(INVISIBLE, try(preset, "move", home .. "/secret", home .. "/moved"))
      end
      assert.equal("the secret\n", read(home .. "/secret"))
      assert.equal("done", try(nil, "write", home .. "/new"))
      assert.equal("done", try(nil, "move", home .. "/secret", home .. "/moved"))
      assert.equal("done", try(nil, "cut", home .. "/moved"))
      assert.equal("done", try(nil, "remove", home .. "/moved"))
    end)

    it("writing outside of the directories that it may write", function()
      local sandbox = { write = { work.path .. "/out" } }
      assert.equal("done", try(sandbox, "write", work.path .. "/out/new"))
      assert.equal(INVISIBLE, try(sandbox, "write", home .. "/new"))
      assert.equal(INVISIBLE, try(sandbox, "write", work.path .. "/out/../home/new"))
    end)

    it("following links out of a directory that it may write", function()
      local out, sandbox = work.path .. "/out", { write = { work.path .. "/out" } }
      assert.equal("the secret", try(nil, "symlink", home .. "/secret", out .. "/one"))
      assert.equal(INVISIBLE, try(sandbox, "symlink", home .. "/secret", out .. "/two"))
      assert.equal("the secret", try(nil, "hard-link", home .. "/secret", out .. "/three"))
      assert.equal("Invalid cross-device link", try(sandbox, "hard-link", home .. "/secret", out .. "/four"))
      assert.is_nil(lfs.attributes(out .. "/four"))
      os.execute(("mkdir %s/a %s/b && touch %s/a/file"):format(out, out, out))
      assert.equal("done", try(sandbox, "move", out .. "/a/file", out .. "/b/file"))
      assert.equal(INVISIBLE, try(sandbox, "read", out .. "/one"))
    end)

    it("reaching a file by a descriptor, a root directory or a working directory", function()
      assert_refused(INVISIBLE, "strict", "reopen", home .. "/secret")
      assert_refused(INVISIBLE, "strict", "through-root", home .. "/secret", "self")
      assert_refused(INVISIBLE, "strict", "through-root", home .. "/secret", tostring(core.getpid()))
      assert_refused(INVISIBLE, "strict", "enter", home, "secret")
      assert_refused(INVISIBLE, "read-only", "through-root", home .. "/secret", tostring(core.getpid()))
    end)

    it("changing permissions and times of files", function()
      for _, sandbox in ipairs { "strict", "read-only", { write = { home } } } do
        for _, attempt in ipairs { "mode", "times" } do
          assert_refused(REFUSED, sandbox, attempt, home .. "/secret")
        end
      end
      assert_refused(REFUSED, "read-only", "mode-of-open", home .. "/secret")
    end)

    it("watching what others do with files", function()
      assert_refused(REFUSED, "strict", "watch", home)
      assert_refused(REFUSED, { read = { home }, write = { home } }, "watch", home)
      assert.equal("done", try("read-only", "watch", home))
      assert.equal("done", try({ read = { "/" } }, "watch", home))
    end)

    it("changing files that it may only read by requests to their file system", function()
      local enable_verity, set_flags, btrfs_create_subvolume = "0x40806685", "0x40086602", "0x5000940E"
      for _, request in ipairs { enable_verity, set_flags, btrfs_create_subvolume } do
        assert_refused(REFUSED, "read-only", "request", request, home)
      end
      local get_flags, get_size_of_blocks = "0x80086601", "0x2"
      for _, request in ipairs { get_flags, get_size_of_blocks } do
        assert.equal(try(nil, "request", request, home), try("read-only", "request", request, home))
      end
    end)

    it("reading what is beside a program that its first line names", function()
      local private, scripts = work.path .. "/private", work.path .. "/scripts"
      os.execute(("mkdir -p %s %s"):format(private, scripts))
      local secret, tool = write(private .. "/secret", "the secret\n"), write(private .. "/tool", "", "755")
      local env = write(scripts .. "/env", ("#!/bin/sh\ncat %s || echo nothing\n"):format(secret), "755")
      local script = write(scripts .. "/script", ("#!%s %s\n"):format(env, tool), "755")
      assert.equal("the secret", run { script })
      assert.equal("nothing", run({ script }, "strict"))
      os.rename(env, private .. "/shell")
      write(script, ("#!%s/shell\n"):format(private), "755")
      assert.equal("the secret", run { script })
      assert.equal("nothing", run({ script }, "strict"))
    end)

    local function port_of(listener) return tostring(core.address(listener).port) end

    it("connecting by TCP", function()
      local listener <close> = assert(core.listen { host = "127.0.0.1", port = 0 })
      local other <close> = assert(core.listen { host = "127.0.0.1", port = 0 })
      local port = port_of(listener)
      assert_refused(REFUSED, "strict", "tcp", port)
      local one_port = { net = { "tcp:" .. port } }
      assert.equal("done", try(one_port, "tcp", port))
      assert.equal("done", try({ net = { "tcp" } }, "tcp", port))
      assert.equal("done", try({ net = true }, "tcp", port))
      assert_refused(INVISIBLE, one_port, "tcp", port_of(other))
      assert_refused(INVISIBLE, one_port, "listen", "0")
      assert.equal("done", try({ net = { "listen:0" } }, "listen", "0"))
      assert.equal(REFUSED, try(one_port, "mptcp", port_of(other)))
      assert.equal(REFUSED, try(one_port, "fast-open", port_of(other)))
      assert.equal(REFUSED, try({ net = { "udp" } }, "tcp", port))
    end)

    it("listening where it may only connect, and connecting where it may only listen", function()
      local listener <close> = assert(core.listen { host = "127.0.0.1", port = 0 })
      local port = port_of(listener)
      assert_refused(INVISIBLE, { net = { "tcp" } }, "listen", "0")
      assert_refused(INVISIBLE, { net = { "listen" } }, "tcp", port)
      for _, access in ipairs { "tcp", "tcp:" .. port } do
        assert_refused(REFUSED, { net = { access } }, "listen-unbound")
      end
      assert.equal(INVISIBLE, try({ net = { "tcp", "listen:1" } }, "listen", "0"))
      assert.equal("done", try({ net = { "tcp", "listen:0" } }, "tcp", port))
      assert.equal("done", try({ net = { "tcp", "listen" } }, "tcp", port))
      for _, access in ipairs { "listen", "listen:0" } do
        assert.equal("done", try({ net = { access } }, "listen", "0"))
      end
      assert.equal("done", try({ net = true }, "listen", "0"))
    end)

    it("sending by UDP", function()
      assert_refused(REFUSED, "strict", "udp", "9")
      assert.equal(REFUSED, try({ net = { "tcp" } }, "udp", "9"))
      assert.equal("done", try({ net = { "udp" } }, "udp", "9"))
    end)

    it("connecting to Unix sockets, by a path and by an abstract name", function()
      local path, name = home .. "/socket", "@" .. home
      local by_path <close> = start { escape, "serve", path }
      local by_name <close> = start { escape, "serve", name }
      assert.equal("done", line_of(by_path))
      assert.equal("done", line_of(by_name))
      assert_refused(REFUSED, "strict", "unix", path)
      assert_refused(REFUSED, "read-only", "unix", path)
      assert_refused(REFUSED, "strict", "unix", name)
      local sockets = { net = { "unix" }, write = { home } }
      assert.equal("done", try(sockets, "unix", path))
      assert.equal(REFUSED, try(sockets, "unix", name))
    end)

    it("sending to a Unix socket from a pair of sockets", function()
      local path = home .. "/datagrams"
      local server <close> = start { escape, "serve-datagrams", path }
      assert.equal("done", line_of(server))
      assert_refused(REFUSED, "strict", "pair", path)
    end)

    it("sending signals to its host", function()
      local pid = tostring(core.getpid())
      for _, way in ipairs { "signal", "queue", "pidfd" } do assert_refused(REFUSED, "strict", way, pid) end
      assert.equal("done", try({ signals = true }, "signal", pid))
    end)

    it("reading and changing other processes", function()
      local other <close> = start { "sleep", "100" }
      local pid = tostring(other.pid)
      assert_refused(REFUSED, { signals = true }, "ptrace", pid)
      assert.equal(REFUSED, try({ signals = true }, "memory-of", pid, "0x1000"))
      assert_refused(REFUSED, "strict", "limit", pid)
      assert_refused(REFUSED, "strict", "slow", pid)
      assert.equal("Permission denied", try("read-only", "read", "/proc/" .. pid .. "/environ"))
    end)

    it("using wide interfaces to the kernel", function()
      for _, way in ipairs { "namespace", "clone", "sibling", "io-uring", "key", "share", "bpf" } do
        assert.equal(REFUSED, try("strict", way))
      end
      assert.equal(REFUSED, try("read-only", "mount", home))
      for _, way in ipairs { "key", "share" } do assert.equal("done", try(nil, way)) end
    end)

    it("seeing the host's environment", function()
      local command = { "sh", "-c", 'echo "$SECRET$PATH"' }
      assert.equal("xyz/bin:/usr/bin", run(command, nil, { env = { SECRET = "xyz", PATH = "/bin:/usr/bin" } }))
      local names = run({ "sh", "-c", "env | cut -d= -f1 | sort | tr '\\n' ' '" }, "strict",
        { env = { PINTLE_SPEC = "1" } })
      assert.truthy(names:find("PATH", 1, true))
      assert.truthy(names:find("PINTLE_SPEC", 1, true))
      local program = ([[
        local child <close> = require("pintle.process").start {
          command = { "sh", "-c", "echo \"$TOKEN,$PUBLIC\"" }, sandbox = %s }
        child:wait(10)
        print(child.process.stdout:read())]])
      local function seen(sandbox)
        return run(children.lua(program:format(sandbox)), nil, { env = { TOKEN = "secret", PUBLIC = "hello" } })
      end
      assert.equal("secret,hello", seen "nil")
      assert.equal(",", seen '"strict"')
      assert.equal(",hello", seen '{ env = { "PUBLIC" } }')
    end)
  end)

  -- Whether a process runs; a zombie does not.
  local function is_alive(pid)
    local stat = read(("/proc/%d/stat"):format(pid))
    return stat ~= nil and not stat:find "%) [ZX]"
  end

  local function assert_gone(pid)
    local deadline = core.now() + children.patience
    while is_alive(pid) do
      assert.truthy(core.now() < deadline, "the process still runs")
      core.poll(0.01)
    end
  end

  describe("keeps the processes of a program together:", function()
    it("no daemon leaves its session", function()
      local pid = try(nil, "session")
      assert.is_true(is_alive(pid))
      os.execute("kill -9 " .. pid)
      assert.equal(REFUSED, try("strict", "session"))
    end)

    it("a daemon that leaves its process group is killed with the rest", function()
      local pid = try(nil, "group")
      assert.is_true(is_alive(pid))
      os.execute("kill -9 " .. pid)
      local child = start({ escape, "group" }, "strict")
      pid = assert(math.tointeger(tonumber((line_of(child)))))
      assert.is_true(is_alive(pid))
      child:close()
      assert_gone(pid)
    end)

    it("a chain of processes, each of which ends when it has started the next, is killed", function()
      local path = work.path .. "/out/chain"
      local function last() return string.unpack("<i4", read(path)) end
      for _ = 1, 15 do
        os.remove(path)
        local child = start({ escape, "chain", path }, { write = { work.path .. "/out" } })
        assert.equal("done", line_of(child))
        core.poll(0.05) -- some links, outside of the first one's group
        child:close()
        local pid = last()
        core.poll(0.05)
        local is_dead = last() == pid
        local file <close> = assert(io.open(path, "r+"))
        file:seek("set", 4)
        file:write "\1"
        assert.is_true(is_dead)
      end
    end)

    it("it is also killed when the program ends by itself", function()
      local child <close> = start({ "sh", "-c", '"$0" group & read -r line < "$1"; kill -9 $$', escape,
        write(inside .. "/line", "x\n") }, { read = { inside } })
      local pid = assert(math.tointeger(tonumber((line_of(child)))))
      assert(child:wait(children.patience))
      assert_gone(pid)
    end)

    it("no program changes its death signal to one that does not kill it", function()
      assert_refused(REFUSED, "strict", "death-signal", "0")
      assert_refused(REFUSED, "strict", "death-signal", "28")
      assert.equal("done", try("strict", "death-signal", "9"))
    end)

    it("a program that does not want to end with its host is killed when its host is", function()
      local program = [[
        local child = require("pintle.process").start {
          command = { %q, "outlive" }, sandbox = %s, stdin = "null", stderr = "null" }
        require("pintle.core").poll(%d, child.process.stdout, "r")
        print(child.pid, child.process.stdout:read())
        child:wait()]]
      local function outlive(sandbox)
        local host = start(children.lua(program:format(escape, sandbox, children.patience)))
        local pid, said = line_of(host):match "^(%d+)%s+(%l+)"
        assert.equal("done", said)
        host.process:kill "KILL"
        assert(host:wait(children.patience))
        host:close()
        return math.tointeger(tonumber(pid))
      end
      local pid = outlive "nil"
      assert.is_true(is_alive(pid))
      os.execute("kill -9 " .. pid)
      assert_gone(outlive '"strict"')
    end)

    it("children of other libraries are left alone", function()
      local pipe = assert(io.popen("echo started; sleep 0.3; echo ended; exit 7"))
      assert.equal("started", pipe:read())
      start({ escape, "group" }, "strict"):close()
      assert.equal("ended", pipe:read())
      assert.same({ nil, "exit", 7 }, { pipe:close() })
    end)
  end)

  describe("limits", function()
    it("the number of processes", function()
      local child, err = process.start { command = { "true" }, sandbox = { processes = 10 } }
      if not child then return pending("this system forbids it: " .. err.message) end
      child:close()
      assert.equal("100", try(nil, "fork", "100"))
      local n = tonumber((try({ processes = 10 }, "fork", "100")))
      assert.truthy(n and n < 10, n)
    end)

    it("memory", function()
      assert.equal("200", try(nil, "fill", "200"))
      local n = tonumber((try({ memory = 64 << 20 }, "fill", "200")))
      assert.truthy(n and n < 64, n)
    end)
  end)

  describe("lets programs start:", function()
    it("Lua, a shell and Python", function()
      assert.equal("hello", run({ "lua5.4", "-e", "print 'hello'" }, "strict"))
      assert.equal("hello", run({ "sh", "-c", "cat | echo hello" }, "strict"))
      if core.which "/usr/bin/python3" then
        assert.equal("hello", run({ "/usr/bin/python3", "-c", "import json, ssl; print('hello')" }, "strict"))
      end
    end)

    it("a program of Node, with the packages beside it", function()
      if not core.which "node" then return pending "there is no node" end
      local package = work.path .. "/project/node_modules/pack"
      os.execute(("mkdir -p %s %s/../dep"):format(package, package))
      write(package .. "/../dep/index.js", "module.exports = 'hello'")
      local main = write(package .. "/main.js", [[
        try { require("fs").readFileSync(process.argv[2]) } catch (e) { console.log(require("dep"), e.code) }
      ]])
      assert.equal("hello EACCES", run({ "node", main, home .. "/secret" }, "strict"))
    end)

    it("a script, with the files beside it, also by a link", function()
      local path = work.path .. "/scripts"
      lfs.mkdir(path)
      write(path .. "/part.sh", "echo hello\n")
      local script = write(path .. "/main.sh", '#!/bin/sh\n. "' .. path .. '/part.sh"\n', "755")
      assert(lfs.link(script, inside .. "/linked", true))
      assert.equal("hello", run({ script }, "strict"))
      assert.equal("hello", run({ "sh", script }, "strict"))
      assert.equal("hello", run({ inside .. "/linked" }, "strict"))
      assert.equal("hello", run({ "./main.sh" }, "strict", { cwd = path }))
    end)

    it("but no file that is only an argument of its code", function()
      local private = work.path .. "/private"
      lfs.mkdir(private)
      local secret = write(private .. "/secret", "the secret")
      for _, command in ipairs {
        { "sh", "-c", 'cat "$1"', "sh", secret }, { "perl", "-e", "open(F, $ARGV[0]); print <F>", secret },
        { "python3", "-m", "base64", "-e", secret },
      } do
        if core.which(command[1]) then
          assert.not_equal("", run(command))
          assert.equal("", run(command, "strict"))
        end
      end
      local script = write(private .. "/main.lua", "print(SAID)")
      assert.equal("hello", run({ "lua5.4", "-e", "SAID = 'hello'", script }, "strict"))
    end)

    it("but does not let a script read the home in which it is", function()
      local script = write(home .. "/main.sh", "cat " .. home .. "/secret; echo done\n")
      local program = ([[
        local child <close> = require("pintle.process").start {
          command = { "sh", %q }, sandbox = "strict", stderr = "null" }
        child:wait(10)
        print(child.process.stdout:read())]]):format(script)
      assert.equal("done", run(children.lua(program), nil, { env = { HOME = home } }))
      assert.equal("the secret", run({ "sh", script }))
    end)

    it("and says which program it cannot run", function()
      local program = write(home .. "/program", "#!" .. escape .. "\n", "755")
      os.rename(escape, inside .. "/moved")
      local child, err = process.start { command = { program }, sandbox = "strict" }
      os.rename(inside .. "/moved", escape)
      assert.is_nil(child)
      assert.equal("spawn", err.kind)
      assert.matches('^cannot run "[^"]+program" in its sandbox: ', err.message)
    end)
  end)

  -- The rules for files are made once for several starts.
  describe("that is used again", function()
    local sandboxes = require "pintle.process.sandbox"
    local out

    before_each(function() out = assert(core.realpath(work.path)) .. "/out" end)

    it("allows the file that is at a path now, not the one that was there", function()
      local sandbox = sandboxes.check { read = { out .. "/one", out .. "/directory" } }
      local function replace(text)
        os.execute(("rm -rf %s/old && mkdir -p %s/directory && mv %s/directory %s/old && mkdir %s/directory"):format(
          out, out, out, out, out))
        write(out .. "/directory/file", text .. "\n")
        os.rename(write(out .. "/new", text .. "\n"), out .. "/one")
      end
      for _, text in ipairs { "first", "second", "third" } do
        replace(text)
        for _ = 1, 2 do
          assert.equal(text, try(sandbox, "read", out .. "/one"))
          assert.equal(text, try(sandbox, "read", out .. "/directory/file"))
        end
      end
      assert.equal(INVISIBLE, try(sandbox, "read", out .. "/old/file"))
    end)

    it("allows a file that was not there before", function()
      local sandbox = sandboxes.grant(sandboxes.check { read = { out } }, { read = { out .. "/late" } })
      assert.equal("No such file or directory", try(sandbox, "read", out .. "/late"))
      write(out .. "/late", "late\n")
      assert.equal("late", try(sandbox, "read", out .. "/late"))
    end)

    it("does not allow a program the files of another one", function()
      local sandbox = sandboxes.check "strict"
      for _, name in ipairs { "one", "other" } do
        assert(lfs.mkdir(out .. "/" .. name))
        write(("%s/%s/main.sh"):format(out, name), 'read -r line < "$1"; echo "$line"\n')
        write(("%s/%s/secret"):format(out, name), name .. "\n")
      end
      local function ask(name, secret)
        return run({ "sh", ("%s/%s/main.sh"):format(out, name), ("%s/%s/secret"):format(out, secret) }, sandbox)
      end
      for _ = 1, 2 do
        assert.same({ "one", "", "other", "" },
          { ask("one", "one"), ask("one", "other"), ask("other", "other"), ask("other", "one") })
      end
    end)

    it("takes relative paths from the directory of each child", function()
      local sandbox = sandboxes.check { read = { "file" } }
      for _, name in ipairs { "one", "other", "one" } do
        local directory = ("%s/%s"):format(out, name)
        lfs.mkdir(directory)
        write(directory .. "/file", name .. "\n")
        for _ = 1, 2 do assert.equal(name, run({ escape, "read", "file" }, sandbox, { cwd = directory })) end
      end
      local child, err = process.start { command = { escape, "read", "file" }, sandbox = sandbox, cwd = out .. "/none" }
      assert.is_nil(child)
      assert.equal(('cannot enter "%s/none": No such file or directory'):format(out), err.message)
    end)

    it("holds one descriptor, also if a start fails", function()
      local sandbox = sandboxes.check { read = { out .. "/late" } }
      local count = children.count_descriptors
      collectgarbage()
      collectgarbage "stop"
      local before = count()
      for _ = 1, 3 do assert.is_nil((process.start { command = { "true" }, sandbox = sandbox })) end
      assert.equal(before, count())
      write(out .. "/late", "late\n")
      for _ = 1, 3 do
        start({ "true" }, sandbox):close()
        assert.is_nil((process.start { command = { out .. "/late" }, sandbox = sandbox }))
        assert.equal("late", try(sandbox, "read", out .. "/late"))
      end
      assert.equal(before + 1, count())
      collectgarbage "restart"
    end)
  end)

  describe("of a host", function()
    local greeter = { "lua5.4", "examples/greeter/plugin.lua" }

    local function greet(options, host_options)
      local host <close> = pintle.host(host_options or { log = false })
      options.command = options.command or greeter
      local plugin, err = host:start(options)
      if not plugin then return nil, err end
      return plugin:execute("greet", { name = "Ada" }).message
    end

    it("runs a stock plugin", function()
      for _, sandbox in ipairs { "strict", "read-only", { net = { "tcp:443" } } } do
        assert.equal("Hello, Ada", greet { sandbox = sandbox })
      end
      assert.equal("Hello, Ada", greet({}, { log = false, sandbox = "strict" }))
    end)

    it("gives a plugin what its manifest asks for, if the host grants it", function()
      local answer = ([[
        local plugin = require("pintle").plugin { name = "reader", version = "1.0.0" }
        plugin:operation("greet", {}, function()
          local words = {}
          for _, path in ipairs { %q, %q, %q } do
            local file = io.open(path)
            words[#words + 1] = file and file:read() or "no"
          end
          return table.concat(words, " ")
        end)
        plugin:serve()]])
      local granted = write(work.path .. "/out/granted", "granted\n")
      local both = write(inside .. "/both", "both\n")
      local asked = home .. "/secret"
      lfs.link(asked, work.path .. "/out/link", true)
      local command = children.lua(answer:format(granted, both, asked))
      local grant = { read = { granted, both } }
      local function get(manifest)
        return greet { command = command, sandbox = grant, discovered_manifest = manifest }
      end
      assert.equal("granted both no", get(nil))
      assert.equal("granted both no", get { name = "reader" })
      assert.equal("no both no", get { sandbox = { read = { both, asked, work.path .. "/out/link", "/nowhere" } } })
      assert.equal("no no no", get { sandbox = {} })
      local _, err = get { sandbox = { reads = {} } }
      assert.equal("invalid", err.kind)
      assert.equal('its manifest: sandbox: no option "reads"', err.message)
    end)

    it("gives a plugin the ports that both name", function()
      local sandboxes = require "pintle.process.sandbox"
      local function common(granted, asked)
        return sandboxes.grant(assert(sandboxes.check { net = granted }), { net = asked }).net
      end
      assert.same({ "tcp:443" }, common({ "tcp" }, { "tcp:443", "udp" }))
      assert.same({ "tcp:443" }, common({ "tcp:443", "udp" }, { "tcp" }))
      assert.same({ "udp" }, common(true, { "udp" }))
      assert.same({}, common({ "tcp:1" }, { "tcp:2" }))
      assert.is_false(common(false, true))
      assert.is_false(common({ "udp" }, false))
    end)

    it("raises for a wrong option at the line that gave it", function()
      local host <close> = pintle.host { log = false }
      local function refused(message, sandbox)
        local ok, err = pcall(function() host:start { command = greeter, sandbox = sandbox } end)
        assert.is_false(ok)
        assert.matches("sandbox_spec.lua:%d+: sandbox: " .. message, err)
      end
      refused('preset: "strict" or "read%-only" expected, got lax', "lax")
      refused('net: "tcp"', { net = { "tcp:99999" } })
      refused('net: "tcp"', { net = { "udp:53" } })
      refused('no option "reed"', { reed = {} })
      refused("read: paths expected", { read = { 1 } })
      refused("processes: a positive integer", { processes = 0 })
      refused("a preset or a table expected", 5)
      assert.has_error(function() pintle.connect { command = { "true" }, sandbox = "lax" } end)
    end)

    it("fails for a path that does not exist, which it names", function()
      local _, err = greet { sandbox = { read = { "/no/such" } } }
      assert.equal("spawn", err.kind)
      assert.equal('sandbox: Landlock: cannot allow "/no/such": No such file or directory', err.message)
    end)
  end)

  describe("that the system cannot enforce", function()
    local START = [[
      local host = require("pintle").host { log = function(entry) print(entry.message) end }
      local plugin, err = host:start { command = { "lua5.4", "examples/greeter/plugin.lua" }, sandbox = %s }
      print(plugin and plugin:execute("greet", { name = "Ada" }).message or err)
      host:stop()
    ]]

    local function lines(calls, sandbox)
      local command = children.lua(START:format(sandbox))
      table.move(command, 1, #command, 3)
      command[1], command[2] = without, calls
      return (children.run { command = command })
    end

    it("is refused", function()
      local said = lines("444,445,446", '"strict"')
      assert.equal("sandbox: this system cannot restrict files: Landlock of version 3 is needed, this kernel has none; "
        .. "signals: Landlock of version 6 is needed, this kernel has none\n", said)
    end)

    it("is enforced as far as it can be, with best_effort, and the log says what is not", function()
      local said = lines("444,445,446", "{ best_effort = true }")
      assert.truthy(said:find("its sandbox does not restrict files: Landlock of version 3 is needed", 1, true), said)
      assert.truthy(said:find("Hello, Ada", 1, true), said)
    end)

    it("is refused if the system forbids namespaces", function()
      local unshare = run { "uname", "-m" } == "aarch64" and "97" or "272"
      local said = lines(unshare, "{ namespaces = true }")
      assert.equal("sandbox: cannot make namespaces: Function not implemented\n", said)
      said = lines(unshare, "{ namespaces = true, best_effort = true }")
      assert.truthy(said:find("does not restrict namespaces", 1, true), said)
      assert.truthy(said:find("Hello, Ada", 1, true), said)
    end)
  end)

  it("can have a network of its own, too", function()
    local count = { "sh", "-c", "grep -c : /proc/net/dev" }
    local here = tonumber((run(count)))
    local child, err = process.start { command = { "true" }, sandbox = { namespaces = true } }
    if not child then return pending("this system forbids it: " .. err.message) end
    child:close()
    local own = run(count, { namespaces = true, read = { "/proc" } })
    assert.truthy(tonumber(own) <= here)
    assert.equal("1", own)
    assert.equal(is_root and "0" or tostring(lfs.attributes("/proc/self", "uid")),
      run({ "id", "-u" }, { namespaces = true }))
  end)

  -- What root may do without a sandbox, other users may not; what is refused must be refused for both.
  it("holds for an ordinary user as well", function()
    if not (is_root and core.which "setpriv") then return pending "only root can become another user" end
    write(home .. "/secret", "the secret\n", "644")
    local program = ([[
      local process, core = require "pintle.process", require "pintle.core"
      for _, case in ipairs {
        { "read", %q }, { "udp", "9" }, { "signal", tostring(core.getpid()) }, { "slow", tostring(core.getpid()) },
        { "session" }, { "fork", "50" },
      } do
        for _, sandbox in ipairs { false, { processes = 10 } } do
          local child <close> = assert(process.start {
            command = { %q, table.unpack(case) }, sandbox = sandbox, stdin = "null" })
          assert(core.poll(10, child.process.stdout, "r"))
          local text = child.process.stdout:read():match "[^\n]*"
          if case[1] == "session" and tonumber(text) then os.execute("kill -9 " .. text) end
          io.write(tonumber(text) and (tonumber(text) < 10 and "few" or "many") or text, ";")
        end
      end]]):format(home .. "/secret", escape)
    if not run({ "setpriv", "--reuid=65534", "unshare", "-U", "echo", "yes" }):find "yes" then
      return pending "this system forbids namespaces"
    end
    if run { "setpriv", "--reuid=65534", "lua5.4", "-e", 'require "pintle.process" print "yes"' } ~= "yes" then
      return pending "no other user can read this checkout"
    end
    local command = { "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "lua5.4", "-e", program }
    local said = children.run { command = command }
    assert.equal("the secret;Permission denied;done;Operation not permitted;done;Operation not permitted;done;"
      .. "Operation not permitted;many;Operation not permitted;many;few;", said)
  end)
end)
