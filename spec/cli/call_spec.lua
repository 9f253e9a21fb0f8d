local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"
local options = require "pintle.cli.options"

local json = core.json
children.leave_nothing()

local function call(...) return cli.outcome(cli.words("call", ...)) end

-- A plugin with one operation, whose body is `code`.
local function plugin(code, params)
  return children.lua(([[
    local pintle = require "pintle"
    local plugin = pintle.plugin { name = "p", version = "1.0.0" }
    plugin:operation("go", { params = %s }, function(args, ctx) %s end)
    plugin:serve()
  ]]):format(params or "nil", code))
end

describe("pintle call", function()
  it("prints the result of an operation on stdout and the log on stderr", function()
    assert.same({ "Hello, Ada\n", 'info  greeter: greeting {"name":"Ada"}\n', 0 },
      call(cli.GREETER, "--", "greet", "name=Ada", "times=2"))
    assert.same({ "Hello, Ada\n", "", 0 },
      call("--log", "error", "--dialect=gevals", "--", cli.GREETER, "--", "greet", "--args", '{"name":"Ada"}'))
  end)

  it("prints the message, the outputs and the parts of a result", function()
    local code = 'ctx:part "one" ctx:part { n = 2 } return { message = "done", outputs = { b = 1, a = "x" } }'
    assert.same({ 'one\n{\n  "n": 2\n}\ndone\na: x\nb: 1\n', "", 0 }, call(plugin(code), "--", "go"))
    local out, err, status = table.unpack(call("--json", plugin(code), "--", "go"))
    assert.same({ "", 0 }, { err, status })
    assert.same({ success = true, message = "done", outputs = { a = "x", b = "1" }, parts = { "one", { n = 2 } } },
      json.decode(out))
  end)

  it("prints parts as they arrive, even if stdout is not a terminal", function()
    local words = cli.words("call", "-d", "gevals", plugin 'ctx:part "one" ctx:sleep(600)', "--", "go")
    local started <close> = cli.start(words, { stdin = "null" })
    assert.equal("one\n", started:read "\n")
    started.process:kill "INT"
    assert.equal(130, (select(3, started:finish())))
  end)

  it("exits with 1 when the operation fails", function()
    assert.same({ "", "pintle: greet failed: nobody to greet\n", 1 },
      call("--log", "silent", cli.GREETER, "--", "greet", "name="))
    local out, err, status = table.unpack(call("--log", "silent", cli.GREETER, "--", "greet", "name=", "--json"))
    assert.same({ "", 1 }, { err, status })
    assert.same({ success = false, message = "nobody to greet", error = "nobody to greet" }, json.decode(out))
    assert.same({ "but this\nn: 1\n", "pintle: go failed: no\n", 1 },
      call(plugin 'return nil, { error = "no", message = "but this", outputs = { n = 1 } }', "--", "go"))
  end)

  it("exits with 2 when the operation cannot be run, or the plugin does not answer", function()
    assert.same({ "", "pintle: bad ended with status 5: out of cheese\n", 2 },
      call("--log", "silent", cli.bad "crash_during", "--", "go"))
    local out, err, status = table.unpack(call("--json", plugin 'return nil, { code = 7, message = "x" }', "--", "go"))
    assert.same({ "pintle: x (code 7)\n", 2 }, { err, status })
    assert.same({ error = { kind = "remote", message = "x", code = 7 } }, json.decode(out))
  end)

  it("exits with 3 after a timeout", function()
    local out, err, status = table.unpack(call("-t", "0.2s", cli.bad "slow_operation", "--", "go"))
    assert.same({ "", 'pintle: bad: no answer to "execute" within 0.2s\n', 3 }, { out, err, status })
  end)

  it("exits with 64 on usage errors, and suggests a correct command", function()
    assert.same({ "", "pintle: Unknown operation: great; did you mean greet?\n", 64 },
      call(cli.GREETER, "--", "great"))
    assert.same({ "", "pintle: Unknown operation: sing; available: greet\n", 64 }, call(cli.GREETER, "--", "sing"))
    assert.same({ "", 'pintle: Invalid params for "greet": at /times: expected integer, got string "x"\n', 64 },
      call(cli.GREETER, "--", "greet", "name=Ada", "times=x"))
    assert.same({ "", "pintle: name is given twice\n", 64 }, call(cli.GREETER, "--", "greet", "name=a", "name=b"))
    assert.same({ "", "pintle: name is given twice\n", 64 },
      call(cli.GREETER, "--", "greet", "name=a", "--args", '{"name":"b"}'))
    for _, list in ipairs { "[]", "[1]" } do
      assert.same({ "", "pintle: --args: a JSON object expected\n", 64 },
        call(cli.GREETER, "--", "greet", "--args", list))
    end
    for _, words in ipairs { { "greet", "--args", "{" }, { "greet", "--timeout", "soon" }, {} } do
      assert.equal(64, call(cli.GREETER, "--", words)[3])
    end
  end)

  it("suggests a parameter for a misspelt one, and the place of a missing --", function()
    assert.same({ "", 'pintle: Invalid params for "greet": property "name" is missing; did you mean name instead of '
      .. "nmae?\n", 64 }, call(cli.GREETER, "--", "greet", "nmae=Ada"))
    assert.same({ "", "pintle: the operation is missing; put -- before the operation: "
      .. "pintle call lua5.4 examples/greeter/plugin.lua -- greet 'name=Ada Lovelace'\n", 64 },
      call(cli.GREETER, "greet", "name=Ada Lovelace"))
    assert.same({ "", "pintle: the operation is missing; name it behind the program and --: "
      .. "pintle call lua5.4 examples/greeter/plugin.lua -- OPERATION\n", 64 }, call(cli.GREETER))
  end)

  it("prints the members of a method's result in the order of the message", function()
    local out = call("-d", "mcp", "--method", "tools/list", cli.GREETER)[1]
    local order = { '"resultType"', '"tools"', '"name": "greet"', '"description"', '"inputSchema"', '"type": "object"',
      '"properties"', '"required"', '"ttlMs"', '"cacheScope"', '"_meta"' }
    local at = 1
    for _, member in ipairs(order) do at = assert(out:find(member, at, true), member .. " in " .. out) end
  end)

  it("calls any method with --method, and prints its result as JSON", function()
    local params = '{"command":"greet","arguments":[{"name":"Ada"}]}'
    local method = { "-d", "lsp", "--log", "error", "--method", "workspace/executeCommand" }
    assert.same({ '"Hello, Ada"\n', "", 0 }, call(method, "--params", params, cli.GREETER))
    assert.same({ "", "pintle: Method not found: nonsense (code -32601)\n", 2 },
      call("-d", "lsp", "--method", "nonsense", cli.GREETER))
    assert.same({ "", "pintle: Method not found: tools/lst; did you mean tools/list? (code -32601)\n", 2 },
      call("-d", "mcp", "--method", "tools/lst", cli.GREETER))
    assert.same({ "", "pintle: Method not found: tools/list; pintle has recognised gevals, --dialect NAME chooses "
      .. "another dialect (code -32601)\n", 2 }, call("--method", "tools/list", cli.GREETER))
    for words, message in pairs {
      [{ "--method", "m", "true", "--", "go" }] = "either an operation or --method METHOD, not both",
      [{ "--params", "{}", "true", "--", "go" }] = "--params needs --method METHOD",
      [{ "--args", "{}", "--method", "m", "true" }] = "--args needs an operation",
    } do
      assert.same({ "", ("pintle: %s\n"):format(message), 64 }, call(words))
    end
  end)

  it("cancels the operation on Ctrl-C, and exits with 130", function()
    local scratch <close> = files.scratch()
    local code = ([[
      ctx:log("info", "begun")
      ctx:sleep(600)
      local file = io.open(%q, "w")
      file:write(tostring(ctx:cancelled()))
      file:close()
    ]]):format(scratch.path)
    local started <close> = cli.start(cli.words("call", plugin(code), "--", "go"), { stdin = "null" })
    local heard = children.read(started.process.stderr, "begun\n")
    started.process:kill "INT"
    local out, err, status = started:finish()
    assert.same({ "", "pintle: interrupted: go was cancelled\n", 130 }, { out, err, status })
    assert.truthy(heard:find "begun")
    assert.equal("true", files.read(scratch.path))
  end)

  it("ends at once on the second Ctrl-C, and kills the plugin", function()
    local deaf = [[
      local core = require "pintle.core"
      local function answer(result) print(core.json.encode { jsonrpc = "2.0", id = 1, result = result }) io.flush() end
      io.read()
      answer { name = "deaf", version = "1.0.0", protocolVersion = "0.0.1", operations = { go = { params = true } } }
      io.read()
      io.stderr:write("begun ", io.open "/proc/self/stat":read "n", "\n")
      core.poll(600)
    ]]
    local command = cli.words("sh", "-c", "trap '' TERM; exec \"$@\"", "sh", children.lua(deaf))
    local started <close> = cli.start(cli.words("call", "-d", "gevals", command, "--", "go"), { stdin = "null" })
    local pid = started.process:pid()
    local child = children.read(started.process.stderr, "\n"):match "begun (%d+)"
    started.process:kill "INT"
    -- The first signal cancels; the next one has its default effect.
    cli.await(function() return tonumber(select(3, children.signals(pid)), 16) & 2 == 0 end)
    started.process:kill "INT"
    assert.equal("INT", (select(3, started:finish())))
    cli.await(function() return not cli.is_running(child) end)
  end)

  it("exits with 143 when it is terminated", function()
    local started <close> = cli.start(cli.words("call", plugin 'ctx:log("info", "begun") ctx:sleep(600)', "--", "go"),
      { stdin = "null" })
    children.read(started.process.stderr, "begun\n")
    started.process:kill "TERM"
    assert.same({ "", "pintle: interrupted: go was cancelled\n", 143 }, { started:finish() })
  end)
end)

