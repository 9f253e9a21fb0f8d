local core = require "pintle.core"
local streams = require "spec.support.stream"
local children = require "spec.support.children"
local codecs = require "spec.support.codecs"
local pair = require "spec.support.pair"
local wire = require "spec.support.wire"

local pass = pair.pass

local function noted(method)
  return ('{"jsonrpc":"2.0","method":"%s"}\n'):format(method)
end

-- Everything that can be read without waiting.
local function drain(fd)
  local pieces, data = {}, fd:read()
  while data and data ~= "" do
    pieces[#pieces + 1] = data
    data = fd:read()
  end
  return table.concat(pieces)
end

describe("the queue of a stream", function()
  local nothing_left, a, b

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    if a then a:close() end
    if b then b:close() end
    a, b = nil, nil
    nothing_left()
  end)

  it("is written in one piece before the loop waits", function()
    a, b = wire.open()
    core.loop.soon(function()
      for _, method in ipairs { "one", "two", "three" } do a:notify(method) end
      assert.is_false(b:read())
      assert.equal(#(noted "one" .. noted "two" .. noted "three"), a:queued())
    end)
    core.loop.step()
    assert.equal(noted "one" .. noted "two" .. noted "three", b:read())
    assert.equal(0, a:queued())
  end)

  it("never blocks", function()
    local near, far = core.pipe()
    local unused, other = core.pipe()
    a = streams.open { read = unused, write = far, framing = "line" }
    b = near
    other:close()
    local done
    repeat
      a:notify("m", { ("x"):rep(5000) })
      done = a:flush()
    until not done
    assert.is_false(done)
    assert.is_true(a:queued() > 0)
    local got = drain(near)
    assert.is_true(a:flush())
    got = got .. drain(near)
    for line in got:gmatch("[^\n]+") do assert.equal("m", core.json.decode(line).method) end
    assert.equal("\n", got:sub(-1))
  end)

  it("has a limit", function()
    a, b = wire.open { limits = { queue = 1000 } }
    local count, queued, ok, message, kind = 0
    repeat
      queued = a:queued()
      ok, message, kind = a:notify("m", { ("x"):rep(100) })
      count = count + (ok and 1 or 0)
    until not ok
    assert.equal("full", kind)
    assert.matches("^%d+ bytes wait to be sent, the limit is 1000$", message)
    assert.is_true(queued > 1000 and queued < 1200)
    assert.same({ nil, message, "full" }, { a:request("waiter", "m") })
    assert.equal(0, a:waiting())
    assert.is_true(a:reply(1, "answers are let through"))
    local got = drain(b)
    a:flush()
    assert.is_true(a:notify("m"))
    local _, lines = (got .. drain(b)):gsub("\n", "")
    assert.equal(count + 2, lines)
  end)

  it("limits the pending calls", function()
    a, b = pair.open({}, { limits = { calls = 3 } })
    for i = 1, 3 do assert.equal(i, a:request(i, "m")) end
    assert.same({ nil, "3 calls wait for an answer, which is the limit", "full" }, { a:request(4, "m") })
    local _, id = pass(a, b)
    b:reply(id)
    assert.equal("result", (pass(b, a)))
    assert.equal(4, a:request(4, "m"))
  end)

  it("limits a message, and sends no part of one that is too long", function()
    for _, framing in ipairs { "line", "header" } do
      a, b = wire.open { framing = framing, limits = { message = 100 } }
      local room = 100 - #'{"jsonrpc":"2.0","method":"m","params":[""]}'
      assert.same({ nil, "message of 101 bytes is longer than the limit of 100", "invalid" },
        { a:notify("m", { ("x"):rep(room + 1) }) })
      assert.equal("invalid", (select(3, a:request("waiter", "m", { ("x"):rep(200) }))))
      assert.equal("invalid", (select(3, a:reply(1, ("x"):rep(200)))))
      assert.equal("invalid", (select(3, a:fail(1, 1, ("x"):rep(200)))))
      assert.same({ 0, 0, 0 }, { a:queued(), a:waiting(), a:stats().sent })
      assert.is_true(a:notify("m", { ("x"):rep(room) }))
      a:close()
      b:close()
    end
  end)

  it("enlarges a pipe when much is queued for it", function()
    local near, far = core.pipe()
    local unused, other = core.pipe()
    a = streams.open { read = unused, write = far, framing = "line" }
    b = near
    other:close()
    local size = #noted "m" + #',"params":[""]' + (1 << 20)
    a:notify("m", { ("x"):rep(1 << 20) })
    assert.is_false(a:flush())
    assert.is_true(size - a:queued() > 65536)
    assert.equal(size - a:queued(), #drain(near))
  end)
end)

for name, codec in pairs(codecs) do
  describe("large messages, with " .. name, function()
    for way, open in pairs { ["a socket"] = pair.open, ["two pipes"] = pair.pipes } do
      for _, framing in ipairs { "line", "header" } do
        it(("go both ways over %s with %s framing"):format(way, framing), function()
          local nothing_left = children.stock()
          local a, b = open { json = codec.json, framing = framing }
          local list = {}
          for i = 1, 100000 do list[i] = "item number " .. i end
          local text = ("é\n\"x\" "):rep(500000)
          a:request("waiter", "m", { list = list, text = text })
          assert.is_true(a:queued() > 4 << 20)
          assert.is_false(a:flush())
          local kind, id, _, params = pass(a, b)
          assert.equal("request", kind)
          assert.equal(text, params.text)
          assert.equal(100000, #params.list)
          b:reply(id, params)
          local _, _, waiter, result = pass(b, a)
          assert.equal("waiter", waiter)
          assert.equal(text, result.text)
          assert.equal("item number 100000", result.list[100000])
          a:close()
          b:close()
          nothing_left()
        end)
      end
    end
  end)
end

describe("the end of a stream", function()
  local nothing_left, a, b

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    if a then a:close() end
    if b then b:close() end
    a, b = nil, nil
    nothing_left()
  end)

  it("comes after everything that was sent", function()
    a, b = wire.open()
    wire.write(b, noted "one" .. noted "two")
    b:close()
    assert.equal("one", (select(3, wire.next(a))))
    assert.equal("two", (select(3, wire.next(a))))
    for _ = 1, 3 do
      assert.same({ nil, "the other side has closed the stream", "closed" }, { wire.next(a) })
    end
  end)

  it("makes writing fail, and the program survives", function()
    for _, make in ipairs { core.pipe, core.socketpair } do
      local reader, writer = make()
      local unused, other = core.pipe()
      a = streams.open { read = unused, write = writer, framing = "line" }
      reader:close()
      other:close()
      a:notify("m")
      assert.same({ nil, "cannot write: Broken pipe", "closed" }, { a:flush() })
      assert.same({ nil, "cannot write: Broken pipe", "closed" }, { a:flush() })
      a:close()
    end
  end)

  it("can be of the output alone, and answers still arrive", function()
    for _, open in ipairs { pair.open, pair.pipes } do
      a, b = open {}
      a:request("waiter", "m")
      a:flush()
      a:close_output()
      local _, id = wire.next(b)
      assert.same({ nil, "the other side has closed the stream", "closed" }, { wire.next(b) })
      b:reply(id, 1)
      b:flush()
      assert.same({ "result", 1, "waiter", 1 }, { wire.next(a) })
      assert.same({ nil, "the stream is closed", "closed" }, { a:notify("m") })
      local input, output = a:fds()
      assert.is_number(input)
      assert.is_nil(output)
      a:close_output()
      a:close()
      b:close()
    end
  end)

  it("leaves the pending calls to be completed", function()
    a, b = wire.open()
    for i = 1, 40 do a:request("waiter " .. i, "m") end
    a:close()
    assert.equal(40, a:waiting())
    a.stream:fail_calls { payload = "gone" }
    core.loop.step()
    for i = 1, 40 do assert.same({ "error", i, "waiter " .. i, "gone" }, { a:receive() }) end
    assert.equal(0, a:waiting())
  end)

  it("makes every method fail", function()
    a, b = wire.open()
    a:request("waiter", "m")
    a:close()
    a:close()
    for _, result in ipairs { { a:request(1, "m") }, { a:notify("m") }, { a:reply(1) }, { a:fail(1, 1, "x") },
      { a:receive() } } do
      assert.same({ nil, "the stream is closed", "closed" }, result)
    end
    assert.is_true(a:flush())
    assert.equal(0, a:queued())
    assert.same({}, { a:fds() })
    assert.equal("line", a:framing())
    assert.equal("waiter", a:abandon(1))
    b:read()
    assert.equal("", b:read())
  end)

  it("closes its descriptors, however it ends", function()
    a, b = wire.open()
    do
      local _ <close> = a
    end
    assert.equal("", b:read())
    b:close()
    a, b = wire.open()
    a = nil
    collectgarbage()
    assert.equal("", b:read())
  end)

  it("with a full queue leaves nothing behind", function()
    a, b = wire.open()
    for _ = 1, 100 do a:notify("m", { ("x"):rep(10000) }) end
    a:flush()
    a:close()
    assert.equal(0, a:queued())
  end)

  it("in the middle of a message is reported", function()
    a, b = wire.open { framing = "header" }
    wire.write(b, "Content-Length: 100\r\n\r\n{")
    assert.is_false(a:receive())
    b:close()
    local kind, _, _, report = wire.next(a)
    assert.equal("invalid", kind)
    assert.equal("input ends inside a message, bytes missing: 99", report.message)
    assert.equal("closed", (select(3, a:receive())))
  end)
end)

describe("queued output, while there is more to read,", function()
  -- How many bytes were sent when the last of this many requests is answered.
  local function sent_early(count)
    local near, far <close> = core.socketpair()
    local peer, sent, seen = {}, nil, 0
    local function echo(params)
      seen = seen + 1
      if seen == count then sent = #drain(far) end
      return params
    end
    peer.stream = core.peer({ read = near, write = near, framing = "line" }, peer, {
      policy = {}, handlers = { m = echo }, controls = {}, context = {}, requests = math.maxinteger,
    })
    wire.write(far, ('{"jsonrpc":"2.0","id":1,"method":"m","params":["' .. ("x"):rep(40) .. '"]}\n'):rep(count))
    peer.stream:begin()
    while not sent do core.loop.step(children.patience) end
    peer.stream:finish()
    return sent
  end

  it("is sent once it is longer than the rest of the input", function()
    assert.equal(0, sent_early(10))
    assert.is_true(sent_early(60) >= 2048)
  end)
end)
