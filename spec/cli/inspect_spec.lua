local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local dialects = require "pintle.dialect"

children.leave_nothing()

local function inspect(...) return cli.outcome(cli.words("inspect", ...)) end

describe("pintle inspect", function()
  it("shows the manifest of a plugin", function()
    local table_of_it = [[

OPERATION  PARAMETER  TYPE     REQUIRED  DEFAULT  DESCRIPTION
greet                                             Say hello
           name       string   yes
           times      integer  no        1
]]
    local agreed = "Supports bytes, cancel, parts, progress.\n"
    assert.same({ "greeter 1.0.0: Says hello\nSpeaks gevals (recognised).\n" .. agreed .. table_of_it, "", 0 },
      inspect(cli.GREETER))
    assert.same({ "greeter 1.0.0: Says hello\nSpeaks gevals.\n" .. agreed .. table_of_it, "", 0 },
      inspect("--dialect", "gevals", cli.GREETER))
  end)

  it("prints the manifest as JSON", function()
    local out, err, status = table.unpack(inspect("--json", cli.GREETER))
    assert.same({ "", 0 }, { err, status })
    assert.same({
      name = "greeter", version = "1.0.0", description = "Says hello", dialect = "gevals", requires = {},
      capabilities = { "bytes", "cancel", "parts", "progress" }, is_open = false, warnings = {},
      operations = { {
        name = "greet", description = "Say hello", requires = {},
        params = {
          type = "object", required = { "name" },
          properties = { name = { type = "string" }, times = { type = "integer", default = 1 } },
        },
      } },
    }, core.json.decode(out))
    assert.truthy(out:find('"requires": [],', 1, true))
  end)

  it("shows requirements, and schemas of every kind", function()
    local plugin = [[
      local pintle = require "pintle"
      local plugin = pintle.plugin { name = "p", version = "1.0.0", requires = { "sh", "ls" } }
      plugin:operation("all", { params = { type = "object", required = { "b", "a" }, properties = {
        a = { enum = { "x", 1 } }, b = { type = { "string", "null" }, description = "either" },
        c = { type = "array", items = { type = "number" }, default = pintle.array { 1, 2.5 } },
        d = true, e = { type = "object", default = { k = "v" } } } } }, print)
      plugin:operation("none", { description = "does \27[31mnothing" }, print)
      plugin:serve()
    ]]
    assert.same({ [[
p 1.0.0
Speaks gevals (recognised).
Requires sh, ls.
Supports bytes, cancel, parts, progress.

OPERATION  PARAMETER  TYPE             REQUIRED  DEFAULT    DESCRIPTION
all
           b          string or null   yes                  either
           a          one of "x", 1    yes
           c          array of number  no        [1,2.5]
           d          any              no
           e          object           no        {"k":"v"}
none                                                        does ?[31mnothing
]], "", 0 }, inspect(children.lua(plugin)))
  end)

  it("shows why the arguments of an operation are not checked", function()
    local out, err, status = table.unpack(inspect(cli.bad "bad_schema"))
    assert.equal(0, status)
    assert.truthy(out:find('\nbroken +arguments are not checked: operations.broken.params: .-strnig', 1), out)
    assert.truthy(err:find("warn  bad_plugin: its manifest:", 1, true), err)
  end)

  it("lists the result of each dialect when none fits", function()
    local out, err, status = table.unpack(inspect(cli.bad "crash_before"))
    assert.same({ "", 2 }, { out, status })
    local command = table.concat(cli.bad "crash_before", " ")
    local lines = { ("pintle: %s speaks none of the dialects that were tried"):format(command) }
    local tried = err:match "tried\n(.-)\n  stderr "
    for _, name in ipairs(dialects.names()) do
      local line = ("  %-9s bad_plugin ended with status 3: cannot find my configuration"):format(name)
      assert.truthy(("\n" .. tried .. "\n"):find("\n" .. line .. "\n", 1, true), err)
    end
    lines[2] = tried
    lines[3] = "  stderr    cannot find my configuration"
    lines[4] = "To skip recognition use --dialect NAME; to wait longer use --start-timeout TIME.\n"
    assert.equal(table.concat(lines, "\n"), err)
    out, err, status = table.unpack(inspect("--start-timeout", "0.2s", cli.bad "silent"))
    assert.same({ "", 2 }, { out, status })
    assert.truthy(err:find('gevals    bad_plugin: no answer to "initialize" within 0.2s\n', 1, true), err)
  end)

  it("reports why a plugin of a given dialect fails to start", function()
    local message = "pintle: bad_plugin ended with status 3: cannot find my configuration\n"
    assert.same({ "", message .. "  stderr    cannot find my configuration\n", 2 },
      inspect("-d", "gevals", cli.bad "crash_before"))
    assert.same({ "", "info  bad_plugin stderr| cannot find my configuration\n" .. message, 2 },
      inspect("-d", "gevals", "--log", "info", cli.bad "crash_before"))
    assert.same({ "", 'pintle: bad_plugin: no answer to "initialize" within 0.2s\n', 3 },
      inspect("-d", "gevals", "--start-timeout", "200ms", cli.bad "silent"))
    assert.same({ "", 'pintle: no dialect "french"; there are '
      .. table.concat(dialects.names(), ", ") .. "\n", 64 }, inspect("-d", "french", cli.GREETER))
    assert.same({ "", 'pintle: cannot run "no-such-program": No such file or directory\n', 2 },
      inspect "no-such-program")
  end)

  it("stops the plugin on Ctrl-C", function()
    local words = cli.words("inspect", "--start-timeout", "10m", cli.bad "silent")
    local started <close> = cli.start(words, { stdin = "null" })
    cli.await_child(started.process:pid(), "silent")
    started.process:kill "INT"
    assert.same({ "", "", 130 }, { started:finish() })
  end)
end)
