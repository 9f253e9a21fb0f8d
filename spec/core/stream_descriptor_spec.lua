local core = require "pintle.core"
local streams = require "spec.support.stream"
local children = require "spec.support.children"
local wire = require "spec.support.wire"

local note = '{"jsonrpc":"2.0","method":"m"}\n'

describe("the descriptors of a stream", function()
  local nothing_left, opened

  local function keep(...)
    for _, thing in ipairs { ... } do opened[#opened + 1] = thing end
    return ...
  end

  before_each(function() nothing_left, opened = children.stock(), {} end)

  after_each(function()
    for _, thing in ipairs(opened) do thing:close() end
    opened = nil
    nothing_left()
  end)

  it("are taken over if they are objects", function()
    local near, far = keep(core.socketpair())
    local number = near:fileno()
    local stream = keep(streams.open { read = near, write = near, framing = "line" })
    assert.is_true(near:closed())
    assert.same({ number, number }, { stream:fds() })
    stream:close()
    assert.equal("", far:read())
  end)

  it("are borrowed if they are numbers", function()
    local near, far = keep(core.socketpair())
    local stream = streams.open { read = near:fileno(), write = near:fileno(), framing = "line" }
    stream:notify("m")
    stream:flush()
    stream:close()
    assert.is_false(near:closed())
    assert.equal(2, near:write("ok"))
    assert.equal(note .. "ok", far:read())
  end)

  it("may be one of each", function()
    local near, far = keep(core.socketpair())
    local number = near:fileno()
    local stream = keep(streams.open { read = near, write = number, framing = "line" })
    stream:notify("m")
    assert.is_true(stream:flush())
    stream:close()
    assert.equal(note, far:read())
    assert.equal("", far:read())
    local one, other = keep(core.socketpair())
    stream = streams.open { read = one:fileno(), write = one, framing = "line" }
    stream:close()
    assert.equal("", other:read())
  end)

  it("stay with their owner if the stream cannot be created", function()
    local near = keep(core.socketpair())
    local stream, message, kind, errno = streams.open { read = near, write = 999, framing = "line" }
    assert.is_nil(stream)
    assert.same({ "cannot use the descriptor: Bad file descriptor", "closed", 9 }, { message, kind, errno })
    assert.is_false(near:closed())
    assert.has_error(function() streams.open { read = near, write = near, framing = "letter" } end)
    assert.is_false(near:closed())
  end)

  it("may be blocking, and never block the stream", function()
    local code = [[
      local streams = require "spec.support.stream"
      local stream = streams.open { read = 0, write = 1, framing = "line" }
      io.stderr:write(tostring(stream:receive()), "\n")
      stream:notify("m", { ("x"):rep(1 << 22) })
      io.stderr:write(tostring(stream:flush()), "\n")
      repeat local _, _, method = stream:receive() until method == "go"
      repeat local done = stream:flush() until done
    ]]
    local process <close> = assert(core.spawn {
      command = children.lua(code), stdin = "pipe", stdout = "pipe", stderr = "pipe",
    })
    assert.equal("false\nfalse\n", children.read(process.stderr, "false\nfalse\n"))
    process.stdin:write('{"jsonrpc":"2.0","method":"go"}\n')
    local message = core.json.decode(children.read(process.stdout))
    assert.equal(1 << 22, #message.params[1])
    process:wait(children.patience)
  end)
end)

describe("a stream with wrong options", function()
  local near, far

  before_each(function() near, far = core.socketpair() end)

  after_each(function()
    near:close()
    far:close()
  end)

  local function assert_misuse(expected, options)
    local given = { read = near, write = near, framing = "line" }
    for name, value in pairs(options) do given[name] = value end
    local ok, message = pcall(streams.open, given)
    assert.is_false(ok)
    assert.matches(expected, message, nil, true)
    assert.is_false(near:closed())
  end

  it("names the wrong option", function()
    assert_misuse("'framing'", { framing = "letter" })
    assert_misuse("'framing'", { framing = 1 })
    assert_misuse("'read'", { read = "0" })
    assert_misuse("'read'", { read = 1.5 })
    assert_misuse("'read'", { read = -1 })
    assert_misuse("'write'", { write = io.stdout })
    assert_misuse("'write'", { write = 1 << 40 })
    assert_misuse("'json'", { json = "cjson" })
    assert_misuse("'json'", { json = {} })
    assert_misuse("'json'", { json = { encode = print } })
    assert_misuse("'ids'", { ids = "float" })
    assert_misuse("'ids'", { ids = {} })
    assert_misuse("'extra'", { extra = "version" })
    assert_misuse("'extra'", { extra = { version = {} } })
    assert_misuse("'extra'", { extra = { "0.1" } })
    assert_misuse("'extra'", { extra = { version = 0 / 0 } })
    assert_misuse("'extra'", { extra = { version = "\xff" } })
    assert_misuse("'header'", { header = 5 })
    assert_misuse("'header'", { header = "Length: " })
    assert_misuse("'header'", { header = "Content-Length: 5" })
    assert_misuse("'header'", { header = "X: 1\nContent-Length: " })
    assert_misuse("'header'", { header = "Content-Length: \r\n" })
    assert_misuse("'limits'", { limits = 5 })
    for _, limit in ipairs { "header", "message", "nesting", "queue", "calls", "text" } do
      for _, value in ipairs { 0, -1, 1.5, "many", 1 << 60 } do
        assert_misuse("'" .. limit .. "'", { limits = { [limit] = value } })
      end
    end
  end)

  it("reports a missing or closed descriptor", function()
    assert.error_matches(function() streams.open { write = near, framing = "line" } end, "'read'")
    assert.error_matches(function() streams.open { read = near, framing = "line" } end, "'write'")
    local closed = core.pipe()
    closed:close()
    assert_misuse("'read'", { read = closed })
    assert.has_error(function() streams.open() end)
    assert.has_error(function() streams.open("line") end)
  end)

  it("rejects wrong arguments of its methods", function()
    local stream = streams.open { read = near, write = near, framing = "line" }
    local methods = getmetatable(stream.stream).__index
    assert.is_function(methods.write_soon)
    for name, method in pairs(methods) do
      assert.error_matches(function() method(nil) end, "pintle", nil, nil, name)
      assert.error_matches(function() method(near) end, "pintle", nil, nil, name)
    end
    assert.has_error(function() stream:request("waiter") end)
    assert.has_error(function() stream:request("waiter", {}) end)
    assert.has_error(function() stream.stream:ask(nil, "m") end)
    assert.has_error(function() stream:notify() end)
    assert.has_error(function() stream:reply({}, 1) end)
    assert.has_error(function() stream:reply(1.5, 1) end)
    assert.has_error(function() stream:reply(true, 1) end)
    assert.has_error(function() stream:reply(io.stdout, 1) end)
    assert.has_error(function() stream:fail(1, "code", "message") end)
    assert.has_error(function() stream:fail(1, 1) end)
    assert.has_error(function() stream:fail(1, 1, {}) end)
    assert.has_error(function() stream.stream:complete_call("x") end)
    assert.equal(0, stream:queued())
    stream:close()
  end)
end)

describe("another codec", function()
  local stream, far

  after_each(function()
    stream:close()
    far:close()
  end)

  it("that fails has its error returned", function()
    stream, far = wire.open { json = { encode = function() error("not today", 0) end, decode = function() end } }
    assert.same({ nil, "not today", "invalid" }, { stream:notify("m", {}) })
    wire.write(far, '{"jsonrpc":"2.0","id":1,"method":"m","params":{}}\n')
    local kind, id, _, report = wire.next(stream)
    assert.same({ "invalid", 1, -32700 }, { kind, id, report.code })
    assert.matches("the codec cannot read the payload", report.message)
  end)

  it("that returns no text has its error returned", function()
    stream, far = wire.open { json = { encode = function() return {} end, decode = error } }
    assert.same({ nil, "the codec's encode did not return a string", "invalid" }, { stream:notify("m", {}) })
  end)

  it("cannot break a line", function()
    stream, far = wire.open { json = { encode = function() return "[\n1\r\n]" end, decode = error } }
    stream:notify("m", {})
    stream:flush()
    assert.equal('{"jsonrpc":"2.0","method":"m","params":[ 1  ]}\n', far:read())
  end)

  it("may use the stream itself", function()
    local codec = {}
    stream, far = wire.open { json = codec and {
      encode = function(value) return codec.encode(value) end,
      decode = function(text) return codec.decode(text) end,
    } }
    function codec.encode(value)
      if value.first then stream:notify("first") end
      return "[]"
    end
    function codec.decode()
      assert(stream:receive() == false)
      stream:notify("meanwhile")
      stream:close()
      return "decoded"
    end
    stream:notify("m", { first = true })
    stream:flush()
    assert.equal('{"jsonrpc":"2.0","method":"first"}\n{"jsonrpc":"2.0","method":"m","params":[]}\n', far:read())
    wire.write(far, '{"jsonrpc":"2.0","method":"m","params":[]}\n')
    assert.same({ "notification", nil, "m", "decoded" }, { wire.next(stream) })
    assert.same({ nil, "the stream is closed", "closed" }, { stream:receive() })
  end)
end)
