-- A conversation is cut at every byte. The output of a plugin ends after n bytes in one of four ways
-- (torture/cut_plugin.lua): each call of the host returns in time, with the right result or with an error. Or its
-- input does, because the host is killed, stalls, closes it, or stops for a while: the plugin has answered the whole
-- messages, and ends in time. No process is left.

local core = require "pintle.core"
local pintle = require "pintle"
local runs = require "torture.runs"

local LIMIT = 300 -- seconds for one call; the timeouts below are far shorter
local TIMEOUT = 0.5
local STOP_TIMEOUTS = { request = 0.3, eof = 0.3, term = 0.3, kill = 10 }

local WAYS = { "killed", "stalled", "closed", "stopped" }
local GREETER = { "lua5.4", "spec/support/plugins/greeter.lua" }

local cuts = { name = "cuts", workers = 8 }

-- {====== The output of a plugin ======

local function command_of(way, n)
  return { "lua5.4", "torture/cut_plugin.lua", way, tostring(n), table.unpack(GREETER) }
end

local function check_time(problems, what, started)
  local elapsed = core.now() - started
  if elapsed > LIMIT then problems[#problems + 1] = ("%s took %.1f s"):format(what, elapsed) end
end

local function check_error(problems, what, err)
  if type(err) ~= "table" or type(err.kind) ~= "string" then
    problems[#problems + 1] = ("%s has no error object: %s"):format(what, tostring(err))
  end
end

local function greet(problems, plugin, options)
  local started = core.now()
  local outcome, err = plugin:execute("greet", { name = "Ada" }, options)
  check_time(problems, "execute", started)
  if outcome == nil then
    check_error(problems, "execute", err)
  elseif outcome.message ~= "Hello, Ada" then
    problems[#problems + 1] = "a wrong result: " .. tostring(outcome.message)
  end
end

local function talk(problems, item, timeout)
  local host <close> = pintle.host { dialect = item.dialect, log = false, stop_timeouts = STOP_TIMEOUTS }
  local started = core.now()
  local plugin, err = host:start {
    command = command_of(item.way, item.at), handshake_timeout = timeout,
    env = { PINTLE_CUT_COUNT = item.counts, PINTLE_TORTURE = item.mark },
  }
  check_time(problems, "start", started)
  if not plugin then return check_error(problems, "start", err) end
  for _ = 1, 2 do greet(problems, plugin, { timeout = timeout }) end
  started = core.now()
  plugin:stop()
  check_time(problems, "stop", started)
end

local function try_output(item)
  local problems = {}
  item.mark = runs.new_mark()
  talk(problems, item, TIMEOUT)
  if #runs.await_none(item.mark) > 0 then problems[#problems + 1] = "a process is left" end
  if #problems == 0 then return nil end
  return ("%s, %s after %d bytes of output: %s"):format(item.dialect, item.way, item.at, table.concat(problems, "; "))
end

local function add_outputs(items, dialect)
  local path, problems = os.tmpname(), {}
  talk(problems, { dialect = dialect, way = "none", at = 1 << 30, counts = path }, 30)
  local file = assert(io.open(path))
  local total = file:read "n"
  file:close()
  os.remove(path)
  if #problems > 0 or not total then error("a conversation without a cut fails: " .. table.concat(problems), 0) end
  for _, way in ipairs(WAYS) do
    for at = 0, total - 1 do
      items[#items + 1] = { try = try_output, dialect = dialect, way = way, at = at }
    end
  end
end

-- }======

-- {====== The input of a plugin ======

local function frame(text) return ("Content-Length: %d\r\n\r\n%s"):format(#text, text) end

-- What hosts send. The plugin answers each message while its input is open.
local MESSAGES = {
  gevals = {
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}\n',
    '{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"}}}\n',
    '{"jsonrpc":"2.0","id":3,"method":"shutdown"}\n',
  },
  lsp = {
    frame '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"processId":null}}',
    frame '{"jsonrpc":"2.0","method":"initialized","params":{}}',
    frame ('{"jsonrpc":"2.0","id":2,"method":"workspace/executeCommand","params":'
      .. '{"command":"greet","arguments":[{"name":"Ada"}]}}'),
    frame '{"jsonrpc":"2.0","id":3,"method":"shutdown"}',
    frame '{"jsonrpc":"2.0","method":"exit"}',
  },
}

local function input_of(dialect) return table.concat(MESSAGES[dialect]) end

local function start_greeter(mark)
  return assert(core.spawn {
    command = { "sh", "-c", 'exec "$@" 2>&1', "sh", table.unpack(GREETER) }, env = { PINTLE_TORTURE = mark },
  })
end

local PAUSE = 0.02 -- seconds for which a stopped host does nothing

-- Reads until the plugin has written so many bytes.
local function read_bytes(stream, count)
  local parts, total, deadline = {}, 0, core.now() + LIMIT
  while total < count do
    local data = stream:read()
    if data == "" or data == nil or core.now() > deadline then return nil end
    if data then
      parts[#parts + 1], total = data, total + #data
    else
      pintle.sleep(0.002)
    end
  end
  return table.concat(parts)
end

-- What a host does after n bytes of input. Each returns what is wrong.
local after_input = {}

-- Both pipes have no other end any more.
function after_input.killed(process)
  process.stdout:close()
  process.stdin:close()
end

-- Nothing more comes. The plugin answers the whole messages, and waits.
function after_input.stalled(process, item)
  if read_bytes(process.stdout, #item.answers) ~= item.answers then return "the whole messages are not answered" end
  if process:wait() ~= false and item.at < #item.input then return "it ends before its input" end
  process.stdin:close()
end

function after_input.closed(process) process.stdin:close() end

-- The host goes on after a while, in which it has not read either.
function after_input.stopped(process, item)
  pintle.sleep(PAUSE)
  process.stdin:write(item.input:sub(item.at + 1))
  process.stdin:close()
end

local function end_of(process, way)
  if way == "killed" then
    local status, signal = runs.wait(process, LIMIT)
    return "", status, signal
  end
  local text, is_whole = runs.read(process.stdout, LIMIT)
  return text, runs.wait(process, is_whole and LIMIT or 0)
end

local function check_end(item, text, status, signal)
  if not status then return "ended by " .. tostring(signal or "nothing, it still runs") end
  if status > 1 then return "status " .. status end
  if text:find "traceback" then return "it raised" end
  if item.way == "stopped" and text ~= item.all_answers then return "other answers than usual" end
end

local function try_input(item)
  local mark = runs.new_mark()
  local process = start_greeter(mark)
  process.stdin:write(item.input:sub(1, item.at))
  local problem, text = after_input[item.way](process, item), ""
  if not problem then
    local status, signal
    text, status, signal = end_of(process, item.way)
    problem = check_end(item, text, status, signal)
  end
  process:close()
  if #runs.await_none(mark) > 0 then problem = problem or "a process is left" end
  return problem and ("%s, %s after %d bytes of input: %s\n%s"):format(item.dialect, item.way, item.at, problem, text)
    or nil
end

-- What the plugin writes if it gets so many messages.
local function answers_to(dialect, count)
  local process <close> = start_greeter(runs.new_mark())
  process.stdin:write(table.concat(MESSAGES[dialect], "", 1, count))
  process.stdin:close()
  return (runs.read(process.stdout, LIMIT))
end

local function add_inputs(items, dialect)
  local input, whole, answers = input_of(dialect), 0, ""
  local all_answers, next_whole = answers_to(dialect, #MESSAGES[dialect]), #MESSAGES[dialect][1]
  for at = 0, #input do
    if at == next_whole then
      whole = whole + 1
      answers, next_whole = answers_to(dialect, whole), at + #(MESSAGES[dialect][whole + 1] or "x")
    end
    for way in pairs(after_input) do
      items[#items + 1] = {
        try = try_input, dialect = dialect, way = way, at = at, input = input, answers = answers,
        all_answers = all_answers,
      }
    end
  end
end

-- }======

---Every cut, in a random order, so that a short run is a sample of all.
function cuts.list()
  local items = {}
  for _, dialect in ipairs { "gevals", "lsp" } do
    add_outputs(items, dialect)
    add_inputs(items, dialect)
  end
  return runs.shuffle(items)
end

---Returns nil, or what went wrong.
function cuts.try(item) return item.try(item) end

return cuts
