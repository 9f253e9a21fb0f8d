-- `pintle replay`: a recording plays the plugin for a host, or the host for a plugin.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local connect = require "pintle.connect"
local core = require "pintle.core"
local differences = require("pintle.cli.json_values").differences
local files = require "spec.support.files"
local hosts = require "pintle.host"
local json_values = require "pintle.cli.json_values"

local json = core.json
local path

children.leave_nothing()
files.give_each_a_path(function(given) path = given end)

local function write(...)
  local lines = { '{"trace":1,"time":0,"command":["no-such-program"]}', ... }
  for i = 2, #lines do lines[i] = lines[i]:gsub("^{", '{"time":0,') end
  files.write(path, table.concat(lines, "\n") .. "\n")
end

local function from(whom, message) return ('{"from":"%s","message":%s}'):format(whom, message) end

-- The output of `pintle replay` for these lines of a host.
local function play(lines, ...)
  local started <close> = cli.start(cli.words("replay", { ... }, path))
  started:say(lines)
  started.process.stdin:close()
  return { started:finish() }
end

local HELLO = from("host", '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"a":[1,{"b":2}],"c":null}}')
local HELLO_NOW = '{"id":"now","method":"hello","params":{"c":null,"a":[1,{"b":2}]},"jsonrpc":"2.0"}\n'

