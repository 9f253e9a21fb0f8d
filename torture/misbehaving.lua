-- Plugins that misbehave in the kinds of torture/bad_plugin.lua, in the handshake and in a call, in three dialects.
-- Each call of the host returns in time, with the right result or with an error. No process is left. A kind that is
-- unusual, but allowed, has the right result.

local core = require "pintle.core"
local pintle = require "pintle"
local runs = require "torture.runs"

local TIMEOUT = 3 -- seconds; what the handshake and a call may take
local LIMIT = 300 -- seconds after which a call counts as hung; floods cost their time
local STOP_TIMEOUTS = { request = 0.3, eof = 0.3, term = 0.3, kill = 10 }

local misbehaving = { name = "misbehaving", workers = 4 }

local function kinds()
  local pipe <close> = assert(io.popen "lua5.4 torture/bad_plugin.lua")
  local list = {}
  for kind in pipe:lines() do list[#list + 1] = kind end
  return list
end

function misbehaving.list()
  local items = {}
  for _, kind in ipairs(kinds()) do
    for _, dialect in ipairs { "gevals", "mcp", "lsp" } do
      for _, moment in ipairs { "start", "call" } do
        items[#items + 1] = { kind = kind, dialect = dialect, moment = moment, is_fine = kind:find "^fine" ~= nil }
      end
    end
  end
  return runs.shuffle(items)
end

local function check_error(err)
  if type(err) ~= "table" or type(err.kind) ~= "string" then return "no error object: " .. tostring(err) end
  if tostring(err):find "%c" then return "an error with control characters" end
end

local function problem_of(item, what, result, err, started)
  if core.now() - started > LIMIT then return ("%s took %.0f s"):format(what, core.now() - started) end
  if result == nil and item.is_fine then return what .. " fails: " .. tostring(err) end
  local problem = result == nil and check_error(err)
  return problem and what .. ": " .. problem or nil
end

local function talk(item, mark)
  local host <close> = pintle.host { dialect = item.dialect, log = false, stop_timeouts = STOP_TIMEOUTS }
  local started = core.now()
  local plugin, err = host:start {
    command = { "lua5.4", "torture/bad_plugin.lua", item.dialect, item.moment, item.kind },
    env = { PINTLE_TORTURE = mark },
    handshake_timeout = item.is_fine and LIMIT or TIMEOUT,
  }
  local problem = problem_of(item, "start", plugin, err, started)
  if problem or not plugin then return problem end
  started = core.now()
  local outcome
  outcome, err = plugin:execute("greet", {}, { timeout = item.is_fine and LIMIT or TIMEOUT })
  problem = problem_of(item, "execute", outcome, err, started)
  if item.is_fine and outcome and outcome.message ~= "Hello" then
    return "a wrong result: " .. tostring(outcome.message)
  end
  return problem
end

---Returns nil, or what went wrong.
function misbehaving.try(item)
  local mark = runs.new_mark()
  local started = core.now()
  local problem = talk(item, mark)
  if not problem and core.now() - started > 2 * LIMIT then problem = "stopping took too long" end
  if #runs.await_none(mark) > 0 then problem = problem or "a process is left" end
  return problem and ("%s, %s, at the %s: %s"):format(item.dialect, item.kind, item.moment, problem) or nil
end

return misbehaving
