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

-- Two peers of this process, over a socket.
function scenarios.socket()
  local path = os.tmpname()
  os.remove(path)
  local server, err = pintle.listen({ path = path }, function(peer)
    peer:on("add", function(params) return params[1] + params[2] end)
    peer:on("repeat", function(params) return params[1] end)
  end)
  report("listen", true, server and true, err)
  if not server then return end
  local peer
  peer, err = pintle.connect { path = path, timeout = TIMEOUT }
  report("connect", true, peer and true, err)
  if peer then add_over(peer) end
  server:close()
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
