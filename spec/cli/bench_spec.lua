-- `pintle bench`: the number and the duration of calls.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"

local json = core.json

children.leave_nothing()

local function bench(...)
  local out, err, status = cli.run(cli.words("bench", "-d", "gevals", "--json", ...))
  local report = json.decode(out)
  assert(type(report) == "table", err)
  return report, status, err
end

-- A plugin with one operation, `go`.
local function plugin(code)
  return children.lua([[
    local pintle = require "pintle"
    local plugin = pintle.plugin { name = "p", version = "1.0.0" }
    plugin:operation("go", { params = { type = "object" } }, function(args, ctx) ]] .. code .. [[ end)
    plugin:serve()]])
end

local function is_in_order(report)
  local last = 0
  for _, name in ipairs { "min", "median", "p90", "p99", "max" } do
    if report[name] < last then return false end
    last = report[name]
  end
  return report.max <= report.seconds
end

local function total(histogram)
  local calls = 0
  for _, bar in ipairs(histogram) do calls = calls + bar.count end
  return calls
end

describe("pintle bench", function()
  it("makes the given number of calls, and reports how long they took", function()
    local report, status = bench("--calls", "50", cli.GREETER, "--", "greet", "name=Ada")
    assert.same({ "greet", "gevals", 1, 50, 0, 0, {} }, { report.what, report.dialect, report.in_flight, report.calls,
      report.errors, status, report.problems })
    assert.truthy(is_in_order(report), json.encode(report))
    assert.equal(50, total(report.histogram))
    assert.equal(report.calls / report.seconds, report.rate)
  end)

  it("makes calls for the given time", function()
    local report, status = bench("--seconds", "200ms", cli.GREETER, "--", "greet", "name=Ada")
    assert.truthy(report.seconds >= 0.2 and report.calls > 0 and status == 0, json.encode(report))
  end)

  it("counts failed operations, and reports why they failed", function()
    local report, status = bench("-n", "7", cli.GREETER, "--", "greet", "name=")
    assert.same({ 7, 7, 1 }, { report.calls, report.errors, status })
    assert.same({ { message = "nobody to greet", count = 7 } }, report.problems)
  end)

  it("calls methods of the protocol", function()
    local params = '{"operation":"nix","args":{},"context":{}}'
    local report, status = bench("-n", "5", "--method", "execute", "--params", params, cli.GREETER)
    assert.same({ "execute", 5, 5, 1 }, { report.what, report.calls, report.errors, status })
    assert.same({ { message = "Unknown operation: nix (code -32601)", count = 5 } }, report.problems)
  end)

  it("keeps the given number of calls in flight", function()
    local code = [[
      waiting = (waiting or 0) + 1
      while waiting < 3 do
        local _, err = ctx:sleep(0.001)
        if err then waiting = waiting - 1 return nil, "alone" end
      end
      ctx:sleep(0.02)
      waiting = 0
    ]]
    local report = bench("-n", "3", "-k", "3", "--warm-up", "0", "-t", "20s", plugin(code), "--", "go")
    assert.same({ 3, 0, 3 }, { report.calls, report.errors, report.in_flight })
    report = bench("-n", "1", "-k", "3", "--warm-up", "0", "-t", "300ms", plugin(code), "--", "go")
    assert.same({ 1, 1 }, { report.calls, report.errors })
  end)

  it("makes warm-up calls, and leaves them out of the results", function()
    local code = "calls = (calls or 0) + 1 return calls > 4 or nil, 'not yet warm'"
    local report = bench("-n", "3", "--warm-up", "4", plugin(code), "--", "go")
    assert.same({ 3, 0 }, { report.calls, report.errors })
    report = bench("-n", "3", "--warm-up", "3", plugin(code), "--", "go")
    assert.same({ 3, 1 }, { report.calls, report.errors })
  end)

  it("reports the results so far when the plugin dies", function()
    local code = "calls = (calls or 0) + 1 if calls > 5 then os.exit(9, true) end"
    local report, status, err = bench("--warm-up", "2", plugin(code), "--", "go")
    assert.same({ 3, 2 }, { report.calls, status })
    assert.truthy(err:find("ended with status 9", 1, true), err)
  end)

  it("prints a table and a histogram", function()
    local out, err, status = cli.run(cli.words("bench", "-n", "4", cli.GREETER, "--", "greet", "name="))
    assert.same({ "pintle: 4 times: nobody to greet\n", 1 }, { err, status })
    local first, heads = out:match "^([^\n]*)\n\n([^\n]*)\n"
    assert.truthy(first:find "^greet: 4 calls in %d+%.%d%d%d s, %d+ per second; 1 in flight, 4 errors$", first)
    assert.same({ "MIN", "MEDIAN", "P90", "P99", "MAX" }, cli.words(heads:match "(%S+) +(%S+) +(%S+) +(%S+) +(%S+)"))
    assert.truthy(out:find "\n%s*UP TO  CALLS\n")
  end)

  it("exits with 64 on usage errors", function()
    local WRONG = {
      [{ "true" }] = "the operation is missing; name it behind the program and --: pintle bench true -- OPERATION",
      [{ "--method", "m", "true", "--", "go" }] = "either an operation or --method METHOD, not both",
      [{ "--params", "{}", "true", "--", "go" }] = "--params needs --method METHOD",
      [{ "--args", "{}", "--method", "m", "true" }] = "--args needs an operation",
      [{ "-k", "0", "true", "--", "go" }] = "--in-flight: 1 to 10000 expected",
      [{ "-n", "0", "true", "--", "go" }] = "--calls: at least 1 expected",
      [cli.words("-d", "gevals", cli.GREETER, "--", "great")] = "Unknown operation: great; did you mean greet?",
      [cli.words("-d", "gevals", cli.GREETER, "--", "greet", "name")] = '"name" is neither key=value nor key:=JSON',
    }
    for words, message in pairs(WRONG) do
      assert.same({ "", ("pintle: %s\n"):format(message), 64 }, cli.outcome(cli.words("bench", words)))
    end
    assert.equal(64, (select(3, cli.run { "bench", "-n", "many", "true", "--", "go" })))
  end)

  it("reports the results so far when it is interrupted", function()
    local path <close> = files.scratch()
    local code = ("local file <close> = io.open(%q, 'a') file:write 'x'"):format(path.path)
    local words = cli.words("bench", "-d", "gevals", "--json", "--seconds", "10m", plugin(code), "--", "go")
    local started <close> = cli.start(words, { stdin = "null" })
    cli.await(function() return #files.read(path.path) > 20 end)
    assert(started.process:kill "INT")
    local out, _, status = started:finish()
    assert.equal(130, status)
    assert.truthy(json.decode(out).calls > 0, out)
  end)
end)

describe("the histogram", function()
  local histogram = require("pintle.cli.latency").histogram

  it("has bounds in steps of 1, 2 and 5, and no empty bars at its ends", function()
    assert.same({}, histogram {})
    assert.same({ { upto = 0.001, count = 1 } }, histogram { 0.001 })
    assert.same({
      { upto = 0.001, count = 2 }, { upto = 0.002, count = 1 }, { upto = 0.005, count = 0 }, { upto = 0.01, count = 1 },
    }, histogram { 0.0006, 0.001, 0.0011, 0.006 })
  end)
end)
