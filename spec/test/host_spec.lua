-- A host for a plugin in the same process: `pintle.test.host`.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local loop = require "pintle.loop"
local pintle = require "pintle"

local DIALECTS = { "editor", "gevals", "liquid", "lsp", "mcp", "reginald" }

loop.fileno() -- the loop opens its descriptor, which stays

local NAME = { type = "object", required = { "name" }, properties = { name = { type = "string" } } }

local function new_plugin()
  local plugin = pintle.plugin { name = "greeter", version = "1.2.3" }
  plugin:operation("greet", { description = "Say hello", params = NAME }, function(args, ctx)
    ctx:log("info", "greeting", { name = args.name })
    if args.name == "" then return nil, "nobody to greet" end
    return "Hello, " .. args.name
  end)
  return plugin
end

-- A plugin with one operation, `go`.
local function with_operation(fn)
  local plugin = pintle.plugin { name = "worker", version = "1.0.0" }
  plugin:operation("go", {}, fn)
  return plugin
end

describe("a plugin in the process of its test", function()
  children.leave_nothing()

  for _, dialect in ipairs(DIALECTS) do
    it("is called in the dialect " .. dialect, function()
      local greeter <close> = assert(pintle.test.host(new_plugin(), { dialect = dialect }))
      assert.equal("Hello, Ada", assert(greeter:execute("greet", { name = "Ada" })).message)
      assert.is_false(assert(greeter:execute("greet", { name = "" })).success)
      assert.is_nil(greeter:execute("greet", { name = 5 }))
    end)
  end

  it("has the name and the manifest of the plugin, and no process", function()
    local greeter <close> = assert(pintle.test.host(new_plugin()))
    assert.equal("greeter", greeter.name)
    assert.same({ "greeter", "1.2.3" }, { greeter.manifest.name, greeter.manifest.version })
    assert.same({}, greeter:pids())
    assert.equal(core.getpid(), with_operation(core.getpid).manifest.operations.go.fn())
  end)

  it("logs to the given function", function()
    local entries = {}
    local greeter <close> = assert(pintle.test.host(new_plugin(), {
      name = "subject", log = function(entry) entries[#entries + 1] = tostring(entry) end,
    }))
    assert(greeter:execute("greet", { name = "Ada" }))
    assert.same({ 'info  subject: greeting {"name":"Ada"}' }, entries)
  end)

  it("sends progress, parts and bytes, and calls its host", function()
    local seen = {}
    local plugin = with_operation(function(args, ctx)
      ctx:progress(0.5, "half")
      ctx:part { data = args.data }
      return assert(ctx:call("ask", { 20 }))
    end)
    local worker <close> = assert(pintle.test.host(plugin, {
      extensions = true, handlers = { ask = function(params) return tostring(params[1] + 1) end },
    }))
    local outcome = assert(worker:execute("go", { data = pintle.bytes "\0\1" }, {
      on_progress = function(fraction, message) seen[#seen + 1] = { fraction, message } end,
      on_part = function(part) seen[#seen + 1] = tostring(part.data) end,
    }))
    assert.equal("21", outcome.message)
    assert.same({ { 0.5, "half" }, "\0\1" }, seen)
  end)

  it("gets its configuration, and runs on_shutdown when the host stops it", function()
    local plugin, seen = new_plugin(), {}
    plugin:on_initialize(function(config) seen[#seen + 1] = config.colour end)
    plugin:on_shutdown(function() seen[#seen + 1] = "shutdown" end)
    local greeter = assert(pintle.test.host(plugin, { config = { colour = "red" } }))
    assert.same({ "red" }, seen)
    greeter:stop()
    greeter:stop()
    assert.same({ "red", "shutdown" }, seen)
    local outcome, err = greeter:execute("greet", { name = "Ada" })
    assert.is_nil(outcome)
    assert.equal("greeter was stopped", err.message)
  end)

  it("can be hosted again, and several times at once", function()
    local plugin = new_plugin()
    for _ = 1, 3 do
      local one <close> = assert(pintle.test.host(plugin))
      local other <close> = assert(pintle.test.host(plugin, { dialect = "mcp" }))
      assert.equal("Hello, one", assert(one:execute("greet", { name = "one" })).message)
      assert.equal("Hello, other", assert(other:execute("greet", { name = "other" })).message)
    end
  end)

  it("refuses to start as from a program", function()
    local plugin = new_plugin()
    plugin:on_initialize(function() return nil, "no licence" end)
    local greeter, err = pintle.test.host(plugin)
    assert.is_nil(greeter)
    assert.equal("greeter refused to start: no licence (code -32000)", tostring(err))
  end)

  it("times out, even if it computes without waiting", function()
    local worker <close> = assert(pintle.test.host(with_operation(function() while true do end end)))
    local outcome, err = worker:execute("go", {}, { timeout = 0.1 })
    assert.is_nil(outcome)
    assert.equal("timeout", err.kind)
  end)

  it("has its operation cancelled when the host is stopped", function()
    local why
    local worker = assert(pintle.test.host(with_operation(function(_, ctx)
      local _, err = ctx:sleep(children.patience)
      why = tostring(err)
      return nil, err
    end), { dialect = "mcp" }))
    local task = pintle.task(worker.execute, worker, "go")
    worker:stop()
    local outcome, err = task:await(children.patience)
    assert.is_nil(outcome)
    assert.equal("closed", err.kind)
    assert.equal("the plugin is shutting down", why)
  end)

  it("fails its calls with the exit status when it ends by itself", function()
    local worker <close> = assert(pintle.test.host(with_operation(function(_, ctx)
      ctx.server:exit(3)
      ctx:sleep(children.patience)
    end)))
    assert.is_nil(worker:execute("go"))
    local outcome, err = worker:execute("go")
    assert.is_nil(outcome)
    assert.same({ "worker ended with status 3", { code = 3 } }, { err.message, err.exit })
  end)

  it("does not keep the loop at work", function()
    local greeter <close> = assert(pintle.test.host(new_plugin()))
    pintle.run()
    assert.equal("Hello, Ada", assert(greeter:execute("greet", { name = "Ada" })).message)
  end)

  it("is stopped when its handle is collected", function()
    local plugin, is_shut = new_plugin(), false
    plugin:on_shutdown(function() is_shut = true end)
    assert(assert(pintle.test.host(plugin)):execute("greet", { name = "Ada" }))
    local deadline = core.now() + children.patience
    repeat
      collectgarbage()
      pintle.sleep(0.001)
    until is_shut or core.now() > deadline
    assert.is_true(is_shut)
    pintle.run()
  end)

  it("is not started with options of a process, or without a plugin", function()
    local plugin = new_plugin()
    local function message_of(...)
      local ok, message = pcall(function(...) local _ = pintle.test.host(...) end, ...)
      assert.is_false(ok)
      assert.truthy(message:find("host_spec.lua", 1, true), message)
      return (message:gsub("^[^:]+:%d+: ", ""))
    end
    assert.equal('no option "command"', message_of(plugin, { command = { "true" } }))
    assert.equal("log: function expected, got number", message_of(plugin, { log = 1 }))
    assert.truthy(message_of(plugin, { timeout = true }):find "^timeout: seconds")
    assert.equal("a plugin or the path of its file expected, got table", message_of {})
  end)
end)

describe("the file of a plugin", function()
  children.leave_nothing()

  -- Hosts a file with this text.
  local function host(text)
    local folder <close> = files.folder()
    local path = folder.path .. "/plugin.lua"
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    return pintle.test.host(path)
  end

  local function failure_of(text)
    local plugin, err = host(text)
    assert.is_nil(plugin)
    assert.equal("invalid", err.kind)
    return err.message
  end

  it("runs until it serves, and ends with the host", function()
    local config = {}
    _G.CONFIG = config
    finally(function() _G.CONFIG = nil end)
    local stateful = assert(host [[
      local pintle = require "pintle"
      local state <close> = setmetatable({ text = "open" }, { __close = function(self) self.text = "closed" end })
      local plugin = pintle.plugin { name = "stateful", version = "1.0.0" }
      plugin:operation("look", {}, function() return state.text end)
      plugin:on_initialize(function(config) config.state = state end)
      os.exit(plugin:serve { exit = false, config = CONFIG })
    ]])
    assert.equal("open", assert(stateful:execute "look").message)
    stateful:stop()
    assert.equal("closed", config.state.text)
  end)

  it("is a complete program: a greeter of the examples", function()
    local greeter <close> = assert(pintle.test.host "examples/greeter/plugin.lua")
    assert.equal("Hello, Ada", assert(greeter:execute("greet", { name = "Ada" })).message)
  end)

  it("is reported if it cannot be read, raises, or serves nothing", function()
    local plugin, err = pintle.test.host "spec/none.lua"
    assert.is_nil(plugin)
    assert.truthy(err.message:find("none.lua: No such file", 1, true))
    assert.truthy(failure_of("for"):find("plugin.lua:1: ", 1, true))
    local message = failure_of "local x = nil\nlocal y = x.y"
    assert.truthy(message:find("plugin.lua:2: attempt to index", 1, true))
    assert.truthy(message:find("stack traceback", 1, true))
    assert.truthy(failure_of("return 1"):find("plugin.lua serves no plugin", 1, true))
  end)

  it("leaves `serve` as it was", function()
    local plugin = new_plugin()
    failure_of "error 'no'"
    local near, far = core.socketpair()
    near:close()
    assert.equal(0, plugin:serve { read = far, write = far, exit = false })
  end)
end)
