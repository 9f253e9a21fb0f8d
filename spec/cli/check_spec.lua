-- `pintle check`: good plugins pass, and bad plugins fail exactly the right probes.
local checks = require "spec.support.checks"
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"
local verdicts_of = require "spec.support.verdicts"

local json = core.json

local checking, verdicts_in, check, find, only =
  checks.checking, checks.verdicts_in, checks.check, checks.find, checks.only

local function listed(dialect)
  local names = {}
  for line in cli.run({ "check", "--list", "--json", "-d", dialect }):gmatch "[^\n]+" do
    names[#names + 1] = json.decode(line).name
  end
  return names
end

local GREET = checks.GREET

describe("a good plugin", function()
  children.leave_nothing()

  local SKIPPED = { liquid = { "skip render", "skip drop" } } -- the greeter has tags, but no engine

  for _, dialect in ipairs { "editor", "gevals", "liquid", "lsp", "mcp", "reginald" } do
    it("passes all probes of " .. dialect, function()
      local verdicts, status, report = check("-d", dialect, GREET, cli.GREETER)
      assert.same({ SKIPPED[dialect] or {}, 0, dialect }, { verdicts, status, report.dialect })
      local names = {}
      for i, probe in ipairs(report.probes) do names[i] = probe.name end
      assert.same(listed(dialect), names)
      assert.equal(#names - #(SKIPPED[dialect] or {}), report.passed)
    end)
  end

  it("passes when its dialect is recognised", function()
    local verdicts, status, report = check(GREET, cli.GREETER)
    assert.same({ {}, 0, "gevals" }, { verdicts, status, report.dialect })
  end)

  it("runs no operation without --run", function()
    assert.same({ "skip outcome", "skip empty-phase", "skip missing-argument" }, (check("-d", "gevals", cli.GREETER)))
  end)

  it("passes if it leaves out the names of flags that equal their keys", function()
    local command = { "lua5.4", "spec/support/reginald/june_plugin.lua" }
    assert.same({}, (check("-d", "reginald", "--only", "june/handshake", command)))
  end)

  it("passes although it exits on a member that only another release of its protocol has", function()
    for release, command in pairs { june = "sleep", july = "versions" } do
      local probes = {}
      for i, name in ipairs { "other-protocol", "unknown-command", "outcome", "shutdown", "late-request", "exit" } do
        probes[i] = release .. "/" .. name
      end
      local verdicts, _, report = check("-d", "reginald", only(table.unpack(probes)), "--run", command,
        { "lua5.4", ("spec/support/reginald/%s_plugin.lua"):format(release) })
      assert.same({ {}, #probes }, { verdicts, report.passed })
    end
  end)

  it("passes as a language server", function()
    local args = json.encode { path = lfs.currentdir() .. "/README.md" }
    local command = { "lua5.4", "examples/todo-lsp/plugin.lua" }
    assert.same({}, (check("-d", "lsp", "--run", "todo.count", "--args", args, command)))
  end)

  it("passes as an MCP server with tools", function()
    local folder <close> = files.scratch()
    os.remove(folder.path)
    assert(lfs.mkdir(folder.path))
    local command = { "lua5.4", "examples/notes-mcp/plugin.lua", folder.path }
    assert.same({}, (check("-d", "mcp", "--run", "search", "--args", '{"query":"x"}', command)))
  end)

  it("passes as an editor server whose operation fails", function()
    local command = { "lua5.4", "examples/editor/server.lua" }
    assert.same({}, (check("-d", "editor", "--run", "text", "--args", '{"name":"x"}', command)))
  end)
end)

describe("a good plugin in another language", function()
  local LANGUAGES = {
    { "python3", "py", {}, 0 }, { "node", "js", {}, 0 },
    { "sh", "sh", { "fail spaces" }, 1 }, -- it reads JSON in one form only
  }
  local begun = {}

  -- The interpreter itself, instead of a wrapper that selects a version at each start.
  local function program_of(interpreter)
    if interpreter ~= "python3" then return interpreter end
    return (children.run { command = { interpreter, "-c", "import sys; print(sys.executable)" } }):match "%C+"
  end

  for _, language in ipairs(LANGUAGES) do
    local interpreter, ending, expected, code = table.unpack(language)
    if core.which(interpreter) then
      local command = { program_of(interpreter), "examples/greeter/plugin." .. ending }
      begun[interpreter] = cli.words("check", "-d", "gevals", "-t", "30s", GREET, command)
    end
    it("gets the expected verdicts, run by " .. interpreter, function()
      if not begun[interpreter] then return pending(interpreter .. " is not here") end
      local verdicts, _, status = verdicts_of(begun[interpreter])
      assert.same({ expected, code }, { verdicts, status })
    end)
  end

  checks.run_at_once(begun)
end)

describe("a bad plugin", function()
  local begun = {}

  -- Probes that the plain plugin fails: it has only a handshake, shutdown and its operation.
  local PLAIN = {
    "fail unknown-method", "fail unknown-notification", "warn bad-json", "warn invalid-request", "warn stray-answer",
    "warn empty-lines", "fail unknown-operation", "fail no-operation", "fail bad-params",
  }

  -- The failures of the plain plugin and these, in the order of the report.
  local function with(...)
    local added, list = { ... }, { "skip missing-argument" }
    table.move(PLAIN, 1, #PLAIN, 2, list)
    table.move(added, 1, #added, #list + 1, list)
    table.sort(list)
    return list
  end

  local WHOLE = {
    good = with "fail envelope",
    chatty = with("fail envelope", "fail stdout"),
    twice = with("fail envelope", "fail answers"),
    wrong_outcome = with("fail envelope", "fail outcome", "fail empty-phase"),
    bad_schema = with("fail envelope", "fail manifest"),
    nonsense = { "fail handshake", "fail stdout" },
    refusing = { "fail handshake", "warn envelope" },
  }

  for behaviour, expected in pairs(WHOLE) do
    begun["all of " .. behaviour] = checking("-d", "gevals", "--run", "go", cli.bad(behaviour))
    it("fails when it is " .. behaviour, function()
      local verdicts, status = verdicts_in(begun["all of " .. behaviour])
      table.sort(verdicts)
      assert.same({ expected, 1 }, { verdicts, status })
    end)
  end

  local HANDSHAKES = {
    silent = "initialize is not answered within 1s",
    deaf = "initialize is not answered within 1s",
    slow = "initialize is not answered within 1s",
    crash_before = "initialize is not answered: it exited with status 3",
    crash_in_handshake = "initialize is not answered: it exited with status 4",
    nameless = "the manifest: at the root: property \"name\" is missing",
    other_version = "the manifest: at /protocolVersion: expected \"0.0.1\", got string \"9.9.9\"",
    refusing = "initialize is refused: no licence (code -32603)",
  }

  for behaviour, reason in pairs(HANDSHAKES) do
    local timeout = reason:match "within (.*)" or "30s"
    begun["handshake of " .. behaviour] = checking("-d", "gevals", "-t", timeout, only "handshake", cli.bad(behaviour))
    it("fails the handshake when it is " .. behaviour, function()
      local verdicts, status, report = verdicts_in(begun["handshake of " .. behaviour])
      assert.same({ { "fail handshake" }, 1 }, { verdicts, status })
      assert.equal(reason, report.probes[1].reason)
    end)
  end

  local LATE = { wrong_id = true, stubborn = true, slow_operation = true }
  local PARTS = {
    { "wrong_id", { "integer-ids", "answers" }, { "fail integer-ids", "fail answers" } },
    { "half", { "unknown-operation", "stdout" }, { "fail unknown-operation", "fail stdout" } },
    { "crash_during", { "outcome", "shutdown", "stdout" }, { "fail outcome" } },
    { "killed", { "outcome", "eof" }, { "fail outcome" } },
    { "stubborn", { "eof" }, { "fail eof" } },
    { "stubborn", { "shutdown", "manifest" }, { "fail shutdown" } },
    { "slow_operation", { "outcome", "shutdown" }, { "fail outcome" } },
    { "grandchild", { "outcome", "shutdown", "eof" }, { "fail outcome" } },
    { "touchy", { "outcome", "shutdown" }, { "fail shutdown" } },
    { "flood", { "manifest", "shutdown", "stdout" }, {} },
  }

  for i, part in ipairs(PARTS) do
    local behaviour, names, expected = table.unpack(part)
    local timeout = LATE[behaviour] and "2s" or "30s"
    local path = os.tmpname()
    begun[i] = checking("-d", "gevals", "-t", timeout, "--run", "go", only(table.unpack(names)),
      cli.bad(behaviour, path))
    it(("fails only the right probes when it is %s, in %s"):format(behaviour, table.concat(names, ", ")), function()
      finally(function() os.remove(path) end)
      assert.same({ expected, #expected > 0 and 1 or 0 }, { table.unpack({ verdicts_in(begun[i]) }, 1, 2) })
    end)
  end

  checks.run_at_once(begun)
end)

describe("the handshake", function()
  children.leave_nothing()

  it("is reported when it fails, even if it is not selected", function()
    assert.same({ "fail handshake" }, (check("-d", "gevals", only "manifest", cli.bad "crash_before")))
  end)
end)

describe("the end of input", function()
  children.leave_nothing()

  local function ending_with(status)
    return children.lua([[
      for line in io.lines() do
        print('{"jsonrpc":"2.0","id":1,"result":{"name":"p","version":"1.0.0","protocolVersion":"0.0.1",'
          .. '"capabilities":{},"operations":{}}}')
        io.flush()
      end
      os.exit(]] .. status .. ")")
  end

  it("has to make an extension of gevals exit with status 0", function()
    assert.same({}, (check("-d", "gevals", only "eof", ending_with(0))))
    local verdicts, _, report = check("-d", "gevals", only "eof", ending_with(3))
    assert.same({ { "fail eof" }, "it exited with status 3, not with 0" }, { verdicts, report.probes[1].reason })
  end)
end)

describe("the output of a plugin on stdout", function()
  children.leave_nothing()

  -- A server, with line or header framing, that runs this code for each request.
  local function server(code)
    return children.lua([[
      local json = require "pintle.core".json
      local function read()
        local length
        for line in io.lines() do
          if line:find "^%s*$" then break end
          length = tonumber(line:match "^Content%-Length: (%d+)") or length
        end
        return length and json.decode(io.read(length))
      end
      local function write(text, header)
        io.write(header or ("Content-Length: %d\r\n\r\n"):format(#text), text)
        io.flush()
      end
      local function answer(request, what)
        local text = what or request.method == "initialize" and '"result":{"capabilities":{}}'
          or request.method == "shutdown" and '"result":null' or '"error":{"code":-32601,"message":"no"}'
        return ('{"jsonrpc":"2.0","id":%s,%s}'):format(json.encode(request.id), text)
      end
      for request in read do
        if request.method == "exit" then os.exit(0) end
        if request.id then ]] .. code .. [[ end
      end]])
  end

  local function judge(code)
    local names = only("unknown-method", "stdout", "framing", "envelope", "answers")
    local verdicts, _, report = check("-d", "lsp", "-t", "2s", names, server(code))
    local reasons = {}
    for i, verdict in ipairs(verdicts) do reasons[i] = { verdict, find(report, verdict:match " (.*)").reason } end
    return reasons
  end

  it("passes if it is correct", function() assert.same({}, judge "write(answer(request))") end)

  it("fails if header lines end with LF alone", function()
    assert.same({ { "fail framing", "a header line ends with LF, not CR LF (in handshake)" } },
      judge [[local text = answer(request) write(text, ("Content-Length: %d\n\n"):format(#text))]])
  end)

  it("fails if it contains lines between messages", function()
    assert.same({ { "fail stdout", "stdout has something that is not a message: not a header line (in handshake)" } },
      judge [[print "ready" write(answer(request))]])
  end)

  it("fails if it is not valid JSON-RPC 2.0", function()
    assert.same({ { "fail envelope", 'no "jsonrpc":"2.0" (in handshake)' } },
      judge [[write((answer(request):gsub("2%.0", "1.0")))]])
    assert.same({ { "warn envelope", 'both "error":null and a result (in handshake)' } },
      judge [[write(answer(request, request.method == "initialize" and '"result":{"capabilities":{}},"error":null'))]])
    assert.same({ { "fail envelope", "error.code is not an integer (in unknown-method)" } },
      { judge [[write((answer(request):gsub("%-32601", '"x"')))]] [2] })
  end)

  it("fails if it does not return ids unchanged", function()
    local reasons = judge [[write((answer(request):gsub('"id":(%d+)', '"id":%1.0')))]]
    assert.equal("fail handshake", reasons[1][1])
    assert.same({ "fail envelope", "fail answers" }, { reasons[2][1], reasons[3][1] })
  end)

  it("is printed without control sequences, even if it is binary and incomplete", function()
    local weird = children.lua [[
      io.write "\xff\27[31m" io.flush() io.read "a"
      require "pintle.core".poll(600)]]
    local words = cli.words("-d", "gevals", "-t", "1s", weird)
    local verdicts, _, report = check(words)
    assert.same({ "fail handshake", "fail stdout" }, verdicts)
    assert.same({
      { from = "host", kind = "closed", text = "" }, { from = "host", kind = "killed", text = "" },
      { from = "plugin", kind = "noise", text = "/xtbMzFt", encoding = "base64", problem = "an incomplete line" },
      { from = "plugin", kind = "exit", text = "signal KILL" },
    }, { table.unpack(find(report, "stdout").exchange, 2) })
    local out = cli.run(cli.words("check", words))
    assert.truthy(out:find("\n      ← ? ??[31m  (an incomplete line)\n", 1, true), out)
  end)

  it("is read up to a limit", function()
    local flood = children.lua [[while true do io.write(("x"):rep(1000), "\n") end]]
    local verdicts, _, report = check("-d", "gevals", "-t", "30s", flood)
    assert.same({ "fail handshake", "fail stdout" }, verdicts)
    assert.equal("initialize is not answered: it has written more than 32 MiB", report.probes[1].reason)
  end)

  it("is in the JSON report, with the sent messages and the last lines of stderr", function()
    local code = [[io.stderr:write "careful\n" write(answer(request, '"result":{"capabilities":5}'))]]
    local _, _, report = check("-d", "lsp", only "handshake", server(code))
    local probe = report.probes[1]
    assert.equal("the result: at /capabilities: expected object, got integer 5", probe.reason)
    assert.same({ "careful" }, probe.stderr)
    assert.equal('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"general":{},'
      .. '"textDocument":{},"workspace":{"configuration":false}},"clientInfo":{"name":"pintle check"},'
      .. '"processId":null,"rootUri":null}}', probe.exchange[1].text)
    assert.same({
      { from = "plugin", kind = "message", text = '{"jsonrpc":"2.0","id":1,"result":{"capabilities":5}}' },
      { from = "host", kind = "closed", text = "" },
      { from = "plugin", kind = "exit", text = "status 0" },
    }, { table.unpack(probe.exchange, 2) })
  end)

  it("is in the text report, with the sent messages and the last lines of stderr", function()
    local words = { "check", "-d", "gevals", "-t", "30s", only "unknown-operation", cli.bad "crash_during" }
    local out, err, status = cli.run(cli.words(words))
    assert.same({ "", 1 }, { err, status })
    assert.equal([[
Speaks gevals.
fail  unknown-operation  an unknown operation is refused with -32601, or fails
      execute is not answered: it exited with status 5
      → {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}
      ← MANIFEST
      → {"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"pintle-check-no-such-operation",]]
      .. [["args":{},"context":{"workdir":"/tmp","phase":"setup"}}}
      ← (ended with status 5)
      → (end of input)
      | out of cheese
0 passed, 1 failed, 0 warnings, 0 skipped
]], (out:gsub("← {[^\n]*", "← MANIFEST")))
  end)
end)

describe("pintle check, of malformed content from a plugin,", function()
  children.leave_nothing()

  -- A server that answers each method with the given JSON, after the given other messages.
  local function server(framing, answers)
    return children.lua([[
      local json = require "pintle.core".json
      local framing, answers = arg[1], json.decode(arg[2])
      local function read()
        if framing == "line" then return io.read "l" end
        local length
        for line in io.lines() do
          if line:find "^%s*$" then break end
          length = tonumber(line:match "^[%a-]+%-[Ll]ength: (%d+)") or length
        end
        return length and io.read(length)
      end
      local function write(text)
        io.write(framing == "line" and "" or ("content-length: %d\r\n\r\n"):format(#text), text,
          framing == "line" and "\n" or "")
        io.flush()
      end
      for text in read do
        local request = json.decode(text)
        if request.id and request.method then
          local answer = answers[request.method] or answers.unknown or '"error":{"code":-32601,"message":"no"}'
          local before, rest = answer:match "^(%b{}) (.*)$"
          if before then write(before) end
          write(('{"jsonrpc":"2.0","version":"0.1","id":%s,%s}'):format(json.encode(request.id), rest or answer))
        end
      end]], framing, json.encode(answers))
  end

  -- The reasons of the probes that did not pass, by name.
  local function reasons(dialect, framing, answers, ...)
    local _, _, report = check("-d", dialect, GREET, only(...), server(framing, answers))
    local list = {}
    for i, name in ipairs { ... } do list[i] = find(report, name).reason or "none" end
    return list
  end

  local TOOLS_SERVER = '"result":{"protocolVersion":"2025-11-25","capabilities":{},'
    .. '"serverInfo":{"name":"p","version":"1"}}'
  local NOTHING_REQUIRED = "greet has no required argument"

  it("skips the missing argument if the list of required ones is malformed", function()
    for _, required in ipairs { "5", "null", "[1]" } do
      local schema = ('{"type":"object","required":%s}'):format(required)
      assert.same({ NOTHING_REQUIRED }, reasons("gevals", "line", {
        initialize = '"result":{"name":"p","version":"1.0.0","protocolVersion":"0.0.1","operations":{"greet":{"params":'
          .. schema .. "}}}",
      }, "missing-argument"))
      assert.same({ NOTHING_REQUIRED }, reasons("mcp", "line", {
        initialize = TOOLS_SERVER,
        ["tools/list"] = ('"result":{"tools":[{"name":"greet","inputSchema":%s}]}'):format(schema),
      }, "classic/missing-argument"))
    end
  end)

  it("skips the missing argument if the methods of an editor server are malformed", function()
    for _, methods in ipairs { "5", "null", "[1]", '[{"name":"greet","params":null}]' } do
      assert.same({ "greet has no required parameter that is known" }, reasons("editor", "header", {
        initialize = ('"result":{"methods":%s}'):format(methods), greet = '"result":null',
      }, "missing-argument"))
    end
  end)

  it("reports malformed tools", function()
    for tools, reason in pairs {
      ["null"] = "the result of tools/list: at the root: expected object, got null",
      ['{"tools":[1]}'] = "the result of tools/list: at /tools/0: expected object, got integer 1",
    } do
      assert.same({ reason }, reasons("mcp", "line", {
        initialize = TOOLS_SERVER,
        ["tools/list"] = '"result":' .. tools,
      }, "classic/missing-argument"))
    end
  end)

  it("reports a method that is not a string", function()
    assert.same({ "the method is not a string (in classic/handshake)", "none" }, reasons("mcp", "line", {
      initialize = '{"jsonrpc":"2.0","method":null} ' .. TOOLS_SERVER,
    }, "envelope", "traffic"))
  end)

  it("reports an error code that is not a number", function()
    for _, code in ipairs { '"x"', "null", "1.5" } do
      assert.same({ "the code of an error is not an Int" }, reasons("editor", "header", {
        initialize = '"result":null', unknown = ('"error":{"code":%s,"message":"no"}'):format(code),
      }, "error-code"))
    end
    assert.same({ 'pintle-check is refused with the code "-32601", not -32601' }, reasons("editor", "header", {
      initialize = '"result":null', unknown = '"error":{"code":"-32601","message":"no"}',
    }, "unknown-method"))
  end)

  it("reports a request to a drop without an id", function()
    for params, reason in pairs {
      [""] = "drop_get: at the root: expected object, got nothing (in drop)",
      [',"params":{"property":"name"}'] = 'drop_get: at the root: property "drop_id" is missing (in drop)',
    } do
      assert.same({ "none", reason }, reasons("liquid", "line", {
        initialize = '"result":{"version":"1.0","implementation":"p","liquid_version":"1","features":[]}',
        compile = '"result":{"template_id":"t"}',
        render = ('{"jsonrpc":"2.0","id":1,"method":"drop_get"%s} '):format(params)
          .. '"result":{"output":"Ada","errors":[]}',
      }, "drop", "traffic"))
    end
  end)
end)

describe("pintle check", function()
  children.leave_nothing()

  it("exits with 0 despite warnings, unless --strict is given", function()
    local words = { "-d", "gevals", only "empty-lines", cli.bad "good" }
    assert.same({ { "warn empty-lines" }, 0 }, { table.unpack({ check(table.unpack(words)) }, 1, 2) })
    assert.same({ { "warn empty-lines" }, 1 }, { table.unpack({ check("--strict", table.unpack(words)) }, 1, 2) })
  end)

  it("runs all probes if the only selected ones watch the messages of others", function()
    assert.same({ "fail answers" }, (check("-d", "gevals", only "answers", cli.bad "twice")))
  end)

  it("exits with 2 when the plugin cannot be tested", function()
    local out, err, status = cli.run { "check", "-d", "gevals", "/no/such/program" }
    assert.same({ "Speaks gevals.\n", 2 }, { out, status })
    assert.truthy(err:find("/no/such/program", 1, true), err)
    out, err, status = cli.run { "check", "true" }
    assert.same({ "", 2 }, { out, status })
    assert.truthy(err:find("true speaks none of the dialects that were tried", 1, true), err)
  end)

  it("exits with 64 for an operation that does not exist, or arguments that do not fit", function()
    assert.same({ "", 'pintle: Invalid params for "greet": property "name" is missing; did you mean name instead of '
      .. "nmae?\n", 64 }, cli.outcome(cli.words("check", "--run", "greet", "--args", '{"nmae":"Ada"}', cli.GREETER)))
    for _, words in ipairs { {}, { "-d", "gevals" }, { "-d", "mcp" } } do
      assert.same({ "", "pintle: Unknown operation: greeet; did you mean greet?\n", 64 },
        cli.outcome(cli.words("check", words, "--run", "greeet", cli.GREETER)))
    end
  end)

  it("exits with 64 on usage errors", function()
    local WRONG = {
      [{ "-d", "nix", "true" }] = 'no dialect "nix"; there are editor, gevals, liquid, lsp, mcp, reginald',
      [{ "--args", "{}", "true" }] = "--args needs --run OPERATION",
      [{ "--run", "x", "--args", "5", "true" }] = "--args: a JSON object expected",
      [{ "--run", "x", "--args", "[]", "true" }] = "--args: a JSON object expected",
      [{ "-d", "gevals", "--only", "nix", "true" }] = "--only nix: no probe of gevals matches",
      [{ "-d", "gevals", "--root", ".", "true" }] = "--root: gevals has no workspace",
      [{ "--list", "-d", "nix" }] = 'no dialect "nix"; there are editor, gevals, liquid, lsp, mcp, reginald',
    }
    for words, message in pairs(WRONG) do
      assert.same({ "", ("pintle: %s\n"):format(message), 64 }, cli.outcome(cli.words("check", words)))
    end
  end)

  -- The params of all initialize requests.
  local function initializations(report)
    local list = {}
    for _, probe in ipairs(report.probes) do
      for _, piece in ipairs(probe.exchange or {}) do
        local message = piece.from == "host" and piece.kind == "message" and json.decode(piece.text)
        if message and message.method == "initialize" then list[#list + 1] = message.params end
      end
    end
    return list
  end

  it("passes the workspace to a language server in every probe", function()
    local folder <close> = files.folder()
    local root = folder.path .. "/a b"
    assert(lfs.mkdir(root))
    local uri = "file://" .. folder.path .. "/a%20b"
    for _, given in ipairs { root, root .. "/", folder.path .. "/./a b/../a b" } do
      local _, status, report = check("-d", "lsp", "--root", given, only("hand*", "*shutdown", "second*", "orphan"),
        "lua5.4", "examples/todo-lsp/plugin.lua")
      local list = initializations(report)
      assert.same({ 0, true }, { status, #list > 3 })
      for _, params in ipairs(list) do
        assert.same({ uri, root, { { uri = uri, name = "a b" } } },
          { params.rootUri, params.rootPath, params.workspaceFolders })
      end
    end
  end)

  it("accepts a relative path as workspace, also for editor servers", function()
    local words = { "--root", "spec/../spec", only "handshake" }
    local root = lfs.currentdir() .. "/spec"
    local _, _, report = check("-d", "lsp", words, "lua5.4", "examples/todo-lsp/plugin.lua")
    assert.equal(root, initializations(report)[1].rootPath)
    _, _, report = check("-d", "editor", words, "lua5.4", "examples/editor/server.lua")
    assert.equal(root, initializations(report)[1].root_path)
  end)

  it("refuses a workspace that is not a directory", function()
    for given, message in pairs {
      ["README.md"] = "README.md is not a directory", ["/no/such"] = "No such file or directory", [""] = "No such file",
    } do
      local out, err, status = cli.run { "check", "-d", "lsp", "--root", given, "true" }
      assert.same({ "", 64 }, { out, status })
      assert.truthy(err:find(message, 1, true), err)
    end
  end)

  it("kills a plugin that does not exit", function()
    local code = [[io.stderr:write(io.open "/proc/self/stat":read "n", "\n")
      require "pintle.core".poll(600)]]
    local _, _, report = check("-d", "gevals", "-t", "1s", children.lua(code))
    local pid = report.probes[1].stderr[1]
    assert.truthy(pid:find "^%d+$", pid)
    assert.is_false(cli.is_running(pid))
  end)

  it("ends on Ctrl-C, and kills the plugin", function()
    local words = cli.words("check", "-d", "gevals", "-t", "60s", cli.bad "silent")
    local started <close> = cli.start(words, { stdin = "null" })
    local pid = cli.await_child(started.process:pid(), "bad_plugin")
    assert(started.process:kill "INT")
    local _, _, status = started:finish()
    assert.equal(130, status)
    assert.is_false(cli.is_running(pid))
  end)
end)
