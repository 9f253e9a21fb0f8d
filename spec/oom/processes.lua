-- Descriptors, processes, signals, sockets, readiness.
local core, scenarios, checks = ...
local again, is, says, raises, fails = checks.again, checks.is, checks.says, checks.raises, checks.fails

function scenarios.descriptors()
  local r <close>, w = again(core.pipe)
  is(false, (again(r.read, r)))
  is(5, again(w.write, w, "hello"))
  is("hello", r:read()) -- what was read is gone if there is no memory for it
  says("pintle.fd %(%d+%)", tostring(w))
  w:close()
  is("", (again(r.read, r)))
  says("closed", tostring(w))
  raises("closed", w.write, w, "x")
  local one <close>, two = again(core.socketpair)
  is("number", type(one:fileno() + two:fileno() + core.now()))
  is(false, core.isatty(one))
  is(nil, core.columns(one))
  raises("no descriptor", core.isatty, -1)
end

-- The second time in a process it is refused.
function scenarios.claim()
  local input <close>, output, kind = core.claim_stdio()
  if input then output:close() else is("closed", kind) end
end

local function finished(process)
  return process:wait(10)
end

function scenarios.spawn()
  local p <close> = assert(again(core.spawn, {
    command = { "cat", "-" }, env = { A = "1", B = false }, inherit = { "PATH", "HOME" }, cwd = "/",
    limits = { files = 64, core = 0 }, group = "session", death_signal = "TERM", stderr = "null",
  }))
  is("number", type(p:pid() + (p:fd() or 0)))
  is(2, p.stdin:write "hi")
  p.stdin:close()
  is(0, (again(finished, p)))
  is("hi", p.stdout:read())
  says("ended", tostring(p))
  fails("already ended", "closed", again(p.kill, p))
end

function scenarios.spawn_kill()
  local null_device <close>, other = core.pipe()
  local p = assert(core.spawn { command = { "/bin/cat" }, stdin = "pipe", stdout = other, stderr = other:fileno() })
  is(false, (again(p.wait, p)))
  is(true, again(p.kill, p, "TERM", true))
  local code, signal = again(finished, p)
  is(nil, code)
  is("TERM", signal)
  p:close()
  p:close()
  assert(core.spawn { command = { "cat" }, group = false, inherit = false }) -- left to the collector
  is(false, null_device:closed())
end

local _, has_filter = core.sandbox()

-- Where the system cannot enforce it, the start fails, and allocates the same.
function scenarios.spawn_sandbox()
  local kept = {}
  local p, message, kind = again(core.spawn, {
    command = { "/bin/cat" }, sha256 = core.sha256 "/bin/cat", stdout = "null", sandbox = {
      files = true, scoped = true, filter = has_filter, partial = true, read = { "/" },
      read_optional = { "/nowhere", "/usr" }, write = { "/tmp" }, write_optional = { "/dev/null" },
      needs = { read_optional = { "/" } }, connect = { 443 }, listen = { 80, 81 }, sockets = { "tcp", "udp" },
      groups = {}, code = { "/bin/cat" }, read_fixed = { "/proc/stat" }, kept = kept,
    },
  })
  if not p then return is("spawn", kind, message) end
  is(true, again(p.kill, p, "KILL", true))
  is(nil, (again(finished, p)))
  p:close()
end

function scenarios.spawn_sandbox_wrong()
  local function raises_for(text, sandbox) raises(text, core.spawn, { command = { "x" }, sandbox = sandbox }) end
  raises_for("'sandbox': table expected", true)
  raises_for("unknown name 'x'", { x = 1 })
  raises_for("'read': string expected", { read = { 1 } })
  raises_for("'needs': table expected", { needs = 1 })
  raises_for("a port is", { connect = { 65536 } })
  raises_for("unknown kind 'x'", { sockets = { "x" } })
  fails("not the expected file", "invalid", again(core.spawn, { command = { "/bin/cat" }, sha256 = "0" }))
  fails("sandbox: ", "spawn", again(core.spawn, { command = { "/bin/cat" },
    sandbox = { files = true, partial = true, read = { "/nowhere" } } }))
end

function scenarios.sandbox()
  is("number", type((again(core.sandbox))))
  is("/usr", (again(core.realpath, "/usr/../usr/.")))
  fails("cannot resolve", "invalid", again(core.realpath, "/nowhere"))
end

