local core = require "pintle.core"
local streams = require "spec.support.stream"
local children = require "spec.support.children"

-- Until the descriptor is readable ("r") or writable ("w").
local function await(fd, events)
  assert.truthy(core.poll(children.patience, fd, events))
end

local function accept(listener)
  await(listener, "r")
  return assert(core.accept(listener))
end

local function connect(place)
  local fd, pending = assert(core.connect(place))
  if pending then
    await(fd, "w")
    assert.is_true(core.connected(fd))
  end
  return fd
end

local function line_stream(socket)
  return assert(streams.open { read = socket, write = socket, framing = "line" })
end

-- The next message, or the end.
local function receive(stream)
  while true do
    local results = table.pack(stream:receive())
    if results[1] ~= false then return table.unpack(results, 1, results.n) end
    await((stream:fds()), "r")
  end
end

local function flags(fd)
  local file <close> = assert(io.open("/proc/self/fdinfo/" .. fd:fileno()))
  return tonumber(file:read("a"):match "flags:%s*(%d+)", 8)
end

-- Whether the system can resolve a name without the network.
local function has_localhost()
  local file <close> = io.open "/etc/hosts"
  return file ~= nil and file:read("a"):find("localhost", 1, true) ~= nil
end

-- The behaviour of every kind of socket.
local function behaves_as_a_socket(listen)
  local nothing_left, listener, place

  before_each(function()
    nothing_left = children.stock()
    listener, place = listen()
  end)

  after_each(function()
    listener:close()
    if place.path then os.remove(place.path) end
    nothing_left()
  end)

  it("returns false if nobody has connected yet", function()
    assert.is_false(core.accept(listener))
    local far <close> = connect(place)
    local near <close> = accept(listener)
    assert.is_false(core.accept(listener))
    assert.is_false(near:read())
    assert.is_false(far:read())
  end)

  it("transfers in both directions, and can end one of them", function()
    local client <close> = line_stream(connect(place))
    local server <close> = line_stream(accept(listener))
    assert(client:request("waiter", "add", { 1, 2 }))
    assert(client:flush())
    client:close_output()
    local kind, id, method, params = receive(server)
    assert.same({ "request", "add", { 1, 2 } }, { kind, method, params })
    assert.is_nil((receive(server)))
    assert(server:reply(id, 3))
    assert(server:flush())
    assert.same({ "result", 1, "waiter", 3 }, { receive(client) })
  end)

  it("does not block, and is not inherited by children", function()
    local far <close> = connect(place)
    local near <close> = accept(listener)
    for _, fd in ipairs { listener, far, near } do
      assert.equal(tonumber("2004000", 8), flags(fd) & tonumber("2004000", 8))
    end
  end)

  it("can be given as a number or an object", function()
    local far <close> = connect(place)
    local near <close> = assert(core.accept(listener:fileno()))
    assert.is_true(core.connected(far:fileno()))
    assert.is_true(core.connected(near))
    assert.same(core.address(listener), core.address(listener:fileno()))
  end)

  it("refuses a second listener", function()
    local second, message, kind = core.listen(place)
    assert.same({ n = 2, nil, "full" }, table.pack(second, kind))
    assert.matches("Address already in use", message)
    connect(place):close() -- the first one still listens
    accept(listener):close()
  end)

  it("fails to connect without a listener", function()
    listener:close()
    local fd, message, kind, errno = core.connect(place)
    assert.is_nil(fd)
    assert.matches("^cannot connect to .*: Connection refused$", message)
    assert.equal("closed", kind)
    assert.equal("integer", math.type(errno))
  end)
end

describe("a TCP socket", function()
  local function listen()
    local listener = assert(core.listen { host = "127.0.0.1", port = 0 })
    return listener, core.address(listener)
  end

  behaves_as_a_socket(listen)

  it("has the port that the system chose", function()
    local listener <close> = assert(core.listen {})
    local address = core.address(listener)
    assert.equal("127.0.0.1", address.host)
    assert.equal("integer", math.type(address.port))
    assert.truthy(address.port > 0)
  end)

  it("accepts the name of a host", function()
    if not has_localhost() then return pending "/etc/hosts has no localhost" end
    local listener <close> = assert(core.listen { host = "localhost" })
    local far <close> = connect { host = "localhost", port = core.address(listener).port }
    accept(listener):close()
    assert.equal(core.address(listener).host, core.address(far).host)
  end)

  it("can be bound again at once", function()
    local listener, place = listen()
    local far = connect(place)
    accept(listener):close() -- the side that closes first keeps the port for a while
    far:close()
    listener:close()
    local again <close> = assert(core.listen(place))
    assert.same(place, core.address(again))
  end)

  it("fails for an unknown host", function()
    for _, open in ipairs { core.connect, core.listen } do
      local fd, message, kind = open { host = ("x"):rep(300), port = 1 }
      assert.same({ n = 2, nil, "invalid" }, table.pack(fd, kind))
      assert.matches('^cannot find the host "x+": .', message)
    end
  end)

  it("fails for an address of another machine", function()
    local fd, message, kind = core.listen { host = "192.0.2.1", port = 1 }
    assert.same({ n = 2, nil, "invalid" }, table.pack(fd, kind))
    assert.matches("^cannot listen on 192.0.2.1 port 1: .", message)
  end)

  -- A listener with a full queue, and one more connection.
  local function crowded()
    local listener = assert(core.listen { backlog = 1 })
    local place, crowd = core.address(listener), {}
    for i = 1, 10 do
      local fd, is_pending = assert(core.connect(place))
      if is_pending then return listener, fd, crowd end
      crowd[i] = fd
    end
    return listener, nil, crowd
  end

  local function close_all(listener, fd, crowd)
    listener:close()
    if fd then fd:close() end
    for _, other in ipairs(crowd) do other:close() end
  end

  it("may connect later", function()
    local listener, fd, crowd = crowded()
    if fd then
      assert.is_false(core.connected(fd))
      for _ in ipairs(crowd) do accept(listener):close() end
      await(fd, "w") -- the system tries again after a second
      assert.is_true(core.connected(fd))
    end
    close_all(listener, fd, crowd)
    if not fd then pending "a listener of this system is never full" end
  end)

  it("may fail later", function()
    local listener, fd, crowd = crowded()
    local ok, message, kind
    if fd then
      listener:close()
      await(fd, "w")
      ok, message, kind = core.connected(fd)
    end
    close_all(listener, fd, crowd)
    if not fd then return pending "a listener of this system is never full" end
    assert.same({ n = 3, nil, "cannot connect: Connection refused", "closed" }, table.pack(ok, message, kind))
  end)
end)

