-- Limits of a peer: running handlers, the backlog, queued output, and timeouts.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local far_side = require "spec.support.far_side"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

local patience = children.patience

local function request(id, method, params)
  return core.json.encode { jsonrpc = "2.0", id = id, method = method, params = params or {} } .. "\n"
end

describe("a peer", function()
  local nothing_left, near, far, wire, errors_told

  before_each(function()
    nothing_left = children.stock()
    errors_told = {}
  end)

  after_each(function()
    for _, peer in pairs { near = near, far = far } do peer:close() end
    if wire then wire:close() end
    near, far, wire = nil, nil, nil
    tasks.run()
    loop.step()
    nothing_left()
  end)

  -- Two peers; the limits are those of `far`.
  local function pair(limits)
    near, far = connect.pair({}, { limits = limits, on_error = function(err) errors_told[#errors_told + 1] = err end })
    far_side.install(far)
  end

  -- One peer; the spec reads and writes the other end.
  local function open(limits)
    local one, other = core.socketpair()
    wire = other
    far = assert(connect.open {
      read = one, write = one, limits = limits, on_error = function(err) errors_told[#errors_told + 1] = err end,
    })
    far_side.install(far)
  end

  local function read_all()
    local text = {}
    while true do
      local data = wire:read()
      if not data or data == "" then return table.concat(text) end
      text[#text + 1] = data
    end
  end

  -- Writes a message again and again until the pipe is full, turning the loop meanwhile: how much was written, and the
  -- rest of the last one.
  local function flood(message)
    local taken, refused, rest = 0, 0, message
    while refused < 20 do
      local n = wire:write(rest)
      refused = n and 0 or refused + 1
      taken, rest = taken + (n or 0), rest:sub((n or 0) + 1)
      assert(taken < 64 << 20, "nothing pushes back")
      if rest == "" then rest = message end
      loop.step()
    end
    return taken, rest
  end

  -- Writes all of it, and returns what was read meanwhile.
  local function exchange(text)
    local read = ""
    turn_until(function()
      text = text:sub((wire:write(text) or 0) + 1)
      read = read .. read_all()
      return text == ""
    end)
    return read
  end

  describe("whose other side reads nothing", function()
    local function assert_late(call)
      open()
      local begun = core.now()
      local result, err = call({ text = ("x"):rep(4 << 20) }, 0.05)
      assert.same({ nil, "timeout" }, { result, err.kind })
      assert.truthy(core.now() - begun < patience / 2)
      assert.truthy(far.stream:queued() > 1 << 20)
    end

    it("fails a call at its deadline, although it could not be written", function()
      assert_late(function(params, timeout) return far:call("a", params, { timeout = timeout }) end)
    end)

    it("fails a call of a task", function()
      assert_late(function(params, timeout) return tasks.run(far.call, far, "a", params, { timeout = timeout }) end)
    end)

    it("fails a call made with begin, and one with progress", function()
      assert_late(function(params, timeout) return far:begin("a", params, { timeout = timeout }):wait() end)
      far:close()
      wire:close()
      assert_late(function(params, timeout)
        return far:call("a", params, { timeout = timeout, on_progress = function() end })
      end)
    end)
  end)

  describe("that gets more requests than it may handle at once", function()
    it("runs no more handlers than the limit, and the other requests in order", function()
      pair { requests = 2 }
      local calls, order = {}, {}
      for i = 1, 6 do
        calls[i] = tasks.start(function()
          local slept = near:call("sleep", { seconds = i / 1000 })
          order[#order + 1] = slept
        end)
      end
      turn_until(function() return far.backlog_count == 4 end)
      assert.equal(2, (far.stream:running()))
      tasks.all(calls)
      assert.same({ 0.001, 0.002, 0.003, 0.004, 0.005, 0.006 }, order)
    end)

    it("counts notifications, too", function()
      pair { requests = 2 }
      local at_work, most = 0, 0
      far:on("work", function()
        at_work = at_work + 1
        most = math.max(most, at_work)
        loop.sleep(0.001)
        at_work = at_work - 1
      end)
      for _ = 1, 10 do near:notify "work" end
      near:call "nothing"
      far:wait_idle(patience)
      assert.equal(2, most)
    end)

    it("still receives cancellations, of running and of queued requests", function()
      pair { requests = 1 }
      local running, waiting = near:begin("sleep", { seconds = patience }), near:begin("note", { "never" })
      local last = near:begin("echo", { "last" })
      turn_until(function() return far.backlog_count == 2 end)
      waiting:cancel()
      turn_until(function() return near.stream:stats().stray == 1 end)
      assert.equal(1, (far.stream:running()))
      running:cancel()
      assert.same({ "last" }, last:wait())
      assert.same({}, far.notes)
    end)

    it("still receives cancellations of requests in a batch", function()
      open { requests = 1 }
      wire:write('[{"jsonrpc":"2.0","id":"a","method":"sleep","params":{"seconds":60}},'
        .. '{"jsonrpc":"2.0","id":1.0,"method":"echo"},{"jsonrpc":"2.0","id":7,"method":"echo","params":[7]}]\n')
      turn_until(function() return far.backlog_count == 2 end)
      wire:write '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1.0}}\n'
      wire:write '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"a"}}\n'
      local text
      turn_until(function()
        text = wire:read()
        return text
      end)
      local answers = {}
      for _, answer in ipairs(core.json.decode(text)) do
        answers[tostring(answer.id)] = answer.error and answer.error.code or answer.result
      end
      assert.same({ a = -32800, ["1.0"] = -32800, ["7"] = { 7 } }, answers)
    end)

    it("stops reading when its backlog is full, and the other side cannot write", function()
      open { requests = 1, backlog = 10 }
      wire:write(request(0, "hold"))
      turn_until(function() return (far.stream:running()) == 1 end)
      local message = request(1, "echo", { ("x"):rep(1000) })
      local taken = flood(message)
      assert.truthy(taken < 2 << 20, taken .. " bytes were taken")
      assert.is_false((wire:write "x"))
      loop.step(0.01)
      assert.is_false((wire:write "x"))

      far.held[1]:set(true)
      local answered = 0
      turn_until(function()
        answered = answered + select(2, read_all():gsub("\n", ""))
        return answered == taken // #message + 1
      end)
    end)

    it("continues to read while its own call is pending, and refuses requests over the limit", function()
      open { requests = 1, backlog = 10 }
      wire:write(request(0, "hold"))
      turn_until(function() return (far.stream:running()) == 1 end)
      local _, rest = flood(request(1, "sleep", { seconds = 0 }) .. '{"jsonrpc":"2.0","method":"nothing"}\n')
      local call = far:begin("question", {})
      local text = exchange(rest .. '{"jsonrpc":"2.0","id":1,"result":"answer"}\n')
      assert.equal("answer", call:wait())
      text = text .. read_all()
      assert.matches('"method":"question"', text, 1, true)
      assert.matches('"code":-32000,"message":"Too many requests at once"', text, 1, true)
      assert.equal(1, #errors_told)
      assert.equal("full", errors_told[1].kind)
      far.held[1]:set(true)
      assert.is_true(far:wait_idle(patience))
    end)

    it("stops reading when the queued requests are large, however few", function()
      open { requests = 1 }
      local message = request(1, "hold") .. request(2, "echo", { ("x"):rep(1 << 20) })
      local taken = flood(message:rep(2))
      assert.truthy(taken < 24 << 20, taken .. " bytes were taken")
      turn_until(function()
        if far.held[1] then table.remove(far.held, 1):set(true) end
        read_all()
        return far:wait_idle(0)
      end)
    end)

    it("does not count handlers that wait for the other side", function()
      pair { requests = 1 }
      near:on("ping", function(params, ctx)
        if params.depth == 0 then return 0 end
        return ctx:call("ping", { depth = params.depth - 1 }) + 1
      end)
      assert.equal(20, near:call("ping", { depth = 20 }))
    end)

    it("does not count these either if they waited for something else before", function()
      pair { requests = 1 }
      far:on("ask back", function(_, ctx)
        loop.sleep(0.001)
        return ctx:call "ask again"
      end)
      near:on("ask again", function(_, ctx) return ctx:call("echo", { "heard" }) end)
      assert.same({ "heard" }, near:call("ask back", nil, { timeout = patience }))
    end)
  end)

  it("refuses a message with more values than the limit, and continues", function()
    near, far = connect.pair({}, { limits = { values = 10 } })
    far:on("echo", function(params) return params end)
    assert.same({ 1, 2, 3 }, near:call("echo", { 1, 2, 3 }))
    local _, err = near:call("echo", { 1, 2, 3, 4, 5, 6, 7, 8, { 9 }, {} })
    assert.same({ "remote", -32700 }, { err.kind, err.code })
    assert.matches("^Parse error: too many values at line 1, column %d+", err.message)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }, near:call("echo", { 1, 2, 3, 4, 5, 6, 7, 8, 9 }))
  end)

  it("runs no more handlers while its answers are not read, and continues later", function()
    open()
    local message = request(1, "echo", { ("x"):rep(20000) })
    local taken = flood(message)
    assert.is_true(select(2, far.stream:running()))
    assert.truthy(far.stream:queued() < 8 << 20, far.stream:queued() .. " bytes are queued")
    assert.truthy(taken < 32 << 20)
    local answered = 0
    turn_until(function()
      answered = answered + select(2, read_all():gsub("\n", ""))
      return answered == taken // #message
    end)
    assert.is_false(select(2, far.stream:running()))
  end)

  for what, message in pairs {
    ["no JSON"] = "{nonsense\n",
    ["no request"] = '{"jsonrpc":"2.0","id":1,"method":2}\n',
  } do
    it(("stops reading input that is %s while its answers are not read, and continues later"):format(what), function()
      open()
      far.answer_noise = true
      local taken, rest = flood(message:rep(100))
      assert.is_true(select(2, far.stream:running()))
      assert.truthy(far.stream:queued() < 4 << 20, far.stream:queued() .. " bytes are queued")
      assert.truthy(taken < 8 << 20)
      local text = exchange(rest)
      local _, answered = text:gsub("\n", "")
      turn_until(function()
        answered = answered + select(2, read_all():gsub("\n", ""))
        return answered == (taken + #rest) // #message
      end)
      assert.is_false(select(2, far.stream:running()))
    end)
  end

  it("fails a call at its deadline if nobody reads, in bounded memory", function()
    near = assert(connect.open {
      command = { "sleep", "1000" }, stop_timeouts = { eof = 0, term = 5 }, limits = { queue = 15 << 20 },
    })
    local text = ("x"):rep(10 << 20)
    local begun = core.now()
    local result, err = near:call("m", { text }, { timeout = 0.1 })
    assert.is_nil(result)
    assert.equal("timeout", err.kind)
    assert.truthy(core.now() - begun < patience)
    assert.equal("timeout", select(2, near:call("m", { text }, { timeout = 0.05 })).kind)
    for _ = 1, 3 do assert.equal("full", select(2, near:call("m", { text }, { timeout = 0.05 })).kind) end
    assert.truthy(near.stream:queued() < 22 << 20)
  end)

  it("drops its output if nobody will ever read it", function()
    local input, talking <close> = assert(core.pipe())
    local listening, output = assert(core.pipe())
    near = assert(connect.open { read = input, write = output })
    assert(near:notify("m", { ("x"):rep(1 << 20) }))
    assert.is_true(near.stream:queued() > 0)
    listening:close()
    turn_until(function() return near.lost end)
    assert.equal("closed", near.lost.kind)
    assert.is_false(talking:closed())
  end)

  it("limits the pending calls", function()
    pair()
    near:close()
    far:close()
    near, far = connect.pair({ limits = { calls = 3 } }, {})
    far_side.install(far)
    local calls = {}
    for i = 1, 4 do calls[i] = near:begin("hold", { i }) end
    assert.equal("full", select(2, calls[4]:wait()).kind)
    turn_until(function() return #far.held == 3 end)
    for _, event in ipairs(far.held) do event:set(true) end
    for i = 1, 3 do assert.same({ i }, calls[i]:wait()) end
  end)

  it("that floods does not delay others", function()
    local flooding = assert(connect.open {
      command = { "yes", '{"jsonrpc":"2.0","method":"flood"}' }, stop_timeouts = { eof = 0 },
    })
    local heard = 0
    flooding:on("flood", function() heard = heard + 1 end)
    pair()
    turn_until(function() return heard > 1000 end)
    for i = 1, 20 do
      assert.same({ i }, near:call("echo", { i }, { timeout = patience }))
      assert.is_true(loop.sleep(0.001))
    end
    assert.truthy(heard > 1000)
    flooding:close()
  end)

  it("with more input than a turn reads continues after it has closed another such peer", function()
    local heard, other_near, other_far = 0, connect.pair()
    pair()
    far:on("note", function()
      heard = heard + 1
      if heard == 70 then other_far.stream:finish() end
    end)
    other_far:on("note", function() end)
    for _ = 1, 300 do
      near:notify "note"
      other_near:notify "note"
    end
    turn_until(function() return heard == 300 end)
    other_near:close()
    other_far:close()
  end)

  for _, framing in ipairs { "header", "line" } do
    describe("that gets an answer over the limit, in " .. framing .. " framing", function()
      local LIMIT = 4096

      local function bytes_of(text)
        return framing == "line" and text .. "\n" or ("Content-Length: %d\r\n\r\n%s"):format(#text, text)
      end

      local function start(options)
        local one, other = core.socketpair()
        wire = other
        options.read, options.write, options.framing, options.limits = one, one, framing, { message = LIMIT }
        far = assert(connect.open(options))
        far_side.install(far)
      end

      local function write_all(text)
        turn_until(function()
          text = text:sub((wire:write(text) or 0) + 1)
          return text == ""
        end)
      end

      local huge = ('{"id":2,"text":"%s"}'):format(("x"):rep(LIMIT * 50))

      for place, text in pairs {
        ["in front"] = '{"jsonrpc":"2.0","id":%d,"result":' .. huge .. "}",
        behind = '{"jsonrpc":"2.0","result":' .. huge .. ',"id":%d}',
        ["in a batch"] = '[{"jsonrpc":"2.0","result":' .. huge .. ',"id":%d}]',
      } do
        it(("fails that call at once, with the id %s, and no other"):format(place), function()
          start {}
          local calls = {}
          for i = 1, 3 do calls[i] = far:begin("question", { i }, { timeout = patience * 100 }) end
          write_all(bytes_of '{"jsonrpc":"2.0","id":1,"result":"one"}' .. bytes_of(text:format(3))
            .. bytes_of '{"jsonrpc":"2.0","id":2,"result":"two"}' .. bytes_of(text:format(3)))
          local result, err = calls[3]:wait()
          assert.is_nil(result)
          assert.equal("protocol", err.kind)
          assert.matches("longer than the limit of 4096", err.message)
          assert.equal(framing == "header", err.message:find("it has %d+ bytes") ~= nil)
          assert.same({ "one", "two" }, { calls[1]:wait(), (calls[2]:wait()) })
          local next_call = far:begin("question", {})
          write_all(bytes_of(('{"jsonrpc":"2.0","id":%d,"result":"next"}'):format(next_call.id)))
          assert.equal("next", next_call:wait())
          assert.falsy(read_all():find("error", 1, true))
        end)
      end

      it("fails a call outside of tasks without a timeout", function()
        start { timeout = false }
        tasks.start(function() write_all(bytes_of('{"jsonrpc":"2.0","id":1,"result":' .. huge .. "}")) end)
        local result, err = far:call("question", {}, { timeout = false })
        assert.is_nil(result)
        assert.equal("protocol", err.kind)
      end)

      it("answers a request over the limit with its id, and a batch without", function()
        start { answer_noise = true }
        local params = ('{"id":2,"text":"%s"}'):format(("x"):rep(LIMIT * 2))
        write_all(bytes_of('{"jsonrpc":"2.0","method":"echo","params":' .. params .. ',"id":"late"}')
          .. bytes_of('[{"jsonrpc":"2.0","method":"echo","params":' .. params .. ',"id":"in a batch"}]')
          .. bytes_of '{"jsonrpc":"2.0","id":"last","method":"echo","params":[1]}')
        local text = ""
        turn_until(function()
          text = text .. read_all()
          return text:find('"last"', 1, true)
        end)
        local refusal = ',"error":{"code":%-32600,"message":"Invalid Request: '
        assert.matches('"id":"late"' .. refusal .. '[^"]*longer than the limit of 4096', text)
        assert.matches('"id":null' .. refusal, text)
        assert.falsy(text:find("in a batch", 1, true))
      end)
    end)
  end

  it("rejects unknown limits", function()
    assert.error_matches(function() connect.pair { limits = { request = 1 } } end, 'no option "request"')
    collectgarbage()
  end)
end)
