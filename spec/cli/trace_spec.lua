-- `pintle trace` forwards every byte, signal and status unchanged, and records them.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"
local hosts = require "pintle.host"
local lfs = require "lfs"
local loop = require "pintle.loop"
local connect = require "pintle.connect"

local json = core.json
local path

children.leave_nothing()
files.give_each_a_path(function(given) path = given end)

local function trace(...) return cli.words("trace", "-o", path, "--", ...) end

-- The lines of the recording, without the parts that differ each time.
local function recorded()
  local lines = {}
  for line in io.lines(path) do
    line = line:gsub('"time":[%d.e-]+,?', ""):gsub('"pid":%d+,"at":"[^"]+"', '"pid":0,"at":""')
    lines[#lines + 1] = line
  end
  return lines
end

local function records()
  local list = {}
  for line in io.lines(path) do list[#list + 1] = assert(json.decode(line)) end
  return list
end

local function start_line(command)
  return ('{"trace":1,"command":%s,"cwd":%s,"pid":0,"at":"","pintle":"scm"}'):format(json.encode(command),
    json.encode(lfs.currentdir()))
end

-- Sends all of the data while reading, and returns everything that was read.
local function converse(started, text)
  local stdin, stdout = started.process.stdin, started.process.stdout
  local answer, at, data = {}, 1, nil
  while data ~= "" do
    local has_room, has_more
    if at > #text then
      stdin:close()
      has_more = core.poll(children.patience, stdout, "r")
    else
      has_room, has_more = core.poll(children.patience, stdin, "w", stdout, "r")
    end
    assert(has_room or has_more, "nothing happens")
    if has_room then at = at + (stdin:write(text:sub(at, at + 65535)) or 0) end
    data = has_more and stdout:read()
    answer[#answer + 1] = data or nil
  end
  return table.concat(answer)
end

local function random_bytes(count)
  local pieces = {}
  for i = 1, count // 8 do pieces[i] = string.pack("I8", math.random(0)) end
  return table.concat(pieces)
end

describe("a traced conversation", function()
  it("forwards any bytes in both directions", function()
    local words = {
      "Content-Length: 12\r\n\r\n", "\n", '{"jsonrpc":"2.0"}\n', "\r\n", "\0", "Content-Length: 99999\r\n\r\n",
    }
    local pieces = {}
    for i = 1, 200 do pieces[i] = random_bytes(math.random(8, 4000)) .. words[math.random(#words)] end
    local text = table.concat(pieces)
    local started <close> = cli.start(trace "cat")
    assert.is_true(converse(started, text) == text)
    assert.equal(0, (started.process:wait(children.patience)))
    assert.is_true(#records() > 2) -- how many depends on whether the first header announces a long message
  end)

  local function line(body) return body .. "\n" end
  local function header(body) return ("Content-Length: %d\r\n\r\n%s"):format(#body, body) end

  for name, frame in pairs { line = line, header = header } do
    it("forwards and records messages of any size: " .. name, function()
      local bodies = {}
      for i, size in ipairs { 0, 1, 100, 4095, 4096, 4097, 65535, 65536, 1 << 20, 9 << 20 } do
        bodies[i] = ('{"jsonrpc":"2.0","method":"m%d","params":["%s"]}'):format(i, ("x"):rep(size))
      end
      local text = ""
      for _, body in ipairs(bodies) do text = text .. frame(body) end
      local started <close> = cli.start(trace "cat")
      assert.is_true(converse(started, text) == text)
      assert.equal(0, (started.process:wait(children.patience)))
      local from = { host = {}, plugin = {} }
      for textual in io.lines(path) do
        local whom, message = textual:match '"from":"(%l+)","message":(.*)}$'
        if whom then table.insert(from[whom], message) end
      end
      assert.is_true(table.concat(from.host, "\n") == table.concat(bodies, "\n"))
      assert.is_true(table.concat(from.plugin, "\n") == table.concat(bodies, "\n"))
    end)
  end

  it("forwards both directions at the same time when both are full", function()
    local started <close> = cli.start(trace(children.sh "head -c 3000000 /dev/zero & cat >/dev/null; wait"))
    assert.equal(3000000, #converse(started, ("y"):rep(3000000)))
    assert.equal(0, (started.process:wait(children.patience)))
  end)

  it("blocks the host while the plugin does not read, and loses nothing", function()
    local waiting = "trap 'go=1' USR1; echo ready; while [ -z \"$go\" ]; do sleep 0.01; done; exec cat"
    local started <close> = cli.start(trace(children.sh(waiting)))
    started:read "ready\n"
    local first = ("x"):rep(999) .. "\n" -- leaves room for a part of the next write
    started:say(first)
    cli.await(function() return files.read(path):find "xxx" end)
    local text, at = random_bytes(1 << 20), 1
    local stdin = started.process.stdin
    while core.poll(0.2, stdin, "w") do at = at + assert(stdin:write(text:sub(at))) end
    assert.is_true(at <= #text)
    started.process:kill "USR1"
    assert.is_true(converse(started, text:sub(at)) == first .. text)
    assert.equal(0, (started.process:wait(children.patience)))
  end)

  it("forwards bytes at once", function()
    local started <close> = cli.start(trace "cat")
    for _, piece in ipairs { "a", "\n", '{"half":', "Content-", "Length" } do
      started:say(piece)
      assert.equal(piece, started:read(piece))
    end
    started.process.stdin:close()
    assert.same({ "", "", 0 }, { started:finish() })
  end)

  it("is recorded between a real host and plugin", function()
    local host <close> = hosts { log = false }
    local plugin = assert(host:start { command = cli.words("bin/pintle", trace(cli.GREETER)) })
    assert.same({ success = true, message = "Hello, Ada" }, assert(plugin:execute("greet", { name = "Ada" })))
    plugin:stop()
    local lines = recorded()
    assert.equal(start_line(cli.GREETER), lines[1])
    assert.same({
      '{"framing":"line"}',
      '{"from":"host","message":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}}',
      '{"dialect":"gevals"}',
    }, table.move(lines, 2, 4, 1, {}))
    local result = '{"success":true,"message":"Hello, Ada"}'
    assert.equal(('{"from":"plugin","message":{"jsonrpc":"2.0","id":2,"result":%s}}'):format(result), lines[9])
    assert.same({ '{"from":"host","message":{"jsonrpc":"2.0","id":3,"method":"shutdown","params":{}}}',
      '{"from":"plugin","message":{"jsonrpc":"2.0","id":3,"result":{}}}' }, table.move(lines, 10, 11, 1, {}))
    assert.equal('{"exit":{"code":0}}', lines[#lines])
  end)

  it("is recorded with header framing, and with requests in both directions", function()
    local command = cli.words("bin/pintle", trace("lua5.4", "spec/support/far_side.lua", "header"))
    local peer = assert(connect.open { command = command, framing = "header" })
    peer:on("ping", function() return 0 end)
    assert.same({ { result = 0 } }, { peer:call("call_back", { method = "ping", params = {} }) })
    peer:close()
    local methods = {}
    for _, record in ipairs(records()) do
      if record.message then methods[#methods + 1] = record.from .. " " .. (record.message.method or "answer") end
      assert(not record.noise)
    end
    assert.same({ "host call_back", "plugin ping", "host answer", "plugin answer" }, methods)
  end)
end)

describe("the recording", function()
  local function lines_of(command, input)
    local started <close> = cli.start(trace(command))
    started:say(input or "")
    started.process.stdin:close()
    local out, err, status = started:finish()
    local lines = recorded()
    assert.equal(start_line(command), table.remove(lines, 1))
    return lines, out, err, status
  end

  it("contains noise, binary data and incomplete messages", function()
    local command = children.sh [[cat; printf 'hello\n\377\n{"jsonrpc":"2.0",\n  "method" : "m" }\nhalf']]
    local lines, out = lines_of(command, '{"jsonrpc":"2.0","id":1.0,"method":"a\\u0041"}\nnot a message\n')
    assert.equal('{"jsonrpc":"2.0","id":1.0,"method":"a\\u0041"}\nnot a message\n'
      .. 'hello\n\xff\n{"jsonrpc":"2.0",\n  "method" : "m" }\nhalf', out)
    local said = {}
    for _, line in ipairs(lines) do
      if line:find '"from":"plugin"' then said[#said + 1] = line end
    end
    assert.same({
      '{"from":"plugin","message":{"jsonrpc":"2.0","id":1.0,"method":"a\\u0041"}}',
      '{"from":"plugin","noise":"not a message"}', '{"from":"plugin","noise":"hello"}',
      '{"from":"plugin","noise":"/w==","encoding":"base64"}', '{"from":"plugin","noise":"{\\"jsonrpc\\":\\"2.0\\","}',
      '{"from":"plugin","noise":"  \\"method\\" : \\"m\\" }"}', '{"from":"plugin","noise":"half"}',
      '{"from":"plugin","closed":"stdout"}',
    }, said)
  end)

  it("writes a message of several lines as one line, and contains invalid frames", function()
    local body = '{"jsonrpc":"2.0",\r\n\t"method":"m"}'
    local rest = "Content-Length: -1\r\n\r\nContent-Length: 3\r\n\r\n{]}"
    local lines = lines_of({ "cat" }, ("Content-Length: %d\r\n\r\n%s%s"):format(#body, body, rest))
    if lines[3]:find "dialect" then table.remove(lines, 3) end -- a dialect may be recognised by its framing alone
    assert.same({
      '{"framing":"header"}',
      '{"from":"host","message":{"jsonrpc":"2.0",  \t"method":"m"}}',
      '{"from":"host","noise":"Content-Length: -1\\r\\n\\r\\n",'
        .. '"problem":"Content-Length is not a plain decimal number, header line 1"}',
      '{"from":"host","noise":"{]}","problem":"not JSON"}',
    }, table.move(lines, 1, 4, 1, {}))
  end)

  it("contains stderr by lines, which is forwarded unchanged", function()
    local lines, _, err = lines_of(children.sh "printf 'one\\r\\ntwo\\377\\nthree' >&2")
    assert.equal("one\r\ntwo\xff\nthree", err)
    local said = {}
    for _, line in ipairs(lines) do
      if line:find "stderr" then said[#said + 1] = line end
    end
    assert.same({ '{"from":"plugin","stderr":"one"}', '{"from":"plugin","stderr":"dHdv/w==","encoding":"base64"}',
      '{"from":"plugin","stderr":"three"}' }, said)
  end)

  it("has increasing times, in seconds since the start", function()
    local started <close> = cli.start(trace(children.sh "sleep 0.2; echo hi"), { stdin = "null" })
    started:finish()
    local last = 0
    for _, record in ipairs(records()) do
      assert.is_true(record.time >= last)
      last = record.time
    end
    assert.is_true(last >= 0.2 and last < children.patience)
  end)

  it("is complete even if the tracer is killed, which kills the plugin, too", function()
    local started <close> = cli.start(trace(children.sh "echo $$; exec sleep 600"))
    local pid = started:read "\n":match "%d+"
    cli.await(function() return files.read(path):find "noise" end)
    started.process:kill "KILL"
    assert.equal("KILL", (select(3, started:finish())))
    cli.await(function() return not cli.is_running(pid) end)
    assert.equal('{"from":"plugin","noise":"' .. pid .. '"}', recorded()[2])
  end)

  it("goes to the given file, with the process id of the plugin in its name", function()
    local started <close> = cli.start({ "trace", "-o", path .. ".%p", "sh", "-c", "echo $$" }, { stdin = "null" })
    local pid = started:finish():match "%d+"
    assert.truthy(files.read(path .. "." .. pid):find('"pid":' .. pid, 1, true))
    os.remove(path .. "." .. pid)
  end)

  it("goes to a new file by default", function()
    os.remove(path)
    assert(lfs.mkdir(path))
    local command = { lfs.currentdir() .. "/bin/pintle", "trace", "true" }
    local out, err, status = cli.run({}, { command = command, cwd = path })
    assert.same({ "", 0 }, { out, status })
    local names = {}
    for name in lfs.dir(path) do names[#names + 1] = name:match "^pintle%-trace%-%d+%-%d+%-%d+%.jsonl$" end
    assert.equal(1, #names)
    assert.equal(("pintle: recording to %s/%s\n"):format(path, names[1]), err)
    os.remove(path .. "/" .. names[1])
  end)

  it("can fail without affecting the conversation", function()
    local started <close> = cli.start { "trace", "-o", "/dev/full", "cat" }
    assert.equal("hello\nthere\n", converse(started, "hello\nthere\n"))
    local _, err, status = started:finish()
    assert.same({ "pintle trace: recording stopped: No space left on device\n", 0 }, { err, status })
    local out
    out, err, status = cli.run { "trace", "-o", "/no/such/place", "cat" }
    assert.same({ "", "pintle: cannot write the recording: /no/such/place: No such file or directory\n", 64 },
      { out, err, status })
  end)
end)

describe("the end of a traced program", function()
  it("is forwarded: its status, its signal, or its failure to start", function()
    assert.equal(7, (select(3, cli.run(trace(children.sh "exit 7")))))
    assert.equal('{"exit":{"code":7}}', recorded()[#recorded()])
    -- This signal has no name.
    assert.equal(128 + 40, (select(3, cli.run(trace(children.sh "kill -40 $$")))))
    assert.equal('{"exit":{"signal":"40"}}', recorded()[#recorded()])
    for _, signal in ipairs { "TERM", "KILL", "INT", "HUP" } do
      assert.equal(signal, (select(3, cli.run(trace(children.sh("kill -" .. signal .. " $$"))))))
      assert.equal(('{"exit":{"signal":"%s"}}'):format(signal), recorded()[#recorded()])
    end
    assert.same({ "", 'pintle: cannot run "no-such-program": No such file or directory\n', 127 },
      cli.outcome(trace "no-such-program"))
    assert.equal(126, (select(3, cli.run(trace "/"))))
  end)

  it("comes after all of its output", function()
    local started <close> = cli.start(trace(children.sh "head -c 200000 /dev/zero; echo bye >&2"), { stdin = "null" })
    cli.await(function() return files.read(path):find "bye" end)
    local out, err, status = started:finish()
    assert.same({ 200000, "bye\n", 0 }, { #out, err, status })
  end)

  it("is not delayed by another process that holds its output", function()
    local started <close> = cli.start(trace(children.sh "sleep 600 & echo $!"), { stdin = "null" })
    local out, _, status = started:finish()
    assert.equal(0, status)
    assert(os.execute("kill " .. out)) -- the tracer leaves this process running
  end)

  it("comes when the host is gone", function()
    local started <close> = cli.start(trace(children.sh "cat; exit 5"))
    started.process.stdin:close()
    assert.equal(5, (select(3, started:finish())))
    assert.truthy(table.concat(recorded(), "\n"):find('{"from":"host","closed":"stdin"}', 1, true))
  end)

  it("comes when its output is not read", function()
    local started <close> = cli.start(trace(children.sh "while echo x; do :; done; exit 6"), { stderr = "null" })
    started:read "x\n"
    started.process.stdout:close()
    local code, signal = started.process:wait(children.patience)
    assert.truthy(code == 6 or signal == "PIPE")
    assert.truthy(table.concat(recorded(), "\n"):find('{"from":"host","closed":"stdout"}', 1, true))
  end)

  it("is independent of the end of its input", function()
    local started <close> = cli.start(trace(children.sh "exec <&-; echo closed; sleep 600"))
    started:read "closed\n"
    cli.await(function() return started.process.stdin:write "x" == nil end)
    assert.truthy(table.concat(recorded(), "\n"):find('{"from":"plugin","closed":"stdin"}', 1, true))
  end)
end)

describe("a signal to the tracer", function()
  it("is forwarded, each time it arrives", function()
    local code = "trap 'echo got INT' INT; trap 'echo got TERM' TERM; trap 'echo got USR1' USR1; trap 'exit 9' HUP;"
      .. "echo ready; while :; do sleep 0.01; done"
    local started <close> = cli.start(trace(children.sh(code)), { stdin = "null" })
    started:read "ready\n"
    for _, signal in ipairs { "INT", "TERM", "INT", "USR1", "INT" } do
      started.process:kill(signal)
      assert.equal(("got %s\n"):format(signal), started:read "\n")
    end
    started.process:kill "HUP"
    local out, _, status = started:finish() -- on stderr the shell reports its children, which get the signal, too
    assert.same({ "", 9 }, { out, status })
    local signals = {}
    for _, record in ipairs(records()) do signals[#signals + 1] = record.signal end
    assert.same({ "INT", "TERM", "INT", "USR1", "INT", "HUP" }, signals)
  end)

  it("ends a plugin that does not handle it, and then the tracer in the same way", function()
    for _, signal in ipairs { "INT", "TERM" } do
      local started <close> = cli.start(trace(children.sh "echo ready; exec sleep 600"), { stdin = "null" })
      started:read "ready\n"
      started.process:kill(signal)
      assert.equal(signal, (select(3, started:finish())))
    end
  end)

  it("allows a host to stop it like a plugin", function()
    local host <close> = hosts { log = false, stop_timeouts = { request = 0.1, eof = 0.1, term = 10 } }
    local plugin = assert(host:start { command = cli.words("bin/pintle", trace(cli.bad "slow_operation")) })
    local call = require "pintle.task".start(plugin.execute, plugin, "go", {})
    loop.sleep(0)
    plugin:stop()
    assert.equal("closed", (select(2, call:await())).kind)
    assert.equal('{"exit":{"signal":"TERM"}}', recorded()[#recorded()])
  end)
end)
