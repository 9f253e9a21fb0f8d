-- `pintle check` of extensions of gevals, whose protocol has two documents; and --config, in every dialect.
local checks = require "spec.support.checks"
local children = require "spec.support.children"
local json = require("pintle.core").json

local checking, verdicts_in, check, find, only =
  checks.checking, checks.verdicts_in, checks.check, checks.find, checks.only

local GREET = checks.GREET

describe("an extension of gevals", function()
  children.leave_nothing()

  -- A plugin that answers each method and each operation with the given JSON.
  local function extension(answers)
    return children.lua([[
      local json = require "pintle.core".json
      local answers = json.decode(arg[1])
      for text in io.lines() do
        local request = json.decode(text)
        if not request then os.exit(2) end
        local asked = type(request.params) == "table" and request.params.operation or request.method
        local answer = answers[asked] or answers[request.method] or '"error":{"code":-32601,"message":"no"}'
        answer = answer:gsub("%d+ times", function(times) return ("x"):rep(tonumber(times:match "%d+")) end)
        if request.id then io.write(('{"jsonrpc":"2.0","id":%s,%s}\n'):format(json.encode(request.id), answer)) end
        io.flush()
      end]], json.encode(answers))
  end

  local function manifest(params, more)
    return ('"result":{"name":"p","version":"1.0.0","protocolVersion":"0.0.1","operations":{"go":{"params":%s}}%s}')
      :format(params, more or "")
  end

  -- The verdict of a probe, and its reason.
  local function judged(name, answers)
    answers.initialize = answers.initialize or manifest '{"type":"object"}'
    local _, _, report = check("-d", "gevals", "--run", "go", only(name), extension(answers))
    local probe = find(report, name)
    return probe.verdict, probe.reason
  end

  local NOT_NOW = "only in the specification of 0.0.1, not in the document of July 2026"

  it("gets a warning for an operation without a schema, as the SDK for Go sends it", function()
    local answers = { initialize = manifest "true", go = '"result":{"success":true}' }
    local names = { "handshake", "manifest", "schema-objects", "unknown-operation", "outcome" }
    local verdicts, status, report = check("-d", "gevals", "--run", "go", only(table.unpack(names)), extension(answers))
    assert.same({ { "warn schema-objects" }, 0, 4 }, { verdicts, status, report.passed })
    assert.equal("operations.go.params: an object expected, got true, which accepts any arguments",
      find(report, "schema-objects").reason)
  end)

  it("fails if a schema is not valid", function()
    for params, reason in pairs {
      ["5"] = "operations.go.params: schema at the root: ",
      ['{"type":"strin"}'] = "operations.go.params: schema at /type: ",
    } do
      local verdict, why = judged("manifest", { initialize = manifest(params) })
      assert.equal("fail", verdict)
      assert.equal(reason, why:sub(1, #reason))
    end
    assert.same({ "fail", "operations.go.params is missing" },
      { judged("manifest", { initialize = manifest('{}'):gsub('"params":{}', "") }) })
  end)

  it("passes if it refuses an unknown operation or reports a failure: the two documents differ", function()
    assert.same({ "pass", "-32601 for an unknown operation: " .. NOT_NOW }, { judged("unknown-operation", {}) })
    assert.same({ "warn",
      '"success":false is by the document of July 2026; the specification of 0.0.1 has an error -32601' },
      { judged("unknown-operation", { execute = '"result":{"success":false,"error":"unknown operation"}' }) })
    assert.same({ "fail", "execute is not refused" },
      { judged("unknown-operation", { execute = '"result":{"success":true}' }) })
    assert.same({ "fail", "execute is refused with the code -32000, not -32601" },
      { judged("unknown-operation", { execute = '"error":{"code":-32000,"message":"no"}' }) })
    assert.same({ "warn",
      '"success":false is by the document of July 2026; the specification of 0.0.1 has an error -32602 or -32600' },
      { judged("no-operation", { execute = '"result":{"success":false}' }) })
  end)

  it("passes with a remark if it requires commands, which only the specification has", function()
    local function requires(list) return { initialize = manifest("{}", ',"requires":' .. list) } end
    assert.same({ "pass" }, { judged("requires", {}) })
    assert.same({ "pass" }, { judged("requires", requires "null") })
    assert.same({ "pass", "requires: " .. NOT_NOW }, { judged("requires", requires '[{"command":"sh"}]') })
    assert.same({ "warn", "requires: at the root: expected array, got string \"sh\" (requires: " .. NOT_NOW .. ")" },
      { judged("requires", requires '"sh"') })
    assert.same({ "warn", "-32002, a requirement that is not met: " .. NOT_NOW .. ": no sh" },
      { judged("outcome", { go = '"error":{"code":-32002,"message":"no sh"}' }) })
    assert.same({ "fail", "execute is refused: no (code -32000)" },
      { judged("outcome", { go = '"error":{"code":-32000,"message":"no"}' }) })
  end)

  it("gets a warning if it exits on invalid JSON or ignores it: only one document has error codes for it", function()
    assert.same({ "warn", "the plugin did not survive it: it exited with status 2 (-32700: " .. NOT_NOW .. ")" },
      { judged("bad-json", {}) })
    assert.same({ "warn", "the error has the code -32601, not -32600 (-32600: " .. NOT_NOW .. ")" },
      { judged("invalid-request", {}) })
  end)

  it("gets a warning for lines that are too long for gevals", function()
    local before = #'{"jsonrpc":"2.0","id":2,"result":{"success":true,"message":""}}\n'
    local function verdict_of(bytes)
      local long = ('"result":{"success":true,"message":"%d times"}'):format(bytes - before)
      local plugin = extension { initialize = manifest "{}", go = long }
      local _, _, report = check("-d", "gevals", "--run", "go", only("outcome", "line-length"), plugin)
      assert.equal("pass", find(report, "outcome").verdict)
      local probe = find(report, "line-length")
      return { probe.verdict, probe.reason }
    end
    assert.same({ "pass" }, verdict_of(65536))
    assert.same({ "warn", "a line of 65537 bytes; hosts read no more than 65536 (in outcome)" }, verdict_of(65537))
  end)
end)

describe("the option --config of pintle check", function()
  local NEEDY = { "lua5.4", "spec/support/plugins/needy.lua" }
  local begun = {}

  for _, dialect in ipairs { "editor", "gevals", "lsp", "reginald" } do
    begun[dialect] = checking("-d", dialect, "--config", '{"key":"k"}', GREET, NEEDY)
    it("configures the plugin in every probe of " .. dialect, function()
      assert.same({ {}, 0 }, { table.unpack({ verdicts_in(begun[dialect]) }, 1, 2) })
    end)
  end

  begun.missing = checking("-d", "gevals", only "one-shot", GREET, NEEDY)
  it("is needed for a plugin that does not start without configuration", function()
    assert.same({ "fail handshake" }, (verdicts_in(begun.missing)))
  end)

  begun.unheard = checking("-d", "gevals", "--config", "{}", only "one-shot", "sh", "-c",
    '[ "$1" != --config ] || exit 2; exec lua5.4 examples/greeter/plugin.lua', "sh")
  it("is passed as an argument in one-shot probes, where a failure is only a warning", function()
    local verdicts, _, report = verdicts_in(begun.unheard)
    assert.same({ "warn one-shot" }, verdicts)
    assert.equal("execute is not answered: it exited with status 2, if it is started with --config",
      find(report, "one-shot").reason)
  end)

  checks.run_at_once(begun)
end)