describe("a Unix socket", function()
  local paths

  local function new_path()
    local path = os.tmpname()
    os.remove(path)
    paths[#paths + 1] = path
    return path
  end

  before_each(function() paths = {} end)
  after_each(function()
    for _, path in ipairs(paths) do os.remove(path) end
  end)

  behaves_as_a_socket(function()
    local path = os.tmpname()
    os.remove(path)
    return assert(core.listen { path = path }), { path = path }
  end)

  local function mode_of(path)
    return (children.run { command = { "stat", "-c", "%F %a", path } })
  end

  it("is a file with the given mode", function()
    local path = new_path()
    local listener <close> = assert(core.listen { path = path, mode = tonumber("600", 8) })
    assert.equal("socket 600\n", mode_of(path))
    assert.same({ path = path }, core.address(listener))
    listener:close()
    assert.equal("socket 600\n", mode_of(path))
  end)

  it("has no address without a name", function()
    local one <close>, two = core.socketpair()
    assert.same({ path = "" }, core.address(one))
    two:close()
  end)

  it("replaces one without a listener", function()
    local path = new_path()
    assert(core.listen { path = path }):close()
    local listener <close> = assert(core.listen { path = path })
    connect { path = path }:close()
    accept(listener):close()
  end)

  it("does not replace a file that is not a socket", function()
    local path = new_path()
    local file = assert(io.open(path, "w"))
    file:write "precious"
    file:close()
    local fd, message, kind = core.listen { path = path }
    assert.same({ n = 2, nil, "invalid" }, table.pack(fd, kind))
    assert.equal(('cannot listen on "%s": File exists'):format(path), message)
    local back <close> = assert(io.open(path))
    assert.equal("precious", back:read "a")
  end)

  it("fails for a path that is too long for the system", function()
    for _, open in ipairs { core.listen, core.connect } do
      local fd, message = open { path = "/tmp/" .. ("x"):rep(200) }
      assert.is_nil(fd)
      assert.matches("File name too long$", message)
    end
  end)

  it("fails for a path that does not exist", function()
    local fd, message, kind = core.connect { path = "/nowhere/at/all" }
    assert.same({ n = 3, nil, 'cannot connect to "/nowhere/at/all": No such file or directory', "closed" },
      table.pack(fd, message, kind))
    assert.is_nil((core.listen { path = "/nowhere/at/all" }))
  end)
end)

describe("sockets", function()
  it("check their options", function()
    for message, options in pairs {
      ["a path, or a host and port expected"] = { host = "127.0.0.1" },
      ["path excludes host and port"] = { path = "x", port = 1 },
      ["option 'port': integer from 1 to 65535 expected"] = { host = "127.0.0.1", port = 0 },
      ["option 'path': string expected, got number"] = { path = 1 },
      ["option 'path': a zero byte in the string"] = { path = "a\0b" },
    } do
      assert.has_error(function() core.connect(options) end, message)
    end
    for message, options in pairs {
      ["option 'port': integer from 0 to 65535 expected"] = { port = 65536 },
      ["option 'mode': integer from 0 to 511 expected"] = { path = "x", mode = 512 },
      ["option 'backlog': integer from 1 to 65535 expected"] = { backlog = 0 },
    } do
      assert.has_error(function() core.listen(options) end, message)
    end
    for _, f in ipairs { core.connect, core.listen, core.accept, core.address, core.connected } do
      assert.has_error(function() f() end)
      assert.has_error(function() f("x") end)
    end
  end)

  it("differ from other descriptors", function()
    local read <close>, write = core.pipe()
    for _, f in ipairs { core.accept, core.address, core.connected } do
      local result, message = f(read)
      assert.is_nil(result)
      assert.matches("on non%-socket$", message)
    end
    write:close()
    assert.has_error(function() core.accept(write) end)
  end)
end)
