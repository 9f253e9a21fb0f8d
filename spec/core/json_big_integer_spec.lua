-- Integers of more than 64 bits that keep their digits.
local core = require "pintle.core"
local streams = require "spec.support.stream"
local haunting = require "spec.support.haunting"
local pair = require "spec.support.pair"
local peers = require "pintle.peer"
local tasks = require "pintle.task"
local wire = require "spec.support.wire"

local json = core.json

local function decode(text, nesting) return json.decode(text, nesting, nil, true) end

local BIG = {
  "9223372036854775808", "-9223372036854775809", "12345678901234567890", "-12345678901234567890",
  "100000000000000000000000000000000", "1" .. ("0"):rep(400), "-" .. ("9"):rep(5000),
}

describe("a big integer", function()
  for _, digits in ipairs(BIG) do
    it(("keeps its digits: %.24s"):format(digits), function()
      local value = decode(digits)
      assert.equal(json.bigint_mt, getmetatable(value))
      assert.equal(digits, value[1])
      assert.equal(digits, tostring(value))
      assert.equal(digits, json.encode(value))
    end)
  end

  it("may be anywhere in a text", function()
    local text = '{"a":[1,98765432109876543210,{"b":-98765432109876543210}]}'
    assert.equal(text, json.encode(decode(text)))
    text = "[" .. ("98765432109876543210,"):rep(5000) .. "1]" -- decoded with the collector stopped
    assert.equal(text, json.encode(decode(text)))
    text = ("["):rep(40) .. "98765432109876543210,98765432109876543211" .. ("]"):rep(40)
    assert.equal(text, json.encode(decode(text)))
  end)

  it("becomes the nearest float by default, or is refused", function()
    assert.equal(12345678901234567890.0, json.decode "12345678901234567890")
    assert.matches("number too large", select(2, json.decode(BIG[6])))
  end)

  it("leaves all other numbers as they are", function()
    for _, text in ipairs { "9223372036854775807", "-9223372036854775808", "0", "-1", "123456789012345678" } do
      assert.equal("integer", math.type(decode(text)))
      assert.equal(text, json.encode(decode(text)))
    end
    assert.equal("-0.0", json.encode(decode "-0"))
    for _, text in ipairs { "12345678901234567890.0", "1e30", "12345678901234567890e2", "0.1" } do
      assert.equal("float", math.type(decode(text)))
    end
    for _, text in ipairs { "012345678901234567890", "-", "1e999", "12345678901234567890.", "12345678901234567890e" } do
      assert.is_nil((decode(text)))
      assert.equal(select(2, json.decode(text)), select(2, decode(text)))
    end
  end)

  it("can be created by hand, and must consist of digits", function()
    assert.equal("[123]", json.encode { setmetatable({ "123" }, json.bigint_mt) })
    for _, wrong in ipairs { "", "-", "01", "1}", "1e5", " 1", "1\n" } do
      local value = setmetatable({ wrong }, json.bigint_mt)
      assert.equal(json.encode { wrong }, json.encode(value))
    end
    assert.equal("{}", json.encode(setmetatable({}, json.bigint_mt)))
  end)

  it("counts as one level of nesting", function()
    assert.equal("[[98765432109876543210]]", json.encode(decode "[[98765432109876543210]]", 3))
    assert.equal("98765432109876543210", tostring(decode("[98765432109876543210]", 1)[1]))
  end)

  it("is decoded correctly while finalizers run", function()
    local text = "[" .. ("98765432109876543210,"):rep(300) .. "0]"
    haunting.start(function() assert(json.encode(decode(BIG[3])) == BIG[3]) end)
    haunting.drive(10, function() assert(json.encode(decode(text)) == text) end)
    haunting.stop()
  end)
end)

describe("a stream that keeps big integers", function()
  local TEXT = '[98765432109876543210,{"n":-98765432109876543210}]'

  it("does so from the next message on, until the option is off again", function()
    local a, b = pair.open {}
    local function passed()
      a:notify("m", json.raw(TEXT))
      return json.encode((select(4, pair.pass(a, b))))
    end
    assert.not_equal(TEXT, passed())
    b:set_envelope { big_integers = true }
    assert.equal(TEXT, passed())
    b:set_envelope { big_integers = false }
    assert.not_equal(TEXT, passed())
    a:close()
    b:close()
  end)

  it("does so in batches, up to 308 digits", function()
    local near, far = core.socketpair()
    local stream = assert(streams.open { read = far, write = far, framing = "line" })
    stream:set_envelope { big_integers = true }
    local function receive(digits)
      wire.write(near, ('[{"jsonrpc":"2.0","method":"m","params":[%s]}]\n'):format(digits))
      return wire.next(stream)
    end
    assert.equal(("9"):rep(308), tostring(select(4, receive(("9"):rep(308)))[1]))
    local kind, _, _, report = receive(("9"):rep(309))
    assert.equal("invalid", kind)
    assert.matches("number too large", report.message)
    near:close()
    stream:close()
  end)
end)

describe("a peer that keeps big integers", function()
  it("is opened with the option, or adopts it", function()
    local near, far = core.socketpair()
    local one = assert(peers.open { read = near, write = near })
    local other = assert(peers.open { read = far, write = far, big_integers = true })
    local function echo(params) return params end
    one:on("echo", echo)
    other:on("echo", echo)
    tasks.run(function()
      local sent = { decode "98765432109876543210" }
      assert.equal("float", math.type(one:call("echo", sent)[1]))
      one:adopt { big_integers = true }
      assert.equal("98765432109876543210", tostring(one:call("echo", sent)[1]))
      assert.equal("98765432109876543210", tostring(other:call("echo", sent)[1]))
    end)
    one:close()
    other:close()
  end)
end)
