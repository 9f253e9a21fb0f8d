-- A message over its limit is skipped, and its id is found wherever it is and however the bytes arrive.
local core = require "pintle.core"
local random = require "spec.support.random_messages"
local wire = require "spec.support.wire"

local LIMIT, CALLS = 64, 9
local payload = '{"id":3,"method":"x","result":["]","\\"id\\":4,\\\\",{"id":5}],"fill":"' .. ("y"):rep(LIMIT) .. '"}'

local function framed(framing, text)
  if framing == "line" then return text .. "\n" end
  return ("Content-Length: %d\r\n\r\n%s"):format(#text, text)
end

local function mark(framing) return framed(framing, '{"jsonrpc":"2.0","method":"mark"}') end

-- A refused message as one line: its id, the call that it fails, and whether it is a response.
local function describe_refused(id, waiter, report)
  if id == core.json.null then id = "null" end
  return ("%s %s %s"):format(id == nil and "-" or tostring(id), waiter or "-", report.is_answer and "answer" or "other")
end

local function collect(stream, events)
  while true do
    local kind, id, what, report = stream:receive()
    if kind == false then return true end
    if kind == nil then return false end
    if kind == "invalid" then
      assert.equal(-32600, report.code)
      assert.matches("longer than the limit of 64", report.message)
      events[#events + 1] = describe_refused(id, what, report)
    else
      events[#events + 1] = kind .. " " .. tostring(what)
    end
  end
end

-- The events of these pieces while the calls 1 to 9 are pending.
local function play(framing, pieces)
  local stream, far <close> = wire.open { framing = framing, limits = { message = LIMIT } }
  for i = 1, CALLS do stream:request("call " .. i, "m") end
  far:read() -- a socket that is closed with unread input resets the other
  local events = {}
  for _, piece in ipairs(pieces) do
    wire.write(far, piece)
    collect(stream, events)
  end
  far:close()
  while collect(stream, events) do end
  stream:close()
  return table.concat(events, ", ")
end

-- The same events wherever the input is split.
local function assert_told(expected, framing, text)
  local bytes = framed(framing, text) .. mark(framing)
  assert.equal(expected .. ", notification mark", play(framing, { bytes }), text)
  assert.equal(expected .. ", notification mark", play(framing, wire.split(bytes)), text)
  for at = 1, #bytes - 1 do
    assert.equal(expected .. ", notification mark", play(framing, { bytes:sub(1, at), bytes:sub(at + 1) }), text)
  end
end

local long = ('"%s"'):format(("z"):rep(LIMIT))

local REPORTS = {
  { "an answer whose id is in front", '{"jsonrpc":"2.0","id":7,"result":' .. payload .. "}", "7 call 7 answer" },
  { "an answer whose id is behind", '{"jsonrpc":"2.0","result":' .. payload .. ',"id":7}', "7 call 7 answer" },
  { "an error", '{"error":' .. payload .. ' , "id" : 7 }', "7 call 7 answer" },
  { "an answer whose names are escaped", '{"r\\u0065sult":' .. payload .. ',"\\u0069\\u0064":7}', "7 call 7 answer" },
  { "an answer to no call", '{"result":' .. payload .. ',"id":70}', "70 - answer" },
  { "an answer with an id that is a string", '{"result":' .. payload .. ',"id":"7"}', "7 - answer" },
  { "an answer with an id that is null", '{"id":null,"result":' .. payload .. "}", "null - answer" },
  { "an answer without an id", '{"jsonrpc":"2.0","result":' .. payload .. "}", "- - answer" },
  { "an answer whose id is no id", '{"id":{"id":7},"result":' .. payload .. "}", "- - answer" },
  { "an answer whose id is a boolean", '{"id":true,"result":' .. payload .. "}", "- - answer" },
  { "an answer with two ids in front, the last of which counts", '{"id":6,"id":7,"result":' .. payload .. "}",
    "7 call 7 answer" },
  { "an answer with two ids behind, the first of which decides", '{"result":' .. payload .. ',"id":6,"id":7}',
    "6 call 6 answer" },
  { "a null result", '{"id":7,"result":null,"fill":' .. long .. "}", "7 call 7 answer" },
  { "a null error beside a result", '{"id":7,"error":null,"result":' .. long .. "}", "7 call 7 answer" },
  { "a null result beside a method", '{"id":7,"result":null,"error":null,"x":' .. long .. ',"method":"m"}',
    "7 - other" },
  { "neither a method nor a result", '{"id":7,"fill":' .. long .. "}", "7 call 7 other" },
  { "a request", '{"id":7,"method":"m","params":' .. payload .. "}", "7 - other" },
  { "a request whose id is behind", '{"method":"m","params":' .. payload .. ',"id":"seven"}', "seven - other" },
  { "a request with a long id", ('{"id":"%s","method":"m"}'):format(("i"):rep(126)), ("i"):rep(126) .. " - other" },
  { "a request with too long an id", ('{"id":"%s","method":"m"}'):format(("i"):rep(127)), "- - other" },
  { "a notification", '{"method":"m","params":' .. payload .. "}", "- - other" },
  { "a deep result", '{"result":' .. ('{"id":['):rep(60) .. "1" .. ("]}"):rep(60) .. ',"id":7}', "7 call 7 answer" },
  { "a missing colon", '{"fill":' .. long .. ',"result":1,"id" 7}', "- - answer" },
  { "an object that does not end", '{"fill":' .. long .. ',"id":7', "- - other" },
  { "an answer that does not end", '{"fill":' .. long .. ',"id":7,"result":[1', "7 call 7 answer" },
  { "text that is no JSON", ("oops"):rep(LIMIT), "- - other" },
  { "a string", long, "- - other" },
  { "a batch of answers", ('[{"id":7,"result":%s} , {"error":{"id":5},"id":6},{"result":1,"id":70}]'):format(payload),
    "7 call 7 answer, 6 call 6 answer, 70 - answer" },
  { "a batch of requests", ('[{"id":7,"method":%s},{"id":8,"method":"m"}]'):format(long), "- - other" },
  { "a batch of both",
    ('[{"id":"a","method":%s},{"id":7,"result":1},{"method":"m"},{"id":8,"result":[]}]'):format(long),
    "- - other, 7 call 7 answer, 8 call 8 answer" },
  { "a batch of other values", "[1," .. long .. ',[{"id":7,"result":1}],{"id":8,"result":1}]',
    "- - other, 8 call 8 answer" },
  { "an empty batch", "[" .. (" "):rep(LIMIT) .. "]", "- - other" },
  { "a batch that does not end", '[{"id":7,"result":' .. payload, "7 call 7 answer" },
  { "white space", (" "):rep(LIMIT + 1) .. "x", "- - other" },
}

for _, framing in ipairs { "header", "line" } do
  describe("a message over its limit in " .. framing .. " framing", function()
    for _, case in ipairs(REPORTS) do
      it("is reported as " .. case[1], function() assert_told(case[3], framing, case[2]) end)
    end

    it("fails its call before the rest has arrived", function()
      local stream, far <close> = wire.open { framing = framing, limits = { message = LIMIT } }
      stream:request("first", "m")
      stream:request("second", "m")
      local text = '{"jsonrpc":"2.0","id":2,"result":"' .. ("z"):rep(LIMIT * 100) .. '"}'
      wire.write(far, framed(framing, text):sub(1, LIMIT * 2))
      local kind, id, waiter = wire.next(stream)
      assert.same({ "invalid", 2, "second" }, { kind, id, waiter })
      wire.write(far, framed(framing, text):sub(LIMIT * 2 + 1))
      wire.write(far, framed(framing, '{"jsonrpc":"2.0","id":1,"result":5}'))
      assert.same({ "result", 1, "first", 5 }, { wire.next(stream) })
      assert.equal(1, stream:stats().invalid)
      stream:close()
    end)

    it("is reported when the input ends", function()
      local cut = framed(framing, '{"fill":' .. long .. ',"id":7,"method"'):sub(1, -2)
      assert.equal("- - other", play(framing, { cut }))
      cut = framed(framing, '{"id":7,"result":' .. payload .. "}"):sub(1, -9)
      assert.equal("7 call 7 answer", play(framing, { cut }))
    end)

    it("is recognised by its own members alone, in any order and at any split", function()
      for _ = 1, 150 do
        local text, expected = random.message(LIMIT, CALLS)
        local bytes = framed(framing, text) .. mark(framing)
        local pieces, at = {}, 1
        while at <= #bytes do
          local size = math.random(1, 40)
          pieces[#pieces + 1] = bytes:sub(at, at + size - 1)
          at = at + size
        end
        expected = expected .. ", notification mark"
        assert.equal(expected, play(framing, { bytes }), text)
        assert.equal(expected, play(framing, pieces), text)
        assert.equal(expected, play(framing, wire.split(bytes)), text)
      end
    end)
  end)
end

describe("the report on a message over its limit", function()
  local function report(framing, text)
    local stream, far <close> = wire.open { framing = framing, limits = { message = LIMIT } }
    wire.write(far, framed(framing, text))
    local _, _, _, received = wire.next(stream)
    stream:close()
    return received
  end

  it("has the limit, the size if the frame has it, and the beginning of the text", function()
    local text = '{"id":7,"result":' .. payload .. "}"
    assert.same({ code = -32600, is_answer = true, bytes = #text, text = '{"id":7,"result":{',
      message = ("message is longer than the limit of 64 (it has %d bytes)"):format(#text) }, report("header", text))
    assert.same({ code = -32600, is_answer = true, bytes = LIMIT, text = text:sub(1, LIMIT),
      message = "line is longer than the limit of 64" }, report("line", text))
  end)
end)

describe("a first message over its limit", function()
  it("still determines the framing", function()
    for _, framing in ipairs { "header", "line" } do
      local bytes = framed(framing, '{"id":7,"result":' .. payload .. "}") .. mark(framing)
      assert.equal("7 call 7 answer, notification mark", play("auto", { bytes }))
      assert.equal("7 call 7 answer, notification mark", play("auto", wire.split(bytes)))
    end
  end)

  it("may come after noise", function()
    assert.equal("noise nil, 7 call 7 answer, notification mark",
      play("auto", { "starting up\n" .. framed("line", '{"id":7,"result":' .. payload .. "}") .. mark "line" }))
  end)
end)
