local core = require "pintle.core"
local children = require "spec.support.children"
local pair = require "spec.support.pair"
local wire = require "spec.support.wire"

local function note(n)
  return ('{"jsonrpc":"2.0","method":"m%d"}\n'):format(n)
end

-- What `stream:wait` means on each kind of descriptor.
local kinds = {
  ["a socket"] = wire.open,
  ["a pipe that it took over"] = function()
    local read, write = core.pipe()
    local _, output = core.pipe()
    return assert(core.stream { read = read, write = output, framing = "line" }), write
  end,
}

for name, open in pairs(kinds) do
  describe("waiting for a stream on " .. name, function()
    local nothing_left, stream, far

    before_each(function()
      nothing_left = children.stock()
      stream, far = open()
    end)

    after_each(function()
      stream:close()
      far:close()
      stream, far = nil, nil
      nothing_left()
    end)

    it("ends when there is something to receive", function()
      wire.write(far, note(1))
      assert.is_true(stream:wait(children.patience))
      assert.equal("notification", (stream:receive()))
      wire.write(far, note(2))
      assert.is_true(stream:wait())
      local kind, _, method, _, more = stream:receive()
      assert.same({ "notification", "m2", false }, { kind, method, more })
    end)

    it("does not wait while there are messages left", function()
      wire.write(far, note(1) .. note(2) .. note(3))
      for i = 1, 3 do
        assert.is_true(stream:wait())
        local kind, _, method, _, more = stream:receive()
        assert.same({ "notification", "m" .. i, i < 3 }, { kind, method, more })
      end
    end)

    it("waits for the rest of a message", function()
      wire.write(far, note(1):sub(1, 10))
      assert.is_true(stream:wait())
      assert.is_false(stream:receive())
      assert.is_false(stream:wait(0.01))
      wire.write(far, note(1):sub(11))
      assert.is_true(stream:wait())
      assert.equal("notification", (stream:receive()))
    end)

    it("ends when the time is over", function()
      local begun = core.now()
      assert.is_false(stream:wait(0.02))
      assert.is_true(core.now() - begun >= 0.02)
      assert.is_false(stream:wait(0))
    end)

    it("ends with the input", function()
      far:close()
      assert.is_true(stream:wait())
      assert.is_nil((stream:receive()))
      assert.is_true(stream:wait())
    end)

    it("never blocks receive, before or after", function()
      assert.is_false(stream:receive())
      wire.write(far, note(1))
      assert.is_true(stream:wait())
      assert.equal("notification", (stream:receive()))
      assert.is_false(stream:receive())
      assert.is_false(stream:receive())
    end)

    it("is refused once it is closed", function()
      stream:close()
      local ready, message, kind = stream:wait()
      assert.same({ nil, "the stream is closed", "closed" }, { ready, message, kind })
    end)
  end)
end

