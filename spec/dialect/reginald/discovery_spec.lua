-- Plugins of Reginald, found by the rules of both releases.
local children = require "spec.support.children"
local files = require "spec.support.files"
local lfs = require "lfs"
local logged_host = require "spec.support.logged_host"
local pintle = require "pintle"

describe("discovery of Reginald's plugins", function()
  local nothing_left, directory, host, lines

  files.give_each_a_folder(function(path) directory = path end)

  logged_host.start_first()

  before_each(function()
    nothing_left = children.stock()
    lines = {}
    host = pintle.host { dialect = "reginald", log = function(entry) lines[#lines + 1] = tostring(entry) end }
  end)

  after_each(function()
    host:stop()
    nothing_left()
  end)

  local function program(path, script)
    files.write(directory .. "/" .. path, ("#!/bin/sh\nexec lua5.4 %s \"$@\"\n"):format(script or "x.lua"), "755")
  end

  local function folder(name, manifest, executable)
    lfs.mkdir(directory .. "/" .. name)
    if manifest then files.write(directory .. "/" .. name .. "/manifest.json", manifest) end
    program(name .. "/" .. (executable or "run"))
  end

  local function names(found)
    local list = {}
    for i, item in ipairs(found) do list[i] = item.name end
    return table.concat(list, " ")
  end

  local function reasons()
    local found, skipped = host:discover(directory)
    local by_name = {}
    for _, item in ipairs(skipped) do by_name[item.path:match "[^/]+$"] = item.reason end
    return by_name, found
  end

  it("finds programs of june by their names", function()
    program "reginald-echo"
    program "reginald-sleep.lua"
    program "other"
    program "reginald-"
    files.write(directory .. "/reginald-notes", "no program")
    local why, found = reasons()
    assert.equal("reginald-echo reginald-sleep", names(found))
    assert.same({
      name = "reginald-echo", command = { directory .. "/reginald-echo" }, dialect = "reginald",
      options = { release = "june" },
    }, found[1])
    assert.equal("its name does not start with reginald-", why.other)
    assert.equal("its name does not start with reginald-", why["reginald-"])
    assert.matches("is not executable", why["reginald-notes"])
    assert.equal(3, #lines)
  end)

  it("finds directories of july by their manifest.json", function()
    folder("one", [[{
      "name": "first", "executable": "run", "version": "1.0.0", "domain": "d", "description": "D", "help": "H",
      "runtime": { "name": "go" },
      "config": [{ "key": "k", "value": null, "type": "int", "description": "d", "flag": {} },
        { "key": "l", "value": 1, "type": "int", "flag": { "usage": "u" } },
        { "alternatives": [
          { "key": "m", "value": [], "type": "pathList" }, { "key": "m", "keyType": "path", "values": [] }] },
        { "key": "n", "keyType": "path", "values": [{ "key": "src", "value": "", "type": "path" }] }],
      "commands": [{ "name": "c", "usage": "u", "description": "d", "help": "h", "manual": "m", "aliases": ["x"],
        "args": { "min": 0, "max": 1 }, "config": [
        { "key": "k", "value": [], "type": "pathList", "flag": { "name": "n", "shorthand": "s", "description": "d" },
          "envOverride": "E", "flagOnly": false }], "commands": [{ "name": "sub" }] }],
      "tasks": [{ "taskType": "t", "description": "d", "provides": ["p"], "config": [] }] }]])
    local found, skipped = host:discover(directory)
    assert.same({}, skipped)
    assert.equal(1, #found)
    assert.same({ "first", directory .. "/one/run", "reginald", "july", "D" }, { found[1].name, found[1].command[1],
      found[1].dialect, found[1].options.release, found[1].discovered_manifest.description })
  end)

  it("skips plugins that end the real program, and finds the rest", function()
    folder("good", '{"name":"good","executable":"run"}')
    folder "empty"
    for name, manifest in pairs {
      key = '{"name":"n","executable":"run","autor":"x"}', noname = '{"executable":"run"}',
      noprogram = '{"name":"n"}', version = '{"name":"n","executable":"run","version":1}',
      command = '{"name":"n","executable":"run","commands":[{"name":"a"},{"name":"b","commands":[{"nam":"c"}]}]}',
      entry = '{"name":"n","executable":"run","config":[{"key":"k","value":1,"type":"float"}]}',
      configs = '{"name":"n","executable":"run","config":[{"key":"k","value":[],"type":"configs"}]}',
      typeless = '{"name":"n","executable":"run","config":[{"key":"k","value":[],"keyType":"path"}]}',
      flag = '{"name":"n","executable":"run","config":[{"key":"k","value":1,"type":"int","flag":{"short":"s"}}]}',
      task = '{"name":"n","executable":"run","tasks":[{"description":"d"}]}',
      list = '{"name":"n","executable":"run","tasks":{"taskType":"t"}}', broken = "{", text = '"x"',
      alias = '{"name":"n","executable":"run","commands":[{"name":"a","aliases":[1]}]}',
    } do
      folder(name, manifest)
    end
    local why, found = reasons()
    assert.equal("good", names(found))
    for name, reason in pairs {
      empty = "it has no manifest.json", key = "manifest.json: there is no autor",
      noname = "manifest.json: name is missing", noprogram = "executable: a string expected",
      version = "manifest.json: version: string expected, got number",
      command = "manifest.json: there is no commands[2].commands[1].nam",
      entry = 'manifest.json: config[1].type: unknown type of a config entry: "float"',
      configs = 'manifest.json: config[1].type: unknown type of a config entry: "configs"',
      typeless = "manifest.json: config[1].type is missing",
      flag = "manifest.json: there is no config[1].flag.short",
      task = "manifest.json: tasks[1].taskType is missing", list = "manifest.json: tasks: array expected, got object",
      broken = "line 1", text = "an object expected", alias = "commands[1].aliases[1]: string expected, got number",
    } do
      assert.matches(reason, why[name], 1, true)
    end
  end)

  it("skips plugins with the same name, domain or executable", function()
    folder("a", '{"name":"one","executable":"first","domain":"d"}', "first")
    folder("b", '{"name":"one","executable":"second"}', "second")
    folder("c", '{"name":"three","executable":"third","domain":"d"}', "third")
    folder("d", '{"name":"four","executable":"first"}', "first")
    folder("e", '{"name":"five","executable":"fifth","domain":"other"}', "fifth")
    local why, found = reasons()
    assert.equal("one five", names(found))
    assert.equal("another plugin is called one: " .. directory .. "/a/first", why.b)
    assert.equal('another plugin has the domain "d": ' .. directory .. "/a/first", why.c)
    assert.equal('another plugin has the executable "first": ' .. directory .. "/a/first", why.d)
  end)

  it("skips links to directories", function()
    local elsewhere <close> = files.folder()
    files.write(elsewhere.path .. "/manifest.json", '{"name":"n","executable":"run"}')
    assert(lfs.link(elsewhere.path, directory .. "/link", true))
    local why, found = reasons()
    assert.same({}, found)
    assert.equal("it is a link to a directory", why.link)
  end)

  it("looks in Reginald's own directory by default", function()
    local function discover(env)
      local code = [[
        local found, err = require("pintle").host { dialect = "reginald", log = false }:discover()
        print(found and found[1].name or err.message)
      ]]
      env.LUA_PATH, env.LUA_CPATH = os.getenv "LUA_PATH", os.getenv "LUA_CPATH"
      return (children.run { command = children.lua(code), env = env, stdin = "null" })
    end
    for _, path in ipairs { "/reginald/plugins", "/.local/share/reginald/plugins" } do
      assert(os.execute(("mkdir -p '%s%s'"):format(directory, path)))
    end
    program "reginald/plugins/reginald-data"
    program ".local/share/reginald/plugins/reginald-home"
    assert.equal("reginald-data\n", discover { XDG_DATA_HOME = directory, HOME = "/nowhere" })
    assert.equal("reginald-home\n", discover { XDG_DATA_HOME = false, HOME = directory })
    assert.equal("reginald-home\n", discover { XDG_DATA_HOME = "", HOME = directory })
    assert.matches("/nowhere/.local/share/reginald/plugins", discover { XDG_DATA_HOME = false, HOME = "/nowhere" }, 1,
      true)
    assert.equal("the directory of Reginald's plugins is not known: neither XDG_DATA_HOME nor HOME is set\n",
      discover { XDG_DATA_HOME = false, HOME = false })
  end)

  it("needs a directory in a dialect without a default", function()
    local other <close> = pintle.host { log = false }
    local ok, message = pcall(function() other:discover() end)
    assert.is_false(ok)
    assert.matches("discovery_spec.lua:%d+: discover: the dialect gevals has no default directory",
      message)
  end)

  it("finds plugins of both kinds that can be started", function()
    program("reginald-sleeper", "spec/support/reginald/june_plugin.lua")
    lfs.mkdir(directory .. "/greeter")
    program("greeter/plugin.lua", "examples/greeter/plugin.lua")
    local text, status = children.run {
      command = { directory .. "/greeter/plugin.lua", "--manifest", "reginald" }, stdin = "null",
    }
    assert.equal(0, status)
    files.write(directory .. "/greeter/manifest.json", text)
    local found, skipped = host:discover(directory)
    assert.same({}, skipped)
    assert.equal("greeter reginald-sleeper", names(found))
    local started, failed = host:start_all(found)
    assert.same({}, failed)
    assert.equal("Hello, Ada", started[1]:execute("greet", { name = "Ada" }).message)
    assert.is_true(started[2]:execute("sleep", {}).success)
  end)
end)
