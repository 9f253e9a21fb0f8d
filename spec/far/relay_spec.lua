-- A program at the far end of a way, as its host sees it: like a program of this machine. Every engine carries it.
local children = require "spec.support.children"
local core = require "pintle.core"
local engines = require "spec.support.engines"
local via = require "pintle.via"

children.leave_nothing()

local EVERY_BYTE = {}
for byte = 0, 255 do EVERY_BYTE[byte + 1] = string.char(byte) end
EVERY_BYTE = table.concat(EVERY_BYTE)

local ENGINES = { "sshd", "slurm", "docker", "podman", "kubectl" }

-- The way through an engine; without an engine, to this machine.
local function way_of(engine)
  local given = { env = engine and engine.env }
  for i, word in ipairs(engine and engine.prefix or {}) do given[i] = word end
  return assert(via.check(given))
end

local function start(engine, command, options)
  local spawning = { command = command, stderr = "pipe" }
  for name, value in pairs(options or {}) do spawning[name] = value end
  return assert(core.spawn(assert(via.relay(way_of(engine), spawning, { eof = 0.5, term = 0.5, kill = 5 }))))
end

-- Runs a program to its end. Returns its stdout, its stderr, and how it ended.
local function run(engine, command, input, options)
  local relay <close> = start(engine, command, options)
  local output = {}
  input = input or ""
  while #input > 0 do
    local written, message = relay.stdin:write(input)
    assert(written ~= nil, message)
    input = input:sub((written or 0) + 1)
    core.poll(children.patience, relay.stdin, "w", relay.stdout, "r")
    local data = relay.stdout:read()
    if data then output[#output + 1] = data end
  end
  relay.stdin:close()
  output[#output + 1] = children.read(relay.stdout)
  return table.concat(output), children.read(relay.stderr), relay:wait(children.patience)
end

local function describe_way(get)
  it("passes every byte to a program and back", function()
    local input = (EVERY_BYTE .. "\4\r\n~.\n"):rep(1000)
    local output, complaint, status = run(get(), { "cat" }, input)
    assert.equal("", complaint)
    assert.equal(0, status)
    assert.is_true(output == input)
  end)

  it("passes every byte of an argument but NUL", function()
    local word = EVERY_BYTE:sub(2)
    assert.is_true(run(get(), { "printf", "%s|", word, "", "a  b" }) == word .. "||a  b|")
  end)

  it("keeps stderr apart", function()
    local output, complaint = run(get(), { "sh", "-c", "echo out; echo err >&2" })
    assert.equal("out\n", output)
    assert.equal("err\n", complaint)
  end)

  it("ends with the exit code of the program", function()
    for _, code in ipairs { 0, 1, 126, 127, 137, 143, 255 } do
      local _, complaint, status = run(get(), { "sh", "-c", "exit " .. code })
      assert.equal("", complaint)
      assert.equal(code, status)
    end
  end)

  it("ends with the signal of the program", function()
    for _, name in ipairs { "KILL", "TERM", "SEGV" } do
      local relay <close> = start(get(), { "sh", "-c", "ulimit -c 0; kill -" .. name .. " $$" })
      children.read(relay.stdout)
      local code, signal = relay:wait(children.patience)
      assert.is_nil(code)
      assert.equal(name, signal)
    end
  end)

  it("passes a part of a line at once", function()
    local relay <close> = start(get(), { "sh", "-c", "printf half; cat" })
    assert.equal("half", children.read(relay.stdout, "half"))
    relay.stdin:write "x"
    assert.equal("x", children.read(relay.stdout, "x"))
  end)

  it("forwards signals", function()
    local code = "trap 'echo term; exit 7' TERM; echo on; while :; do sleep 0.01; done"
    local relay <close> = start(get(), { "sh", "-c", code })
    children.read(relay.stdout, "on\n")
    relay:kill "TERM"
    assert.equal("term\n", children.read(relay.stdout))
    assert.equal(7, relay:wait(children.patience))
  end)
end

describe("without a client", function() describe_way(function() end) end)

for _, name in ipairs(ENGINES) do
  describe("via " .. name, function() describe_way(engines.shared(name)) end)
end
