local children = require "spec.support.children"
local frames = require "spec.support.frames"
local wire = require "spec.support.wire"

local function play(framing, pieces)
  return wire.play({ framing = framing, limits = frames.limits }, pieces)
end

local function begins(text, beginning)
  return text:sub(1, #beginning) == beginning
end

local function assert_events(expected, events)
  local all_events = table.concat(events, "\n")
  for i, beginning in ipairs(expected) do
    assert.is_true(begins(events[i] or "", beginning), beginning .. " is not in its place in\n" .. all_events)
  end
  assert.equal(#expected + 1, #events, all_events)
end

-- One string, so that thousands of results are compared quickly.
local function scan(framing, pieces)
  return table.concat(play(framing, pieces), "\n")
end

local function in_pieces(bytes)
  local pieces, at = {}, 1
  while at <= #bytes do
    local size = math.random(1, 60)
    pieces[#pieces + 1] = bytes:sub(at, at + size - 1)
    at = at + size
  end
  return pieces
end

for _, framing in ipairs { "header", "line", "auto" } do
  describe(framing .. " framing", function()
    children.leave_nothing()

    for _, frame in ipairs(frames) do
      if frame.framing == framing then
        it(frame.name, function() assert_events(frame.expected, play(framing, { frame.bytes })) end)
      end
    end

    it("finds the same frames wherever the bytes are split", function()
      for _, frame in ipairs(frames) do
        local bytes, whole = frame.bytes, scan(framing, { frame.bytes })
        for at = 1, math.min(#bytes - 1, 700) do
          assert.equal(whole, scan(framing, { bytes:sub(1, at), bytes:sub(at + 1) }), frame.name)
        end
      end
    end)

    it("finds the same frames byte by byte and in pieces of any size", function()
      for _, frame in ipairs(frames) do
        local whole = scan(framing, { frame.bytes })
        assert.equal(whole, scan(framing, wire.split(frame.bytes)), frame.name)
        for _ = 1, 5 do assert.equal(whole, scan(framing, in_pieces(frame.bytes)), frame.name) end
      end
    end)
  end)
end

describe("a header", function()
  local function frame(method)
    local body = ('{"jsonrpc":"2.0","method":"%s"}'):format(method)
    return ("Content-Length: %d\r\n\r\n%s"):format(#body, body)
  end

  -- Long enough for the shortcut that reads the length of a single-line header.
  it("counts a single long line against its limit", function()
    for limit = 18, 26 do
      local options = { framing = "header", limits = { header = limit } }
      local bytes = frame "a" .. frame "b"
      local whole = table.concat(wire.play(options, { bytes }), "\n")
      assert.equal(limit >= 22, whole:find("got a", 1, true) ~= nil, whole)
      assert.equal(limit < 22, whole:find("header is longer than the limit of " .. limit, 1, true) ~= nil, whole)
      assert.equal(whole, table.concat(wire.play(options, wire.split(bytes)), "\n"))
    end
  end)
end)

describe("noise", function()
  it("is counted in pieces and in bytes", function()
    local stream, far <close> = wire.open { framing = "auto", limits = frames.limits }
    wire.write(far, "hello\n" .. ("x"):rep(300) .. "\n" .. '{"jsonrpc":"2.0","method":"m"}\nbye\n')
    assert.is_true(wire.collect(stream, {}))
    local stats = stream:stats()
    assert.same({ 5, 5 + 300 + 3, 1, 0 }, { stats.noise, stats.noise_bytes, stats.received, stats.invalid })
    stream:close()
  end)
end)
