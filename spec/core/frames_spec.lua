local core = require "pintle.core"
local fixtures = require "spec.support.frames"

local function pieces_of(bytes, size)
  local pieces = {}
  for at = 1, #bytes, size do pieces[#pieces + 1] = bytes:sub(at, at + size - 1) end
  return pieces
end

-- All events of these bytes, as lines.
local function scan(framing, bytes, size, ...)
  local frames = core.frames(framing, ...)
  local found = {}
  local function collect()
    for kind, text, what in frames.next, frames do
      found[#found + 1] = ("%s %q%s"):format(kind, text, what and " " .. what or "")
    end
  end
  for _, piece in ipairs(pieces_of(bytes, size)) do
    frames:feed(piece)
    collect()
  end
  frames:finish()
  collect()
  return found, frames:framing()
end

describe("core.frames", function()
  it("finds messages with headers, and the noise around them", function()
    local bytes = "starting\r\nContent-Length: 2\r\n\r\n{}oops\ncontent-length: 4\n\n[1]\n\n"
      .. "Content-Length: x\r\n\r\nbye"
    assert.same({
      { 'noise "starting"', 'message "{}"', 'noise "oops"', 'message "[1]\\\n"',
        'bad "Content-Length: x\\13\\\n\\13\\\n" Content-Length is not a plain decimal number, header line 1',
        'noise "bye"' },
      "header",
    }, { scan("auto", bytes, 1000) })
  end)

  it("finds lines with any content", function()
    assert.same({ { 'message "{}"', 'message "no JSON"', 'message "[]"' }, "line" },
      { scan("line", "{}\n\n  \r\nno JSON\r\n[]", 1000) })
  end)

  it("reports frames that are too long", function()
    assert.same({ 'bad "1234" line is longer than the limit of 4', 'message "1234"' },
      (scan("line", "12345\n1234\n", 1000, 4)))
    assert.same({ 'noise "' .. ("x"):rep(8) .. '"', 'noise "xx"' }, (scan("header", ("x"):rep(10), 1000, 4, 8)))
  end)

  it("reports how the input ended", function()
    assert.same({ 'bad "Content-Length: 3\\13\\\n\\13\\\n{}" input ends inside a message, bytes missing: 1' },
      (scan("header", "Content-Length: 3\r\n\r\n{}", 1000)))
  end)

  it("finds the same frames wherever the bytes are split", function()
    for _, fixture in ipairs(fixtures) do
      local limits = fixtures.limits
      local whole = scan(fixture.framing, fixture.bytes, 1e6, limits.message, limits.header)
      for size = 1, 7 do
        assert.same(whole, (scan(fixture.framing, fixture.bytes, size, limits.message, limits.header)), fixture.name)
      end
    end
  end)

  it("takes a message of any size within its limit", function()
    local body = ('"' .. ("x"):rep(5 << 20)) .. '"'
    local frames = core.frames "header"
    frames:feed(("Content-Length: %d\r\n\r\n"):format(#body))
    for _, piece in ipairs(pieces_of(body, 65536)) do
      assert.is_nil(frames:next())
      frames:feed(piece)
    end
    local kind, text = frames:next()
    assert.equal("message", kind)
    assert.is_true(text == body)
    assert.is_nil(frames:next())
  end)

  it("survives being used by a finalizer while it works", function()
    local frames = core.frames "line"
    local seen = {}
    local function tempt()
      setmetatable({}, { __gc = function()
        seen[#seen + 1] = select(2, frames:next())
        frames:feed "again\n"
        if #seen < 3000 then tempt() end
      end })
    end
    tempt()
    for i = 1, 3000 do
      frames:feed(("message %d with some text behind it that is long enough to be copied\n"):format(i))
      seen[#seen + 1] = select(2, frames:next())
    end
    local whole = "^message %d+ with some text behind it that is long enough to be copied$"
    for _, text in ipairs(seen) do assert.truthy(text == "again" or text:find(whole)) end
    seen = setmetatable({}, { __len = function() return math.huge end })
    collectgarbage()
  end)

  it("rejects wrong arguments", function()
    assert.has_error(function() core.frames "none" end)
    assert.has_error(function() core.frames("line", 0) end, "bad argument #2 to 'frames' (a number of bytes expected)")
    assert.has_error(function() core.frames "line":feed() end)
    assert.has_error(function()
      local frames = core.frames "line"
      frames:finish()
      frames:feed "x"
    end, "the input has ended already")
  end)
end)
