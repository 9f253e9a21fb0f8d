local children = require "spec.support.children"
local codecs = require "spec.support.codecs"
local wire = require "spec.support.wire"

local function request(id, method)
  return ('{"jsonrpc":"2.0","id":%s,"method":"%s"}'):format(id, method or "m")
end

local function result(id, value)
  return ('{"jsonrpc":"2.0","id":%s,"result":%s}'):format(id, value)
end

local note = '{"jsonrpc":"2.0","method":"n"}'

for name, codec in pairs(codecs) do
  describe("a batch, with " .. name, function()
    local stream, far

    wire.give_each_a_stream(codec, function(one, other) stream, far = one, other end)

    local function send(...)
      wire.write(far, "[" .. table.concat({ ... }, ",") .. "]\n")
    end

    local function sent()
      assert.is_true(stream:flush())
      return far:read()
    end

    it("is received member by member and answered in one message", function()
      send(request(1, "one"), note, request('"two"', "two"))
      local kind, one, method = wire.next(stream)
      assert.same({ "request", "one" }, { kind, method })
      assert.equal("1", tostring(one))
      stream:reply(one, 11)
      assert.is_false(sent())
      assert.same({ "notification", nil, "n" }, { wire.next(stream) })
      assert.is_false(sent())
      local _, two = stream:receive()
      assert.equal('"two"', tostring(two))
      assert.is_false(sent())
      stream:reply(two, 22)
      assert.equal("[" .. result(1, 11) .. "," .. result('"two"', 22) .. "]\n", sent())
      assert.is_false(stream:receive())
    end)

    it("is answered in several messages if one would be too long", function()
      stream, far = wire.open { json = codec.json, limits = { message = 200 } }
      send(1, 2, request(3), 4, 5)
      for _ = 1, 5 do
        local _, id = wire.next(stream)
        stream:reply(id, "x")
      end
      local null, three = result("null", '"x"'), result(3, '"x"')
      assert.equal(("[%s,%s,%s]\n[%s,%s]\n"):format(null, null, three, null, null), sent())
      stream:close()
      far:close()
    end)

    it("is answered in the order of the answers", function()
      send(request(1), request(2), request(3))
      local _, one = wire.next(stream)
      local _, two = stream:receive()
      local _, three = stream:receive()
      stream:reply(three, 3)
      stream:reply(one, 1)
      assert.is_false(sent())
      stream:fail(two, -1, "no")
      assert.equal("[" .. result(3, 3) .. "," .. result(1, 1) ..
        ',{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}]\n', sent())
    end)

    it("is answered when its last member is a notification", function()
      send(request(1), note)
      local _, one = wire.next(stream)
      stream:reply(one, 1)
      assert.is_false(sent())
      assert.equal("notification", (stream:receive()))
      assert.equal("[" .. result(1, 1) .. "]\n", sent())
    end)

    it("of notifications is not answered", function()
      send(note, note)
      assert.equal("notification", (wire.next(stream)))
      assert.equal("notification", (stream:receive()))
      assert.is_false(stream:receive())
      assert.is_false(sent())
      assert.equal(0, stream:queued())
    end)

    it("that is empty is an invalid message", function()
      wire.write(far, "[]\n[ \t]\n")
      for _ = 1, 2 do
        local kind, id, waiter, report = wire.next(stream)
        assert.same({ "invalid", -32600, "empty batch" }, { kind, report.code, report.message })
        assert.is_nil(id)
        assert.is_nil(waiter)
      end
    end)

    it("may have invalid members, each with its own answer", function()
      send("1", request(5), '{"jsonrpc":"2.0","id":6,"method":7}', "[]", '{"foo":"boo"}')
      local ids = {}
      for i, expected in ipairs { "invalid", "request", "invalid", "invalid", "invalid" } do
        local kind, id, _, report = wire.next(stream)
        assert.equal(expected, kind)
        assert.equal("userdata", type(id))
        if kind == "invalid" then assert.equal(-32600, report.code) end
        ids[i] = id
      end
      assert.same({ "null", "5", "6", "null", "null" }, {
        tostring(ids[1]), tostring(ids[2]), tostring(ids[3]), tostring(ids[4]), tostring(ids[5]),
      })
      for _, i in ipairs { 1, 3, 4, 5 } do
        stream:fail(ids[i], -32600, "x")
        assert.is_false(sent())
      end
      stream:reply(ids[2], true)
      local _, nulls = sent():gsub('"id":null', "")
      assert.equal(3, nulls)
    end)

    it("may have responses, which are matched and not answered", function()
      stream:request("one", "m")
      stream:request("two", "m")
      sent()
      send(result(2, 22), request(1), result(1, 11), result(9, 99))
      assert.same({ "result", 2, "two", 22 }, { wire.next(stream) })
      local kind, id = stream:receive()
      assert.equal("request", kind)
      assert.same({ "result", 1, "one", 11 }, { wire.next(stream) })
      assert.equal("stray", (wire.next(stream)))
      stream:reply(id, 0)
      assert.equal("[" .. result(1, 0) .. "]\n", sent())
    end)

    it("has members that can be answered only once", function()
      send(request(1), request(2))
      local _, one = wire.next(stream)
      local _, two = stream:receive()
      stream:reply(one, 1)
      assert.error_matches(function() stream:reply(one, 1) end, "answered already")
      assert.error_matches(function() stream:fail(one, 1, "x") end, "answered already")
      stream:reply(two, 2)
      assert.equal("[" .. result(1, 1) .. "," .. result(2, 2) .. "]\n", sent())
      assert.error_matches(function() stream:reply(two, 2) end, "answered already")
    end)

    it("allows a second answer to a member if the first could not be sent", function()
      send(request(1))
      local _, one = wire.next(stream)
      assert.equal("invalid", (select(3, stream:reply(one, print))))
      assert.is_false(sent())
      assert.is_true(stream:fail(one, -32603, "no JSON"))
      assert.equal('[{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no JSON"}}]\n', sent())
    end)

    it("does not delay other messages", function()
      send(request(1))
      local _, one = wire.next(stream)
      stream:notify("n")
      assert.equal(note .. "\n", sent())
      stream:reply(one, 1)
      assert.equal("[" .. result(1, 1) .. "]\n", sent())
    end)

    it("is separate from the next batch", function()
      send(request(1), request(2))
      send(request(3))
      local _, one = wire.next(stream)
      local _, two = stream:receive()
      local _, three = wire.next(stream)
      stream:reply(one, 1)
      stream:reply(three, 3)
      assert.equal("[" .. result(3, 3) .. "]\n", sent())
      stream:reply(two, 2)
      assert.equal("[" .. result(1, 1) .. "," .. result(2, 2) .. "]\n", sent())
    end)

    it("may have white space between its members", function()
      wire.write(far, " [ " .. request(1) .. " ,\t" .. note .. " ] \r\n")
      assert.equal("request", (wire.next(stream)))
      assert.equal("notification", (stream:receive()))
      assert.is_false(stream:receive())
    end)

    it("that is cut off is not JSON", function()
      for _, rest in ipairs { "", ",", "]]", " " .. note .. "]" } do
        wire.write(far, "[" .. note .. rest .. "\n")
        local kind, id, _, report = wire.next(stream)
        assert.same({ "invalid", -32700 }, { kind, report.code })
        assert.is_nil(id)
      end
    end)

    it("may have a thousand members", function()
      local members = {}
      for i = 1, 1000 do members[i] = request(i) end
      send(table.unpack(members))
      local ids = { (select(2, wire.next(stream))) }
      for i = 2, 1000 do ids[i] = select(2, stream:receive()) end
      for i = 1000, 1, -1 do stream:reply(ids[i], i) end
      stream:flush()
      local _, count = children.read(far, "]\n"):gsub('"result"', "")
      assert.equal(1000, count)
    end)

    it("may be left without an answer", function()
      send(request(1), request(2))
      wire.next(stream)
      stream:close()
      assert.same({ nil, "the stream is closed", "closed" }, { stream:receive() })
    end)
  end)
end

describe("a batch with header framing", function()
  it("is answered in one frame", function()
    local stream, far <close> = wire.open { framing = "header" }
    local body = "[" .. request(1) .. "]"
    wire.write(far, ("Content-Length: %d\r\n\r\n%s"):format(#body, body))
    local _, one = wire.next(stream)
    stream:reply(one, 1)
    stream:flush()
    local answer = "[" .. result(1, 1) .. "]"
    assert.equal(("Content-Length: %d\r\n\r\n%s"):format(#answer, answer), far:read())
    stream:close()
  end)
end)