function scenarios.spawn_wrong()
  fails('cannot run "/nowhere"', "spawn", again(core.spawn, { command = { "/nowhere" } }))
  fails('cannot run "not%-there"', "spawn", again(core.spawn, { command = { "not-there" } }))
  fails('cannot enter "/nowhere"', "spawn", again(core.spawn, { command = { "/bin/true" }, cwd = "/nowhere" }))
  fails("connect stdin", "spawn", again(core.spawn, { command = { "/bin/true" }, stdin = 500 }))
  raises("unknown name 'x'", core.spawn, { x = 1 })
  raises("'command'", core.spawn, {})
  raises("'command': .*empty", core.spawn, { command = { "" } })
  raises("'env': '=' is not a name", core.spawn, { command = { "x" }, env = { ["="] = "" } })
  raises("'env.A': string expected", core.spawn, { command = { "x" }, env = { A = 1 } })
  raises("unknown signal", core.spawn, { command = { "x" }, death_signal = "X" })
  raises("unknown limit", core.spawn, { command = { "x" }, limits = { x = 1 } })
  raises("not a whole number", core.spawn, { command = { "x" }, limits = { cpu = 1.5 } })
  raises("'stdin'", core.spawn, { command = { "x" }, stdin = "x" })
end

function scenarios.signals()
  local signals <close> = assert(again(core.signals, { "USR1", "KILL", "USR2" }))
  is("number", type(signals:fd()))
  is(nil, again(signals.next, signals))
  fails("already", "full", again(core.signals, { "USR1" }))
  is(true, again(core.raise, "WINCH"))
  raises("unknown signal 'X'", core.signals, { "X" })
  raises("name expected", core.raise, {})
end

function scenarios.sockets()
  local listener <close> = assert(again(core.listen, { host = "127.0.0.1", port = 0 }))
  local place = again(core.address, listener)
  is(false, again(core.accept, listener))
  local far <close> = assert(again(core.connect, place))
  is(true, again(core.connected, far))
  local near <close> = again(core.accept, listener)
  is("table", type(again(core.address, near)))
  fails("in use", "full", again(core.listen, place))
  fails("no address", "invalid", again(core.address, assert(core.loop.fileno())))
  raises("path, or a host", core.connect, {})
end

function scenarios.sockets_unix()
  local path = "build/oom/socket" -- what a run leaves there is replaced by the next
  local listener <close> = assert(again(core.listen, { path = path, mode = 384 }))
  local far <close> = assert(again(core.connect, { path = path }))
  local near <close> = again(core.accept, listener)
  is(1, again(far.write, far, "x"))
  is("x", near:read())
  is(path, again(core.address, near).path)
  fails("in use", "full", again(core.listen, { path = path }))
  os.remove(path)
  fails("No such file", "closed", again(core.connect, { path = path }))
end

function scenarios.sha256()
  is(64, #again(core.sha256, "/proc/self/exe"))
  fails("cannot read", "invalid", again(core.sha256, "/nowhere"))
  fails("cannot read", "invalid", again(core.sha256, "/"))
  raises("zero byte", core.sha256, "a\0b")
end

function scenarios.pidfd()
  local pid = again(core.getpid)
  is(true, again(core.alive, pid))
  again(core.pidfd, pid):close()
  fails("cannot watch", "closed", again(core.pidfd, 0x7FFFFFFF))
end

function scenarios.which()
  says("/cat$", (assert(again(core.which, "cat"))))
  is("/bin/cat", (again(core.which, "cat", "/nowhere:/bin")))
  fails("cannot run", "spawn", again(core.which, "not-there"))
  raises("zero byte", core.which, "a\0b")
end

function scenarios.poll()
  local r <close>, w = core.pipe()
  local function poll(...)
    local arguments = table.pack(...)
    return again(function() return core.poll(table.unpack(arguments, 1, arguments.n)) end)
  end
  is("w", (poll(1, w:fileno(), "w")))
  w:write "x"
  local readable, writable = poll(0, r, "r", w, "rw")
  is("r", readable)
  is("w", writable)
  r:close()
  is("rw", (poll(nil, w, "w")))
  fails("cannot wait", "closed", poll(0, 500, "r"))
  raises("invalid option", core.poll, 0, w, "x")
end

function scenarios.watching_many()
  local ends, ready, watcher = {}, 0, {}
  function watcher.on_ready() ready = ready + 1 end
  local function unwatch()
    for i = 2, #ends, 2 do core.loop.unwatch(ends[i], watcher) end
  end
  local _ <close> = setmetatable({}, { __close = unwatch })
  for i = 1, 40 do
    ends[2 * i - 1], ends[2 * i] = again(core.pipe)
    is(true, again(core.loop.watch, ends[2 * i], "w", watcher))
  end
  again(core.loop.step, 0)
  is(40, ready)
end
