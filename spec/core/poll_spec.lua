local children = require "spec.support.children"
local core = require "pintle.core"

local loop = core.loop
local opened

local function keep(one, other)
  opened[#opened + 1] = assert(one, other)
  opened[#opened + 1] = other
  return one, other
end

local function pipe() return keep(core.pipe()) end
local function socketpair() return keep(core.socketpair()) end

-- A pipe with a byte in it.
local function full_pipe()
  local r, w = pipe()
  assert.equal(1, w:write("x"))
  return r, w
end

local function fill(w)
  repeat until not w:write(("x"):rep(65536))
end

local function close_all()
  for _, fd in ipairs(opened) do fd:close() end
end

-- The results of the function, and how long it took.
local function timed(f, ...)
  local start = core.now()
  local result = f(...)
  return result, core.now() - start
end

describe("core.poll", function()
  before_each(function() opened = {} end)
  after_each(close_all)

  it("returns which descriptors are ready, and for what", function()
    local r, w = full_pipe()
    local empty = pipe()
    local one, other = socketpair()
    assert.same({ "r", "w", false, "w" }, { core.poll(10, r, "r", w, "w", empty, "r", one, "rw") })
    other:write "x"
    assert.same({ "rw", "r" }, { core.poll(10, one, "rw", one:fileno(), "r") })
  end)

  it("returns it again while the descriptor stays ready", function()
    local r, w = full_pipe()
    for _ = 1, 3 do assert.equal("r", core.poll(0, r, "r")) end
    r:read()
    assert.is_false(core.poll(0, r, "r"))
    fill(w)
    assert.is_false(core.poll(0, w, "w"))
    repeat until r:read() == false
    assert.equal("w", core.poll(0, w, "w"))
  end)

  it("reports a hangup as readable, and as writable if that was asked", function()
    local r, w = pipe()
    w:close()
    assert.equal("r", core.poll(0, r, "r"))
    r, w = pipe()
    fill(w)
    r:close()
    assert.equal("rw", core.poll(0, w, "w"))
    local one, other = socketpair()
    other:close()
    assert.equal("r", core.poll(0, one, "r"))
  end)

  it("reports a regular file as always ready", function()
    local number = pipe():fileno() -- the lowest free number is the next to be used
    close_all()
    local file = assert(io.open("spec/core/poll_spec.lua"))
    assert.same({ "r", "rw" }, { core.poll(10, number, "r", number, "rw") })
    file:close()
  end)

  it("waits at least for its timeout, and not at all for 0", function()
    local empty = pipe()
    for _, seconds in ipairs { 0.0003, 0.0101, 0.05 } do
      local ready, took = timed(core.poll, seconds, empty, "r")
      assert.is_false(ready)
      assert.is_true(took >= seconds)
      assert.is_true(select(2, timed(core.poll, seconds)) >= seconds)
    end
    local shortest = math.huge -- the system may delay one of them
    for _ = 1, 20 do shortest = math.min(shortest, (select(2, timed(core.poll, 0, empty, "r")))) end
    assert.is_true(shortest < 0.05)
  end)

  it("ends early for a ready descriptor, also with an infinite timeout", function()
    local r = full_pipe()
    for _, seconds in ipairs { 60, -1, -0.5, 1e300, math.huge } do
      local ready, took = timed(core.poll, seconds, r, "r")
      assert.equal("r", ready)
      assert.is_true(took < children.patience)
    end
    assert.equal("r", core.poll(nil, r, "r"))
  end)

  it("fails for a number that is not an open descriptor", function()
    local r = full_pipe()
    local ready, message, kind, errno = core.poll(10, r, "r", 1000, "r")
    assert.same({ n = 3, nil, "closed", 9 }, table.pack(ready, kind, errno))
    assert.matches("^cannot wait for descriptors: .", message)
  end)

  it("raises for invalid arguments", function()
    local r = full_pipe()
    for message, arguments in pairs {
      ["invalid option 'x'"] = { 0, r, "x" },
      ["bad argument #3"] = { 0, r },
      ["bad argument #2"] = { 0, -1, "r" },
      ["bad argument #4"] = { 0, r, "r", "r", "r" },
      ["NaN"] = { 0 / 0 },
      ["number expected"] = { "soon" },
    } do
      assert.error_matches(function() core.poll(table.unpack(arguments)) end, message)
    end
    local many = {}
    for i = 1, 34, 2 do many[i], many[i + 1] = r, "r" end
    assert.equal(16, select("#", core.poll(0, table.unpack(many, 1, 32))))
    assert.error_matches(function() core.poll(0, table.unpack(many)) end, "too many descriptors")
    r:close()
    assert.error_matches(function() core.poll(0, r, "r") end, "closed")
  end)

  describe("interrupted by a signal", function()
    local has_proc = io.open("/proc/self/stat")

    -- A child that runs `code`, and a function that signals it once it is in `state`.
    local function child(code)
      local process = assert(core.spawn { command = children.lua('local core = require "pintle.core"\n' .. code) })
      assert.equal("ready\n", children.read(process.stdout, "ready\n"))
      return process, function(signal, state)
        local deadline = core.now() + children.patience
        repeat
          assert(core.now() < deadline, "the child never came to " .. state)
          local stat <close> = assert(io.open(("/proc/%d/stat"):format(process:pid())))
        until stat:read("a"):match("%) (%a)") == state
        process:kill(signal)
      end
    end

    it("waits for the rest of its timeout", function()
      if not has_proc then return pending("needs /proc to know that the child sleeps") end
      local process <close>, signal = child [[
        io.write("ready\n"):flush()
        local start = core.now()
        core.poll(0.5)
        print(core.now() - start >= 0.5, core.now() - start < 5)
      ]]
      signal("STOP", "S")
      signal("CONT", "T")
      assert.equal("true\ttrue\n", children.read(process.stdout))
    end)

    it("lets Ctrl-C stop the program", function()
      if not has_proc then return pending("needs /proc to know that the child sleeps") end
      local process <close>, signal = child [[
        io.write("ready\n"):flush()
        local start = core.now()
        print(pcall(core.poll, 10))
        print(core.now() - start < 5 and "at once" or "too late")
      ]]
      signal("INT", "S")
      assert.matches("interrupted!.*at once", children.read(process.stdout))
    end)
  end)
end)

describe("the loop, for its watched descriptors,", function()
  local watchers, found

  before_each(function() opened, watchers, found = {}, {}, {} end)

  local function unwatch(fd)
    local number = math.type(fd) and fd or fd:fileno()
    loop.unwatch(number, watchers[number])
    watchers[number] = nil
  end

  after_each(function()
    for number in pairs(watchers) do unwatch(number) end
    close_all()
  end)

  local function watch(fd, events, token, action)
    local watcher = {}
    function watcher.on_ready(_, readable, writable)
      assert(not found[token], "a descriptor was reported twice")
      found[token] = (readable and "r" or "") .. (writable and "w" or "")
      if action then action() end
    end
    watchers[math.type(fd) and fd or fd:fileno()] = watcher
    return loop.watch(fd, events, watcher)
  end

  -- Everything that is ready now, by token: "r", "w" or "rw".
  local function ready(timeout)
    found = {}
    loop.step(timeout or 0)
    return found
  end

  it("reports which pipe can be read", function()
    local r, w = pipe()
    watch(r, "r", "mine")
    watch(pipe(), "r", "other")
    assert.same({}, ready())
    w:write("x")
    for _ = 1, 3 do assert.same({ mine = "r" }, ready()) end
    r:read()
    assert.same({}, ready())
  end)

  it("reports when a pipe can be written again", function()
    local r, w = pipe()
    watch(w, "w", "out")
    assert.same({ out = "w" }, ready())
    fill(w)
    assert.same({}, ready())
    repeat until r:read() == false
    assert.same({ out = "w" }, ready())
  end)

  it("reports both directions of a socket at once", function()
    local a, b = socketpair()
    watch(a, "rw", "both")
    assert.same({ both = "w" }, ready())
    b:write("x")
    assert.same({ both = "rw" }, ready())
    watch(a, "r", "both")
    assert.same({ both = "r" }, ready())
  end)

  it("reports a hangup as readable, and as writable if that was asked", function()
    local r, w = pipe()
    watch(r, "r", "in")
    w:close()
    assert.same({ ["in"] = "r" }, ready())
    unwatch(r)
    r, w = pipe()
    fill(w)
    watch(w, "w", "out")
    assert.same({}, ready())
    r:close()
    assert.same({ out = "rw" }, ready())
    local a, b = socketpair()
    unwatch(w)
    watch(a, "r", "socket")
    b:close()
    assert.same({ socket = "r" }, ready())
  end)

  it("waits at least for the timeout", function()
    watch(pipe(), "r", "in")
    for _, timeout in ipairs { 0.0003, 0.0101, 0.05 } do
      assert.is_true(select(2, timed(ready, timeout)) >= timeout)
    end
    assert.same({}, found)
  end)

  describe("when one callback changes the other descriptor", function()
    local r1, r2, other

    -- Whichever callback runs first does this to the other descriptor.
    local function first_does(action)
      r1, r2, other = (full_pipe()), (full_pipe()), nil
      local function meet(mine, its)
        return function()
          if other then return end
          other = its
          action(its, mine)
        end
      end
      watch(r1, "r", "first", meet(r1, r2))
      watch(r2, "r", "second", meet(r2, r1))
    end

    it("drops the event of a descriptor that is no longer watched", function()
      first_does(function(its) unwatch(its) end)
      local count = 0
      for _ in pairs(ready()) do count = count + 1 end
      assert.equal(1, count)
    end)

    it("drops the event of a descriptor that was watched again", function()
      first_does(function(its) watch(its, "r", "new") end)
      assert.is_nil(ready().new)
      assert.equal("r", ready().new)
    end)

    it("drops the event of a number that now is another descriptor", function()
      first_does(function(its)
        local number = its:fileno()
        unwatch(its)
        its:close()
        local r = pipe()
        assert(number == r:fileno())
        watch(r, "r", "quiet")
      end)
      assert.is_nil(ready().quiet)
      assert.is_nil(ready().quiet)
    end)
  end)

  describe("if a descriptor was closed while it was watched,", function()
    it("watches the next descriptor with the same number", function()
      local r, w = pipe()
      local number = r:fileno()
      watch(r, "r", "old")
      r:close()
      w:close()
      local again = full_pipe()
      assert.equal(number, again:fileno())
      assert.is_true(watch(again, "r", "new"))
      assert.same({ new = "r" }, ready())
    end)

    it("stops watching without an error, and refuses to watch it again", function()
      local r = pipe()
      local number = r:fileno()
      watch(r, "r", "gone")
      r:close()
      assert.same({}, ready())
      assert.is_true(select(2, timed(ready, 0.02)) >= 0.02)
      local ok, message, kind, errno = watch(number, "r", "again")
      assert.same({ n = 3, nil, "closed", 9 }, table.pack(ok, kind, errno))
      assert.matches("^cannot watch descriptor " .. number .. ": .", message)
      unwatch(number)
    end)

    it("does not report events of the old file to the new owner of its number", function()
      local r, w = pipe()
      local child <close> = assert(core.spawn { command = { "sleep", "60" }, stdin = r:fileno() })
      local number = r:fileno()
      watch(r, "r", "old")
      r:close()
      local again = pipe()
      assert.equal(number, again:fileno())
      watch(again, "r", "new")
      w:write("x")
      assert.same({}, ready())
      child:kill()
    end)

    it("refuses numbers that are not open descriptors", function()
      for _, number in ipairs { 63, 1000000, 2147483647 } do
        local ok, _, _, errno = loop.watch(number, "r", {})
        assert.same({ n = 2, nil, 9 }, table.pack(ok, errno))
      end
    end)
  end)

  describe("with a regular file,", function()
    local file, number

    -- The lowest free number is the next to be used.
    before_each(function()
      local r = pipe()
      number = r:fileno()
      r:close()
      file = assert(io.open("spec/core/poll_spec.lua"))
    end)

    after_each(function() file:close() end)

    it("reports it as always ready", function()
      assert.is_true(watch(number, "r", "file"))
      assert.same({ file = "r" }, ready())
      file:read("a")
      local now, seconds = timed(ready, 60)
      assert.same({ file = "r" }, now)
      assert.is_true(seconds < children.patience)
      watch(number, "rw", "file")
      assert.same({ file = "rw" }, ready())
      unwatch(number)
      assert.same({}, ready())
    end)

    it("still reports the others", function()
      watch(number, "r", "file")
      watch(full_pipe(), "r", "pipe")
      assert.same({ file = "r", pipe = "r" }, ready())
    end)

    it("watches a pipe that gets its number", function()
      watch(number, "r", "file")
      file:close()
      local r, w = pipe()
      assert.equal(number, r:fileno())
      watch(r, "r", "pipe")
      assert.same({}, ready())
      w:write("x")
      assert.same({ pipe = "r" }, ready())
      unwatch(r)
      r:close()
      file = assert(io.open("spec/core/poll_spec.lua"))
    end)
  end)

  describe("with a thousand of them,", function()
    local pairs_of, count = {}, 490

    before_each(function()
      collectgarbage()
      for i = 1, count do pairs_of[i] = { socketpair() } end
    end)

    it("reports them all, over several turns if necessary", function()
      local heard, all = {}, 0
      for i, pair in ipairs(pairs_of) do
        watch(pair[1], "r", i)
        watch(pair[2], "w", -i)
        pair[2]:write("x")
      end
      for _ = 1, 100 do
        for token in pairs(ready()) do
          all = all + (heard[token] and 0 or 1)
          heard[token] = true
        end
        if all == 2 * count then return end
      end
      error(("%d of %d were found"):format(all, 2 * count))
    end)

    it("finds the one that is ready", function()
      for i, pair in ipairs(pairs_of) do watch(pair[1], "r", i) end
      pairs_of[321][2]:write("x")
      assert.same({ [321] = "r" }, ready())
    end)

    it("waits no longer because of the idle ones", function()
      local function cost()
        local best = math.huge
        for _ = 1, 20 do
          local start = core.now()
          for _ = 1, 100 do loop.step(0) end
          best = math.min(best, core.now() - start)
        end
        return best
      end
      watch(pairs_of[1][1], "r", 1)
      local one = cost()
      for i, pair in ipairs(pairs_of) do
        watch(pair[1], "r", i)
        watch(pair[2], "r", -i)
      end
      assert.is_true(cost() < 3 * one)
    end)
  end)
end)
