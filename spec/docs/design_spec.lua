-- The three uses of pintle: a plugin, a host, and any other peer, each as a user would write it.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"

local PLUGIN = [[
local pintle = require "pintle"
local plugin = pintle.plugin { name = "greeter", version = "1.0.0" }

plugin:operation("greet", {
  description = "Say hello",
  params = { type = "object", required = { "name" },
             properties = { name = { type = "string" },
                            times = { type = "integer", default = 1 } } },
}, function(args, ctx)
  ctx:log("info", "greeting", { name = args.name })
  for i = 1, args.times do ctx:progress(i / args.times) end
  if args.name == "" then return nil, "nobody to greet" end   -- success = false
  return "Hello, " .. args.name                               -- success = true
end)

plugin:serve()
]]

local HOST = [[
local pintle = require "pintle"
local host = pintle.host { dialect = "gevals", log = print }
local greeter <close> = assert(host:start { command = { "lua5.4", "greeter.lua" } })
print(greeter.manifest.name, greeter.manifest.version)
local result, err = greeter:execute("greet", { name = "Ada" }, { timeout = "5s" })
if not result then io.stderr:write(tostring(err), "\n") end
print(result.success, result.message)
]]

local PEER = [[
local pintle = require "pintle"
local peer <close> = assert(pintle.connect { command = { COMMAND }, framing = "header" })
peer:on("textDocument/publishDiagnostics", function(params) print(params.uri) end)
local caps, err = peer:call("initialize", { capabilities = {} }, { timeout = 30 })
print(type(caps and caps.capabilities), err)
]]

local SERVER = [[
local pintle = require "pintle"
local peer = assert(pintle.connect { stdio = true, framing = "header" })
peer:on("initialize", function(_, ctx)
  ctx:notify("textDocument/publishDiagnostics", { uri = "file:///x.c", diagnostics = pintle.array() })
  return { capabilities = {} }
end)
peer:join()
]]

describe("a user", function()
  local folder

  children.leave_nothing()
  files.give_each_a_folder(function(path) folder = path end)

  local function write(name, text) files.write(folder .. "/" .. name, text) end

  local function run(name)
    local process <close> = assert(core.spawn {
      command = { "lua5.4", name }, cwd = folder, stdin = "null", stderr = "null",
    })
    local printed = children.read(process.stdout)
    assert.equal(0, (process:wait(children.patience)))
    return printed
  end

  it("writes a plugin as operations, and hosts it with function calls", function()
    write("greeter.lua", PLUGIN)
    write("host.lua", HOST)
    assert.equal('greeter\t1.0.0\ninfo  greeter: greeting {"name":"Ada"}\ntrue\tHello, Ada\n', run "host.lua")
  end)

  it("runs a plugin from a shell", function()
    write("greeter.lua", PLUGIN)
    local request = '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"},'
      .. '"context":{"workdir":"/","phase":"setup"}}}'
    local code = 'printf "%s\\n" "$1" | lua5.4 greeter.lua 2> /dev/null'
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"success":true,"message":"Hello, Ada"}}\n',
      (children.run { command = children.sh(code, request), cwd = folder }))
  end)

  it("calls another peer and is called by it", function()
    write("server.lua", SERVER)
    write("client.lua", (PEER:gsub("COMMAND", '"lua5.4", "server.lua"')))
    assert.equal("file:///x.c\ntable\tnil\n", run "client.lua")
  end)

  it("calls a language server", function()
    if not core.which "clangd" then return pending "clangd is not here" end
    write("client.lua", (PEER:gsub("COMMAND", '"clangd"')))
    assert.equal("table\tnil\n", run "client.lua")
  end)
end)
