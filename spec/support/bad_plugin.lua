-- A plugin that misbehaves, in lines of JSON: lua5.4 spec/support/bad_plugin.lua BEHAVIOUR
local core = require "pintle.core"
local json = core.json

local MANIFEST = {
  name = "bad", version = "1.0.0", protocolVersion = "0.0.1",
  operations = { go = { params = { type = "object" } } },
}

local function read()
  local line = io.read "l"
  return line and json.decode(line)
end

local function write(text)
  io.write(text, "\n")
  io.flush()
end

local function answer(request, result) write(json.encode { jsonrpc = "2.0", id = request.id, result = result }) end

local function shake_hands() answer(read(), MANIFEST) end

-- Sleeps without a child process, and without reading.
local function sleep(seconds) core.poll(seconds) end

local function end_with(status, words)
  io.stderr:write(words, "\n")
  os.exit(status)
end

-- Behaves well from here on.
local function serve(during)
  for request in read do
    if request.method == "shutdown" then
      answer(request, {})
      os.exit(0)
    end
    during(request)
  end
end

local function succeed(request) answer(request, { success = true, message = "done" }) end

local bad = {}

function bad.silent()
  for _ in read do end
end

function bad.deaf() sleep(600) end

function bad.slow()
  local request = read()
  sleep(600)
  answer(request, MANIFEST)
end

function bad.slow_operation()
  shake_hands()
  serve(function() sleep(600) end)
end

function bad.chatty()
  write "Welcome to the bad plugin!"
  shake_hands()
  serve(function(request)
    write "working…"
    succeed(request)
    write "done!"
  end)
end

function bad.flood()
  shake_hands()
  serve(function(request)
    for _ = 1, 2000 do io.stderr:write(("x"):rep(10000), "\n") end
    succeed(request)
  end)
end

function bad.crash_before() end_with(3, "cannot find my configuration") end

function bad.crash_in_handshake()
  read()
  end_with(4, "no such thing as 0.0.1")
end

function bad.crash_during()
  shake_hands()
  serve(function() end_with(5, "out of cheese") end)
end

function bad.crash_after()
  shake_hands()
  succeed(read())
  end_with(6, "goodbye")
end

function bad.killed()
  shake_hands()
  serve(function() os.execute "kill -KILL $PPID" end)
end

function bad.twice()
  local request = read()
  answer(request, MANIFEST)
  answer(request, MANIFEST)
  serve(function(asked)
    succeed(asked)
    answer(asked, { success = true, message = "the second answer" })
  end)
end

function bad.wrong_id()
  shake_hands()
  serve(function(request)
    answer({ id = request.id + 1000 }, { success = true })
    answer({ id = "no such" }, { success = true })
  end)
end

function bad.half()
  shake_hands()
  serve(function()
    io.write '{"jsonrpc":"2.0","id":2,"result":{"succ'
    io.flush()
    end_with(7, "half a message is enough")
  end)
end

-- Started by a shell that ignores SIGTERM.
function bad.stubborn()
  shake_hands()
  for _ in read do end
  sleep(600)
end

function bad.grandchild()
  os.execute "sleep 600 &"
  shake_hands()
  serve(function() end_with(8, "my child holds the pipe") end)
end

function bad.grandchild_at_rest()
  os.execute "sleep 600 &"
  shake_hands()
  serve(succeed)
end

function bad.nonsense()
  write "Traceback (most recent call last):"
  answer(read(), { "this", "is", "no", "manifest" })
  sleep(600)
end

function bad.nameless()
  answer(read(), { version = "1.0.0", protocolVersion = "0.0.1", operations = {} })
  sleep(600)
end

function bad.other_version()
  answer(read(), { name = "bad", version = "1.0.0", protocolVersion = "9.9.9", operations = {} })
  sleep(600)
end

-- The form in which the Go SDK writes it.
function bad.refusing()
  local request = read()
  write(('{"jsonrpc":"2.0","id":%d,"result":null,"error":{"code":-32603,"message":"no licence"}}'):format(request.id))
  sleep(600)
end

function bad.wrong_outcome()
  shake_hands()
  serve(function(request) answer(request, { message = "whether that was a success?" }) end)
end

function bad.bad_schema()
  MANIFEST.operations.broken = { params = { type = "strnig" } }
  shake_hands()
  serve(succeed)
end

-- Counts the processes in a file, and returns the number of this one.
local function be_counted()
  local file <close> = io.open(arg[2], "a")
  file:write "x"
  return math.tointeger(file:seek "end")
end

local function count_lives()
  local file <close> = io.open(arg[2])
  return #file:read "a"
end

-- Behaves well, but dies at each `go` until enough processes have been started.
function bad.mortal()
  local lives = tonumber(arg[3])
  be_counted()
  shake_hands()
  serve(function(request)
    local lived = count_lives()
    if lived < lives then end_with(9, "life " .. lived .. " is over") end
    answer(request, { success = true, message = "life " .. lived })
  end)
end

-- Behaves well, except that the process of this number dies in the handshake.
function bad.one_fails()
  if be_counted() == tonumber(arg[3]) then end_with(10, "not me") end
  shake_hands()
  serve(succeed)
end

-- The first process behaves well, the others never complete the handshake.
function bad.slow_again()
  if be_counted() > 1 then sleep(600) end
  shake_hands()
  serve(succeed)
end

-- The first process dies after the handshake. The second one completes it only when there is a third.
function bad.early_death()
  local number = be_counted()
  while number == 2 and count_lives() < 3 do sleep(0.01) end
  shake_hands()
  if number == 1 then end_with(11, "that was all") end
  serve(succeed)
end

-- Behaves well, except that the first process closes its input and keeps running.
function bad.aloof()
  local number, request = be_counted(), read()
  if number == 1 then
    local input, output = core.claim_stdio()
    input:close()
    output:write(json.encode { jsonrpc = "2.0", id = request.id, result = MANIFEST } .. "\n")
    sleep(600)
  end
  answer(request, MANIFEST)
  serve(succeed)
end

-- Completes the handshake when a file exists.
function bad.gated()
  while not io.open(arg[2]) do sleep(0.01) end
  shake_hands()
  serve(succeed)
end

-- Dies at the request to end.
function bad.touchy()
  be_counted()
  shake_hands()
  for request in read do
    if request.method == "shutdown" then end_with(12, "how dare you") end
    succeed(request)
  end
end

-- Records how it is stopped. Lets its host compute without waiting if the behaviour says so.
function bad.witness()
  shake_hands()
  local function note(what)
    local file <close> = io.open(arg[2], "a")
    file:write(what, "\n")
  end
  for request in read do
    if request.method == "shutdown" then
      note "shutdown"
      answer(request, {})
      os.exit(0)
    end
    if request.method == "ask" then write '{ "jsonrpc": "2.0", "id": 1, "method": "compute" }' end
    succeed(request)
  end
  note "end of input"
end

function bad.good()
  shake_hands()
  serve(succeed)
end

-- Returns how many operations it has run.
function bad.counting()
  local count = 0
  shake_hands()
  serve(function(request)
    count = count + 1
    answer(request, { success = true, message = tostring(count) })
  end)
end

-- Returns its process id, after so many seconds.
function bad.pid()
  shake_hands()
  serve(function(request)
    local pid = io.open "/proc/self/stat":read "n"
    sleep(request.params.args.sleep or 0)
    answer(request, { success = true, message = tostring(pid) })
  end)
end

bad[arg[1]]()
