-- luv and lua-cjson as a host, by hand: host.lua MODE SECONDS N PLUGIN…

local cjson = require "cjson"
local lines = require "bench.compare.luv.lines"
local uv = require "luv"

local BETWEEN_LOOKS = 100 -- calls from one look at the clock to the next
local SMALL = { n = 123, s = "hello world", list = { 1, 2, 3 } }

local mode, seconds, n = arg[1], tonumber(arg[2]), math.tointeger(arg[3])
local command = table.move(arg, 4, #arg, 1, {})

local function now() return uv.hrtime() / 1e9 end

-- {====== The conversation ======

local function receive(peer, line)
  local message = cjson.decode(line)
  local waiter = peer.pending[message.id]
  peer.pending[message.id] = nil
  assert(coroutine.resume(waiter, message.result))
end

local function open()
  local peer = { pending = {}, id = 0, input = uv.new_pipe(), output = uv.new_pipe() }
  peer.process, peer.pid = uv.spawn(command[1], {
    args = table.move(command, 2, #command, 1, {}), stdio = { peer.input, peer.output, 2 },
  }, function() peer.process:close() end)
  local feed = lines(function(line) receive(peer, line) end)
  peer.output:read_start(function(err, data)
    assert(not err, err)
    if data then feed(data) else peer.output:close() end
  end)
  return peer
end

-- In a coroutine, which is resumed with the result.
local function call(peer, params)
  peer.id = peer.id + 1
  peer.pending[peer.id] = coroutine.running()
  peer.input:write(cjson.encode { jsonrpc = "2.0", id = peer.id, method = "echo", params = params } .. "\n")
  return coroutine.yield()
end

local function close(peer) peer.input:close() end

-- }======

-- {====== What is measured ======

local function time(step)
  step()
  local count, spent = 0
  local begun = now()
  repeat
    step()
    count = count + 1
    spent = now() - begun
  until spent >= seconds
  return spent / count
end

local modes = {}

function modes.sequential()
  local peer <close> = setmetatable(open(), { __close = close })
  return time(function()
    for _ = 1, BETWEEN_LOOKS do call(peer, SMALL) end
  end) / BETWEEN_LOOKS
end

function modes.flight()
  local peer, stop, calls, left = open(), now() + seconds, 0, n
  local begun, waiting = now(), coroutine.running()
  local function caller()
    repeat
      for _ = 1, 10 do call(peer, SMALL) end
      calls = calls + 10
    until now() >= stop
    left = left - 1
    if left == 0 then assert(coroutine.resume(waiting)) end
  end
  for _ = 1, n do assert(coroutine.resume(coroutine.create(caller))) end
  coroutine.yield()
  close(peer)
  return calls / (now() - begun)
end

function modes.string()
  local peer <close> = setmetatable(open(), { __close = close })
  local line = "the quick brown fox jumps over the lazy dog "
  local params = { s = line:rep(n // #line + 1):sub(1, n) }
  return #cjson.encode(params) / time(function() call(peer, params) end)
end

function modes.start()
  local times, stop = {}, now() + seconds
  repeat
    local begun = now()
    local peer = open()
    call(peer, SMALL)
    times[#times + 1] = now() - begun
    close(peer)
  until now() >= stop
  table.sort(times)
  return times[#times // 2 + 1]
end

function modes.memory()
  local peer <close> = setmetatable(open(), { __close = close })
  call(peer, SMALL)
  collectgarbage()
  local file <close> = assert(io.open(("/proc/%s/statm"):format(n == 0 and peer.pid or "self")))
  local _, pages = file:read("n", "n")
  return pages * 4096 / 1e6
end

-- }======

assert(coroutine.resume(coroutine.create(function() print(modes[mode]()) end)))
uv.run()
