local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local files = require "spec.support.files"

children.leave_nothing()

local function inspect(...) return cli.outcome(cli.words("inspect", ...)) end

describe("pintle inspect", function()
  it("shows what a plugin can do", function()
    local rest = [[
Supports binary data, cancelling, partial results, progress.

OPERATIONS
  greet
    Say hello
      name   string, required
      times  integer, default 1
]]
    assert.same({ "greeter 1.0.0\nSays hello\nSpeaks gevals (recognised).\n" .. rest, "", 0 }, inspect(cli.GREETER))
    assert.same({ "greeter 1.0.0\nSays hello\nSpeaks gevals.\n" .. rest, "", 0 },
      inspect("--dialect", "gevals", cli.GREETER))
  end)

  it("prints the manifest as JSON", function()
    local out, err, status = table.unpack(inspect("--json", cli.GREETER))
    assert.same({ "", 0 }, { err, status })
    local page = core.json.decode(out)
    assert.equal("0.0.1", page.raw_manifest.protocolVersion)
    page.raw_manifest = nil
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
    }, page)
    assert.truthy(out:find('"requires": [],', 1, true))
  end)

  it("shows the requirements of a plugin, and schemas of every kind", function()
    local plugin = [[
      local pintle = require "pintle"
      local plugin = pintle.plugin { name = "p", version = "1.0.0", requires = { "sh", "ls" } }
      plugin:operation("all", { params = { type = "object", required = { "b", "a" }, properties = {
        a = { enum = { "x", 1 } }, b = { type = { "string", "null" }, description = "either" },
        c = { type = "array", items = { type = "number" }, default = pintle.array { 1, 2.5 } },
        d = true, e = { type = "object", default = { k = "v" } },
        f = { type = "array", items = { type = "object", required = { "inner" }, properties = {
          inner = { type = "string", format = "email" }, n = { type = "integer", minimum = 1, maximum = 9 } } } },
      } } }, print)
      plugin:operation("none", { description = "does \27[31mnothing" }, print)
      plugin:serve()
    ]]
    assert.same({ [[
p 1.0.0
Speaks gevals (recognised).
Requires sh, ls.
Supports binary data, cancelling, partial results, progress.

OPERATIONS
  all
      b  string or null, required. either
      a  one of "x", 1; required
      c  array of number, default [1,2.5]
      d  any
      e  object, default {"k":"v"}
      f  array of object
        inner  string, email, required
        n      integer, 1 to 9

  none
    does ?[31mnothing
]], "", 0 }, inspect(children.lua(plugin)))
  end)

  it("shows instructions, resources, templates and prompts of an MCP server", function()
    local folder <close> = files.folder()
    files.write(folder.path .. "/tea.md", "# Tea\n")
    local notes = { "lua5.4", "examples/notes-mcp/plugin.lua", folder.path }
    local out, err, status = table.unpack(inspect("-d", "mcp", notes))
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:find "^notes [%d.]+\nNotes in a folder\nSpeaks mcp[ %d-]*%.\n", out)
    assert.truthy(out:gsub("%s+", " "):find "Supports completions,.* logging, prompts.*, resources %(announces", out)
    assert.truthy(out:find "\nINSTRUCTIONS\n  Search before adding", out)
    assert.truthy(out:find "\n  search  read%-only\n    Find the lines", out)
    assert.truthy(out:find("\n    returns\n      notes  array of object, required\n        name", 1, true), out)
    assert.truthy(out:find "\nRESOURCES\n  note:///tea\n    Tea %(text/markdown", out)
    assert.truthy(out:find "\nTEMPLATES OF RESOURCES\n  note:///", out)
    assert.truthy(out:find "\nPROMPTS\n  summarize", out)
    -- The name of the program makes pintle try MCP first.
    local server = folder.path .. "/mcp-server-notes"
    assert(os.execute(("cp examples/notes-mcp/*.lua %s; mv %s/plugin.lua %s"):format(folder.path, folder.path, server)))
    out = inspect("lua5.4", server, folder.path)[1]
    assert.truthy(out:find "\nRESOURCES\n  note:///tea\n", out)
    local page = core.json.decode(inspect("-d", "mcp", "--json", notes)[1])
    assert.equal("note:///tea", page.resources[1].uri)
    assert.equal("summarize", page.prompts[1].name)
    assert.truthy(page.raw_manifest.instructions)
  end)

  it("shows the capabilities of a language server as words", function()
    local plugin = children.lua [[
      local plugin = require "pintle".plugin { name = "p", version = "1.0.0", dialects = { lsp = { capabilities = {
        completionProvider = { triggerCharacters = { ".", ":" } }, oddThingProvider = true, renameProvider = false,
      } } } }
      plugin:method("textDocument/hover", print)
      plugin:method("textDocument/definition", print)
      plugin:serve()
    ]]
    local out = inspect("-d", "lsp", plugin)[1]
    assert.truthy(out:find "\nSupports completion %(after %. :%), .*go to definition, hover, odd thing", out)
    assert.is_nil(out:find "rename")
  end)

  it("prints only the names of operations and their parameters with --names", function()
    assert.same({ "greet name times\n", "", 0 }, inspect("--names", cli.GREETER))
  end)

  it("reports lists that an MCP server cannot deliver, and shows the rest", function()
    local out, err, status = table.unpack(inspect("-d", "mcp", "lua5.4", "examples/notes-mcp/plugin.lua"))
    assert.equal(0, status)
    assert.truthy(err:find("pintle: its resources cannot be listed: the folder is missing", 1, true), err)
    assert.truthy(out:find "\n  search  read%-only\n", out)
  end)

  it("shows why the arguments of an operation are not checked", function()
    local out, err, status = table.unpack(inspect(cli.bad "bad_schema"))
    assert.equal(0, status)
    assert.truthy(out:find "\n  broken\n    arguments are not checked: operations.broken.params: .-strnig", out)
    assert.truthy(err:find("warn  bad_plugin: its manifest:", 1, true), err)
  end)

  it("lists the result of each dialect when none fits", function()
    assert.same({ "", table.concat({
      "pintle: cat speaks none of the dialects that were tried",
      "  gevals, mcp, liquid, lsp, editor: cat refused to start: Method not found: initialize (code -32601)",
      "  reginald: cat refused to start: Method not found: handshake (code -32601)",
      "To skip recognition use --dialect NAME; to wait longer use --start-timeout TIME.\n",
    }, "\n"), 2 }, inspect "cat")
    local out, err, status = table.unpack(inspect("--start-timeout", "0.2s", cli.bad "silent"))
    assert.same({ "", 2 }, { out, status })
    assert.truthy(err:find('gevals: bad_plugin: no answer to "initialize" within 0.2s\n', 1, true), err)
  end)

  it("reports why a plugin fails to start", function()
    local message = "pintle: bad_plugin ended with status 3: cannot find my configuration\n"
    assert.same({ "", message, 2 }, inspect(cli.bad "crash_before"))
    assert.same({ "", message, 2 }, inspect("-d", "gevals", cli.bad "crash_before"))
    local lines = children.sh "echo one >&2; echo two >&2; exit 3"
    assert.same({ "", "pintle: sh ended with status 3: two\n  stderr    one\n  stderr    two\n", 2 }, inspect(lines))
    assert.same({ "", "pintle: sh ended with status 3: two\n  stderr    one\n  stderr    two\n", 2 },
      inspect("-d", "gevals", lines))
    assert.same({ "", "info  bad_plugin stderr| cannot find my configuration\n" .. message, 2 },
      inspect("-d", "gevals", "--log", "info", cli.bad "crash_before"))
    assert.same({ "", 'pintle: bad_plugin: no answer to "initialize" within 0.2s\n', 3 },
      inspect("-d", "gevals", "--start-timeout", "200ms", cli.bad "silent"))
    assert.same({ "", 'pintle: no dialect "french"; there are '
      .. table.concat(dialects.names(), ", ") .. "\n", 64 }, inspect("-d", "french", cli.GREETER))
    assert.matches("; did you mean mcp%?\n$", inspect("-d", "mpc", cli.GREETER)[2])
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
