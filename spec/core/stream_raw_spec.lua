local core = require "pintle.core"
local wire = require "spec.support.wire"

local json = core.json

describe("a stream in raw mode", function()
  local stream, far

  wire.give_each_a_stream({ raw = true }, function(one, other) stream, far = one, other end)

  local payloads = {
    "{}", "[]", '{"a": 1.50, "b":[ ],"a":2}', "[1e2,-0,1.0,12345678901234567890]", [=[["\u00e9\/","é"]]=],
    "[ [ ] , { } ]",
  }

  it("returns payloads as text", function()
    for _, text in ipairs(payloads) do
      wire.write(far, ('{"jsonrpc":"2.0","id":1,"method":"m","params":%s}\n'):format(text))
      local kind, _, method, params = wire.next(stream)
      assert.same({ "request", "m" }, { kind, method })
      assert.equal("userdata", type(params))
      assert.equal(text, tostring(params))
      assert.is_table(json.decode(params))
    end
  end)

  it("returns results and errors as text", function()
    for _, text in ipairs { "1.0", '"a\\/b"', "null", "true", table.unpack(payloads) } do
      local id = stream:request("waiter", "m")
      wire.write(far, ('{"jsonrpc":"2.0","id":%d,"result":%s}\n'):format(id, text))
      local kind, _, waiter, result = wire.next(stream)
      assert.same({ "result", "waiter", text }, { kind, waiter, tostring(result) })
    end
    local id = stream:request("waiter", "m")
    wire.write(far, ('{"jsonrpc":"2.0","id":%d,"error":{"code":1.0, "message":"x"}}\n'):format(id))
    local kind, _, _, err = wire.next(stream)
    assert.same({ "error", '{"code":1.0, "message":"x"}' }, { kind, tostring(err) })
  end)

  it("returns no params if there are none", function()
    wire.write(far, '{"jsonrpc":"2.0","method":"m"}\n{"jsonrpc":"2.0","method":"m","params":null}\n')
    assert.same({ "notification", nil, "m" }, { wire.next(stream) })
    assert.same({ "notification", nil, "m" }, { wire.next(stream) })
  end)

  it("reports invalid messages", function()
    wire.write(far, '{"jsonrpc":"2.0","id":1,"method":"m","params":1}\n')
    assert.equal("invalid", (wire.next(stream)))
    wire.write(far, '{"jsonrpc":"2.0","id":1,"method":"m","params":[1,]}\n')
    assert.equal("invalid", (wire.next(stream)))
    wire.write(far, '{"jsonrpc":"2.0","id":1,"method":"m","params":["\xff"]}\n')
    assert.equal("invalid", (wire.next(stream)))
  end)

  it("can forward messages without changing a byte", function()
    local onward, server = wire.open { raw = true, framing = "header" }
    for _, text in ipairs(payloads) do
      wire.write(far, ('{"jsonrpc":"2.0","id":1.0,"method":"m","params":%s}\n'):format(text))
      local _, id, method, params = wire.next(stream)
      local asked = onward:request(id, method, params)
      onward:flush()
      assert.equal(("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"m\",\"params\":%s}"):format(asked, text),
        server:read():match("\r\n\r\n(.*)"))
      local body = ('{"jsonrpc":"2.0","id":%d,"result":%s}'):format(asked, text)
      wire.write(server, ("Content-Length: %d\r\n\r\n%s"):format(#body, body))
      local _, _, waiter, result = wire.next(onward)
      stream:reply(waiter, result)
      stream:flush()
      assert.equal(('{"jsonrpc":"2.0","id":1.0,"result":%s}\n'):format(text), far:read())
    end
    onward:close()
    server:close()
  end)

  it("sends text with line breaks as one line", function()
    local onward, client = wire.open { raw = true, framing = "header" }
    local body = '{"jsonrpc":"2.0","method":"m",\r\n"params":{\n "a":\r\n1}}'
    wire.write(client, ("Content-Length: %d\r\n\r\n%s"):format(#body, body))
    local _, _, method, params = wire.next(onward)
    stream:notify(method, params)
    stream:flush()
    assert.equal('{"jsonrpc":"2.0","method":"m","params":{  "a":  1}}\n', far:read())
    onward:close()
    client:close()
  end)
end)

describe("raw text", function()
  it("can be sent by any stream, whatever its codec", function()
    for _, codec in pairs(require "spec.support.codecs") do
      local stream, far <close> = wire.open(codec)
      stream:notify("m", json.raw '{"a": 1.0}')
      stream:reply(1, json.raw "[ ]")
      stream:fail(1, 2, "x", json.raw "1e2")
      stream:flush()
      assert.equal('{"jsonrpc":"2.0","method":"m","params":{"a": 1.0}}\n' ..
        '{"jsonrpc":"2.0","id":1,"result":[ ]}\n' ..
        '{"jsonrpc":"2.0","id":1,"error":{"code":2,"message":"x","data":1e2}}\n', far:read())
      stream:close()
    end
  end)

  it("can be part of what the core's codec sends", function()
    local stream, far <close> = wire.open()
    stream:notify("m", { list = { json.raw "1.50" } })
    stream:flush()
    assert.equal('{"jsonrpc":"2.0","method":"m","params":{"list":[1.50]}}\n', far:read())
    stream:close()
  end)
end)
