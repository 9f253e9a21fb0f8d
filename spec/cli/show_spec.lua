local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"

local path

children.leave_nothing()
files.give_each_a_path(function(given) path = given end)

local START = '{"trace":1,"time":0.0,"command":["my","plugin"],"cwd":"/","pid":1,"at":"2026-01-01T00:00:00Z",'
  .. '"pintle":"scm"}'

local RECORDING = {
  START,
  '{"time":0.001,"framing":"line"}',
  '{"time":0.001,"from":"host","message":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"b":1,"a":[2.50]}}}',
  '{"time":0.001,"dialect":"gevals"}',
  '{"time":0.002,"from":"plugin","stderr":"starting \\u001b[31mup"}',
  '{"time":0.011,"from":"plugin","message":{"jsonrpc":"2.0","id":1,"result":{"name":"p"}}}',
  '{"time":0.012,"from":"plugin","noise":"oops"}',
  '{"time":0.012,"from":"plugin","noise":"AP8=","encoding":"base64","problem":"header line 1"}',
  '{"time":0.02,"from":"host","message":{"jsonrpc":"2.0","id":"a","method":"execute","params":{}}}',
  '{"time":0.021,"from":"host","message":{"jsonrpc":"2.0","id":2,"method":"execute"}}',
  '{"time":0.022,"from":"plugin","message":{"jsonrpc":"2.0","id":1,"method":"ask","params":[]}}',
  '{"time":0.023,"from":"plugin","message":{"jsonrpc":"2.0","method":"log","params":{"m":"hi"}}}',
  '{"time":0.024,"from":"plugin","message":{"jsonrpc":"2.0","id":2,"result":null}}',
  '{"time":1.52,"from":"plugin","message":{"jsonrpc":"2.0","id":"a",'
    .. '"error":{"code":-32601,"message":"no","data":[1]}}}',
  '{"time":1.6,"from":"host","message":[{"jsonrpc":"2.0","method":"log"},{"jsonrpc":"2.0","id":3,"method":"execute"}]}',
  '{"time":1.601,"from":"plugin","message":[{"jsonrpc":"2.0","id":3,"result":1}]}',
  '{"time":1.602,"from":"plugin","message":"text"}',
  '{"time":1.7,"from":"host","signal":"TERM"}',
  '{"time":1.7,"from":"host","closed":"stdin"}',
  '{"time":1.7,"from":"host","closed":"stdout"}',
  '{"time":1.8,"exit":{"signal":"TERM"}}',
}

local function write(lines) files.write(path, table.concat(lines, "\n") .. "\n") end

local function show(...)
  write(RECORDING)
  return cli.outcome(cli.words("show", { ... }, path))
end