describe("waiting for a stream", function()
  it("sends what is queued first", function()
    local a, b = pair.pipes {}
    assert(a:request("waiter", "m"))
    assert.is_false(a:wait(0))
    assert.equal(0, a:queued())
    assert.is_true(b:wait())
    assert.equal("request", (b:receive()))
    a:close()
    b:close()
  end)

  -- Sends more than a pipe holds to a plugin that reads it only bit by bit.
  local function send_much(poller)
    local plugin = [[
      local core = require "pintle.core"
      local stream = core.stream { read = 0, write = 1, framing = "line" }
      repeat
        stream:wait()
        local kind, id, _, params = stream:receive()
        if kind == "request" then stream:reply(id, #params[1]) end
      until kind == nil
    ]]
    local process <close> = assert(core.spawn { command = children.lua(plugin) })
    local stream <close> = assert(core.stream { read = process.stdout, write = process.stdin, framing = "line" })
    for i = 1, 5 do stream:request(i, "m", { ("x"):rep(1000000) }) end
    for i = 1, 5 do
      local kind, waiter, payload, _
      repeat
        assert.is_true(stream:wait(children.patience, poller))
        kind, _, waiter, payload = stream:receive()
      until kind
      assert.same({ "result", i, 1000000 }, { kind, waiter, payload })
    end
    stream:close()
    assert.equal(0, (process:wait(children.patience)))
  end

  it("goes on sending while it waits", function() send_much() end)

  it("goes on sending while it waits beside a poller", function()
    local poller <close> = assert(core.poller())
    send_much(poller)
  end)

  for how, arguments in pairs {
    ["for ever"] = "", ["for a time"] = "60", ["beside a poller"] = "nil, core.poller()",
  } do
    it("ends on Ctrl-C when it waits " .. how, function()
      local program = ([[
        local core = require "pintle.core"
        local input, output = core.claim_stdio()
        local stream = core.stream { read = input, write = output, framing = "line" }
        io.stderr:write "ready\n"
        stream:wait(%s)
      ]]):format(arguments)
      local process <close> = assert(core.spawn { command = children.lua(program), stderr = "pipe" })
      children.read(process.stderr, "ready\n")
      process:kill "INT"
      assert.matches("interrupted!", children.read(process.stderr))
      assert.equal(1, (process:wait(children.patience)))
    end)
  end

  it("leaves a borrowed descriptor as it is", function()
    local read, write = core.pipe()
    local stream = assert(core.stream { read = read:fileno(), write = write:fileno(), framing = "line" })
    stream:notify("m")
    assert.is_true(stream:wait())
    assert.equal("notification", (stream:receive()))
    stream:close()
    assert.is_false(read:read())
    read:close()
    write:close()
  end)

  it("fails when nobody can read what it sends", function()
    local stream, far = wire.open()
    far:close()
    stream:notify("m")
    local ready, message, kind
    for _ = 1, 3 do -- the first may still find room
      stream:notify("m")
      ready, message, kind = stream:wait(1)
      if ready == nil then break end
    end
    assert.is_nil(ready)
    assert.equal("closed", kind)
    assert.matches("cannot write", message)
    stream:close()
  end)

  it("comes to rest after nobody can read what it sends", function()
    local read, write = core.pipe()
    local unread, output = core.pipe()
    local stream = assert(core.stream { read = read, write = output, framing = "line" })
    unread:close()
    stream:notify("m")
    local ready, _, kind = stream:wait(0)
    assert.same({ n = 2, nil, "closed" }, table.pack(ready, kind))
    assert.is_false(stream:wait(0))
    assert.same({ n = 2, nil, "closed" }, table.pack(stream:notify("m"), (select(3, stream:notify("m")))))
    wire.write(write, note(1))
    assert.is_true(stream:wait())
    assert.equal("notification", (stream:receive()))
    stream:close()
    write:close()
  end)

  it("takes no time that is no number", function()
    local stream, far = wire.open()
    assert.has_error(function() stream:wait(0 / 0) end)
    assert.has_error(function() stream:wait("soon") end)
    stream:close()
    far:close()
  end)
end)

for name, open in pairs(kinds) do
  describe("waiting beside a poller for a stream on " .. name, function()
    local nothing_left, stream, far, poller, read, write

    before_each(function()
      nothing_left = children.stock()
      stream, far = open()
      poller = assert(core.poller())
      read, write = core.pipe()
      assert(poller:set(read, "r", "other"))
    end)

    after_each(function()
      for _, object in ipairs { stream, far, poller, read, write } do object:close() end
      stream, far = nil, nil
      nothing_left()
    end)

    it("ends when there is something to receive", function()
      for i, timeout in ipairs { children.patience, -1, 0 } do
        wire.write(far, note(i))
        assert.is_true(stream:wait(timeout, poller))
        local kind, _, method = stream:receive()
        assert.same({ "notification", "m" .. i }, { kind, method })
      end
    end)

    it("ends when the poller has something", function()
      wire.write(write, "x")
      local begun = core.now()
      assert.is_false(stream:wait(children.patience, poller))
      assert.truthy(core.now() - begun < children.patience)
      assert.is_false(stream:wait(nil, poller))
      assert.equal(1, (poller:wait(0)))
      assert.equal("other", (poller:next()))
      read:read()
      assert.is_false(stream:wait(0, poller))
    end)

    it("prefers what there is to receive", function()
      wire.write(write, "x")
      wire.write(far, note(1) .. note(2))
      for _ = 1, 2 do
        assert.is_true(stream:wait(nil, poller))
        assert.equal("notification", (stream:receive()))
      end
      assert.is_false(stream:wait(nil, poller))
    end)

    it("may be watched by that poller, too", function()
      assert(poller:set((stream:fds()), "r", "stream"))
      assert.is_false(stream:wait(0, poller))
      wire.write(far, note(1))
      assert.is_true(stream:wait(nil, poller))
      assert.equal("notification", (stream:receive()))
      assert.is_false(stream:wait(0, poller))
      poller:set((stream:fds()))
    end)

    it("ends when the time is over", function()
      local begun = core.now()
      assert.is_false(stream:wait(0.02, poller))
      assert.is_true(core.now() - begun >= 0.02)
    end)

    it("ends with the input", function()
      far:close()
      assert.is_true(stream:wait(nil, poller))
      assert.is_nil((stream:receive()))
    end)

    it("does not wait beside what is always ready", function()
      local number = read:fileno() -- the lowest free number is the next to be used
      poller:set(read)
      read:close()
      local file <close> = assert(io.open "/dev/null")
      assert(poller:set(number, "r", file))
      local begun = core.now()
      assert.is_false(stream:wait(children.patience, poller))
      assert.truthy(core.now() - begun < children.patience)
      wire.write(far, note(1))
      assert.is_true(stream:wait(nil, poller))
      poller:set(number)
    end)

    it("takes no other thing for a poller, nor one that is closed", function()
      for _, thing in ipairs { 1, "poller", stream, {} } do
        assert.has_error(function() stream:wait(0, thing) end)
      end
      poller:close()
      assert.has_error(function() stream:wait(0, poller) end, "attempt to use a closed poller")
    end)
  end)
end