describe("pintle call, with a result that has images or other bytes,", function()
  local PNG = "\x89PNG\r\n\x1A\n\0\1\2"
  local CODE = ([[
    local png = pintle.bytes(%q)
    local resource = { uri = "file:///notes/a.bin", blob = pintle.bytes "xyz" }
    return { content = { "Look:", png, { type = "resource", resource = resource } } }
  ]]):format(PNG)

  local function call_in(folder, ...)
    return call("-d", "mcp", "--log", "silent", "-o", folder.path .. "/picture.png", ...)
  end

  it("prints the type and the size of each", function()
    local text = "Look:\n[image: image/png, 11 bytes]\n"
      .. "[resource file:///notes/a.bin: application/octet-stream, 3 bytes]\n"
    assert.same({ text, "", 0 }, call("-d", "mcp", plugin(CODE), "--", "go"))
    assert.same({ "data: [image/png, 11 bytes]\n", "", 0 },
      call("-d", "gevals", plugin(("return { outputs = { data = pintle.bytes(%q) } }"):format(PNG)), "--", "go"))
    local out = call("-d", "mcp", "--method", "tools/call", "--params", '{"name":"go","arguments":{}}', plugin(CODE))[1]
    assert.truthy(out:find('"data": "[image/png, 11 bytes]"', 1, true), out)
    out = call("-d", "mcp", "--json", "--method", "tools/call", "--params", '{"name":"go","arguments":{}}',
      plugin(CODE))[1]
    assert.truthy(out:find('"data": "iVBORw0KGgoAAQI="', 1, true), out)
  end)

  it("saves them with -o, each in a file of its own", function()
    local folder <close> = files.folder()
    local path = folder.path .. "/picture"
    local outcome = call_in(folder, plugin(CODE), "--", "go")
    assert.same({ ("pintle: saved %s.png [image/png, 11 bytes]\npintle: saved %s-2.png [application/octet-stream, "
      .. "3 bytes]\n"):format(path, path), 0 }, { outcome[2], outcome[3] })
    assert.equal(PNG, files.read(path .. ".png"))
    assert.equal("xyz", files.read(path .. "-2.png"))
    call("-d", "mcp", "--log", "silent", "-o", folder.path, plugin(CODE), "--", "go")
    assert.equal(PNG, files.read(folder.path .. "/image-1.png"))
    assert.equal("xyz", files.read(folder.path .. "/a.bin"))
  end)

  it("saves the text of a result that has only text", function()
    local folder <close> = files.folder()
    assert.equal(0, call_in(folder, cli.GREETER, "--", "greet", "name=Ada")[3])
    assert.equal("Hello, Ada", files.read(folder.path .. "/picture.png"))
  end)

  it("writes the bytes to stdout with -o -, and the rest to stderr", function()
    local one = ("return { content = { 'Look:', pintle.bytes(%q) } }"):format(PNG)
    assert.same({ PNG, "Look:\n[image: image/png, 11 bytes]\n", 0 },
      call("-d", "mcp", "--log", "silent", "-o", "-", plugin(one), "--", "go"))
  end)

  it("exits with 2 when a file cannot be saved", function()
    local outcome = call("-d", "mcp", "--log", "silent", "-o", "/nowhere/x.png", plugin(CODE), "--", "go")
    assert.same({ "pintle: cannot save /nowhere/x.png: No such file or directory\n", 2 }, { outcome[2], outcome[3] })
  end)

  it("saves nothing outside of the given directory", function()
    local folder <close> = files.folder()
    local evil = [[
      return { content = { { type = "resource", resource = { uri = "file:///a/..", blob = pintle.bytes "x" } } } }
    ]]
    assert.equal(0, call("-d", "mcp", "--log", "silent", "-o", folder.path .. "/", plugin(evil), "--", "go")[3])
    assert.equal("x", files.read(folder.path .. "/file-1.bin"))
  end)
end)