describe("pintle show", function()
  it("prints a recording", function()
    assert.same({ [[
   0.000000   started my plugin
   0.001000   line framing
   0.001000 → initialize #1 {"b":1,"a":[2.50]}
   0.001000   dialect: gevals
   0.002000 ← | starting ?[31mup
   0.011000 ← initialize #1 = {"name":"p"}  (10.000 ms)
   0.012000 ← ? oops
   0.012000 ← ? base64 AP8= (header line 1)
   0.020000 → execute #"a" {}
   0.021000 → execute #2
   0.022000 ← ask #1 []
   0.023000 ← log {"m":"hi"}
   0.024000 ← execute #2 = null  (3.000 ms)
   1.520000 ← execute #"a" ! -32601 no [1]  (1.500 s)
   1.600000 → log
   1.600000 → execute #3
   1.601000 ← execute #3 = 1  (1.000 ms)
   1.602000 ← not a JSON-RPC message "text"
   1.700000 → signal TERM
   1.700000 → closed stdin
   1.700000 → stopped reading stdout
   1.800000   ended with signal TERM
            ← never answered: ask #1
]], "", 0 }, show())
  end)

  it("shows one method, with its answers", function()
    assert.same({ [[
   0.020000 → execute #"a" {}
   0.021000 → execute #2
   0.024000 ← execute #2 = null  (3.000 ms)
   1.520000 ← execute #"a" ! -32601 no [1]  (1.500 s)
   1.600000 → execute #3
   1.601000 ← execute #3 = 1  (1.000 ms)
]], "", 0 }, show("--method", "ex?cu*"))
    assert.same({ "", "", 0 }, show("--method", "x"))
    assert.truthy(show("-m", "a*")[1]:find "never answered: ask #1\n$")
  end)

  it("shows only errors with --errors", function()
    assert.same({ [[
   0.012000 ← ? oops
   0.012000 ← ? base64 AP8= (header line 1)
   1.520000 ← execute #"a" ! -32601 no [1]  (1.500 s)
   1.602000 ← not a JSON-RPC message "text"
   1.800000   ended with signal TERM
            ← never answered: ask #1
]], "", 0 }, show "--errors")
  end)

  it("does not miss the answer of a cancelled request, or of a subscription", function()
    local lines = { START }
    for _, message in ipairs {
      '"id":1,"method":"a"', '"id":2,"method":"b"', '"id":"2","method":"c"', '"id":3,"method":"subscriptions/listen"',
      '"method":"notifications/cancelled","params":{"requestId":2}',
    } do
      lines[#lines + 1] = ('{"time":%d,"from":"host","message":{"jsonrpc":"2.0",%s}}'):format(#lines, message)
    end
    files.write(path, table.concat(lines, "\n") .. "\n")
    local out = cli.outcome { "show", path }[1]
    assert.truthy(out:find '\n *→ never answered: a #1\n *→ never answered: c #"2"\n$', out)
  end)

  it("shows latencies", function()
    assert.same({ [[
METHOD      ASKED   COUNT  ERRORS        MIN     MEDIAN        P95        MAX
execute     plugin      3       1   1.000 ms   3.000 ms    1.500 s    1.500 s
initialize  plugin      1       0  10.000 ms  10.000 ms  10.000 ms  10.000 ms
]], "", 0 }, show "--latency")
    local out, err, status = table.unpack(show("-l", "--json"))
    assert.same({ "", 0 }, { err, status })
    assert.same({ method = "execute", asked = "plugin", count = 3, errors = 1, min = 0.001, median = 0.003, p95 = 1.5,
      max = 1.5 }, core.json.decode(out)[1])
  end)

  it("cuts lines to the width, at whole characters", function()
    RECORDING[#RECORDING + 1] = '{"time":9,"from":"plugin","noise":"ääääääääääääääääääääääääääääääääääää"}'
    local lines = show("--width", "40")[1]
    RECORDING[#RECORDING] = nil
    for line in lines:gmatch "([^\n]*)\n" do assert.is_true(utf8.len(line) <= 40, line) end
    assert.truthy(lines:find("\n   0.011000 ← initialize #…  (10.000 ms)\n", 1, true), lines)
    assert.truthy(lines:find("← ? " .. ("ä"):rep(23) .. "…\n", 1, true), lines)
    assert.equal(64, show("--width", "-1")[3])
    assert.equal(64, show("--width", "x")[3])
    assert.equal(show()[1], show("--width", "0")[1])
  end)

  it("prints records as JSON, with method and latency of answers", function()
    assert.same({ table.concat({
      RECORDING[9], RECORDING[10],
      RECORDING[13]:sub(1, -2) .. ',"method":"execute","latency":0.003}',
      RECORDING[14]:sub(1, -2) .. ',"method":"execute","latency":1.5}',
      RECORDING[15],
      RECORDING[16]:sub(1, -2) .. ',"method":"execute","latency":0.001}',
    }, "\n") .. "\n", "", 0 }, show("--json", "-m", "execute"))
    assert.equal(#RECORDING, select(2, show "--json"[1]:gsub("\n", "")))
  end)

  it("reports invalid files", function()
    assert.same({ "", "pintle: /no/such/file: No such file or directory\n", 64 },
      cli.outcome { "show", "/no/such/file" })
    assert.same({ "", "pintle: spec: Is a directory\n", 64 }, cli.outcome { "show", "spec" })
    for _, line in ipairs { '{"time":1,"hello":2}', '{"hello":2}', "-- plugin.lua" } do
      write { line }
      assert.same({ "", ("pintle: %s: line 1: not a recording of `pintle trace`\n"):format(path), 64 },
        cli.outcome { "show", path })
    end
    write { START, "nonsense" }
    local out, err, status = cli.run { "show", path }
    assert.same({ "   0.000000   started my plugin\n", 64 }, { out, status })
    assert.equal(("pintle: %s: line 2: not JSON: invalid value at line 1, column 1\n"):format(path), err)
    write { (START:gsub('"trace":1', '"trace":2')) }
    assert.truthy(cli.outcome { "show", path }[2]:find "unknown version 2 of the format; this pintle reads version 1")
  end)

  it("reports invalid members of records", function()
    for record, complaint in pairs {
      ['{"time":1,"from":"me","message":1}'] = "from: host or plugin expected",
      ['{"time":1,"message":1}'] = "from: missing, but required with message",
      ['{"time":1,"from":"host","noise":[]}'] = "noise: a string expected",
      ['{"time":1,"command":"true"}'] = "command: a list of strings expected",
      ['{"time":1,"command":[1]}'] = "command: a list of strings expected",
      ['{"time":1,"command":[]}'] = "command: a list of strings expected",
      ['{"time":1,"exit":{}}'] = "exit: a code or a signal expected",
    } do
      write { START, record }
      assert.same({ "   0.000000   started my plugin\n", ("pintle: %s: line 2: %s\n"):format(path, complaint), 64 },
        cli.outcome { "show", path })
    end
  end)

  it("reads from stdin", function()
    local started <close> = cli.start { "show", "-" }
    started:say(START .. "\n")
    started.process.stdin:close()
    assert.same({ "   0.000000   started my plugin\n", "", 0 }, { started:finish() })
  end)

  it("follows a growing recording until the program exits", function()
    write { START }
    local started <close> = cli.start({ "show", "-f", path }, { stdin = "null" })
    started:read "started my plugin\n"
    local file <close> = assert(io.open(path, "a"))
    local function append(text)
      file:write(text)
      file:flush()
    end
    append '{"time":1,"from":"plugin",'
    core.poll(0.2) -- long enough to poll the file at least once
    append '"noise":"one"}\n'
    assert.equal("   1.000000 ← ? one\n", started:read "one\n")
    append(RECORDING[3] .. "\n" .. '{"time":2.0,"exit":{"code":0}}\n')
    assert.same({
      '   0.001000 → initialize #1 {"b":1,"a":[2.50]}\n   2.000000   ended with status 0\n'
        .. "            → never answered: initialize #1\n", "", 0,
    }, { started:finish() })
  end)

  it("stops on Ctrl-C while it prints", function()
    local lines = { START }
    for i = 2, 200000 do lines[i] = RECORDING[3] end
    write(lines)
    local started <close> = cli.start({ "show", path }, { stdin = "null" })
    started:read "\n"
    started.process:kill "INT"
    local out, err, status = started:finish()
    assert.same({ "", 130 }, { err, status })
    assert.is_true(select(2, out:gsub("\n", "")) < 199999)
  end)

  it("stops on Ctrl-C while it follows", function()
    write { START }
    local started <close> = cli.start({ "show", "-f", path }, { stdin = "null" })
    started:read "started my plugin\n"
    started.process:kill "INT"
    assert.same({ "", "", 130 }, { started:finish() })
  end)
end)
