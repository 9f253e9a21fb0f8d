-- Waiting for a stream and handing out what comes, for as long as Lua has nothing else to do.
local children = require "spec.support.children"
local core = require "pintle.core"
local wire = require "spec.support.wire"

local function request(id, method)
  return ('{"jsonrpc":"2.0","id":%s,"method":"%s","params":[1]}\n'):format(id, method)
end

local function result(id, value) return ('{"jsonrpc":"2.0","id":%d,"result":%s}\n'):format(id, value) end

local NOTE = '{"jsonrpc":"2.0","method":"note"}\n'

describe("a stream that is attended to", function()
  local nothing_left, stream, far, handlers

  before_each(function()
    nothing_left = children.stock()
    stream, far = wire.open()
    handlers = { echo = function(params) return params end }
    local function serve() stream:serve({ handlers = handlers, reader = {} }, {}, {}, function() end) end
    assert(core.resume(coroutine.create(serve)))
  end)

  after_each(function()
    stream:close()
    far:close()
    stream, far, handlers = nil, nil, nil
    nothing_left()
  end)

  it("serves and sends, until there is something for others", function()
    local replies = {}
    function handlers.again(params)
      replies[#replies + 1] = far:read() or "none"
      wire.write(far, #replies < 5 and request(#replies, "again") or NOTE)
      return params
    end
    wire.write(far, request(0, "again"))
    assert.same({ "notification", nil, "note", nil, false, false, false }, { stream:attend(children.patience) })
    assert.same({ "none", result(0, "[1]"), result(1, "[1]"), result(2, "[1]"), result(3, "[1]") }, replies)
    assert.equal(result(4, "[1]"), far:read())
  end)

  it("says what is left to be sent", function()
    wire.write(far, request(1, "echo") .. NOTE)
    assert.same({ "notification", nil, "note", nil, false, true, false }, { stream:attend() })
    assert.is_false(far:read())
    stream:flush()
    assert.equal(result(1, "[1]"), far:read())
  end)

  it("can be disturbed by what it has called", function()
    function handlers.disturb()
      stream:disturb()
      wire.write(far, NOTE)
    end
    wire.write(far, request(1, "disturb"))
    assert.same({ false, 1, nil, nil, false, true, false }, { stream:attend(children.patience) })
    assert.equal("notification", (stream:attend(children.patience)))
  end)

  it("comes back when the time is over, and looks once if there is none", function()
    assert.same({ false, nil, nil, nil, nil, false, false }, { stream:attend(0.001) })
    function handlers.again() wire.write(far, NOTE) end
    wire.write(far, request(1, "again"))
    assert.same({ false, 1, nil, nil, false, true, false }, { stream:attend(0) })
  end)

  it("comes back now and then if there is a time", function()
    local times = 0
    function handlers.again()
      times = times + 1
      wire.write(far, request(times, "again"))
    end
    wire.write(far, request(0, "again"))
    assert.same({ false, 1, nil, nil, false, true, false }, { stream:attend(children.patience) })
    assert.equal(16, times)
  end)

  it("comes back for what a poller has", function()
    local poller <close> = assert(core.poller())
    local read, write = core.pipe()
    assert(poller:set(read, "r", "token"))
    function handlers.write() write:write "x" end
    wire.write(far, request(1, "echo") .. request(2, "write"))
    assert.same({ false, nil, nil, nil, nil, false, true }, { stream:attend(children.patience, poller) })
    assert.equal(result(1, "[1]") .. result(2, "null"), far:read())
    wire.write(far, request(3, "echo"))
    assert.same({ false, 1, nil, nil, false, true, true }, { stream:attend(children.patience, poller) })
    poller:set(read)
    read:close()
    write:close()
  end)

  it("leaves it to Lua if nobody takes the answers", function()
    local large = ("x"):rep(1 << 20)
    function handlers.large() return large end
    wire.write(far, request(1, "large") .. request(2, "large"))
    assert.same({ false, nil, nil, nil, nil, true, false }, { stream:attend(children.patience) })
    assert.truthy(stream:queued() > 0)
  end)

  it("is at its end", function()
    far:close()
    local kind, _, why = stream:attend(children.patience)
    assert.same({ nil, "closed" }, { kind, why })
    stream:close()
    kind, _, why = stream:attend(children.patience)
    assert.same({ nil, "closed" }, { kind, why })
  end)
end)