describe("a recorded plugin", function()
  it("answers with the ids of the current requests, and exits as recorded", function()
    write(HELLO, from("plugin", '{"jsonrpc":"2.0","method":"log","params":{"id":1,"n":1.0}}'),
      from("plugin", '{ "result" : {"z":1,"y":1.50} ,"id":1, "jsonrpc":"2.0"}'), '{"from":"plugin","stderr":"bye"}',
      '{"from":"plugin","noise":"noise"}', '{"from":"plugin","noise":"/w==","encoding":"base64"}',
      '{"exit":{"code":7}}')
    assert.same({ '{"jsonrpc":"2.0","method":"log","params":{"id":"now","n":1.0}}\n'
      .. '{ "result" : {"z":1,"y":1.50} ,"id":"now", "jsonrpc":"2.0"}\nnoise\n\xff\n', "bye\n", 7 }, play(HELLO_NOW))
    write(HELLO, '{"exit":{"signal":"TERM"}}')
    assert.same({ "", "", "TERM" }, play(HELLO_NOW))
    write(HELLO, '{"exit":{"signal":"40"}}')
    assert.same({ "", "", 128 + 40 }, play(HELLO_NOW))
    write(HELLO, '{"exit":{"signal":"ELSEWHERE"}}')
    assert.same({ "", "", 2 }, play(HELLO_NOW))
  end)

  it("reports differences in messages of the host, and continues", function()
    write(HELLO, from("plugin", '{"jsonrpc":"2.0","id":1,"result":1}'), '{"from":"host","closed":"stdin"}',
      '{"exit":{"code":0}}')
    assert.same({ '{"jsonrpc":"2.0","id":5,"result":1}\n', ([[
%s:2: the host deviates: request hello #5 differs from the recording
  - /params/a/1/b: 2
  + /params/a/1/b: 3
  - /params/c: null
  + /params/d~1e: []
1 message of the host, and 1 deviation
]]):format(path), 1 }, play('{"jsonrpc":"2.0","id":5,"method":"hello","params":{"a":[1,{"b":3}],"d/e":[]}}\n'))
  end)

  it("ignores differences at the given paths", function()
    write(HELLO, from("plugin", '{"jsonrpc":"2.0","id":1,"result":1}'))
    assert.same({ '{"jsonrpc":"2.0","id":5,"result":1}\n', "", 0 },
      play('{"jsonrpc":"2.0","id":5,"method":"hello","params":{"a":[1,{"b":3}],"d/e":[]}}\n',
        "--ignore", "/params/a/*", "-i", "/params/c", "-i", "/params/d~1e"))
  end)

  it("ends when the host sends a message that was not recorded, and answers a request with an error", function()
    write(HELLO, from("plugin", '{"jsonrpc":"2.0","id":1,"result":1}'))
    local refusal = '{"jsonrpc":"2.0","id":3,"error":{"code":-32603,'
      .. '"message":"Internal error: the recording has no answer to this"}}\n'
    assert.same({ refusal, ([[
%s:2: the host deviates: request hello #1 was expected, but request other #3 arrived
0 messages of the host, and 1 deviation
]]):format(path), 1 }, play '{"jsonrpc":"2.0","id":3,"method":"other"}\n')
    assert.same({ "", ([[
%s:2: the host deviates: request hello #1 was expected, but notification hello arrived
0 messages of the host, and 1 deviation
]]):format(path), 1 }, play '{"jsonrpc":"2.0","method":"hello"}\n')
  end)

  it("reports messages that do not arrive", function()
    write(HELLO)
    local expected = ([[
%s:2: the host deviates: request hello #1 was expected, but the input ended
0 messages of the host, and 1 deviation
]]):format(path)
    assert.same({ "", expected, 1 }, play "")
    assert.same({ "", expected, 1 }, play "no message\n")
    local started <close> = cli.start { "replay", "-t", "100ms", path }
    assert.same({ "", (expected:gsub("the input ended", "no message arrived in time")), 1 }, { started:finish() })
  end)

  it("reports additional messages", function()
    write(HELLO, '{"from":"host","closed":"stdin"}')
    assert.same({ "", ([[
%s:3: the host deviates: the end was expected, but notification more arrived
1 message of the host, and 1 deviation
]]):format(path), 1 }, play(HELLO_NOW .. '{"jsonrpc":"2.0","method":"more"}\n'))
  end)

  it("sends the recorded requests, and compares the answers", function()
    write(HELLO, from("plugin", '{"jsonrpc":"2.0","id":1,"method":"ask"}'),
      from("host", '{"jsonrpc":"2.0","id":1,"result":"yes"}'), from("plugin", '{"jsonrpc":"2.0","id":1,"result":1}'))
    local said = '{"jsonrpc":"2.0","id":1,"method":"ask"}\n{"jsonrpc":"2.0","id":"now","result":1}\n'
    assert.same({ said, "", 0 }, play(HELLO_NOW .. '{"jsonrpc":"2.0","id":1,"result":"yes"}\n'))
    local out, err, status = table.unpack(play(HELLO_NOW .. '{"jsonrpc":"2.0","id":2,"result":"no"}\n'))
    assert.same({ said, 1 }, { out, status })
    assert.truthy(err:find("  - /id: 1\n  + /id: 2\n  - /result: \"yes\"\n  + /result: \"no\"\n", 1, true), err)
  end)

  it("replaces the recorded ids in cancellations", function()
    write(HELLO, from("host", '{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}'),
      from("plugin", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"cancelled"}}'))
    assert.same({ '{"jsonrpc":"2.0","id":"now","error":{"code":1,"message":"cancelled"}}\n', "", 0 },
      play(HELLO_NOW .. '{"jsonrpc":"2.0","method":"cancel","params":{"id":"now"}}\n'))
    assert.equal(1, play(HELLO_NOW .. '{"jsonrpc":"2.0","method":"cancel","params":{"id":1}}\n')[3])
  end)

  it("answers batches with batches", function()
    write(from("host", '[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]'),
      from("plugin", '[{"jsonrpc":"2.0","id":2,"result":"b"},{"jsonrpc":"2.0","id":1,"result":"a"}]'))
    assert.same({ '[{"jsonrpc":"2.0","id":8,"result":"b"},{"jsonrpc":"2.0","id":7,"result":"a"}]\n', "", 0 },
      play '[{"jsonrpc":"2.0","id":7,"method":"a"},{"jsonrpc":"2.0","id":8,"method":"b"}]\n')
  end)

  it("uses header framing if it was recorded", function()
    write('{"framing":"header"}', HELLO, from("plugin", '{"jsonrpc":"2.0","id":1,"result":"ä"}'))
    local peer = assert(connect.open { command = { "bin/pintle", "replay", path }, framing = "header" })
    assert.equal("ä", peer:call("hello", { a = { 1, { b = 2 } }, c = json.null }))
    peer:close()
  end)

  it("prints the report as JSON", function()
    write(HELLO)
    local _, err, status = table.unpack(play('{"jsonrpc":"2.0","id":1,"method":"hello"}\n', "--json"))
    assert.equal(1, status)
    assert.same({ ok = false, heard = 1, deviations = { {
      line = 2, what = "request hello #1 differs from the recording",
      differences = { { path = "/params", recorded = { a = { 1, { b = 2 } }, c = json.null } } },
    } } }, json.decode(err))
  end)

  it("serves a real host in the place of the plugin", function()
    local host <close> = hosts { log = false }
    local function greet(...)
      local plugin = assert(host:start { command = { ... } })
      local outcome = assert(plugin:execute("greet", { name = "Ada" }, { workdir = "/" }))
      plugin:stop()
      return outcome.message
    end
    local recorded = greet("bin/pintle", "trace", "-o", path, table.unpack(cli.GREETER))
    assert.equal("Hello, Ada", recorded)
    assert.equal(recorded, greet("bin/pintle", "replay", path))
  end)
end)

