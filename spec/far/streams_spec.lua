-- The streams of a program at the far end: who reads late, or not at all, loses nothing and holds nobody up.
local children = require "spec.support.children"
local core = require "pintle.core"
local engines = require "spec.support.engines"
local via = require "pintle.via"

children.leave_nothing()

local KEEPALIVE = 0.25 -- seconds; a silence of one second ends all

local function start(words, code, spawning)
  local given = { keepalive = KEEPALIVE }
  for i, word in ipairs(words or {}) do given[i] = word end
  spawning = spawning or {}
  spawning.command, spawning.stderr = { "sh", "-c", code }, "pipe"
  return assert(core.spawn(assert(via.relay(assert(via.check(given)), spawning))))
end

-- Writes until there is no room for `seconds`. Returns how many bytes were written.
local function write_all(relay, data, seconds)
  local written = 0
  while written < #data do
    local count = relay.stdin:write(data:sub(written + 1, written + 65536))
    assert(count ~= nil)
    if count then
      written = written + count
    elseif not core.poll(seconds, relay.stdin, "w") then
      return written
    end
  end
  return written
end

local function describe_streams(get)
  it("keep the connection alive while the program does not read", function()
    local relay <close> = start(get(), [[
      trap 'exit 5' TERM; exec 2> /dev/null
      echo on; while :; do sleep 0.05; done]])
    children.read(relay.stdout, "on\n")
    local data = ("x"):rep(1 << 20)
    assert.is_true(write_all(relay, data, 2) < #data)
    assert.is_false(relay:wait(0))
    relay:kill "TERM"
    assert.equal(5, relay:wait(children.patience))
    assert.equal("", children.read(relay.stderr))
  end)

  it("pass all that the program reads late", function()
    local relay <close> = start(get(), "sleep 1.5; cat | cksum")
    local data = {}
    for i = 1, 60000 do data[i] = ("%06d\n"):format(i) end
    data = table.concat(data)
    local written = 0
    while written < #data do
      local count = relay.stdin:write(data:sub(written + 1, written + 65536))
      assert(count ~= nil)
      if count then written = written + count else core.poll(children.patience, relay.stdin, "w") end
    end
    relay.stdin:close()
    local expected = children.run { command = children.sh "seq -f %06.0f 60000 | cksum" }
    assert.equal(expected, children.read(relay.stdout))
    assert.equal(0, relay:wait(children.patience))
  end)

  it("tell the host that the program has closed its input", function()
    local relay <close> = start(get(), "exec < /dev/null; echo on; while :; do sleep 0.05; done")
    children.read(relay.stdout, "on\n")
    local deadline = core.now() + children.patience
    while relay.stdin:write "x" ~= nil do
      assert(core.now() < deadline)
      core.poll(0.01)
    end
    assert.is_false(relay:wait(0))
    relay:kill "TERM"
    local _, signal = relay:wait(children.patience)
    assert.equal("TERM", signal)
  end)

  it("pass a flood on stderr to a host that begins late", function()
    local relay <close> = start(get(), "seq 300000 >&2; exit 4")
    core.poll(1.5)
    assert.is_true(children.read(relay.stderr) == (children.run { command = { "seq", "300000" } }))
    assert.equal(4, relay:wait(children.patience))
  end)

  it("separate the program's stderr from ours, with and without ends of lines", function()
    local relay <close> = start(get(), [[
      i=0
      while IFS= read -r line; do
        i=$((i + 1)); printf '%s' "$i,pintle-" >&2; echo "$line"
      done
      printf end >&2]])
    local expected = {}
    for i = 1, 200 do
      relay.stdin:write("line\n")
      children.read(relay.stdout, "line\n")
      expected[i] = i .. ",pintle-"
    end
    relay.stdin:close()
    assert.equal(table.concat(expected) .. "end", children.read(relay.stderr))
    assert.equal(0, relay:wait(children.patience))
  end)

  it("pass much in both directions at once", function()
    local relay <close> = start(get(), "cat")
    local data, written, got = ("0123456789abcdef"):rep(1 << 18), 0, {}
    while not relay.stdin:closed() do
      local count = relay.stdin:write(data:sub(written + 1, written + 65536))
      assert(count ~= nil)
      written = written + (count or 0)
      local text = relay.stdout:read()
      if text then got[#got + 1] = text end
      if written == #data then
        relay.stdin:close()
      elseif not count and not text then
        core.poll(children.patience, relay.stdin, "w", relay.stdout, "r")
      end
    end
    got[#got + 1] = children.read(relay.stdout)
    assert.is_true(table.concat(got) == data)
    assert.equal(0, relay:wait(children.patience))
  end)
end

describe("the streams without a client", function() describe_streams(function() end) end)

describe("the streams via ssh", function()
  local get = engines.shared "sshd"
  describe_streams(function() return get().prefix end)

  it("keep what the program has written for a host that reads late", function()
    local relay <close> = start(get().prefix, "seq 200000; exit 4")
    core.poll(6.5) -- longer than the client may take to end
    assert.is_true(children.read(relay.stdout) == (children.run { command = { "seq", "200000" } }))
    assert.equal(4, relay:wait(children.patience))
  end)
end)

describe("a relay", function()
  it("does not keep more of a flood on stderr than it has to", function()
    local relay <close> = start(nil, "yes 'a line of text for the host' >&2")
    core.poll(1.5)
    local file <close> = assert(io.open(("/proc/%d/status"):format(relay:pid())))
    assert.is_true(tonumber(file:read("a"):match "VmRSS:%s*(%d+)") < 20000)
    for _ = 1, 100 do
      core.poll(children.patience, relay.stderr, "r")
      relay.stderr:read()
    end
    relay:kill "TERM"
    while relay.stderr:read() ~= "" do core.poll(0.01, relay.stderr, "r") end
    local _, signal = relay:wait(children.patience)
    assert.equal("TERM", signal)
  end)
end)
