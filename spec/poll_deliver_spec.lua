-- Streams that are delivered by the poller that finds them ready.
local children = require "spec.support.children"
local core = require "pintle.core"
local wire = require "spec.support.wire"

local function request(id, method) return ('{"jsonrpc":"2.0","id":%d,"method":"%s"}\n'):format(id, method) end
local function result(id, value) return ('{"jsonrpc":"2.0","id":%d,"result":%s}\n'):format(id, value) end

local NOTE = '{"jsonrpc":"2.0","method":"note"}\n'

describe("a poller that delivers", function()
  local nothing_left, poller, ends, handlers

  local function open(token)
    local stream, far = wire.open()
    local number = stream:fds()
    assert(poller:set(number, "r", token, stream))
    ends[#ends + 1] = { stream = stream, far = far, number = number }
    return stream, far
  end

  local function serve(stream)
    local function run() stream:serve({ handlers = handlers, reader = {} }, {}, {}, function() end) end
    assert(core.resume(coroutine.create(run)))
  end

  before_each(function()
    nothing_left = children.stock()
    poller, ends = assert(core.poller()), {}
    handlers = { hello = function() return "hello" end }
  end)

  after_each(function()
    for _, one in ipairs(ends) do
      poller:set(one.number)
      one.stream:close()
      one.far:close()
    end
    poller:close()
    poller, ends, handlers = nil, nil, nil
    nothing_left()
  end)

  it("serves and sends, stream after stream, and tells nothing", function()
    local fars = {}
    for i = 1, 3 do
      local stream, far = open(i)
      serve(stream)
      wire.write(far, request(i, "hello"))
      fars[i] = far
    end
    assert.equal(3, poller:wait(children.patience))
    local token, last = poller:deliver()
    assert.is_nil(token)
    assert.truthy(last == 1 or last == 2 or last == 3)
    assert.same({}, { poller:deliver() })
    for i = 1, 3 do assert.equal(result(i, '"hello"'), fars[i]:read()) end
    assert.equal(0, poller:wait(0))
  end)

  it("sends what the threads ask that have their answers", function()
    local stream, far = open "one"
    local peer, owners = { stream = stream }, {}
    local call = core.caller(owners, error, error, function() stream:flush() end, error)
    stream:plan(peer)
    local got = {}
    local thread = coroutine.create(function()
      for i = 1, 3 do got[i] = call(peer, "m") end
    end)
    owners[thread] = {}
    core.resume(thread)
    call = core.caller(owners, error, error, error, error) -- nobody need mark it
    assert.equal(request(1, "m"), far:read())
    for i = 1, 2 do
      wire.write(far, result(i, i))
      assert.equal(1, poller:wait(children.patience))
      assert.same({ nil, "one" }, { poller:deliver() })
      assert.equal(request(i + 1, "m"), far:read())
    end
    wire.write(far, result(3, 3))
    assert.equal(1, poller:wait(children.patience))
    assert.same({ "one", nil, nil, "resumed", thread, true, nil, false, false }, { poller:deliver() })
    assert.same({ 1, 2, 3 }, got)
  end)

  it("hands over everything else, and what is no stream", function()
    local stream, far = open "a stream"
    serve(stream)
    wire.write(far, request(1, "hello") .. NOTE)
    local read, write = core.pipe()
    assert(poller:set(read, "r", "a pipe"))
    assert(poller:set(write, "w", "its other end"))
    write:write "x"
    assert.equal(3, poller:wait(children.patience))
    local told = {}
    while true do
      local token, readable, writable, kind, _, what = poller:deliver()
      if not token then break end
      told[token] = { tostring(readable), tostring(writable), kind, what }
    end
    assert.same({
      ["a stream"] = { "nil", "nil", "notification", "note" },
      ["a pipe"] = { "true", "false" },
      ["its other end"] = { "false", "true" },
    }, told)
    assert.equal(result(1, '"hello"'), far:read())
    poller:set(read)
    poller:set(write)
    read:close()
    write:close()
  end)

  it("leaves it to Lua if not all can be sent, or nothing may be begun", function()
    local stream, far = open "one"
    serve(stream)
    function handlers.large() return ("x"):rep(1 << 20) end
    wire.write(far, request(1, "large"))
    poller:wait(children.patience)
    assert.same({ "one", nil, nil, false, 1, nil, nil, false, true }, { poller:deliver() })
    assert.truthy(stream:queued() > 0)
    local other, far_of_other = open "other"
    serve(other)
    wire.write(far_of_other, request(1, "hello"))
    function handlers.hello() other:admit(false) end
    poller:wait(children.patience)
    assert.same({ "other", nil, nil, false, 1, nil, nil, false, false }, { poller:deliver() })
  end)

  it("tells whose messages are handed out", function()
    local stream, far = open "mine"
    serve(stream)
    local current
    function handlers.look() current = poller:current() end
    wire.write(far, request(1, "look"))
    poller:wait(children.patience)
    poller:deliver()
    assert.equal("mine", current)
    assert.is_nil(poller:current())
  end)

  it("lets it be waited for in the middle, from when on calls have to be marked", function()
    local stream, far = open "one"
    local peer, owners, marked = { stream = stream }, {}, 0
    local call = core.caller(owners, error, error, function() marked = marked + 1 end, error)
    stream:plan(peer)
    serve(stream)
    local function ask()
      local thread = coroutine.create(function() call(peer, "m") end)
      owners[thread] = {}
      assert(core.resume(thread))
    end
    function handlers.wait()
      ask()
      assert.equal(0, marked)
      poller:wait(0)
      ask()
      return marked
    end
    wire.write(far, request(1, "wait"))
    poller:wait(children.patience)
    poller:deliver()
    assert.equal(1, marked)
    assert.matches('"result":1', far:read(), 1, true)
  end)

  it("takes nothing but a stream for one", function()
    local read, write = core.pipe()
    assert.error_matches(function() poller:set(read, "r", "token", read) end, "stream expected")
    read:close()
    write:close()
  end)
end)
