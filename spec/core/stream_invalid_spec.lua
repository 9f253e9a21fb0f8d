local core = require "pintle.core"
local codecs = require "spec.support.codecs"
local wire = require "spec.support.wire"

local null = core.json.null

for name, codec in pairs(codecs) do
  describe("with " .. name, function()
    local stream, far

    wire.give_each_a_stream(codec, function(one, other) stream, far = one, other end)

    local function receive(text)
      wire.write(far, text .. "\n")
      return wire.next(stream)
    end

    local function assert_invalid(text, code, message, id)
      local kind, told_id, waiter, report = receive(text)
      assert.equal("invalid", kind, text)
      assert.equal(code, report.code, text)
      assert.matches(message, report.message, nil, true)
      assert.equal(text, report.text)
      assert.equal(#text, report.bytes)
      assert.equal(id, told_id, text)
      assert.is_nil(waiter)
    end

    describe("a message", function()
      it("without the version is invalid", function()
        assert_invalid('{"id":1,"method":"m"}', -32600, "jsonrpc is missing", 1)
        assert_invalid("{}", -32600, "jsonrpc is missing")
      end)

      it("with another version is invalid", function()
        for _, version in ipairs { '"1.0"', '"2"', "2.0", "2", "null", "[]", '{"a":1}', '"2.0 "' } do
          assert_invalid('{"jsonrpc":' .. version .. ',"id":1,"method":"m"}', -32600, 'jsonrpc is not "2.0"', 1)
        end
      end)

      it("whose method is not a string is invalid", function()
        for _, method in ipairs { "1", "null", "[]", "{}", "true" } do
          assert_invalid('{"jsonrpc":"2.0","id":"x","method":' .. method .. "}", -32600, "method is not a string", "x")
        end
      end)

      it("whose params are neither array nor object is invalid", function()
        for _, params in ipairs { "1", '"text"', "true", "false", "0.5" } do
          assert_invalid('{"jsonrpc":"2.0","id":7,"method":"m","params":' .. params .. "}", -32600,
            "params is neither an array nor an object", 7)
        end
      end)

      it("with an invalid id is invalid, and has no id in the report", function()
        for _, id in ipairs { "true", "false", "[]", "{}", "[1]" } do
          assert_invalid('{"jsonrpc":"2.0","id":' .. id .. ',"method":"m"}', -32600, "id is neither")
        end
      end)

      it("with neither method, result nor error is invalid", function()
        assert_invalid('{"jsonrpc":"2.0","id":1}', -32600, "neither a method, nor a result, nor an error", 1)
        assert_invalid('{"jsonrpc":"2.0"}', -32600, "neither a method, nor a result, nor an error")
        assert_invalid('{"jsonrpc":"2.0","id":1,"error":null}', -32600, "neither a method, nor a result", 1)
      end)

      it("that is both a request and a response is invalid", function()
        for _, member in ipairs { '"result":1', '"error":{"code":1,"message":"x"}' } do
          assert_invalid('{"jsonrpc":"2.0","id":1,"method":"m",' .. member .. "}", -32600, "both a method", 1)
        end
      end)

      it("that is a response without an id is invalid", function()
        assert_invalid('{"jsonrpc":"2.0","result":1}', -32600, "an answer without an id")
      end)

      it("that is an invalid response without a call is reported as a response", function()
        for text, is_answer in pairs {
          ['{"jsonrpc":"2.0","id":9,"result":1,"error":{"code":1,"message":"x"}}'] = true,
          ['{"jsonrpc":"2.0","error":{"code":1,"message":"x"}}'] = true,
          ['{"jsonrpc":"2.0","id":9,"error":null}'] = true,
          ['{"jsonrpc":"2.0","id":9,"result":[1,]}'] = true,
          ['{"jsonrpc":"2.0","id":9}'] = false,
          ['{"jsonrpc":"2.0","id":9,"method":"m","result":1}'] = false,
        } do
          local _, _, _, report = receive(text)
          assert.equal(is_answer or nil, report.is_answer, text)
        end
      end)

      it("that is not an object is invalid", function()
        for _, text in ipairs { "1", '"text"', "null", "true", "-0.5" } do
          assert_invalid(text, -32600, "not an object")
        end
      end)

      it("that is not JSON is reported so, with the id if it came first", function()
        assert_invalid('{"jsonrpc":"2.0","method":"m","params":[1,]}', -32700, "at line 1, column 43")
        assert_invalid('{"jsonrpc":"2.0","id":4,"method":"m","params":{"a"}}', -32700, "expected ':'", 4)
        assert_invalid('{"jsonrpc":"2.0","id":4,"method":"m"', -32700, "", 4)
        assert_invalid('{"jsonrpc":"2.0","id":4,"method":"m"}}', -32700, "unexpected text after the message", 4)
        assert_invalid('{"jsonrpc"', -32700, "")
        assert_invalid('{"jsonrpc":"2.0","id":01,"method":"m"}', -32700, "number")
        assert_invalid("{'jsonrpc':'2.0'}", -32700, "expected a member name")
        assert_invalid('{"jsonrpc":"2.0","method":"\xff"}', -32700, "invalid UTF-8")
        assert_invalid('{"jsonrpc":"2.0","method":"m","params":["\\ud800"]}', -32700, "lone surrogate")
      end)

      it("is classified wherever it is cut off", function()
        local text = '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,"x"]}}'
        for n = 1, #text - 1 do
          local kind, _, waiter, report = receive(text:sub(1, n))
          assert.same({ "invalid", -32700 }, { kind, report.code })
          assert.is_nil(waiter)
        end
        assert.equal("request", (receive(text)))
        assert.equal(#text - 1, stream:stats().invalid)
      end)

      it("that is nested too deeply is reported so", function()
        local deep = ("["):rep(1000) .. ("]"):rep(1000)
        wire.write(far, '{"jsonrpc":"2.0","id":1,"method":"m","params":' .. deep .. "}\n")
        local kind, id, _, report = wire.next(stream)
        assert.same({ "invalid", 1, -32700 }, { kind, id, report.code })
        assert.matches("nested too deeply", report.message)
      end)

      it("may have its members in any order, and other members", function()
        assert.same({ "request", 1, "m", { 5 } },
          { receive '{"x":[{}],"params":[5],"method":"m","id":1,"jsonrpc":"2.0","y":"z"}' })
        assert.same({ "request", 1, "m", { 5 } },
          { receive '{"\\u0069d":1,"\\u006aso\\u006erpc":"2.0","metho\\u0064":"m","p\\u0061rams":[5]}' })
      end)

      it("has the last of repeated members", function()
        local first = '"jsonrpc":"1.0","id":1,"method":"a","params":[1]'
        local last = '"jsonrpc":"2.0","id":2,"method":"b","params":[2]'
        assert.same({ "request", 2, "b", { 2 } }, { receive("{" .. first .. "," .. last .. "}") })
      end)

      it("may repeat its members many times", function()
        for _, member in ipairs { '"jsonrpc":"2.0"', '"id":1', '"method":"m"', '"params":[5]', '"x":[]',
          '"result":null', '"error":null' } do
          local text = "{" .. (member .. ","):rep(3000) .. '"jsonrpc":"2.0","id":1,"method":"m","params":[5]}'
          assert.same({ "request", 1, "m", { 5 } }, { receive(text) })
        end
      end)

      it("with null for params has no params", function()
        local kind, id, method, params = receive '{"jsonrpc":"2.0","id":1,"method":"m","params":null}'
        assert.same({ "request", 1, "m" }, { kind, id, method })
        assert.is_nil(params)
      end)

      it("with null for the members of another kind is valid", function()
        assert.same({ "request", 1, "m", { 5 } },
          { receive '{"jsonrpc":"2.0","id":1,"method":"m","params":[5],"result":null,"error":null}' })
        assert.same({ "request", 1, "m", { 5 } },
          { receive '{"jsonrpc":"2.0","id":1,"result":null,"error":null,"method":"m","params":[5]}' })
      end)
    end)

    describe("a response", function()
      local function answer(members)
        local id = stream:request("waiter", "m")
        local results = table.pack(receive(('{"jsonrpc":"2.0","id":%d,%s}'):format(id, members)))
        assert.equal(0, stream:waiting())
        return results[1], results[3], results[4], results[2], id
      end

      it("with both result and error is invalid, and is reported with its waiter", function()
        local kind, waiter, report = answer '"result":1,"error":{"code":1,"message":"x"}'
        assert.same({ "invalid", "waiter", -32600 }, { kind, waiter, report.code })
        assert.equal("both a result and an error", report.message)
      end)

      it("with neither is invalid, and is reported with its waiter", function()
        local kind, waiter, report = answer '"x":1'
        assert.same({ "invalid", "waiter", -32600 }, { kind, waiter, report.code })
      end)

      it("with a malformed error is invalid, and is reported with its waiter", function()
        for _, err in ipairs {
          "1", '"text"', "[]", "{}", "true", '{"code":1}', '{"message":"x"}', '{"code":"1","message":"x"}',
          '{"code":1,"message":2}', '[1,"x"]', '{"code":null,"message":"x"}',
        } do
          local kind, waiter, report, id, own = answer('"error":' .. err)
          assert.same({ "invalid", "waiter", -32600, own }, { kind, waiter, report.code, id }, err)
          assert.matches("error is not an object", report.message)
        end
      end)

      it("without the version is invalid, and is reported with its waiter", function()
        local id = stream:request("waiter", "m")
        local kind, _, waiter = receive(('{"id":%d,"result":1}'):format(id))
        assert.same({ "invalid", "waiter" }, { kind, waiter })
        assert.equal(0, stream:waiting())
      end)

      it("that is not JSON is invalid, and is reported with its waiter", function()
        local id = stream:request("waiter", "m")
        local kind, _, waiter, report = receive(('{"jsonrpc":"2.0","id":%d,"result":[1,]}'):format(id))
        assert.same({ "invalid", "waiter", -32700 }, { kind, waiter, report.code })
      end)

      it("with a null result beside an error is the error", function()
        for _, members in ipairs { '"result":null,"error":{"code":1,"message":"x"}',
          '"error":{"code":1,"message":"x"},"result":null' } do
          local kind, waiter, err = answer(members)
          assert.same({ "error", "waiter", { code = 1, message = "x" } }, { kind, waiter, err })
        end
      end)

      it("with a null error beside a result is the result", function()
        for _, members in ipairs { '"result":{"a":1},"error":null', '"error":null,"result":{"a":1}' } do
          local kind, waiter, result = answer(members)
          assert.same({ "result", "waiter", { a = 1 } }, { kind, waiter, result })
        end
      end)

      it("keeps its result if it also has params", function()
        for _, members in ipairs { '"result":[1],"params":null', '"params":{"x":1},"result":[1]',
          '"result":[1],"params":{"x":1}' } do
          local kind, waiter, result = answer(members)
          assert.same({ "result", "waiter", { 1 } }, { kind, waiter, result })
        end
      end)

      it("with a null result gives null", function()
        local kind, _, result = answer '"result":null'
        assert.equal("result", kind)
        assert.equal(null, result)
      end)

      it("without a call is a stray, and is counted", function()
        assert.equal("stray", (receive '{"jsonrpc":"2.0","id":99,"result":1}'))
        assert.equal("stray", (receive '{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}'))
        for _, id in ipairs { '"x"', "0", "-1", "1.5", "1e300", "9223372036854775807", '"1"' } do
          assert.equal("stray", (receive('{"jsonrpc":"2.0","id":' .. id .. ',"result":1}')))
        end
        assert.equal(9, stream:stats().stray)
      end)

      it("that comes twice is a stray the second time", function()
        local id = stream:request("waiter", "m")
        local text = ('{"jsonrpc":"2.0","id":%d,"result":1}'):format(id)
        assert.equal("result", (receive(text)))
        assert.equal("stray", (receive(text)))
        assert.equal(1, stream:stats().stray)
      end)

      it("that comes after its call was dropped is a stray", function()
        local id = stream:request("waiter", "m")
        assert.equal("waiter", stream:abandon(id))
        assert.is_nil(stream:abandon(id))
        assert.equal(0, stream:waiting())
        assert.equal("stray", (receive(('{"jsonrpc":"2.0","id":%d,"result":1}'):format(id))))
      end)
    end)

    it("a request with the id of an own call does not take its waiter", function()
      local id = stream:request("waiter", "m")
      assert.equal("request", (receive(('{"jsonrpc":"2.0","id":%d,"method":"theirs"}'):format(id))))
      assert.equal("invalid", (receive(('{"jsonrpc":"2.0","id":%d,"method":7}'):format(id))))
      assert.equal(1, stream:waiting())
    end)
  end)
end

describe("a report", function()
  it("has the first bytes of the message, and its length", function()
    local stream, far <close> = wire.open { limits = { text = 10 } }
    wire.write(far, ("?"):rep(50) .. "\n{" .. ("!"):rep(70) .. "\n")
    local _, _, _, noise = wire.next(stream)
    assert.same({ code = -32700, message = "not JSON", text = ("?"):rep(10), bytes = 50 }, noise)
    local _, _, _, invalid = wire.next(stream)
    assert.same({ ("{!!!!!!!!!"), 71 }, { invalid.text, invalid.bytes })
    stream:close()
  end)

  it("has a thousand bytes by default", function()
    local stream, far <close> = wire.open()
    wire.write(far, ("?"):rep(5000) .. "\n")
    local _, _, _, noise = wire.next(stream)
    assert.same({ 1024, 5000 }, { #noise.text, noise.bytes })
    stream:close()
  end)
end)

describe("a message that is cut off", function()
  local stream, far

  wire.give_each_a_stream({}, function(one, other) stream, far = one, other end)

  it("is a response if it has a result, and fails its call", function()
    local id = stream:request("waiter", "m")
    wire.write(far, ('{"jsonrpc":"2.0","id":%d,"result":{"x":\n'):format(id))
    local kind, received_id, waiter = wire.next(stream)
    assert.same({ "invalid", id, "waiter" }, { kind, received_id, waiter })
    assert.equal(0, stream:waiting())
  end)

  it("is not a response if it could be a request, and fails no call", function()
    local id = stream:request("waiter", "m")
    wire.write(far, ('{"jsonrpc":"2.0","id":%d,\n'):format(id))
    local kind, received_id, waiter = wire.next(stream)
    assert.same({ "invalid", id }, { kind, received_id })
    assert.is_nil(waiter)
    assert.equal(1, stream:waiting())
  end)
end)

describe("members that every message must have", function()
  it("are all required, even if one of them is repeated", function()
    local stream, far = wire.open { extra = { version = "0.1", flavour = "mild" } }
    wire.write(far, '{"jsonrpc":"2.0","version":"0.1","version":"0.1","method":"m"}\n')
    assert.equal("invalid", (wire.next(stream)))
    wire.write(far, '{"jsonrpc":"2.0","version":"0.1","flavour":"mild","version":"0.2","method":"m"}\n')
    assert.equal("invalid", (wire.next(stream)))
    wire.write(far, '{"flavour":"mild","jsonrpc":"2.0","version":"0.2","version":"0.1","method":"m"}\n')
    assert.equal("notification", (wire.next(stream)))
    stream:close()
    far:close()
  end)

  it("do not change with the table that was given", function()
    local extra = { version = "0.1" }
    local stream, far = wire.open { extra = extra }
    extra.version, extra.other = "0.2", true
    wire.write(far, '{"jsonrpc":"2.0","version":"0.1","method":"m"}\n')
    assert.equal("notification", (wire.next(stream)))
    stream:close()
    far:close()
  end)
end)
