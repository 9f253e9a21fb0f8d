-- Inputs that script/fuzz has found.
local children = require "spec.support.children"
local core = require "pintle.core"
local streams = require "spec.support.stream"

-- Feeds the bytes in pieces of this size and returns everything received, one line per message.
local function received(bytes, size, options)
  local read, feed = core.pipe()
  local out, write = core.pipe()
  local stream <close> = assert(streams.open {
    read = read, write = write, framing = options.framing, limits = options.limits,
  })
  local lines = {}
  local function receive_all()
    for kind, id, what, payload in function() return stream:receive() end do
      if kind == false then return end
      lines[#lines + 1] = ("%s %s %s %s"):format(kind, id, what, payload and (payload.text or payload.message))
    end
  end
  for at = 1, #bytes, size do
    feed:write(bytes:sub(at, at + size - 1))
    receive_all()
  end
  feed:close()
  for _ = 1, 2 do receive_all() end
  out:close()
  return lines
end

describe("a case found by fuzzing:", function()
  it("the framing is detected the same however the bytes are split", function()
    for _, bytes in ipairs {
      (" "):rep(30) .. '{"jsonrpc":"2.0","method":"m"}\n',
      "Note: " .. ("x"):rep(30) .. " Content-Length: 2\r\n\r\n{}",
      ("x"):rep(10) .. "\r\n" .. '{"jsonrpc":"2.0","method":"m"}\n',
    } do
      for limit = 1, 40 do
        local options = { framing = "auto", limits = { header = limit } }
        local whole = received(bytes, #bytes, options)
        for size = 1, 3 do assert.same(whole, received(bytes, size, options)) end
      end
    end
  end)

  -- In a Lua state with little else in it, so that finalizers run often.
  local function in_small_lua(code)
    local text, status = children.run { command = children.lua([[
      local core, streams = require "pintle.core", require "spec.support.stream"
      local when_collected
      local function plant()
        setmetatable({}, { __gc = function()
          plant()
          if when_collected then when_collected() end
        end })
      end
      for _ = 1, 20 do plant() end
      collectgarbage("incremental", 1, 1000, 1)
    ]] .. code .. " print 'done'") }
    assert.equal("done\n", text)
    assert.equal(0, status)
  end

  it("a finalizer may close the stream while a frame is refused", function()
    in_small_lua [[
      for _ = 1, 500 do
        when_collected = nil
        local read, feed = core.pipe()
        local stream = streams.open { read = read, write = 2, framing = "header", limits = { message = 10 } }
        feed:write("Content-Length: 99\r\n\r\n")
        when_collected = function() stream:close() end
        local kind, _, _, report = stream:receive()
        assert(not kind or report.message:find "limit of 10")
        feed:close()
      end
    ]]
  end)

  it("a waiter is returned once if a finalizer drops the call that is being answered", function()
    in_small_lua [[
      for turns = 1, 200 do -- of a finalizer until it gives up
        when_collected = nil
        local read, feed = core.pipe()
        local stream = streams.open { read = read, write = 2, framing = "line" }
        local id = stream:request("waiter", "m")
        feed:write('{"jsonrpc":"2.0","id":1,"result":1,"error":1}\n')
        local given_up
        when_collected = function()
          turns = turns - 1
          if turns == 0 then given_up = stream:abandon(id) end
        end
        local _, _, waiter = stream:receive()
        when_collected = nil
        assert((waiter == nil) == (given_up ~= nil))
        assert(stream:waiting() == 0)
        stream:close()
        feed:close()
      end
    ]]
  end)

  it("a stream ends at once when the other side closes both directions before the answer", function()
    local loop, peers = require "pintle.loop", require "pintle.peer"
    local read, feed = core.pipe()
    local out, write = core.pipe()
    local peer = assert(peers.open { read = read, write = write })
    local gate = loop.event()
    peer:on("m", function() return gate:wait() end)
    feed:write '{"jsonrpc":"2.0","id":1,"method":"m"}\n'
    loop.step(0)
    feed:close()
    out:close()
    gate:set(true)
    for _ = 1, 10 do loop.step(0) end
    assert.truthy(peer.ended)
  end)
end)