describe("a recorded host", function()
  local function replay(...) return cli.outcome(cli.words("replay", "--as", "host", { ... })) end

  local function record(...)
    local host <close> = hosts { log = false }
    local plugin = assert(host:start { command = cli.words("bin/pintle", "trace", "-o", path, cli.words(...)) })
    plugin:execute("greet", { name = "Ada", times = 2 }, { workdir = "/" })
    plugin:execute("greet", { name = "" }, { workdir = "/" })
    plugin:stop()
  end

  it("starts the recorded plugin or another one, and compares its messages", function()
    record(cli.GREETER)
    assert.same({ "9 messages of the plugin, all as recorded\n", "", 0 }, replay(path))
    assert.same({ "9 messages of the plugin, all as recorded\n", "", 0 }, replay(path, "--", cli.GREETER))
    assert.same({ "9 messages of the plugin, all as recorded\n", "", 0 },
      cli.outcome(cli.words("replay", path, "--", cli.GREETER)))
    local greeter = files.read "examples/greeter/plugin.lua"
    local other = children.lua((greeter:gsub('"1.0.0"', '"1.0.1"'):gsub("nobody to greet", "nobody")))
    local out, err, status = table.unpack(replay(path, "--", table.unpack(other)))
    assert.same({ "", 1 }, { err, status })
    assert.truthy(out:find('  - /result/version: "1.0.0"\n  + /result/version: "1.0.1"\n', 1, true), out)
    assert.truthy(out:find('  - /result/error: "nobody to greet"\n  + /result/error: "nobody"\n', 1, true), out)
    assert.truthy(out:find "\n9 messages of the plugin, and 2 deviations\n$", out)
    assert.same({ "9 messages of the plugin, all as recorded\n", "", 0 },
      replay("-i", "/result/version", "-i", "/result/error", "-i", "/result/message", path, "--", table.unpack(other)))
  end)

  it("reports an exit status that differs", function()
    write(from("host", '{"jsonrpc":"2.0","id":1,"method":"x"}'), from("plugin", '{"jsonrpc":"2.0","id":1,"result":1}'),
      '{"from":"host","closed":"stdin"}', '{"exit":{"code":0}}')
    local code = [[read line; echo '{"jsonrpc":"2.0","id":1,"result":1}'; cat; exit 4]]
    assert.same({ ([[
%s:5: the plugin deviates: it ended with status 4, but in the recording with status 0
1 message of the plugin, and 1 deviation
]]):format(path), "", 1 }, replay(path, "--", table.unpack(children.sh(code))))
    local out = replay("--json", path, "--", table.unpack(children.sh(code)))[1]
    assert.equal("it ended with status 4, but in the recording with status 0", json.decode(out).deviations[1].what)
  end)

  it("reports usage errors", function()
    write(HELLO)
    assert.same({ "", 'pintle: cannot run "no-such-program": No such file or directory\n', 2 }, replay(path))
    assert.same({ "", "pintle: --as plugin takes no program: the host starts this command\n", 64 },
      cli.outcome { "replay", "--as", "plugin", path, "--", "cat" })
    assert.same({ "", "pintle: /no/such/file: No such file or directory\n", 64 }, replay "/no/such/file")
    local folder = path:match "^.*/"
    assert.same({ "", ("pintle: %s: Is a directory\n"):format(folder), 64 }, replay(folder))
    write '{"framing":"morse"}'
    local complaint = 'pintle: unknown framing "morse"\n'
    assert.same({ "", complaint, 64 }, replay(path, "--", "cat"))
    assert.same({ "", complaint, 64 }, cli.outcome { "replay", path })
    files.write(path, '{"trace":1,"time":0}\n')
    assert.same({ "", ("pintle: %s does not contain the command; give one after --\n"):format(path), 64 }, replay(path))
  end)

  it("sends recorded noise", function()
    write(from("host", "[1]"), from("host", "5"), from("plugin", "[1]"), from("plugin", "5"))
    assert.same({ "2 messages of the plugin, all as recorded\n", "", 0 }, replay(path, "--", "cat"))
  end)

  it("stops the plugin on Ctrl-C", function()
    write(HELLO, from("plugin", '{"jsonrpc":"2.0","id":1,"result":1}'))
    local started <close> = cli.start({ "replay", "--as", "host", "-t", "10m", path, "--", "sleep", "600" },
      { stdin = "null" })
    local child = cli.await_child(started.process:pid(), "sleep")
    started.process:kill "INT"
    assert.equal(130, (select(3, started:finish())))
    assert.is_false(cli.is_running(child))
  end)
end)

