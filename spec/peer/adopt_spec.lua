-- A peer that learns the protocol from the first message.
local children = require "spec.support.children"
local core = require "pintle.core"
local peers = require "pintle.peer"
local turn_until = require "spec.support.turning"

local WAYS = { ids = "string", extra = { version = "0.1" }, header = "content-length: ", cancellation = false,
               codes = { invalid = -7 } }

local function framed(body) return ("content-length: %d\r\n\r\n%s"):format(#body, body) end

describe("a peer that adopts a protocol", function()
  local nothing_left, peer, wire

  before_each(function() nothing_left = children.stock() end)

  after_each(function()
    peer:close()
    wire:close()
    nothing_left()
  end)

  local function open(options)
    local one, other = core.socketpair()
    wire = other
    local given = { read = one, write = one, framing = "auto", others = true }
    for name, value in pairs(options or {}) do given[name] = value end
    peer = assert(peers.open(given))
    peer:on_first(function(self) return self:adopt(WAYS) end)
    peer:on("m", function(params) return params end)
    peer:on("refuse", function() return nil, { kind = "invalid", message = "no" } end)
  end

  local function answer(text)
    wire:write(text)
    local heard
    turn_until(function()
      heard = wire:read()
      return heard
    end)
    return heard
  end

  it("answers the first message in the form of that protocol", function()
    open()
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","id":7,"result":[1]}',
      answer(framed '{"jsonrpc":"2.0","version":"0.1","id":7,"method":"m","params":[1]}'))
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","id":8,"error":{"code":-7,"message":"no"}}',
      answer(framed '{"jsonrpc":"2.0","version":"0.1","id":8,"method":"refuse"}'))
    peer:begin("m")
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","id":"1","method":"m"}', answer "")
  end)

  it("refuses a first message that breaks the protocol's rules, and continues", function()
    open()
    assert.equal(framed('{"version":"0.1","jsonrpc":"2.0","id":7,"error":' ..
      [[{"code":-32600,"message":"Invalid Request: version: \"0.1\" expected, got \"1\""}}]]),
      answer(framed '{"jsonrpc":"2.0","version":"1","id":7,"method":"m"}'))
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","id":8,"result":null}',
      answer(framed '{"jsonrpc":"2.0","version":"0.1","id":8,"method":"m"}'))
  end)

  it("drops a notification that breaks the rules, or answers it if it answers noise", function()
    open()
    local ask = framed '{"jsonrpc":"2.0","version":"0.1","id":8,"method":"m"}'
    assert.equal(framed '{"version":"0.1","jsonrpc":"2.0","id":8,"result":null}',
      answer(framed '{"jsonrpc":"2.0","method":"m"}' .. ask))
    peer:close()
    wire:close()
    open { answer_noise = true }
    assert.equal(framed('{"version":"0.1","jsonrpc":"2.0","id":null,"error":' ..
      [[{"code":-32600,"message":"Invalid Request: version is missing: \"0.1\" expected"}}]]),
      answer(framed '{"jsonrpc":"2.0","method":"m"}'))
  end)
end)
