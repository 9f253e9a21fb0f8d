-- A stream that changes the form of its messages while it is open.
local core = require "pintle.core"
local haunting = require "spec.support.haunting"
local pair = require "spec.support.pair"
local wire = require "spec.support.wire"

local EDITOR = {
  ids = "string", extra = { version = "0.1" },
  header = 'content-type: "application/vscode-jsonrpc;charset=utf-8"\r\ncontent-length: ',
}

local function framed(body)
  return ("%s%d\r\n\r\n%s"):format(EDITOR.header, #body, body)
end

describe("set_envelope", function()
  local stream, far

  local function open(options) stream, far = wire.open(options) end

  after_each(function()
    haunting.stop()
    stream:close()
    far:close()
  end)

  local function receives(text)
    wire.write(far, text)
    return wire.next(stream)
  end

  local function sent()
    assert.is_true(stream:flush())
    return far:read() or ""
  end

  it("applies to the answer to the first message", function()
    open { framing = "auto" }
    local _, id = receives(framed '{"version":"0.1","jsonrpc":"2.0","id":"a","method":"m"}')
    assert.is_true(stream:set_envelope(EDITOR))
    stream:reply(id, 1)
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","id":"a","result":1}', sent())
    stream:notify("n")
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","method":"n"}', sent())
    stream:request("waiter", "m")
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","id":"1","method":"m"}', sent())
  end)

  it("changes only what it is given", function()
    open { framing = "header", extra = { version = "0.1" } }
    assert.is_true(stream:set_envelope { ids = "string" })
    stream:request("waiter", "m")
    assert.equal('Content-Length: 55\r\n\r\n{"version":"0.1","jsonrpc":"2.0","id":"1","method":"m"}', sent())
    assert.is_true(stream:set_envelope { header = "content-length: " })
    stream:request("waiter", "m")
    assert.equal('content-length: 55\r\n\r\n{"version":"0.1","jsonrpc":"2.0","id":"2","method":"m"}', sent())
    assert.is_true(stream:set_envelope { extra = {} })
    stream:request("waiter", "m")
    assert.equal('content-length: 39\r\n\r\n{"jsonrpc":"2.0","id":"3","method":"m"}', sent())
    assert.is_true(stream:set_envelope {})
    assert.is_true(stream:set_envelope { ids = "integer" })
    stream:request("waiter", "m")
    assert.equal('content-length: 37\r\n\r\n{"jsonrpc":"2.0","id":4,"method":"m"}', sent())
  end)

  it("does not change queued messages", function()
    open { framing = "line" }
    stream:notify("before")
    assert.is_true(stream:set_envelope { extra = { version = "0.1" } })
    stream:notify("behind")
    assert.equal('{"jsonrpc":"2.0","method":"before"}\n{"version":"0.1","jsonrpc":"2.0","method":"behind"}\n', sent())
  end)

  it("accepts answers to earlier calls in the old form", function()
    open { framing = "line" }
    stream:request("old", "m")
    stream:set_envelope { ids = "string" }
    stream:request("new", "m")
    assert.equal('{"jsonrpc":"2.0","id":1,"method":"m"}\n{"jsonrpc":"2.0","id":"2","method":"m"}\n', sent())
    local kind, id, waiter = receives '{"jsonrpc":"2.0","id":1,"result":0}\n'
    assert.same({ "result", 1, "old" }, { kind, id, waiter })
    kind, id, waiter = receives '{"jsonrpc":"2.0","id":"2","result":0}\n'
    assert.same({ "result", 2, "new" }, { kind, id, waiter })
    stream:set_envelope {}
    stream:request("last", "m")
    assert.equal("stray", (receives '{"jsonrpc":"2.0","id":3,"result":0}\n'))
  end)

  it("requires the extra members in the next message", function()
    open { framing = "line" }
    assert.equal("request", (receives '{"jsonrpc":"2.0","id":1,"method":"m"}\n'))
    assert.is_true(stream:set_envelope { extra = { version = "0.1" } })
    local kind, id, _, report = receives '{"jsonrpc":"2.0","id":2,"method":"m"}\n'
    assert.same({ "invalid", 2, -32600, 'version is missing: "0.1" expected' },
      { kind, id, report.code, report.message })
    assert.equal("request", (receives '{"version":"0.1","jsonrpc":"2.0","id":3,"method":"m"}\n'))
    stream:set_envelope { extra = {} }
    assert.equal("request", (receives '{"jsonrpc":"2.0","id":4,"method":"m"}\n'))
  end)

  it("works in the middle of a batch", function()
    open { framing = "line" }
    local _, one = receives('[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"m"},' ..
      '{"version":"0.1","jsonrpc":"2.0","id":3,"method":"m"}]\n')
    stream:set_envelope { extra = { version = "0.1" } }
    local kind, two = wire.next(stream)
    assert.equal("invalid", kind)
    local _, three = wire.next(stream)
    for _, id in ipairs { one, two, three } do stream:reply(id, 0) end
    assert.equal('[{"version":"0.1","jsonrpc":"2.0","id":1,"result":0},{"version":"0.1","jsonrpc":"2.0","id":2,' ..
      '"result":0},{"version":"0.1","jsonrpc":"2.0","id":3,"result":0}]\n', sent())
  end)

  it("writes the right length for any number of digits", function()
    open { framing = "header" }
    for size = 1, 2000, 37 do
      stream:set_envelope { header = size % 2 == 0 and "content-length: " or EDITOR.header }
      stream:notify("m", { ("x"):rep(size) })
      local length, body = sent():match "content%-length: (%d+)\r\n\r\n(.*)$"
      assert.equal(#body, math.tointeger(length))
    end
  end)

  it("changes nothing if an argument is wrong", function()
    open { framing = "header" }
    stream:notify("before")
    for message, ways in pairs {
      ["'ids': \"integer\" or \"string\" expected, got number"] = { ids = 1, header = "content-length: " },
      ["'header': header lines"] = { ids = "string", header = "length" },
      ["'header': string expected, got table"] = { ids = "string", header = {} },
      ["'extra': table expected, got string"] = { header = "content-length: ", extra = "0.1" },
      ["'extra': names and plain values"] = { header = "content-length: ", extra = { version = {} } },
      [ [[extra'["\xff"]: invalid UTF-8]] ] = { header = "content-length: ", extra = { ["\xff"] = 1 } },
      ["stream option 'extra'"] = { header = "content-length: ", extra = { version = 0 / 0 } },
      ["table expected"] = 1,
    } do
      assert.error_matches(function() stream:set_envelope(ways) end, message, 1, true)
    end
    stream:request("waiter", "m")
    assert.equal('Content-Length: 35\r\n\r\n{"jsonrpc":"2.0","method":"before"}' ..
      'Content-Length: 37\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"m"}', sent())
  end)

  it("works on a closed stream", function()
    open {}
    stream:close()
    assert.is_true(stream:set_envelope(EDITOR))
    assert.is_nil((stream:notify("m")))
  end)

  it("is not possible for a finalizer in the middle of a message", function()
    open { framing = "line" }
    local items = ('{"name":"item","list":[1,2.5]},'):rep(500)
    local text = ('{"jsonrpc":"2.0","method":"m","params":[%s0]}\n'):format(items)
    local refused = 0
    haunting.start(function()
      local ok, message = pcall(stream.set_envelope, stream, { ids = "string" })
      if ok then return end
      assert(message:find("a message is being read", 1, true), message)
      refused = refused + 1
    end)
    haunting.drive(math.huge, function()
      assert(receives(text) == "notification")
      return refused > 0
    end)
    haunting.stop()
    assert.is_true(refused > 0)
    assert.is_true(stream:set_envelope { ids = "string" })
  end)

  it("allows a finalizer to send meanwhile", function()
    open { framing = "line" }
    haunting.start(function() stream:notify("ghost") end)
    local seen = 0
    haunting.drive(50, function()
      seen = seen + 1
      assert(stream:set_envelope { extra = { version = tostring(seen) } })
      for line in sent():gmatch "[^\n]+" do
        assert.matches('^{"version":"%d+","jsonrpc":"2.0","method":"ghost"}$', (line:gsub('^{"j', '{"version":"0","j')))
      end
    end)
    haunting.stop()
  end)
end)

describe("a stream that keeps other members", function()
  local function of(text, options)
    local given = { framing = "line", others = true }
    for name, value in pairs(options or {}) do given[name] = value end
    local stream, far <close> = wire.open(given)
    wire.write(far, text .. "\n")
    wire.next(stream)
    return stream
  end

  it("returns those of the last message", function()
    local stream <close> = of '{"version":"0.1","jsonrpc":"2.0","a\\u0062":[1,{}],"id":1,"method":"m","x":null}'
    assert.same({ version = "0.1", ab = { 1, {} }, x = core.json.null }, stream:others())
  end)

  it("returns nil if there are none, or the option is off", function()
    local stream <close> = of '{"jsonrpc":"2.0","method":"m"}'
    assert.is_nil(stream:others())
    local other <close> = of('{"jsonrpc":"2.0","method":"m","version":"0.1"}', { others = false })
    assert.is_nil(other:others())
  end)

  it("drops them with the next message", function()
    local stream, far <close> = wire.open { others = true }
    wire.write(far, '{"jsonrpc":"2.0","method":"m","a":1}\n{"jsonrpc":"2.0","method":"m"}\n')
    wire.next(stream)
    assert.same({ a = 1 }, stream:others())
    wire.next(stream)
    assert.is_nil(stream:others())
    stream:close()
  end)

  it("reports an error in them", function()
    local stream, far <close> = wire.open { others = true }
    wire.write(far, '{"jsonrpc":"2.0","method":"m","a":01}\n')
    local kind, _, _, report = wire.next(stream)
    assert.same({ "invalid", -32700 }, { kind, report.code })
    stream:close()
  end)

  it("returns what is wrong with the last message from set_envelope", function()
    for members, message in pairs {
      [''] = 'version is missing: "0.1" expected',
      [',"version":"0.2"'] = 'version: "0.1" expected, got "0.2"',
      [',"version":0.1'] = 'version: "0.1" expected, got 0.1',
      [',"version":7'] = 'version: "0.1" expected, got 7',
      [',"version":null'] = 'version: "0.1" expected, got null',
      [',"version":true'] = 'version: "0.1" expected, got true',
      [',"version":{"a":"0.1"}'] = 'version: "0.1" expected, got an array or object',
      [',"version":["0.1"]'] = 'version: "0.1" expected, got an array or object',
      [',"version":"' .. ("ä"):rep(30) .. '"'] = 'version: "0.1" expected, got "' .. ("ä"):rep(20) .. '…"',
      [',"version":"x' .. ("ä"):rep(30) .. '"'] = 'version: "0.1" expected, got "x' .. ("ä"):rep(19) .. '…"',
    } do
      local text = ('{"jsonrpc":"2.0","id":1,"method":"m"%s}'):format(members)
      local stream <close> = of(text)
      assert.same({ nil, message, "invalid" }, { stream:set_envelope { extra = { version = "0.1" } } })
      assert.is_true(stream:set_envelope {}) -- only the first message is checked again
      local strict, far <close> = wire.open { extra = { version = "0.1" } }
      wire.write(far, text .. "\n")
      assert.equal(message, select(4, wire.next(strict)).message)
      strict:close()
    end
  end)

  it("returns nothing for a valid message, or before the first one", function()
    local stream <close> = of '{"version":"0.1","jsonrpc":"2.0","id":1,"method":"m"}'
    assert.is_true(stream:set_envelope { extra = { version = "0.1" } })
    assert.is_nil(stream:others())
    local new, far = wire.open { others = true }
    assert.is_true(new:set_envelope { extra = { version = "0.1" } })
    new:close()
    far:close()
  end)

  it("keeps none after set_envelope", function()
    local a, b <close> = pair.open({}, { others = true })
    a:set_envelope { extra = {} }
    b:set_envelope { extra = { version = "0.1" } }
    b:notify("m")
    pair.pass(b, a)
    assert.is_nil(a:others())
    a:close()
  end)

  it("works for large messages and other codecs", function()
    local long = ('{"version":"0.1","jsonrpc":"2.0","method":"m","params":["%s"]}'):format(("x"):rep(100000))
    for _, options in ipairs { {}, { json = core.json }, { raw = true } } do
      local stream <close> = of(long, options)
      assert.same({ version = "0.1" }, stream:others())
    end
  end)
end)
