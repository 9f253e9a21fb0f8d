local core = require "pintle.core"
local children = require "spec.support.children"
local codecs = require "spec.support.codecs"
local pair = require "spec.support.pair"
local wire = require "spec.support.wire"

local json = core.json
local pass = pair.pass

local function with(options, more)
  local all = {}
  for name, value in pairs(options) do all[name] = value end
  for name, value in pairs(more) do all[name] = value end
  return all
end

for name, codec in pairs(codecs) do
  describe("a stream with " .. name, function()
    local nothing_left, a, b

    before_each(function() nothing_left = children.stock() end)

    after_each(function()
      if a then a:close() end
      if b then b:close() end
      a, b = nil, nil
      nothing_left()
    end)

    for _, framing in ipairs { "line", "header" } do
      it("sends and answers requests with " .. framing .. " framing", function()
        a, b = pair.open(with(codec, { framing = framing }))
        local id = a:request("waiter", "add", { 1, 2 })
        assert.equal(1, id)
        assert.equal(1, a:waiting())
        local kind, their_id, method, params = pass(a, b)
        assert.equal("request", kind)
        assert.equal("add", method)
        assert.same({ 1, 2 }, params)
        assert.is_true(b:reply(their_id, 3))
        assert.same({ "result", 1, "waiter", 3 }, { pass(b, a) })
        assert.equal(0, a:waiting())
      end)
    end

    it("accepts any white space and any order of members", function()
      a, b = wire.open(codec)
      local function sent(text)
        wire.write(b, text .. "\n")
        local kind, id, what, payload = wire.next(a)
        return { kind, id, what, payload }
      end
      local request = { "request", 7, "m", { 1 } }
      assert.same(request, sent '{"jsonrpc":"2.0","id":7,"method":"m","params":[1]}')
      assert.same(request, sent '{"jsonrpc": "2.0", "id": 7, "method": "m", "params": [1]}')
      assert.same(request, sent '{ "jsonrpc" : "2.0" , "id" : 7 , "method" : "m" , "params" : [1] }')
      assert.same(request, sent ' {"params":\t[1],"method":\t"m","id":\t7,"jsonrpc":\t"2.0"} ')
      assert.same(request, sent '{"\\u0069d":7,"m\\u0065thod":"m","par\\u0061ms":[1],"jsonrpc":"2.0"}')
      assert.same(request, sent '{"jsonrpc":"2.0","idx":1,"id":7,"methods":2,"method":"m","params":[1],"result_":3}')
      a:request("waiter", "m")
      a:request("waiter", "m")
      assert.same({ "result", 1, "waiter", { 1 } }, sent '{"jsonrpc": "2.0", "result": [1], "id": 1}')
      assert.same({ "result", 2, "waiter", { 1 } }, sent '{"id":2,"result":[1],"jsonrpc":"2.0"}')
      for _, broken in ipairs { '{"jsonrpc":"2.0","id":', '{"jsonrpc":"2.0","id": ', '{"jsonrpc":"2.0","method":',
                                '{"jsonrpc":"2.0","params": ', '{"jsonrpc":"2.0","result":', '{"jsonrpc":"2.0","' } do
        assert.equal("invalid", sent(broken)[1])
      end
      b:close()
      b = nil
    end)

    it("answers with an error", function()
      a, b = pair.open(codec)
      a:request("one", "m")
      a:request("two", "m")
      local _, id = pass(a, b)
      assert.is_true(b:fail(id, -32601, "no such method", { method = "m" }))
      _, id = pass(a, b)
      assert.is_true(b:fail(id, 7, "ü"))
      assert.same({ "error", 1, "one", { code = -32601, message = "no such method", data = { method = "m" } } },
        { pass(b, a) })
      assert.same({ "error", 2, "two", { code = 7, message = "ü" } }, { pass(b, a) })
    end)

    it("answers with the id null if the id is not known", function()
      a, b = wire.open(codec)
      assert.is_true(a:fail(nil, -32700, "not JSON"))
      a:flush()
      assert.equal('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}\n', b:read())
    end)

    it("sends notifications", function()
      a, b = pair.open(codec)
      assert.is_true(a:notify("progress", { value = 0.5 }))
      assert.is_true(a:notify("done"))
      assert.same({ "notification", nil, "progress", { value = 0.5 } }, { pass(a, b) })
      local kind, id, method, params = pass(a, b)
      assert.same({ "notification", "done" }, { kind, method })
      assert.is_nil(id)
      assert.is_nil(params)
    end)

    it("sends a result of any kind", function()
      a, b = pair.open(codec)
      for _, result in ipairs { 1, 0.5, "text", true, false, json.null, { 1 }, { a = 1 } } do
        a:request("waiter", "m")
        local _, id = pass(a, b)
        b:reply(id, result)
        local kind, _, _, payload = pass(b, a)
        assert.equal("result", kind)
        assert.same(result, payload)
      end
      a:request("waiter", "m")
      local _, id = pass(a, b)
      b:reply(id)
      assert.equal(json.null, (select(4, pass(b, a))))
    end)

    it("matches answers that arrive in another order", function()
      a, b = pair.open(codec)
      local ids = {}
      for i = 1, 50 do a:request("waiter " .. i, "m", { i }) end
      for i = 1, 50 do ids[i] = select(2, pass(a, b)) end
      for i = 50, 1, -1 do b:reply(ids[i], i) end
      for i = 50, 1, -1 do assert.same({ "result", i, "waiter " .. i, i }, { pass(b, a) }) end
      assert.equal(0, a:waiting())
    end)

    it("keeps thousands of calls apart", function()
      a, b = pair.open(codec)
      local count, ids, order = 5000, {}, {}
      for i = 1, count do
        assert(a:request(i, "m", { i }))
        if i % 100 == 0 then
          for _ = 1, 100 do ids[#ids + 1] = { (select(2, pass(a, b))) } end
        end
      end
      assert.equal(count, a:waiting())
      for i = 1, count do order[i] = i end
      for i = count, 2, -1 do
        local j = math.random(i)
        order[i], order[j] = order[j], order[i]
      end
      for _, i in ipairs(order) do
        b:reply(ids[i][1], i)
        local kind, id, waiter, result = pass(b, a)
        assert(kind == "result" and id == i and waiter == i and result == i)
      end
      assert.equal(0, a:waiting())
    end)

    it("skips the id of an old pending call", function()
      a, b = pair.open(codec)
      a:request("old", "m")
      local _, old = pass(a, b)
      for i = 1, 200 do
        local mine = a:request(i, "m")
        local _, id = pass(a, b)
        b:reply(id, i)
        assert.same({ "result", mine, i, i }, { pass(b, a) })
      end
      b:reply(old, "at last")
      assert.same({ "result", 1, "old", "at last" }, { pass(b, a) })
    end)

    it("lets both sides call at the same time", function()
      a, b = pair.open(codec)
      a:request("from a", "m")
      b:request("from b", "m")
      local _, of_a = pass(a, b)
      local _, of_b = pass(b, a)
      a:reply(of_b, "to b")
      b:reply(of_a, "to a")
      assert.same({ "result", 1, "from b", "to b" }, { pass(a, b) })
      assert.same({ "result", 1, "from a", "to a" }, { pass(b, a) })
    end)

    it("returns every id byte for byte", function()
      a, b = wire.open(codec)
      for _, id in ipairs {
        "1", "0", "-1", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "123456789012345678901234567890", "1.0", "1e2", "1E2", "-0", "0.1", "1.50", '"text"', '""', '"1"', '"é"',
        [["\u00e9"]], [["a\"b\\c\/d\n"]], [["\ud83d\ude00"]], "null", '"' .. ("x"):rep(500) .. '"',
      } do
        for _, answer in ipairs { "reply", "fail" } do
          wire.write(b, ('{"jsonrpc":"2.0","id":%s,"method":"m"}\n'):format(id))
          local kind, their_id = wire.next(a)
          assert.equal("request", kind)
          assert(a[answer](a, their_id, 1, "message"))
          a:flush()
          local text = b:read()
          assert.matches('"id":' .. id .. ",", text, nil, true)
        end
      end
    end)

    it("passes plain ids as plain values", function()
      a, b = wire.open(codec)
      for text, id in pairs { ["1"] = 1, ["-7"] = -7, ['"x"'] = "x", ['""'] = "", ["null"] = json.null } do
        wire.write(b, ('{"jsonrpc":"2.0","id":%s,"method":"m"}\n'):format(text))
        assert.equal(id, (select(2, wire.next(a))))
      end
      wire.write(b, '{"jsonrpc":"2.0","id":1.0,"method":"m"}\n')
      local _, ticket = wire.next(a)
      assert.equal("1.0", tostring(ticket))
    end)

    it("recognises its own id however it is written", function()
      a, b = wire.open(codec)
      for _, form in ipairs { "%d", "%d.0", "%de0" } do
        local id = a:request("waiter", "m")
        wire.write(b, ('{"jsonrpc":"2.0","id":' .. form .. ',"result":1}\n'):format(id))
        local kind, _, waiter = wire.next(a)
        assert.same({ "result", "waiter" }, { kind, waiter })
      end
    end)

    it("sends its ids as strings with an option", function()
      a, b = pair.open(codec, { ids = "string" })
      local id = a:request("waiter", "m")
      assert.equal(1, id)
      local _, their_id = pass(a, b)
      assert.equal("1", their_id)
      b:reply(their_id, true)
      assert.same({ "result", 1, "waiter", true }, { pass(b, a) })
    end)

    it("does not confuse a number with its string", function()
      for ids, answer in pairs { string = "1", integer = '"1"' } do
        a, b = wire.open(with(codec, { ids = ids }))
        a:request("waiter", "m")
        wire.write(b, ('{"jsonrpc":"2.0","id":%s,"result":1}\n'):format(answer))
        assert.equal("stray", (a:receive()))
        assert.equal(1, a:waiting())
        a:close()
        b:close()
      end
    end)

    it("sends extra members with every message, and requires them", function()
      a, b = pair.open(with(codec, { extra = { version = "0.1" } }))
      a:request("one", "m")
      local kind, id = pass(a, b)
      assert.equal("request", kind)
      b:reply(id, 1)
      assert.equal("result", (pass(b, a)))
      a:notify("n")
      assert.equal("notification", (pass(a, b)))
      b:fail(nil, 1, "x")
      assert.equal("stray", (pass(b, a)))
    end)

    it("refuses messages that lack the extra members or have other values", function()
      a, b = wire.open(with(codec, { extra = { version = "0.1", level = 2, strict = true } }))
      local function receive_with(members)
        wire.write(b, ('{"jsonrpc":"2.0","id":5,"method":"m"%s}\n'):format(members))
        local kind, id, _, report = wire.next(a)
        return kind, id, report
      end
      assert.equal("request", (receive_with ',"strict":true,"version":"0.1","level":2'))
      assert.equal("request", (receive_with ',"strict":true,"more":[1],"version":"0.1","level":2.0'))
      for members, message in pairs {
        [',"version":"0.1","strict":true'] = "level is missing: 2 expected",
        [',"version":"0.2","level":2,"strict":true'] = 'version: "0.1" expected, got "0.2"',
        [',"version":"0.1","level":3,"strict":true'] = "level: 2 expected, got 3",
        [',"version":"0.1","level":2,"strict":false'] = "strict: true expected, got false",
      } do
        local kind, id, report = receive_with(members)
        assert.same({ "invalid", 5, -32600, message }, { kind, id, report.code, report.message })
      end
      local kind, id, report = receive_with ""
      assert.same({ "invalid", 5, -32600 }, { kind, id, report.code })
      assert.matches("^%w+ is missing: ", report.message)
    end)

    it("writes the header that was set", function()
      a, b = wire.open(with(codec, { framing = "header", header = "content-length: " }))
      a:notify("m")
      a:flush()
      assert.equal('content-length: 30\r\n\r\n{"jsonrpc":"2.0","method":"m"}', b:read())
      a:close()
      b:close()
      local lines = "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: "
      a, b = wire.open(with(codec, { framing = "header", header = lines }))
      for _, size in ipairs { 1, 10, 60, 61, 62, 63, 64, 65, 70, 100, 900, 930, 960, 990, 5, 9000, 1, 9970, 100000 } do
        assert.is_true(a:notify("m", { ("x"):rep(size) }))
        a:flush()
        local text = children.read(b, "]}")
        local length, body = text:match("^" .. lines:gsub("%-", "%%-") .. "(%d+)\r\n\r\n(.*)$")
        assert.equal(#body, math.tointeger(length))
      end
    end)

    it("writes lines in auto framing until it has received a header", function()
      a, b = wire.open(with(codec, { framing = "auto" }))
      a:notify("m")
      a:flush()
      assert.equal('{"jsonrpc":"2.0","method":"m"}\n', b:read())
      assert.equal("auto", a:framing())
      wire.write(b, 'Content-Length: 30\r\n\r\n{"jsonrpc":"2.0","method":"m"}')
      assert.equal("notification", (a:receive()))
      assert.equal("header", a:framing())
      a:notify("m")
      a:flush()
      assert.equal('Content-Length: 30\r\n\r\n{"jsonrpc":"2.0","method":"m"}', b:read())
    end)

    it("counts messages and bytes", function()
      a, b = pair.open(codec)
      a:request(1, "m")
      a:notify("n")
      local _, id = pass(a, b)
      pass(a, b)
      b:reply(id, 1)
      pass(b, a)
      assert.same({ received = 1, sent = 2, noise = 0, noise_bytes = 0, stray = 0, invalid = 0 }, a:stats())
      assert.same({ received = 2, sent = 1, noise = 0, noise_bytes = 0, stray = 0, invalid = 0 }, b:stats())
    end)

    it("refuses to send a value without a JSON form, and sends no part of it", function()
      a, b = pair.open(codec)
      local bad = { list = { 1, print } }
      for _, result in ipairs {
        { a:request("waiter", "m", bad) }, { a:notify("m", bad) }, { a:reply(1, bad) }, { a:fail(1, 1, "m", bad) },
      } do
        assert.is_nil(result[1])
        assert.is_string(result[2])
        assert.equal("invalid", result[3])
      end
      assert.equal(0, a:queued())
      assert.equal(0, a:waiting())
      for _, result in ipairs {
        { a:request("waiter", "\xff") }, { a:notify("\xff") }, { a:reply("\xff") }, { a:fail(1, 1, "\xff") },
      } do
        assert.is_nil(result[1])
        assert.matches("invalid UTF-8", result[2], nil, true)
        assert.equal("invalid", result[3])
      end
      assert.equal(0, a:queued())
      assert.equal(1, a:request("waiter", "m"))
    end)
  end)
end

describe("a stream", function()
  it("reports the path to a value that it cannot send", function()
    local a, b <close> = wire.open()
    local bad = { list = { 1, print } }
    assert.equal("params.list[2]: a function has no JSON form", (select(2, a:notify("m", bad))))
    assert.equal("params.list[2]: a function has no JSON form", (select(2, a:request(1, "m", bad))))
    assert.equal("result.list[2]: a function has no JSON form", (select(2, a:reply(1, bad))))
    assert.equal("data.list[2]: a function has no JSON form", (select(2, a:fail(1, 1, "m", bad))))
    a:close()
    assert.is_false(b:closed())
  end)

  it("fails the calls whose deadline is over, and no others", function()
    local a, b <close> = wire.open()
    for i = 1, 40 do a:request(i, "m", nil, i % 2 == 0 and (42 - i) / 1000 or nil) end
    local late = {}
    while #late < 20 do
      core.loop.step(children.patience)
      local kind, _, waiter = a:receive()
      if kind then
        assert.equal("overdue", kind)
        late[#late + 1] = waiter
      end
    end
    table.sort(late)
    for i = 1, 20 do assert.equal(2 * i, late[i]) end
    assert.is_false(a:receive())
    assert.equal(20, a:waiting())
    a:close()
    assert.is_false(b:closed())
  end)
end)
