-- The side of the host.

local check_settings = require "pintle.dialect.reginald.settings"
local errors = require "pintle.error"
local execute = require "pintle.dialect.reginald.execute"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local levels = require "pintle.dialect.reginald.level"
local log = require "pintle.dialect.reginald.log"
local outcomes = require "pintle.dialect.reginald.outcome"
local releases = require "pintle.dialect.reginald.release"
local told = require "pintle.dialect.reginald.told"

local kind, given = json.kind, jsonrpc.given
local june, july = releases.by_name.june, releases.by_name.july

local HANDSHAKE = 5 -- seconds for the handshake, and as many to initialize
local LEVEL = "TRACE"

local host = { handlers = {}, discovery = lazy "pintle.dialect.reginald.discovery" }

local function protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

-- {====== Options ======

---@class pintle.reginald.options
---@field release? "june"|"july" july for what has a manifest.json, else what the plugin says
---@field level? string the lowest level of the log that a plugin of june is asked for: TRACE

local CHECKS = {
  release = function(value) return releases.by_name[value] ~= nil, '"june" or "july" expected' end,
  level = function(value) return levels.number(value) ~= nil, "TRACE, DEBUG, INFO, WARN or ERROR expected" end,
}

local function check_options(options)
  for name, value in pairs(options) do
    local check = CHECKS[name]
    if not check then return nil, errors.new("invalid", ("options: there is no %q"):format(tostring(name))) end
    local ok, expected = check(value)
    if not ok then
      return nil, errors.new("invalid", ("options: %s: %s, got %s"):format(name, expected, tostring(value)))
    end
  end
  return true
end

-- }======

-- {====== Handshake ======

local HELLO = json.order { "protocol", "protocolVersion" }
local INITIALIZE = json.order { "logging", "config" }
local LOGGING = json.order { "enabled", "level" }

local function limit(session) return math.min(session.handshake_timeout, HANDSHAKE) end

local function check_answer(answer)
  if kind(answer) ~= "object" then
    return protocol_error("its answer to handshake: object expected, got %s", kind(answer))
  end
  local release = releases.by_protocol[answer.protocol]
  if not release then
    return protocol_error('its answer to handshake: protocol: "rpp" or "reginald" expected, got %s',
      json.encode(answer.protocol or json.null))
  end
  if answer.protocolVersion ~= releases.VERSION then
    return protocol_error("it speaks version %s of the protocol, and only %d is spoken here",
      json.encode(answer.protocolVersion or json.null), releases.VERSION)
  end
  if type(answer.name) ~= "string" then
    return protocol_error("its answer to handshake: name: string expected, got %s", kind(answer.name))
  end
  return release
end

-- The answer tells which release the plugin is of, whatever it was asked for.
local function shake_hands(session, release)
  local params = setmetatable({ protocol = release.protocol, protocolVersion = releases.VERSION }, HELLO)
  local answer, err = session.peer:call("handshake", params, { timeout = limit(session) })
  if err ~= nil then return nil, err end
  local spoken
  spoken, err = check_answer(answer)
  if not spoken then return nil, err end
  return answer, spoken
end

-- What the plugin as a whole is configured with, as config entries: what is told of it is checked and completed.
local function config_of(session, list, release)
  local values = session.config
  if values ~= nil and kind(values) ~= "object" then
    return nil, errors.new("invalid", "config: an object expected, got " .. kind(values))
  end
  local schema = told.schema(list)
  if schema == true and values == nil then return json.array() end
  local full, err = check_settings(schema, values or {})
  if not full then return nil, err end
  return told.write(full, list, release)
end

local function initialize(session, config)
  local params = setmetatable({
    logging = setmetatable({ enabled = true, level = session.options.level or LEVEL }, LOGGING),
    config = #config > 0 and config or nil,
  }, INITIALIZE)
  local _, err = session.peer:call("initialize", params, { timeout = limit(session) })
  if err ~= nil then return nil, err end
  return true
end

local function settle(session, release, from, member)
  local found = told.operations(from, member)
  session.state.release, session.state.ways, session.state.queues = release, found.ways, {}
  return found.operations
end

local function open_june(session, answer)
  local config, err = config_of(session, answer.configs, june)
  if not config then return nil, err end
  local ok
  ok, err = initialize(session, config)
  if not ok then return nil, err end
  local operations = settle(session, june, answer, "type")
  return { name = answer.name, version = given(answer.version) or false, operations = operations }
end

local function open_july(session, answer)
  local described = session.described
  if described and described.name ~= nil and described.name ~= answer.name then
    return protocol_error("it calls itself %q, and its manifest.json %q", answer.name, tostring(described.name))
  end
  local from = described or {}
  local config, err = config_of(session, from.config, july)
  if not config then return nil, err end
  session.state.config = config
  return {
    name = answer.name, version = given(from.version) or false, description = given(from.description),
    operations = settle(session, july, from, "taskType"), is_open = not described,
  }
end

local OPEN = { june = open_june, july = open_july }

local function expected_release(session)
  return releases.by_name[session.options.release or session.described and "july"]
end

-- One that does not know the one may know the other.
local function find_out(session)
  local answer, spoken = shake_hands(session, june)
  if answer then return answer, spoken end
  if spoken.kind ~= "remote" and spoken.kind ~= "timeout" then return nil, spoken end
  local refused = spoken
  answer, spoken = shake_hands(session, july)
  if answer then return answer, spoken end
  return nil, spoken.kind == "closed" and spoken or refused
end

---@param session pintle.session
---@return table?, pintle.error?
function host.open(session)
  local ok, err = check_options(session.options)
  if not ok then return nil, err end
  local expected = expected_release(session)
  local answer, spoken
  if expected then
    answer, spoken = shake_hands(session, expected)
  else
    answer, spoken = find_out(session)
  end
  if not answer then return nil, spoken end
  if expected and spoken ~= expected then
    return protocol_error("it speaks the protocol %q, and was asked for %q", spoken.protocol, expected.protocol)
  end
  return OPEN[spoken.name](session, answer)
end

-- }======

---@param session pintle.session
---@param operation string
---@param args table
---@param context pintle.context
---@return pintle.outcome?, pintle.error?
function host.execute(session, operation, args, context) return execute(session, operation, args, context) end

---@param session pintle.session
---@param seconds number
function host.close(session, seconds)
  local release = session.state.release
  local answer, err = session.peer:call("shutdown", json.null, { timeout = seconds })
  if err == nil and release == july and answer ~= july.shutdown then
    session:log("warn", "its answer to shutdown: true expected, got " .. kind(answer))
  end
  session.peer:notify("exit", json.null)
end

-- {====== What the plugin says ======

-- Whether it is about something that runs, and was taken note of.
local function take_note(session, message, data)
  local context = kind(data) == "object" and data.request ~= nil and session.running[data.request]
  if not context then return false end
  local outcome = outcomes.of_message(message, data)
  if outcome then
    context.outcome = outcome
  elseif type(data.progress) == "number" and context.on_progress then
    context.on_progress(data.progress, message ~= "progress" and message or nil)
  else
    return false
  end
  return true
end

-- A plugin whose language has no other way writes null for an id that is not there; it wants no answer.
function host.handlers.log(session, params, ctx)
  if ctx.id == json.null then ctx.id = nil end
  local level, message, data = log.read(params)
  if not level then return session:log("warn", "a log message that is not as it should be", params) end
  if not take_note(session, message, data) then session:log(level, message, data) end
end

-- }======

host.hints = { command = { "^reginald" }, output = { "%f[%w]reginald%f[%W]" } }

return host
