-- The ways to open a peer: how each starts, and how it fails.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

local patience = children.patience

-- A program that reads one message and then runs this.
local function after_one(code)
  return children.sh("read line; " .. code)
end

local ANSWER = [[printf '{"jsonrpc":"2.0","id":1,"result":"hello"}\n']]

describe("connecting", function()
  local nothing_left, peer

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    if peer then peer:close() end
    peer = nil
    tasks.run()
    loop.step()
    assert.is_nil(loop.timeout())
    nothing_left()
  end)

  local function open(options)
    peer = assert(connect.open(options))
    return peer
  end

  -- A program whose stderr is kept, and not shown.
  local function start(command, options)
    local given = { command = command, name = "program", on_stderr = function() end }
    for name, value in pairs(options or {}) do given[name] = value end
    return open(given)
  end

  describe("to a program", function()
    it("that cannot be started returns an error", function()
      local result, err = connect.open { command = { "/no/such/program" } }
      assert.is_nil(result)
      assert.equal("spawn", err.kind)
      assert.matches("/no/such/program", tostring(err), 1, true)
    end)

    it("sets its environment, directory and limits", function()
      start(after_one [[printf '{"jsonrpc":"2.0","id":1,"result":["%s","%s","%s"]}\n' $X $PWD $(ulimit -n)]], {
        env = { X = "x" }, cwd = "/", process_limits = { files = 33 },
      })
      assert.same({ "x", "/", "33" }, peer:call "any")
    end)

    local fates = {
      ["before it answers"] = after_one "echo out of memory >&2; exit 3",
      ["before it reads"] = children.sh "echo out of memory >&2; exit 3",
      ["in the middle of an answer"] =
        after_one [[printf '{"jsonrpc":"2.0","id":1,"res'; echo out of memory >&2; exit 3]],
      ["having closed its output first"] = after_one "exec 1>&-; sleep 0.05; echo out of memory >&2; exit 3",
    }

    for fate, command in pairs(fates) do
      it("that dies " .. fate .. " fails its calls with all that is known", function()
        start(command)
        local result, err = peer:call("any", {}, { timeout = patience })
        assert.is_nil(result)
        assert.equal("closed", err.kind)
        assert.same({ code = 3 }, err.exit)
        assert.same({ "out of memory" }, err.stderr)
        assert.equal("program ended with status 3: out of memory", tostring(err))
        assert.equal(err, select(2, peer:call "again"))
      end)
    end

    it("that dies after its answer still delivers the answer", function()
      start(after_one(ANSWER .. "; exit 4"))
      assert.equal("hello", peer:call("any", {}, { timeout = patience }))
      peer:join()
      assert.same({ code = 4 }, peer.ended.exit)
    end)

    it("that is killed by a signal reports the signal", function()
      start(after_one "kill -SEGV $$")
      local _, err = peer:call("any", {}, { timeout = patience })
      assert.same({ signal = "SEGV" }, err.exit)
      assert.equal("program ended with signal SEGV", tostring(err))
    end)

    it("that does not speak JSON-RPC fails with its output in the error", function()
      local reported = {}
      start(after_one "echo Segmentation fault; exit 1", {
        on_noise = function(report) reported[#reported + 1] = report.text end,
      })
      local _, err = peer:call("any", {}, { timeout = patience })
      assert.equal("Segmentation fault", err.noise)
      assert.same({ code = 1 }, err.exit)
      assert.same({ "Segmentation fault" }, reported)
    end)

    it("that does not speak JSON-RPC and keeps running fails at the deadline, with its output in the error", function()
      start(after_one "echo hello there; exec sleep 1000", { stop_timeouts = { eof = 0 } })
      local _, err = peer:call("any", {}, { timeout = 0.3 })
      assert.equal("timeout", err.kind)
      assert.equal("hello there", err.noise)
      assert.matches('^program: no answer to "any" within 0.3s$', tostring(err))
    end)

    it("that sends a malformed answer fails only that call", function()
      start(after_one([[printf '{"jsonrpc":"2.0","id":1}\n'; read line; ]]
        .. [[printf '{"jsonrpc":"2.0","id":2,"result":2}\n'; read line]]))
      local _, err = peer:call("any", {}, { timeout = patience })
      assert.equal("protocol", err.kind)
      assert.equal('{"jsonrpc":"2.0","id":1}', err.noise)
      assert.equal(2, peer:call("any", {}, { timeout = patience }))
    end)

    it("ends with the program although another process holds its output", function()
      start(children.sh([[setsid sh -c 'echo $$ >&2; exec sleep 1000' & read line; ]] .. ANSWER .. "; exit 5"))
      turn_until(function() return peer.child.lines[1] end)
      local pid = peer.child.lines[1]
      assert.equal("hello", peer:call("any", {}, { timeout = patience }))
      local _, err = peer:call("any", {}, { timeout = patience })
      assert.same({ code = 5 }, err.exit)
      os.execute("kill -KILL " .. pid)
    end)

    it("that closes its output and keeps running ends the peer after a second", function()
      start(after_one "exec 1>&-; exec sleep 1000", { stop_timeouts = { eof = 0 } })
      local _, err = peer:call("any", {}, { timeout = patience })
      assert.equal("closed", err.kind)
      assert.is_nil(err.exit)
    end)

    it("that closes its input and keeps running fails calls, and its messages are still read", function()
      local note = [[printf '{"jsonrpc":"2.0","method":"note"}\n']]
      start(children.sh("exec 0<&-; echo ready >&2; sleep 0.1; " .. note .. "; exec sleep 1000"), {
        stop_timeouts = { eof = 0 },
      })
      local heard
      peer:on("note", function() heard = true end)
      turn_until(function() return peer.child.lines[1] end)
      local _, err = peer:call("any", {}, { timeout = patience })
      assert.equal("closed", err.kind)
      assert.matches("Broken pipe", err.message)
      turn_until(function() return heard end)
      assert.falsy(peer.ended)
      assert.equal("closed", select(2, peer:call("any", {}, { timeout = patience })).kind)
      assert.equal("closed", select(2, peer:notify "any").kind)
    end)

    it("that closes its input has its running requests cancelled", function()
      local ask = [[printf '{"jsonrpc":"2.0","id":1,"method":"wait"}\n']]
      start(children.sh(ask .. "; exec 0<&-; echo ready >&2; exec sleep 1000"), { stop_timeouts = { eof = 0 } })
      local err
      peer:on("wait", function() err = select(2, loop.sleep(patience)) end)
      turn_until(function() return peer.child.lines[1] and (peer.stream:running()) == 1 end)
      peer:notify "any"
      turn_until(function() return err end)
      assert.equal("closed", err.kind)
    end)

    it("reports everything it wrote before it died, in order", function()
      local heard = {}
      local note = [[printf '{"jsonrpc":"2.0","method":"n","params":[%d]}\n' $i]]
      start(children.sh("i=0; while [ $i -lt 2000 ]; do i=$((i+1)); " .. note .. "; done; exit 6"))
      peer:on("n", function(params) heard[#heard + 1] = params[1] end)
      peer:join(patience)
      assert.equal(2000, #heard)
      assert.equal(2000, heard[2000])
      assert.same({ code = 6 }, peer.ended.exit)
    end)

    it("passes its stderr on by default, and keeps the last lines", function()
      local host = [[
        local connect = require "pintle.connect"
        local peer = connect.open { command = { "sh", "-c", "read line; echo oh no >&2; exit 3" } }
        print(select(2, peer:call "any").stderr[1])
        peer:close()
      ]]
      local process <close> = assert(core.spawn { command = children.lua(host), stdin = "null", stderr = "pipe" })
      assert.equal("oh no\n", children.read(process.stdout))
      assert.equal("oh no\n", children.read(process.stderr))
      assert.equal(0, (process:wait(patience)))
    end)

    describe("and closing it", function()
      it("closes its input first, and sends what is queued", function()
        start(children.sh "cat > /dev/null; exit 7")
        for _ = 1, 100 do peer:notify("n", { ("x"):rep(10000) }) end
        peer:close()
        assert.same({ code = 7 }, peer.ended.exit)
        assert.equal("the conversation was closed on this side", tostring(peer.ended))
      end)

      it("asks it to exit first, if there is an `ask`", function()
        start(after_one "exit 8")
        peer.ask = function(seconds) peer:call("shutdown", {}, { timeout = seconds }) end
        peer:close()
        assert.same({ code = 8 }, peer.ended.exit)
      end)

      it("kills it if necessary", function()
        start(children.sh "trap '' TERM; echo ready >&2; while :; do sleep 0.01; done", {
          stop_timeouts = { eof = 0.01, term = 0.01 },
        })
        turn_until(function() return peer.child.lines[1] end)
        peer:close()
        assert.same({ signal = "KILL" }, peer.ended.exit)
      end)

      it("fails its calls, and may be done twice, also at the same time", function()
        start({ "sleep", "1000" }, { stop_timeouts = { eof = 0.01 } })
        local call = peer:begin "any"
        local closing = { function() peer:close() end, function() peer:close() end }
        tasks.all(closing)
        peer:close()
        assert.equal("closed", select(2, call:wait()).kind)
        assert.same({ signal = "TERM" }, peer.child.exit)
      end)

      it("may be done again in on_close", function()
        local closed
        start({ "cat" }, { on_close = function() closed = { pcall(peer.close, peer) } end })
        peer:close()
        assert.same({ true }, closed)
        assert.same({ code = 0 }, peer.child.exit)
      end)

      it("continues if the closing task is cancelled", function()
        start(children.sh "trap 'exit 9' TERM; echo ready >&2; while :; do sleep 0.01; done", {
          stop_timeouts = { eof = 0.05 },
        })
        turn_until(function() return peer.child.lines[1] end)
        local task = tasks.start(function() peer:close() end)
        task:cancel()
        task:await()
        assert.is_nil(peer.child.exit)
        peer:join(patience)
        assert.same({ code = 9 }, peer.child.exit)
      end)

      it("happens when a variable goes out of scope", function()
        local child
        do
          local here <close> = start { "cat" }
          child = here.child
        end
        assert.same({ code = 0 }, child.exit)
      end)
    end)
  end)

  describe("over stdin and stdout", function()
    it("keeps other code from using them", function()
      local plugin = [[
        local connect = require "pintle.connect"
        local peer = connect.open { stdio = true }
        peer:on("print", function(params)
          print(params[1])
          os.execute("echo from a child")
          return io.read() == nil
        end)
        print(select(2, connect.open { stdio = true }).kind)
        peer:join()
      ]]
      start(children.lua(plugin))
      assert.is_true(peer:call("print", { "hello" }, { timeout = patience }))
      peer:close()
      assert.same({ "closed", "hello", "from a child" }, peer.child.lines)
      assert.is_nil(peer.noise)
    end)

    it("answers what was asked before the end of input", function()
      local plugin = [[
        local connect, loop = require "pintle.connect", require "pintle.loop"
        local peer = connect.open { stdio = true }
        peer:on("slow", function() loop.sleep(0.05) return "slow" end)
        peer:on("fast", function() return "fast" end)
        peer:join()
      ]]
      local process <close> = assert(core.spawn { command = children.lua(plugin) })
      process.stdin:write '{"jsonrpc":"2.0","id":1,"method":"slow"}\n{"jsonrpc":"2.0","id":2,"method":"fast"}\n'
      process.stdin:close()
      assert.equal('{"jsonrpc":"2.0","id":2,"result":"fast"}\n{"jsonrpc":"2.0","id":1,"result":"slow"}\n',
        children.read(process.stdout))
      assert.equal(0, (process:wait(patience)))
    end)

    it("answers malformed input by default, as a server must", function()
      local plugin = [[
        local peer = require("pintle.connect").open { stdio = true, answer_noise = %s }
        peer:on("sum", function(params) return params[1] + params[2] end)
        peer:join()
      ]]
      local asked = '{"jsonrpc":"2.0","method":"sum\n[]\n{"jsonrpc":"2.0","method":1}\n' ..
        '{"jsonrpc":"2.0","id":1,"method":"sum","params":[1,2]}\n'
      for given, codes in pairs { ["nil"] = "-32700 -32600 -32600", ["false"] = "" } do
        local process <close> = assert(core.spawn { command = children.lua(plugin:format(given)) })
        process.stdin:write(asked)
        process.stdin:close()
        local text, found = children.read(process.stdout), {}
        for code in text:gmatch '{"jsonrpc":"2.0","id":null,"error":{"code":(%-%d+),' do found[#found + 1] = code end
        assert.equal(codes, table.concat(found, " "))
        assert.matches('{"jsonrpc":"2.0","id":1,"result":3}\n', text, 1, true)
      end
    end)

    it("sends what is queued before a handler exits", function()
      local plugin = [[
        local peer = require("pintle.connect").open { stdio = true }
        peer:on("hello", function() return "hello" end)
        peer:on("give up", function()
          peer:notify("log", { "no use" })
          os.exit(3)
        end)
        peer:join()
      ]]
      local process <close> = assert(core.spawn { command = children.lua(plugin) })
      process.stdin:write '{"jsonrpc":"2.0","id":1,"method":"hello"}\n{"jsonrpc":"2.0","id":2,"method":"give up"}\n'
      assert.equal('{"jsonrpc":"2.0","id":1,"result":"hello"}\n{"jsonrpc":"2.0","method":"log","params":["no use"]}\n',
        children.read(process.stdout))
      assert.equal(3, (process:wait(patience)))
    end)

    it("waits no longer than its timeout for that", function()
      local plugin = [[
        local connect, loop = require "pintle.connect", require "pintle.loop"
        local peer = connect.open { stdio = true, linger = 0.05 }
        peer:on("never", function() loop.sleep(1000) end)
        peer:join()
      ]]
      local process <close> = assert(core.spawn { command = children.lua(plugin) })
      process.stdin:write '{"jsonrpc":"2.0","id":1,"method":"never"}\n'
      process.stdin:close()
      children.read(process.stdout)
      assert.equal(0, (process:wait(patience)))
    end)
  end)

  describe("over descriptors", function()
    it("that are borrowed leaves them open", function()
      local read, write = core.pipe()
      open { read = read:fileno(), write = write:fileno() }
      peer:notify "any"
      peer:close()
      assert.is_false(read:closed() or write:closed())
      assert.equal('{"jsonrpc":"2.0","method":"any"}\n', read:read())
      read:close()
      write:close()
    end)
  end)

  describe("over a socket", function()
    local path

    before_each(function()
      path = os.tmpname()
      os.remove(path)
    end)

    after_each(function() os.remove(path) end)

    it("without a listener returns an error", function()
      for _, place in ipairs { { path = path }, { host = "127.0.0.1", port = 1 } } do
        local result, err = connect.open(place)
        assert.is_nil(result)
        assert.is_string(err.kind)
        assert.matches("cannot connect", err.message)
      end
    end)

    it("accepts many, until the listener is closed", function()
      local came = 0
      local listener = assert(connect.listen({ path = path }, function(far)
        came = came + 1
        far:on("echo", function(params) return params end)
        far:join()
      end))
      assert.equal(path, listener.path)
      local peers = {}
      for i = 1, 20 do peers[i] = assert(connect.open { path = path }) end
      for i = 1, 20 do assert.same({ i }, peers[i]:call("echo", { i })) end
      assert.equal(20, came)
      listener:close()
      listener:close()
      assert.is_nil(io.open(path))
      assert.is_nil((connect.open { path = path }))
      for i = 1, 20 do
        assert.same({ i }, peers[i]:call("echo", { i }))
        peers[i]:close()
      end
      tasks.run()
    end)

    it("leaves its path to the next listener, whenever that one starts", function()
      local listener = assert(connect.listen({ path = path }, function() end))
      local remove, early = os.remove, nil
      function os.remove(name) -- luacheck: ignore 122
        early = connect.listen({ path = path }, function() end)
        return remove(name)
      end
      listener:close()
      os.remove = remove -- luacheck: ignore 122
      local _ <close> = early or assert(connect.listen({ path = path }, function() end))
      assert(connect.open { path = path }):close()
    end)

    it("tells which free port was chosen", function()
      local listener <close> = assert(connect.listen({ host = "127.0.0.1", port = 0 }, function() end))
      assert.equal("127.0.0.1", listener.host)
      assert.truthy(listener.port > 0)
      local again, err = connect.listen({ host = "127.0.0.1", port = listener.port }, function() end)
      assert.is_nil(again)
      assert.equal("full", err.kind)
    end)

    it("answers malformed input, as a server must", function()
      local _ <close> = assert(connect.listen({ path = path }, function(welcome) welcome:join(patience) end))
      local socket = assert(core.connect { path = path })
      assert(socket:write "nonsense\n")
      local answer
      turn_until(function()
        answer = answer or socket:read()
        return answer
      end)
      assert.matches('^{"jsonrpc":"2.0","id":null,"error":{"code":%-32700,', answer)
      socket:close()
    end)

    it("reports an error of the accept callback", function()
      local on_error, reported = loop.on_error, nil
      loop.on_error = function(err) reported = err end
      local far
      local _ <close> = assert(connect.listen({ path = path }, function(welcome)
        far = welcome
        error("nobody", 0)
      end))
      open { path = path }
      turn_until(function() return reported end)
      loop.on_error = on_error
      assert.equal("nobody", reported)
      far:close()
    end)

    it("stops accepting for a moment when there are no descriptors left, and then continues", function()
      local accept, refusals = core.accept, 0
      core.accept = function(socket) -- luacheck: ignore 122
        refusals = refusals + 1
        if refusals < 3 then return nil, "too many", "full" end
        return accept(socket)
      end
      local far
      local _ <close> = assert(connect.listen({ path = path }, function(welcome) far = welcome end))
      open { path = path }
      turn_until(function() return far end)
      core.accept = accept -- luacheck: ignore 122
      assert.truthy(refusals >= 3 and refusals < 10)
      far:close()
    end)

    it("waits if the queue of the listener is full", function()
      local guests, count = {}, 0
      local _ <close> = assert(connect.listen({ path = path, backlog = 1 }, function(welcome)
        welcome:on("hello", function() return "hello" end)
        count = count + 1
        welcome:join(patience)
      end))
      for i = 1, 20 do guests[i] = assert(connect.open { path = path }) end
      for i = 1, 20 do assert.equal("hello", (guests[i]:call "hello")) end
      assert.equal(20, count)
      for i = 1, 20 do guests[i]:close() end
    end)

    it("can be cancelled while it waits", function()
      local socket <close> = assert(core.listen { host = "127.0.0.1", backlog = 1 })
      local port, held, is_full = core.address(socket).port, {}, false
      while not is_full do -- its queue
        held[#held + 1] = core.connect { host = "127.0.0.1", port = port }
        loop.step(0.02)
        is_full = core.connected(held[#held]) == false
      end
      local err
      local task = tasks.start(function() err = select(2, connect.open { host = "127.0.0.1", port = port }) end)
      loop.step(0.01)
      task:cancel "enough"
      task:await()
      assert.equal("enough", err.message)
      for _, descriptor in ipairs(held) do descriptor:close() end
    end)
  end)

  it("requires a target", function()
    assert.error_matches(function() connect.open {} end, "connect to what")
    assert.error_matches(function() connect.open { comand = { "true" } } end, 'no option "comand"')
    for _, timeout in ipairs { -1, 0 / 0, "soon" } do
      local function open_with() connect.open { read = 0, write = 1, timeout = timeout } end
      assert.error_matches(open_with, "timeout: seconds expected")
    end
    assert.error_matches(function() connect.open { command = { "true" }, path = "/x" } end, "either command or path")
    assert.error_matches(function() connect.listen({ path = "/x", comand = 1 }, print) end, 'no option "comand"')
    assert.error_matches(function() connect.listen { path = "/x" } end, "on_peer: a function expected, got nil")
  end)

  it("raises at the line that gave a wrong option, and leaves nothing behind", function()
    local here = "^" .. debug.getinfo(1, "S").short_src:gsub("%p", "%%%0") .. ":%d+: "
    for problem, given in pairs {
      ["connect to what%? a table expected, got number$"] = 1,
      ["option 'command': table expected, got string$"] = { command = "cat" },
      ["option 'env': 'A=B' is not a name$"] = { command = { "cat" }, env = { ["A=B"] = "" } },
      ["stream option 'framing': .* expected, got string$"] = { command = { "cat" }, framing = "xml" },
      ["stream limit 'message': integer from 1 to %d+ expected$"] = { command = { "cat" }, limits = { message = 0 } },
      ["option 'port': integer from 1 to 65535 expected$"] = { host = "localhost", port = 0 },
    } do
      local _, raised = pcall(function()
        local opened = connect.open(given)
        return opened
      end)
      assert.matches(here .. problem, raised)
    end
    local _, raised = pcall(function()
      local one = connect.pair { framing = "xml" }
      return one
    end)
    assert.matches(here .. "stream option 'framing'", raised)
    _, raised = pcall(function()
      local listener = connect.listen({ host = "127.0.0.1", port = -1 }, print)
      return listener
    end)
    assert.matches(here .. "option 'port': integer from 0 to 65535 expected$", raised)
  end)
end)
