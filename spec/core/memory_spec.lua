-- Running out of memory while a message is read affects only one peer.

-- Runs in a child process with limited memory.
local PROGRAM = [[
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local peers = require "pintle.peer"

local function mapped()
  for line in io.lines "/proc/self/status" do
    local kilobytes = line:match "^VmSize:%s+(%d+)"
    if kilobytes then return tonumber(kilobytes) end
  end
end

-- A peer, and the other end of its descriptors.
local function open(options)
  local near, far = core.socketpair()
  options.read, options.write, options.framing = near, near, "header"
  return assert(peers.open(options)), far
end

local function feed(fd, text, is_enough)
  local at = 1
  while at <= #text and not is_enough() do
    at = at + (fd:write(text:sub(at, at + 65535)) or 0)
    loop.step(0)
  end
end
]]

local function run(kilobytes, program)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "w"))
  file:write(PROGRAM, program)
  file:close()
  local command = ("ulimit -v %d; exec timeout -s KILL 60 lua5.4 %s 2>&1"):format(kilobytes, path)
  local output <close> = assert(io.popen(command))
  local said = output:read "a"
  os.remove(path)
  return said
end

-- A sanitizer maps terabytes.
local is_bounded = not os.getenv "SANITIZE" and io.open "/proc/self/status" ~= nil
local it = is_bounded and it or pending

describe("when memory runs out while a message is decoded", function()
  it("only that peer ends with an error; other peers, timers and closing continue", function()
    local said = run(200 * 1024, [[
local ended, fired
local victim, wire = open { on_close = function(err) ended = err end, limits = { values = 1 << 30 } }
local near, far = connect.pair({}, {})
far:on("echo", function(params) return params end)
loop.after(0.01, function() fired = true end)
local begun = victim:begin("never")
collectgarbage "stop"
local item = '"x",'
local count = 50 * 1024 * 1024 // #item
local head, tail = '{"jsonrpc":"2.0","id":1,"result":[', "1]}"
wire:write(("Content-Length: %d\r\n\r\n%s"):format(#head + count * #item + #tail, head))
local block = item:rep(16 * 1024)
local sent = 0
while sent < count and not begun:is_done() do
  local n = math.min(16 * 1024, count - sent)
  feed(wire, n == 16 * 1024 and block or item:rep(n), function() return begun:is_done() end)
  sent = sent + n
end
feed(wire, tail, function() return begun:is_done() end)
collectgarbage "restart"
local result, err = begun:wait()
print("call", result, err.kind, err.message)
print("echo", near:call("echo", { "still here" })[1])
loop.sleep(0.02)
print("timer", fired)
victim:close()
print("closed", ended ~= nil)
near:close()
far:close()
]])
    local call, rest = "call\tnil\tfull\tnot enough memory for a message\n", "timer\ttrue\nclosed\ttrue\n"
    assert.equal(call .. "echo\tstill here\n" .. rest, said)
  end)

  it("an announced length allocates no memory before its bytes arrive", function()
    local said = run(1024 * 1024, [[
local peer, wire = open {}
loop.step(0)
local before = mapped()
wire:write "Content-Length: 60000000\r\n\r\n["
loop.step(0.01)
wire:write "1"
for _ = 1, 3 do loop.step(0.01) end
print(mapped() - before < 8 * 1024)
peer:close()
]])
    assert.equal("true\n", said)
  end)
end)
