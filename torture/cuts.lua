-- A conversation is cut at every byte. The output of a plugin ends after n bytes in one of four ways
-- (torture/cut_plugin.lua), or the input of a plugin does. Each call of the host returns in time, with the right result
-- or with an error; the plugin ends in time; and no process is left.

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
local INPUTS = {
  gevals = table.concat({
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}',
    '{"jsonrpc":"2.0","id":2,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"}}}',
    '{"jsonrpc":"2.0","id":3,"method":"shutdown"}', "",
  }, "\n"),
  lsp = frame '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{},"processId":null}}'
    .. frame '{"jsonrpc":"2.0","method":"initialized","params":{}}'
    .. frame ('{"jsonrpc":"2.0","id":2,"method":"workspace/executeCommand","params":'
      .. '{"command":"greet","arguments":[{"name":"Ada"}]}}')
    .. frame '{"jsonrpc":"2.0","id":3,"method":"shutdown"}' .. frame '{"jsonrpc":"2.0","method":"exit"}',
}

local function try_input(item)
  local mark = runs.new_mark()
  local process = assert(core.spawn {
    command = { "sh", "-c", 'exec "$@" 2>&1', "sh", table.unpack(GREETER) }, env = { PINTLE_TORTURE = mark },
  })
  process.stdin:write(INPUTS[item.dialect]:sub(1, item.at))
  process.stdin:close()
  local text, is_whole = runs.read(process.stdout, LIMIT)
  local status, signal = runs.wait(process, is_whole and LIMIT or 0)
  process:close()
  local problem = not is_whole and "it does not end" or not status and "ended by " .. tostring(signal)
    or status > 1 and "status " .. status or text:find "traceback" and "it raised"
    or #runs.await_none(mark) > 0 and "a process is left"
  return problem and ("%s, after %d bytes of input: %s\n%s"):format(item.dialect, item.at, problem, text) or nil
end

local function add_inputs(items, dialect)
  for at = 0, #INPUTS[dialect] do items[#items + 1] = { try = try_input, dialect = dialect, at = at } end
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
