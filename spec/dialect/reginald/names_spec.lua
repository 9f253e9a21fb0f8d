-- Names that break the real programs of Reginald are refused in a plugin that is meant for it.
local children = require "spec.support.children"
local json = require("pintle.core").json
local july_host = require "spec.support.reginald.july_host"
local june_host = require "spec.support.reginald.june_host"
local declarations = require "pintle.dialect.reginald.declarations"
local pintle = require "pintle"

local function object(parameters)
  local properties = {}
  for name in parameters:gmatch "%S+" do properties[name] = { type = "string" } end
  return { type = "object", properties = properties }
end

-- A plugin with operations by name: the parameters, and what is declared for Reginald.
local function new_plugin(operations, own, name)
  local plugin = pintle.plugin { name = name or "x", version = "1.0.0", dialects = { reginald = own } }
  local sorted = {}
  for operation in pairs(operations) do sorted[#sorted + 1] = operation end
  table.sort(sorted)
  for _, operation in ipairs(sorted) do
    local parameters, declared = table.unpack(operations[operation])
    plugin:operation(operation, { params = object(parameters), dialects = { reginald = declared } }, function() end)
  end
  return plugin
end

local function problems(...) return (declarations.check_names(new_plugin(...).manifest)) end

local function problem(...)
  local found = problems(...)
  assert.equal(1, #found, table.concat(found, "\n"))
  return found[1]
end

describe("a parameter", function()
  local TAKEN = 'operation "go": parameter "%s": july has a flag --%s itself and refuses the command '
    .. '("flag that already exists"); name another with dialects.reginald.config.%s.flag'

  it("may not have the name of a flag of july", function()
    for name in ("version help verbose quiet color directory log debug strict interactive plugin-paths"):gmatch "%S+" do
      assert.equal(TAKEN:format(name, name, name), problem { go = { name } })
    end
  end)

  it("may not have the name of a flag of june", function()
    assert.matches('^operation "go": parameter "plugin%-dir": june has a flag %-%-plugin%-dir itself, and the plugin '
      .. "would get the value of that one;", problem { go = { "plugin-dir" } })
    local both = problems { go = { "config" } }
    assert.equal(2, #both)
    assert.equal(TAKEN:format("config", "config", "config"), both[1])
    assert.matches("june has a flag %-%-config itself", both[2])
  end)

  it("may have such a name if its flag has another name, or it has none, or belongs to a task", function()
    assert.same({}, problems { go = { "verbose", { config = { verbose = { flag = "loud" } } } } })
    assert.same({}, problems { go = { "verbose", { config = { verbose = { flag = false, shorthand = "v" } } } } })
    assert.same({}, problems { go = { "verbose config", { as = "task" } } })
    assert.equal(TAKEN:format("loud", "verbose", "loud"),
      problem { go = { "loud", { config = { loud = { flag = "verbose" } } } } })
  end)

  it("may not share a flag with another of its command or of a parent command", function()
    local shared = '%s: the flag --file is also that of %s: july refuses the command ("flag that already exists")'
    local deep = 'operation "link.add.all": parameter "file"'
    local above = 'operation "link": parameter "file"'
    assert.equal(shared:format(deep, above), problem { link = { "file" }, ["link.add.all"] = { "file" } })
    assert.equal(shared:format('operation "go": parameter "other"', 'operation "go": parameter "file"'),
      problem { go = { "file other", { config = { other = { flag = "file" } } } } })
    assert.same({}, problems { ["link.add"] = { "file" }, ["link.remove"] = { "file" } })
  end)

  it("may not have the name of a subcommand", function()
    assert.equal('operation "link": parameter: "add" is also the name of a command, and july has the settings of that '
      .. "under this key", problem { link = { "add" }, ["link.add"] = { "" } })
  end)
end)

describe("a shorthand", function()
  local function shorthand(letter)
    return problem { go = { "file", { config = { file = { shorthand = letter } } } } }
  end

  it("may not be one of june or july", function()
    for letter in ("c C h p q v"):gmatch "%S" do
      assert.equal(('operation "go": parameter "file": june and july panic: they have the shorthand -%s themselves')
        :format(letter), shorthand(letter))
    end
    assert.equal('operation "go": parameter "file": july panics: it has the shorthand -i itself', shorthand "i")
  end)

  it("is one ASCII letter", function()
    for _, letters in ipairs { "fi", "ä" } do
      assert.equal(('operation "go": parameter "file": june and july panic: the shorthand %q is not one ASCII letter')
        :format(letters), shorthand(letters))
    end
    assert.same({}, problems { go = { "file", { config = { file = { shorthand = "" } } } } })
  end)

  it("is used once by a command and its parents", function()
    local one, two = { config = { file = { shorthand = "f" } } }, { config = { from = { shorthand = "f" } } }
    assert.equal('operation "link.add": parameter "from": july panics: the shorthand -f is also that of '
      .. 'operation "link": parameter "file"', problem { link = { "file", one }, ["link.add"] = { "from", two } })
    assert.equal('operation "go": parameter "from": june and july panic: the shorthand -f is also that of '
      .. 'operation "go": parameter "file"',
      problem { go = { "file from", { config = { file = { shorthand = "f" }, from = { shorthand = "f" } } } } })
    assert.same({}, problems { add = { "file", one }, remove = { "from", two } })
  end)
end)

describe("an operation", function()
  it("may not have the name of a command of june or july", function()
    assert.equal('operation "attend": june has a command of that name itself', problem { attend = { "" } })
    local shown = "operation %q: july shows its own version instead of running a command of that name"
    assert.equal(shown:format "version", problem { version = { "" } })
    assert.equal(shown:format "tool.version", problem { ["tool.version"] = { "" } })
    assert.same({}, problems { attend = { "", { as = "task" } }, version = { "", { as = "task" } } })
  end)
end)

describe("a plugin", function()
  it("may not have the domain of july itself", function()
    local message = 'plugin: july has a domain "core" itself and takes no plugin beside it; give another with '
      .. "dialects.reginald.domain"
    assert.equal(message, problem({}, { domain = "core" }))
    assert.equal(message, problem({}, {}, "core"))
    assert.same({}, problems({}, { domain = "other" }, "core"))
  end)

  it("may not have a config key with the name of a command", function()
    assert.equal('plugin: config: "link" is also the name of a command, and july has the settings of that under this '
      .. "key", problem({ ["link.add"] = { "" } }, { config = object "link" }))
  end)

  it("gets a warning for keys that no file can set", function()
    local found, warnings = declarations.check_names(new_plugin({ go = { "dry_run dryRun dry-run Dry a1" } },
      { config = object "baseDir root" }).manifest)
    assert.same({}, found)
    local unset = "%s: %q cannot be set in a file of june or july, where keys are in snake_case"
    local parameter = 'operation "go": parameter'
    assert.same({
      unset:format(parameter, "Dry"), unset:format(parameter, "dry-run"), unset:format(parameter, "dryRun"),
      unset:format("plugin: config", "baseDir"),
    }, warnings)
  end)
end)

describe("a plugin is meant for Reginald", function()
  it("if it, or one of its operations, declares anything for that", function()
    local function is_meant(...) return declarations.is_meant_for_reginald(new_plugin(...).manifest) end
    assert.is_false(is_meant { go = { "" } })
    assert.is_true(is_meant({ go = { "" } }, {}))
    assert.is_true(is_meant { go = { "", { as = "task" } } })
  end)
end)

describe("a plugin with a name that breaks Reginald", function()
  children.leave_nothing()

  local function command(declared, ...)
    return children.lua(([[
      local plugin = require("pintle").plugin { name = "x", version = "1.0.0", dialects = { %s } }
      plugin:operation("go", { params = { type = "object", properties = {
        %s = { type = "string" }, dryRun = { type = "boolean" } } } }, function() end)
      plugin:serve()
    ]]):format(declared, ...), select(2, ...))
  end

  local function describe_itself(...)
    local process <close> = assert(require("pintle.core").spawn {
      command = command(...), stdin = "null", stderr = "pipe",
    })
    local text, complaint = children.read(process.stdout), children.read(process.stderr)
    return text, complaint, process:wait(children.patience)
  end

  it("writes no manifest.json, whether it is meant for Reginald or not", function()
    for _, declared in ipairs { "reginald = {}", "" } do
      local text, complaint, status = describe_itself(declared, "quiet", "--manifest", "reginald")
      assert.same({ "", 1 }, { text, status })
      assert.matches('^x: %-%-manifest: operation "go": parameter "quiet": july has a flag %-%-quiet itself[^\n]*\n$',
        complaint)
    end
  end)

  it("writes one with a warning for a key that a file cannot set", function()
    local text, complaint, status = describe_itself("", "name", "--manifest", "reginald")
    assert.equal(0, status)
    assert.equal("x", json.decode(text).name)
    assert.matches('^x: %-%-manifest: warning: operation "go": parameter: "dryRun" cannot be set in a file', complaint)
  end)

  it("refuses the handshake of both releases, if it is meant for Reginald", function()
    for protocol, start in pairs { rpp = june_host, reginald = july_host } do
      local hello = ('{"protocol":"%s","protocolVersion":0}'):format(protocol)
      local host <close> = start(command("reginald = {}", "quiet"))
      local _, err = host:call("handshake", hello)
      assert.equal(-32603, err.code)
      assert.matches('^operation "go": parameter "quiet": july has a flag %-%-quiet itself', err.message)
      local other <close> = start(command("", "quiet"))
      assert.equal("x", other:call("handshake", hello).name)
    end
  end)
end)
