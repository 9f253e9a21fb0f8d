-- Programs that torture/system_calls.lua runs while one of their system calls fails: scenarios.lua NAME [ARGUMENTS]
-- Each prints a line for each thing that it does: "ok", or "error" with the kind of the error. A wrong result, or an
-- error that says nothing, is a line with "LIE".

local core = require "pintle.core"
local pintle = require "pintle"

local TIMEOUT = 5 -- seconds for each wait

local LARGE = ("x"):rep(200000)

local function report(what, expected, result, err)
  if result == nil then
    local is_error = type(err) == "table" and type(err.kind) == "string" and type(err.message) == "string"
    print(is_error and "error" or "LIE", what, is_error and err.kind or "no error object: " .. tostring(err))
  elseif result ~= expected then
    print("LIE", what, tostring(result):sub(1, 100))
  else
    print("ok", what)
  end
end

local function greet(plugin, name)
  local outcome, err = plugin:execute("greet", { name = name }, { timeout = TIMEOUT })
  report("execute", "Hello, " .. name, outcome and outcome.message, err)
end

local function greet_often(plugin)
  greet(plugin, "Ada")
  greet(plugin, LARGE)
  local tasks = {}
  for i = 1, 20 do tasks[i] = pintle.task(greet, plugin, "number " .. i) end
  for _, task in ipairs(tasks) do task:await(2 * TIMEOUT) end
end

local scenarios = {}

-- A host with a plugin: one call after another, twenty at a time, a large message, stopping. `fault` is for the plugin.
function scenarios.host(dialect, fault)
  local host <close> = pintle.host { dialect = dialect, log = false }
  local plugin, err = host:start {
    command = { "lua5.4", "spec/support/plugins/greeter.lua" }, handshake_timeout = TIMEOUT,
    env = { PINTLE_FAULT = fault, PINTLE_FAULT_COUNTS = os.getenv "PLUGIN_COUNTS" },
  }
  report("start", true, plugin and true, err)
  if not plugin then return end
  greet_often(plugin)
  plugin:stop()
end

-- A plugin that dies in a call, one that dies while it starts, and a program that does not exist.
function scenarios.failing()
  local host <close> = pintle.host { log = false }
  for _, command in ipairs {
    { "lua5.4", "spec/support/bad_plugin.lua", "crash_during" },
    { "lua5.4", "spec/support/bad_plugin.lua", "crash_before" },
    { "./no-such-program" },
  } do
    local plugin, err = host:start { command = command, handshake_timeout = TIMEOUT }
    report("start", true, plugin and true, err)
    if plugin then report("execute", false, plugin:execute("go", {}, { timeout = TIMEOUT })) end
  end
end

local function add_over(peer)
  for i = 1, 3 do report("call", i + 1, peer:call("add", { i, 1 }, { timeout = TIMEOUT })) end
  report("call", LARGE, peer:call("repeat", { LARGE }, { timeout = TIMEOUT }))
  peer:close()
end

local function serve_over(peer)
  peer:on("add", function(params) return params[1] + params[2] end)
  peer:on("repeat", function(params) return params[1] end)
end

-- Two peers of this process, over a socket.
function scenarios.socket()
  local path = os.tmpname()
  os.remove(path)
  local server, err = pintle.listen({ path = path, mode = tonumber("600", 8) }, serve_over)
  report("listen", true, server and true, err)
  if not server then return end
  local peer
  peer, err = pintle.connect { path = path, timeout = TIMEOUT }
  report("connect", true, peer and true, err)
  if peer then add_over(peer) end
  server:close()
end

-- The same over TCP, with a name that is looked up.
function scenarios.tcp()
  local server, err = pintle.listen({ host = "localhost", port = 0 }, serve_over)
  report("listen", true, server and true, err)
  if not server then return end
  local peer
  peer, err = pintle.connect { host = "localhost", port = server.port, timeout = TIMEOUT }
  report("connect", true, peer and true, err)
  if peer then add_over(peer) end
  server:close()
end

local SPINNER = [[
  local core, pintle = require "pintle.core", require "pintle"
  local plugin = pintle.plugin { name = "spinner", version = "1.0.0" }
  plugin:operation("spin", {}, function()
    local limit = core.now() + 3
    while core.now() < limit do math.sin(1) end
  end)
  plugin:operation("greet", {}, function(args) return "Hello, " .. args.name end)
  plugin:serve()
]]

-- An operation that computes without yielding. The watchdog of the plugin ends it when its time is over.
function scenarios.watchdog(fault)
  local host <close> = pintle.host { dialect = "gevals", log = false }
  local plugin, err = host:start {
    command = { "lua5.4", "-e", SPINNER }, name = "spinner", handshake_timeout = TIMEOUT,
    env = { PINTLE_FAULT = fault, PINTLE_FAULT_COUNTS = os.getenv "PLUGIN_COUNTS" },
  }
  report("start", true, plugin and true, err)
  if not plugin then return end
  report("execute", nil, plugin:execute("spin", {}, { timeout = 0.3 }))
  greet(plugin, "Ada")
  plugin:stop()
end

-- It may not read the file or change it, and its second process leaves its group.
local CONFINED = [[
  set -m
  cat "$0"
  chmod 777 "$0" && echo changed
  sleep 300 > /dev/null &
  echo confined
]]

local function read_all(stream)
  local parts, deadline = {}, core.now() + TIMEOUT
  while core.now() < deadline do
    local data, message, kind = stream:read()
    if data == "" then return table.concat(parts) end
    if data == nil then return nil, { kind = kind, message = message } end
    if data then parts[#parts + 1] = data else core.poll(TIMEOUT, stream, "r") end
  end
  return nil, { kind = "timeout", message = "no end" }
end

-- A child in a sandbox, twice, so that the second start finds the rules of the first. What it may not do, it cannot do.
function scenarios.sandbox(spaces)
  local processes, sandboxes = require "pintle.process", require "pintle.process.sandbox"
  local sandbox = assert(sandboxes.check { net = { "tcp:443" }, namespaces = spaces == "namespaces" })
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write "secret\n"
  file:close()
  for _ = 1, 2 do
    local child, err = processes.start {
      command = { "/bin/bash", "-c", CONFINED, path }, sandbox = sandbox, stdin = "null", stderr = "null",
      sha256 = core.sha256 "/bin/bash",
    }
    report("start", true, child and true, err)
    if child then
      report("read", "confined\n", read_all(child.process.stdout))
      child:close()
    end
  end
  os.remove(path)
end

-- A process without a protocol, with all that a start can have.
function scenarios.process()
  local child, message = core.spawn {
    command = { "cat" }, stderr = "pipe", cwd = "/", group = "session", limits = { files = 64 },
  }
  report("spawn", true, child and true, { kind = "spawn", message = message })
  if not child then return end
  child:kill "TERM"
  local code, signal, kind = child:wait(TIMEOUT)
  local ending = not kind and (signal or code and "status " .. code) or nil
  report("wait", "TERM", ending, { kind = kind or "timeout", message = signal or "it runs" })
  child:close()
end

scenarios[arg[1]](table.unpack(arg, 2))
print "end"