describe("arguments from words", function()
  local SCHEMA = { type = "object", properties = {
    i = { type = "integer" }, n = { type = "number" }, b = { type = "boolean" }, a = { type = "array" },
    o = { type = "object" }, s = { type = "string" }, any = {}, mixed = { type = { "integer", "string", "null" } },
  } }

  local function read(...) return options.read_arguments({ ... }, SCHEMA) end

  it("are converted to the type in the schema", function()
    assert.same({ i = 3, n = 2.5, b = false, a = { 1, "x" }, o = { k = json.null }, s = "3" },
      read("i=3", "n=2.5", "b=false", 'a=[1,"x"]', 'o={"k":null}', "s=3"))
    assert.equal("integer", math.type(read "i=3.0".i))
    assert.equal(json.null, read "mixed=null".mixed)
    assert.same({ 7, "seven" }, { read "mixed=7".mixed, read "mixed=seven".mixed })
  end)

  it("are strings if the schema has no type, or none that fits", function()
    assert.same({ any = "3", other = "true", i = "3.5", b = "yes", a = "{", s = "a=b:=c", n = "0x10" },
      read("any=3", "other=true", "i=3.5", "b=yes", "a={", "s=a=b:=c", "n=0x10"))
    assert.same({ x = "1" }, options.read_arguments({ "x=1" }, true))
  end)

  it("are JSON values if they are given with :=", function()
    assert.same({ any = 3, s = json.null, o = {} }, read("any:=3", "s:=null", "o:=[]"))
    assert.equal("[]", json.encode(read "o:=[]".o))
    assert.same({ nil, "s: not JSON: invalid value at line 1, column 1" }, { read "s:=x" })
  end)

  it("are refused if they are malformed", function()
    assert.same({ nil, '"name" is neither key=value nor key:=JSON' }, { read "name" })
    assert.same({ nil, '"=x" has no name before =' }, { read "=x" })
  end)
end)
