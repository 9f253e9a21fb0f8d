-- Both sides of Reginald's protocol together: outcomes and progress arrive, although it has no messages for them.
local children = require "spec.support.children"
local core = require "pintle.core"
local logged_host = require "spec.support.logged_host"
local pintle = require "pintle"
local tasks = require "pintle.task"

local json = core.json

local GREETER = { "lua5.4", "examples/greeter/plugin.lua" }
local WORKBENCH = { "lua5.4", "spec/support/reginald/workbench.lua" }

local function manifest_of(command)
  local text, status = children.run {
    command = { command[1], command[2], "--manifest", "reginald" }, stdin = "null",
  }
  assert.equal(0, status)
  return json.decode(text)
end

-- The ways to start a plugin.
local WAYS = {
  ["june"] = function() return { options = { release = "june" } } end,
  ["july, with a manifest.json"] = function(command) return { discovered_manifest = manifest_of(command) } end,
  ["july, without one"] = function() return { options = { release = "july" } } end,
  ["neither told"] = function() return {} end,
}

describe("a pintle host and a pintle plugin", function()
  local nothing_left, host, entries

  logged_host.start_first()

  before_each(function()
    nothing_left = children.stock()
    entries = {}
    host = pintle.host {
      dialect = "reginald", verbosity = "debug", log = function(entry) entries[#entries + 1] = entry end,
    }
  end)

  after_each(function()
    host:stop()
    nothing_left()
  end)

  local function start(command, given)
    local settings = { command = command, name = "x" }
    for name, value in pairs(given) do settings[name] = value end
    return assert(host:start(settings))
  end

  for way, given in pairs(WAYS) do
    describe("in the way of " .. way, function()
      it("execute an operation, as a command and as a task", function()
        local plugin = start(GREETER, given(GREETER))
        for _, operation in ipairs { "greet", "task:greet" } do
          entries = {}
          assert.same({ success = true, message = "Hello, Ada" }, (plugin:execute(operation, { name = "Ada" })))
          assert.same({ success = false, message = "nobody to greet", error = "nobody to greet" },
            (plugin:execute(operation, { name = "" })))
          local outcome, err = plugin:execute(operation, { name = 5 })
          assert.is_nil(outcome)
          assert.truthy(err.kind == "invalid" or err.code == -32602 or err.code == -32050)
          local lines = {}
          for _, entry in ipairs(entries) do lines[#lines + 1] = entry.level .. " " .. entry.message end
          assert.same({ "info greeting", "debug progress", "info greeting", "debug progress" }, lines)
        end
        assert.is_nil((plugin:execute("greeet", {})))
      end)

      it("transmit outputs and failures", function()
        local plugin = start(WORKBENCH, given(WORKBENCH))
        assert.same({ success = true, outputs = { a = 1, b = "x" } }, (plugin:execute("anything", { a = 1, b = "x" })))
        assert.same({ success = false, message = "Condition not met", error = "Timed out", outputs = { tries = 3 } },
          (plugin:execute("long-failure", {})))
        assert.same({ success = true }, (plugin:execute("nothing", {})))
        local outcome, err = plugin:execute("code", {})
        assert.is_nil(outcome)
        assert.same({ "remote", -4, { why = "because" } }, { err.kind, err.code, err.data })
        outcome, err = plugin:execute("raise", {})
        assert.is_nil(outcome)
        assert.equal(-32603, err.code)
      end)

      it("do not mix up the outcomes of several runs", function()
        local plugin = start(WORKBENCH, given(WORKBENCH))
        local running = {}
        for i = 1, 20 do
          local operation = i % 2 == 0 and "wait" or "task:wait"
          running[i] = tasks.start(function() return plugin:execute(operation, { ms = 21 - i }) end)
        end
        for i = 1, 20 do
          assert.same({ success = true, message = "waited for " .. 21 - i, outputs = { ms = 21 - i } },
            running[i]:await())
        end
      end)
    end)
  end

  local EVERYTHING = {
    yes = true, count = 2, text = "x", file = "/f", flags = { true }, counts = { 3 }, texts = { "a" }, files = { "b" },
    nested = { inner = "j", deep = { n = 0 } }, factor = 2, mixed = 5, maybe = "m", colour = "red",
  }

  it("transmit arguments of every type", function()
    for _, way in ipairs { "june", "july, with a manifest.json" } do
      local plugin = start(WORKBENCH, WAYS[way](WORKBENCH))
      assert.same(EVERYTHING, assert(plugin:execute("everything", EVERYTHING)).outputs.args)
      local nested = { nested = { deep = { n = 1 } } }
      assert.same(nested.nested.deep, plugin:execute("task:everything", nested).outputs.args.nested.deep)
      assert.same({ text = "t", counts = { 1, 2 }, factor = 1.5 }, assert(plugin:execute("everything")).outputs.args)
      plugin:stop()
    end
  end)

  it("report progress", function()
    local plugin = start(GREETER, {})
    local seen = {}
    assert(plugin:execute("greet", { name = "Ada", times = 4 }, {
      on_progress = function(fraction, message) seen[#seen + 1] = { fraction, message } end,
    }))
    assert.same({ { 0.25 }, { 0.5 }, { 0.75 }, { 1.0 } }, seen)
  end)

  it("have no message if the log level is above INFO", function()
    local plugin = start(GREETER, { options = { release = "june", level = "WARN" } })
    assert.same({ success = true }, (plugin:execute("greet", { name = "Ada" })))
    assert.same({ success = false, message = "nobody to greet", error = "nobody to greet" },
      (plugin:execute("greet", { name = "" })))
    assert.same({}, entries)
  end)

  it("find the message even if the log is delayed", function()
    local slow = pintle.host { dialect = "reginald", log = function()
      local stop = core.now() + 0.3
      while core.now() < stop do end
    end }
    local plugin <close> = assert(slow:start { command = GREETER, options = { release = "july" } })
    assert.equal("Hello, Ada", plugin:execute("greet", { name = "Ada" }).message)
  end)

  it("continue after the host has stopped waiting", function()
    for _, release in ipairs { "june", "july" } do
      local plugin = start(WORKBENCH, { options = { release = release } })
      local outcome, err = plugin:execute("wait", { ms = 500 }, { timeout = 0.1 })
      assert.is_nil(outcome)
      assert.equal("timeout", err.kind)
      assert.equal("waited for 1", plugin:execute("wait", { ms = 1 }).message)
      plugin:stop()
    end
  end)

  it("wait for another run no longer than their timeout", function()
    local plugin = start(WORKBENCH, { options = { release = "june" } })
    local first = tasks.start(function() return plugin:execute("wait", { ms = 600 }) end)
    local outcome, err = plugin:execute("wait", { ms = 1 }, { timeout = 0.1 })
    assert.is_nil(outcome)
    assert.equal("timeout", err.kind)
    local second = tasks.start(function() return plugin:execute("wait", { ms = 1 }) end)
    local third = tasks.start(function() return plugin:execute("wait", { ms = 2 }) end)
    second:cancel()
    assert.equal("waited for 600", first:await().message)
    assert.equal("waited for 2", third:await().message)
  end)

  it("fail the waiting runs when the plugin dies", function()
    local plugin = start(WORKBENCH, { options = { release = "june" } })
    local running = {}
    for i = 1, 3 do running[i] = tasks.start(function() return plugin:execute("wait", { ms = 60000 }) end) end
    plugin:execute("nothing", {})
    plugin:stop()
    for i = 1, 3 do
      local outcome, err = running[i]:await()
      assert.is_truthy(err or outcome.error == "the plugin is shutting down")
    end
  end)

  it("configure the plugin", function()
    local config = { greeting = "moin", depth = 2 }
    for way, given in pairs(WAYS) do
      local settings = given(WORKBENCH)
      settings.config = config
      local plugin = start(WORKBENCH, settings)
      assert.same(config, plugin:execute("where", {}).outputs.config, way)
      plugin:stop()
    end
  end)

  it("send the directory to tasks of june", function()
    local plugin = start(WORKBENCH, { options = { release = "june" } })
    assert.equal("/tmp/x", plugin:execute("task:where", {}, { workdir = "/tmp" }).message)
  end)
end)

describe("--manifest reginald", function()
  it("writes a manifest.json that july accepts", function()
    local manifest = manifest_of(WORKBENCH)
    local discovery = require("pintle.dialect.reginald.manifest").discovery
    assert(discovery.manifest(manifest))
    assert.same({ "workbench", "1.2.0", "bench", "Tries things", "workbench.lua" },
      { manifest.name, manifest.version, manifest.domain, manifest.description, manifest.executable })
    assert.same({ { key = "depth", value = 0, type = "int" }, { key = "greeting", value = "hi", type = "string" } },
      manifest.config)
    local by_name = {}
    for _, command in ipairs(manifest.commands) do by_name[command.name] = command end
    assert.same({ name = "sleep", usage = "sleep [--time N]", description = "Sleep for a while", config = { {
      key = "time", value = 1, type = "int", flag = { name = "time", shorthand = "t", description = "Seconds" } } } },
      by_name.sleep)
    assert.same({ name = "remote", usage = "remote", commands = { {
      name = "add", usage = "add [options]", description = "Add one", aliases = { "plus" }, config = { {
        key = "url", value = "", type = "string",
        flag = { name = "url", shorthand = "", description = "(required)" },
      } },
    } } }, by_name.remote)
    assert.is_nil(by_name.echo)
    assert.same({
      taskType = "echo", provides = { "sound" }, config = { { key = "msg", value = "", type = "string" } },
    }, manifest.tasks[1])
    local types = {}
    for _, entry in ipairs(by_name.everything.config) do types[entry.key] = entry.type end
    assert.same({
      yes = "bool", count = "int", text = "string", file = "path", flags = "boolList", counts = "intList",
      texts = "stringList", files = "pathList", nested = "string", factor = "string", mixed = "string",
      maybe = "string", colour = "string",
    }, types)
  end)

  -- The output of a plugin with an invalid declaration.
  local function complaint(plugin_options, operation_options)
    local plugin = pintle.plugin { name = "x", version = "1.0.0", dialects = { reginald = plugin_options } }
    plugin:operation("go", {
      params = { type = "object", properties = { a = { type = "string" } } },
      dialects = { reginald = operation_options },
    }, function() end)
    local ok, message = pcall(require("pintle.dialect.reginald").plugin.manifest, plugin)
    assert.is_false(ok)
    return message
  end

  it("always writes the config of the plugin, without which july refuses the settings of its commands", function()
    local text = children.run { command = { GREETER[1], GREETER[2], "--manifest", "reginald" }, stdin = "null" }
    assert.matches('\n  "config": [],\n', text, 1, true)
  end)

  it("reports invalid declarations", function()
    assert.equal('plugin: dialects.reginald: there is no "domian"', complaint({ domian = "x" }))
    assert.equal("plugin: dialects.reginald: domain: a string expected, got number", complaint({ domain = 1 }))
    local where = 'operation "go": dialects.reginald: '
    assert.equal(where .. 'there is no "ass"', complaint({}, { ass = "task" }))
    assert.equal(where .. 'as: "command", "task" or "both" expected', complaint({}, { as = "tusk" }))
    assert.equal(where .. 'positional: there is no parameter "b"', complaint({}, { positional = "b" }))
    assert.equal(where .. "config.b: there is no such parameter", complaint({}, { config = { b = {} } }))
    assert.equal(where .. "config.a: a table expected, got boolean", complaint({}, { config = { a = true } }))
    assert.equal(where .. 'config.a: there is no "falg"', complaint({}, { config = { a = { falg = "x" } } }))
  end)

  it("reports invalid declarations in the handshake as well, without ending the plugin", function()
    local code = [[
      local plugin = require("pintle").plugin { name = "x", version = "1.0.0" }
      plugin:operation("go", { dialects = { reginald = { as = "tusk" } } }, function() end)
      plugin:serve()
    ]]
    local host <close> = pintle.host { dialect = "reginald", log = false }
    local plugin, err = host:start { command = children.lua(code), name = "x" }
    assert.is_nil(plugin)
    assert.matches('operation "go": dialects.reginald: as: "command", "task" or "both" expected', err.message, 1, true)
  end)
end)