describe("differences", function()
  local function between(one, other)
    local found = {}
    for _, difference in ipairs(differences(json.decode(one), json.decode(other), function() return false end)) do
      found[#found + 1] = ("%s %s %s"):format(difference.path, difference.recorded, difference.now)
    end
    return found
  end

  it("are found at every depth", function()
    assert.same({}, between('{"a":[1,{"b":null}],"c":{}}', '{"c":{},"a":[1,{"b":null}]}'))
    assert.same({ "/a/1 2 3", "/a/2 nil 4" }, between('{"a":[1,2]}', '{"a":[1,3,4]}'))
    assert.same({ "/a null nil", "/b nil null" }, between('{"a":null}', '{"b":null}'))
    assert.same({ " [] {}" }, between("[]", "{}"))
    assert.same({ "/0 [] [1]" }, between("[[]]", "[[1]]"))
    assert.same({ ' 1 "1"' }, between("1", '"1"'))
    assert.same({}, between("1", "1.0"))
  end)
end)

describe("positions in JSON text", function()
  it("are found after strings and containers", function()
    local text = ' { "a\\"b" : "}{\\\\" , "id":[ {"id":1} , "]"], "x":-1.5e3,"\\u0069d" : true } '
    local function member(name)
      local first, last = json_values.find_member(text, name)
      return first and text:sub(first, last)
    end
    assert.same({ '"}{\\\\"', "true", "-1.5e3" }, { member 'a"b', member "id", member "x" })
    assert.is_nil(member "y")
    assert.is_nil(json_values.find_member("{}", "y"))
    for _, value in ipairs { "1", "null", '"a"', '["y"]', " [{}]" } do
      assert.is_nil(json_values.find_member(value, "y"))
    end
    assert.equal(' { "a\\"b" : "}{\\\\" , "id":[ {"id":1} , "]"], "x":0,"\\u0069d" : true } ',
      json_values.replace_member(text, "x", "0"))
    assert.same({ "1", '"a,b"', "[2,3]", "{}", "null" }, json_values.split_elements ' [1 ,"a,b",[2,3], {} ,null ]')
    assert.same({}, json_values.split_elements "[]")
    assert.is_nil(json_values.split_elements "{}")
  end)
end)
