local core = require "pintle.core"

-- Everything that is ready now, by token: "r", "w" or "rw".
local function ready(poller, timeout)
  local found = {}
  poller:wait(timeout or 0)
  for token, readable, writable in poller.next, poller do
    assert.is_nil(found[token], "a descriptor was told twice")
    found[token] = (readable and "r" or "") .. (writable and "w" or "")
  end
  return found
end

-- What a wait returns, and how long it took.
local function timed_wait(poller, timeout)
  local start = core.now()
  local n = poller:wait(timeout)
  return n, core.now() - start
end

describe("a poller", function()
  local poller, opened

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

  before_each(function()
    poller, opened = assert(core.poller()), {}
  end)

  after_each(function()
    poller:close()
    for _, fd in ipairs(opened) do fd:close() end
  end)

  describe("that watches", function()
    it("tells which pipe has something to read", function()
      local r, w = pipe()
      local other, _ = pipe()
      assert.is_true(poller:set(r, "r", "mine"))
      assert.is_true(poller:set(other, "r", "other"))
      assert.same({}, ready(poller))
      w:write("x")
      assert.same({ mine = "r" }, ready(poller))
      r:read()
      assert.same({}, ready(poller))
    end)

    it("tells when a pipe can be written again", function()
      local r, w = pipe()
      poller:set(w, "w", "out")
      assert.same({ out = "w" }, ready(poller))
      repeat until not w:write(("x"):rep(65536))
      assert.same({}, ready(poller))
      repeat until r:read() == false
      assert.same({ out = "w" }, ready(poller))
    end)

    it("tells of both directions of a socket at once", function()
      local a, b = socketpair()
      poller:set(a, "rw", "both")
      assert.same({ both = "w" }, ready(poller))
      b:write("x")
      assert.same({ both = "rw" }, ready(poller))
      poller:set(a, "r", "both")
      assert.same({ both = "r" }, ready(poller))
    end)

    it("takes a bare number as well as an object", function()
      local r = full_pipe()
      poller:set(r:fileno(), "r", "by number")
      assert.same({ ["by number"] = "r" }, ready(poller))
    end)

    it("gives back the very token, whatever it is", function()
      local r = full_pipe()
      for _, token in ipairs { {}, print, 7, 0.5, "text", true, poller } do
        poller:set(r, "r", token)
        poller:wait(0)
        assert.equal(token, (poller:next()))
      end
      poller:set(r, "r", false)
      poller:wait(0)
      assert.is_false((poller:next()))
      assert.is_nil(poller:next())
    end)

    it("says how many are ready, and hands out each once", function()
      local r1, w1 = full_pipe()
      local r2 = full_pipe()
      poller:set(r1, "r", 1)
      poller:set(r2, "r", 2)
      poller:set(w1, "w", 3)
      assert.equal(3, poller:wait(0))
      local sum = poller:next() + poller:next() + poller:next()
      assert.equal(6, sum)
      assert.is_nil(poller:next())
      assert.is_nil(poller:next())
    end)

    it("goes on telling what is still ready", function()
      local r = full_pipe()
      poller:set(r, "r", "in")
      for _ = 1, 3 do assert.same({ ["in"] = "r" }, ready(poller)) end
      poller:wait(0)
      assert.same({ ["in"] = "r" }, ready(poller), "after a wait whose finds nobody took")
    end)
  end)

  describe("at the other side's end", function()
    it("makes a reader readable", function()
      local r, w = pipe()
      poller:set(r, "r", "in")
      w:close()
      assert.same({ ["in"] = "r" }, ready(poller))
    end)

    it("makes a writer readable and writable though it asked only to write", function()
      local r, w = pipe()
      repeat until not w:write(("x"):rep(65536))
      poller:set(w, "w", "out")
      assert.same({}, ready(poller))
      r:close()
      assert.same({ out = "rw" }, ready(poller))
    end)

    it("does not call a socket writable for which only reading was asked", function()
      local a, b = socketpair()
      poller:set(a, "r", "in")
      b:close()
      assert.same({ ["in"] = "r" }, ready(poller))
    end)
  end)

  describe("that stops watching", function()
    it("is silent from then on", function()
      local r = full_pipe()
      for _, events in ipairs { "", false } do
        poller:set(r, "r", "in")
        assert.is_true(poller:set(r, events or nil))
        local n, seconds = timed_wait(poller, 0.02)
        assert.equal(0, n)
        assert.is_true(seconds >= 0.02)
        assert.is_nil(poller:next())
      end
    end)

    it("does not mind that it was not watching", function()
      assert.is_true(poller:set(0))
      assert.is_true(poller:set(1000000, ""))
    end)

    it("lets go of the token", function()
      local r = pipe()
      local tokens = setmetatable({ {}, {}, {} }, { __mode = "v" })
      poller:set(r, "r", tokens[1])
      poller:set(r, "r", tokens[2])
      collectgarbage()
      assert.is_nil(tokens[1])
      assert.is_table(tokens[2])
      poller:set(r)
      collectgarbage()
      assert.is_nil(tokens[2])
    end)

    it("lets go of the tokens when it closes", function()
      local r = pipe()
      local tokens = setmetatable({ {} }, { __mode = "v" })
      poller:set(r, "r", tokens[1])
      poller:close()
      collectgarbage()
      assert.is_nil(tokens[1])
    end)
  end)

  describe("between wait and next", function()
    local r1, r2

    before_each(function()
      r1, r2 = (full_pipe()), (full_pipe())
      poller:set(r1, "r", r1)
      poller:set(r2, "r", r2)
      assert.equal(2, poller:wait(0))
    end)

    -- Takes one event and returns the descriptor whose event is still to come.
    local function other()
      return poller:next() == r1 and r2 or r1
    end

    it("forgets what was found for a descriptor that is no longer watched", function()
      poller:set(other(), "")
      assert.is_nil(poller:next())
    end)

    it("forgets what was found before a descriptor was set again", function()
      poller:set(other(), "r", "new")
      assert.is_nil(poller:next())
      assert.equal("r", ready(poller).new)
    end)

    it("forgets what was found for a number that now means another descriptor", function()
      local left = other()
      local number = left:fileno()
      poller:set(left)
      left:close()
      local r = pipe()
      assert.equal(number, r:fileno())
      poller:set(r, "r", "quiet")
      assert.is_nil(poller:next())
      assert.is_nil(ready(poller).quiet)
    end)
  end)

  describe("whose descriptor was closed behind its back", function()
    it("watches the next one of the same number", function()
      local r, w = pipe()
      local number = r:fileno()
      poller:set(r, "r", "old")
      r:close()
      w:close()
      local again = full_pipe()
      assert.equal(number, again:fileno())
      assert.is_true(poller:set(again, "r", "new"))
      assert.same({ new = "r" }, ready(poller))
    end)

    it("stops watching without complaint", function()
      local r = pipe()
      local number = r:fileno()
      poller:set(r, "r", "gone")
      r:close()
      assert.same({}, ready(poller))
      local _, seconds = timed_wait(poller, 0.02)
      assert.is_true(seconds >= 0.02)
      assert.is_true(poller:set(number))
    end)

    it("refuses to watch it again, and lets go of it", function()
      local tokens = setmetatable({ {}, {} }, { __mode = "v" })
      local r = pipe()
      local number = r:fileno()
      poller:set(r, "r", tokens[1])
      r:close()
      local ok, message, kind, errno = poller:set(number, "r", tokens[2])
      assert.is_nil(ok)
      assert.matches("^cannot watch descriptor " .. number .. ": .", message)
      assert.equal("closed", kind)
      assert.equal(9, errno)
      collectgarbage()
      assert.same({}, tokens)
    end)

    it("does not take what it hears of a file that is open elsewhere for news of the number's new owner", function()
      local r, w = pipe()
      local child <close> = assert(core.spawn { command = { "sleep", "60" }, stdin = r:fileno() })
      local number = r:fileno()
      poller:set(r, "r", "old")
      r:close()
      local again = pipe()
      assert.equal(number, again:fileno())
      poller:set(again, "r", "new")
      w:write("x")
      assert.same({}, ready(poller))
      child:kill()
    end)

    it("refuses numbers that no descriptor has", function()
      for _, number in ipairs { 63, 1000000, 2147483647 } do
        local ok, _, _, errno = poller:set(number, "r", "none")
        assert.is_nil(ok)
        assert.equal(9, errno)
      end
    end)
  end)

  describe("with a regular file", function()
    local file, number

    -- The lowest free number is the next to be used.
    before_each(function()
      local r = pipe()
      number = r:fileno()
      r:close()
      file = assert(io.open("spec/poll_spec.lua"))
    end)

    after_each(function() file:close() end)

    it("finds it always ready for what was asked", function()
      assert.is_true(poller:set(number, "r", "file"))
      assert.same({ file = "r" }, ready(poller))
      file:read("a")
      local n, seconds = timed_wait(poller, 10)
      assert.equal(1, n)
      assert.is_true(seconds < 1)
      poller:set(number, "rw", "file")
      assert.same({ file = "rw" }, ready(poller))
      poller:set(number)
      assert.same({}, ready(poller))
    end)

    it("still tells of the others", function()
      local r = full_pipe()
      poller:set(number, "r", "file")
      poller:set(r, "r", "pipe")
      assert.same({ file = "r", pipe = "r" }, ready(poller))
    end)

    it("watches a pipe that takes over the number", function()
      poller:set(number, "r", "file")
      file:close()
      local r, w = pipe()
      assert.equal(number, r:fileno())
      poller:set(r, "r", "pipe")
      assert.same({}, ready(poller))
      w:write("x")
      assert.same({ pipe = "r" }, ready(poller))
      r:close()
      file = assert(io.open("spec/poll_spec.lua"))
    end)
  end)

  describe("with a thousand descriptors", function()
    local pairs_of, count = {}, 490

    before_each(function()
      collectgarbage()
      for i = 1, count do pairs_of[i] = { socketpair() } end
    end)

    it("finds them all, over several waits where need be, and none stands back", function()
      local heard, all = {}, 0
      for i, pair in ipairs(pairs_of) do
        poller:set(pair[1], "r", i)
        poller:set(pair[2], "w", -i)
        pair[2]:write("x")
      end
      for _ = 1, 100 do
        for token in pairs(ready(poller)) do
          all = all + (heard[token] and 0 or 1)
          heard[token] = true
        end
        if all == 2 * count then return end
      end
      error(("%d of %d were found"):format(all, 2 * count))
    end)

    it("finds the one that is ready", function()
      for i, pair in ipairs(pairs_of) do poller:set(pair[1], "r", i) end
      pairs_of[321][2]:write("x")
      assert.same({ [321] = "r" }, ready(poller))
    end)

    it("waits no longer for the idle ones", function()
      if not poller:fileno() then return pending("poll(2) looks at every descriptor") end
      local function cost()
        local best = math.huge
        for _ = 1, 20 do
          local start = core.now()
          for _ = 1, 100 do poller:wait(0) end
          best = math.min(best, core.now() - start)
        end
        return best
      end
      poller:set(pairs_of[1][1], "r", 1)
      local one = cost()
      for i, pair in ipairs(pairs_of) do
        poller:set(pair[1], "r", i)
        poller:set(pair[2], "r", -i)
      end
      assert.is_true(cost() < 3 * one)
    end)
  end)

  describe("that waits", function()
    it("returns at once for no time", function()
      local n, seconds = timed_wait(poller, 0)
      assert.equal(0, n)
      assert.is_true(seconds < 0.05)
    end)

    it("waits at least as long as it was told", function()
      for _, timeout in ipairs { 0.0003, 0.0101, 0.05 } do
        local n, seconds = timed_wait(poller, timeout)
        assert.equal(0, n)
        assert.is_true(seconds >= timeout)
      end
    end)

    it("ends early for a descriptor, told to wait for ever or too long to count", function()
      local r = full_pipe()
      poller:set(r, "r", "in")
      for _, timeout in ipairs { 5, -1, -0.5, 1e300, math.huge } do
        local n, seconds = timed_wait(poller, timeout)
        assert.equal(1, n)
        assert.is_true(seconds < 1)
      end
      assert.equal(1, (poller:wait()))
    end)
  end)

  describe("interrupted by a signal", function()
    local has_proc = io.open("/proc/self/stat")

    -- A child that runs `code`, and a function that signals it once it is in `state`.
    local function child(code)
      local name = os.tmpname()
      local file = assert(io.open(name, "w"))
      file:write(("package.cpath = %q\nlocal core = require 'pintle.core'\n"):format(package.cpath), code)
      file:close()
      local output = assert(io.popen("echo $$; exec lua5.4 " .. name .. " 2>&1"))
      local pid = output:read("l")
      assert.equal("ready", output:read("l"))
      os.remove(name)
      return output, function(signal, state)
        local deadline = core.now() + 10
        repeat
          assert(core.now() < deadline, "the child never came to " .. state)
          local stat <close> = assert(io.open("/proc/" .. pid .. "/stat"))
        until stat:read("a"):match("%) (%a)") == state
        os.execute("kill -" .. signal .. " " .. pid)
      end
    end

    it("waits for what is left of the time", function()
      if not has_proc then return pending("needs /proc to know that the child sleeps") end
      local output <close>, signal = child [[
        local poller = core.poller()
        io.write("ready\n"):flush()
        local start = core.now()
        local n = poller:wait(0.5)
        print(n, core.now() - start >= 0.5, core.now() - start < 5)
      ]]
      signal("STOP", "S")
      signal("CONT", "T")
      assert.equal("0\ttrue\ttrue", output:read("l"))
    end)

    it("lets Ctrl-C stop the program", function()
      if not has_proc then return pending("needs /proc to know that the child sleeps") end
      local output <close>, signal = child [[
        local poller = core.poller()
        io.write("ready\n"):flush()
        local start = core.now()
        print(pcall(poller.wait, poller, 10))
        print(core.now() - start < 5 and "at once" or "too late")
      ]]
      signal("INT", "S")
      assert.matches("interrupted!.*at once", output:read("a"))
    end)
  end)

  describe("inside another loop", function()
    it("is a descriptor that is readable when one of its own is ready", function()
      if not poller:fileno() then return pending("poll(2) has no descriptor") end
      local outer <close> = core.poller()
      local r, w = pipe()
      poller:set(r, "r", "inner")
      assert.is_true(outer:set(poller:fileno(), "r", poller))
      assert.equal(0, outer:wait(0))
      w:write("x")
      assert.equal(1, outer:wait(1))
      assert.equal(poller, (outer:next()))
      assert.same({ inner = "r" }, ready(poller))
      r:read()
      assert.equal(0, outer:wait(0))
    end)
  end)

  describe("for the end of a process", function()
    it("works or says that it is not supported", function()
      local output <close> = io.popen("echo $$; exec cat /dev/null")
      local pid = tonumber(output:read("l"))
      local ok, message, kind = poller:set_exit(pid, "exit")
      if not ok and kind == "unsupported" then
        assert.is_string(message)
        assert.is_nil((poller:set_exit(pid, nil)))
      elseif ok then
        assert.same({ exit = "r" }, ready(poller, 5))
        assert.same({}, ready(poller))
      end
    end)
  end)

  describe("misused", function()
    it("raises for arguments that make no sense", function()
      local r = pipe()
      assert.error_matches(function() poller:set(r, "x", 1) end, "invalid option")
      assert.error_matches(function() poller:set(r, "r") end, "token expected")
      assert.error_matches(function() poller:set("r", "r", 1) end, "bad argument #1")
      assert.error_matches(function() poller:set(-1, "r", 1) end, "bad argument #1")
      assert.error_matches(function() poller:wait(0 / 0) end, "NaN")
      assert.error_matches(function() poller:wait("soon") end, "number expected")
      assert.error_matches(function() poller:set_exit(-1, 1) end, "process id expected")
      assert.error_matches(function() poller.wait(r) end, "pintle.poller expected")
    end)

    it("raises after it was closed, and closes as often as one likes", function()
      poller:close()
      poller:close()
      for _, method in ipairs { "set", "set_exit", "wait", "next", "fileno" } do
        assert.error_matches(function() poller[method](poller, 1) end, "closed poller")
      end
    end)

    -- In generational mode the allocation that comes next runs the finalizers.
    local function with_finalizer(finalizer, f, ...)
      local mode = collectgarbage("generational")
      collectgarbage("stop")
      setmetatable({}, { __gc = finalizer })
      collectgarbage("restart")
      local ok, message = pcall(f, ...)
      collectgarbage(mode)
      return ok, message
    end

    it("raises when a finalizer closes it while it grows", function()
      local fd
      repeat fd = pipe() until fd:fileno() >= 64
      local ok, message = with_finalizer(function() poller:close() end, poller.set, poller, fd, "r", 1)
      assert.is_false(ok)
      assert.matches("closed poller", message)
    end)

    it("keeps what a finalizer watches while it grows", function()
      local small, large
      repeat small = full_pipe() until small:fileno() >= 64
      repeat large = full_pipe() until large:fileno() >= 128
      local function watch_more() poller:set(large, "r", "large") end
      assert.is_true(with_finalizer(watch_more, poller.set, poller, small, "r", "small"))
      assert.same({ small = "r", large = "r" }, ready(poller))
    end)
  end)

  it("closes its descriptor when it leaves the scope or is collected", function()
    local number
    do
      local inner <close> = core.poller()
      number = inner:fileno()
    end
    if not number then return end
    assert.equal(number, core.poller():fileno(), "its number is free again after the scope")
    collectgarbage()
    assert.equal(number, core.poller():fileno(), "its number is free again after collection")
  end)
end)
