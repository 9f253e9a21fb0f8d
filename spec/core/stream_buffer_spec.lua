local core = require "pintle.core"
local pair = require "spec.support.pair"

-- Messages of these sizes, sent at once and received one by one, arrive complete and in order.
local function assert_passes(sizes)
  local a, b = pair.pipes { framing = "header" }
  for i, size in ipairs(sizes) do assert(a:notify("m", { i, ("x"):rep(size) })) end
  for i, size in ipairs(sizes) do
    local kind, _, _, params = pair.pass(a, b)
    assert.equal("notification", kind)
    assert.equal(i, params[1])
    assert.equal(size, #params[2])
  end
  assert.is_false((b:receive()))
  a:close()
  b:close()
end

describe("the buffers of a stream", function()
  it("carry a large message behind small ones", function()
    assert_passes { 10, 10, 300000, 10 }
    assert_passes { 50000, 300000, 50000, 10 }
  end)

  it("carry more small messages than they hold", function()
    local sizes = {}
    for i = 1, 3000 do sizes[i] = i % 97 end
    assert_passes(sizes)
  end)

  it("carry messages around the size of a pipe", function()
    local sizes = {}
    for i = 1, 40 do sizes[i] = 65536 - 20 + i end
    assert_passes(sizes)
  end)

  it("carry small messages for long after a large one", function()
    local sizes = { 3000000, 9000000 }
    for i = 3, 60 do sizes[i] = i end
    assert_passes(sizes)
  end)

  it("accept messages while others are being sent", function()
    local a, b = pair.pipes { framing = "line" }
    local sent, taken = 0, 0
    while taken < 20000 do
      for _ = 1, 700 do
        sent = sent + 1
        assert(a:notify("m", { sent }))
      end
      assert(a:flush() ~= nil)
      for _ = 1, 650 do
        local kind, _, _, params = b:receive()
        if not kind then break end
        taken = taken + 1
        assert(params[1] == taken)
      end
    end
    a:close()
    b:close()
  end)
end)

describe("json.encode", function()
  it("is right after a text much larger than the others", function()
    local large = { ("y"):rep(6000000) }
    for _ = 1, 3 do
      assert.equal('["z"]', core.json.encode { "z" })
      assert.equal(6000004, #core.json.encode(large))
    end
    for _ = 1, 40 do assert.equal('["z"]', core.json.encode { "z" }) end
  end)
end)
