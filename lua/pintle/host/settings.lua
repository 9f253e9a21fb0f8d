-- The options of hosts, plugins and operations. A wrong option raises at the line that gave it.

local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local lfs = require "lfs"
local log = require "pintle.host.log"

local duration = lazy "pintle.duration"

local LONGEST = 9e9 -- seconds; a protocol has to be able to write it down

local settings = {}

-- {====== Checks ======

-- Each is a function: a value becomes what is used, or nil and what is wrong with it.
---@alias pintle.check fun(value: any): any, string?

local function anything(value) return value end

local function of_type(expected)
  return function(value)
    if type(value) == expected then return value end
    return nil, ("%s expected, got %s"):format(expected, type(value))
  end
end

local boolean, text, any_table, callback = of_type "boolean", of_type "string", of_type "table", of_type "function"

local function false_or(other)
  return function(value)
    if value == false then return false end
    return other(value)
  end
end

local function boolean_or(other)
  return function(value)
    if value == true then return true end
    return false_or(other)(value)
  end
end

-- Seconds, or a duration; it becomes seconds.
local function span(value)
  local seconds, message = duration.seconds(value)
  if seconds and seconds > LONGEST then return nil, ("a span of %g seconds is too long"):format(seconds) end
  return seconds, message
end

local function integer_from(least)
  return function(value)
    if math.type(value) == "integer" and value >= least then return value end
    return nil, ("an integer of %d or more expected, got %s"):format(least, tostring(value))
  end
end

local count, amount = integer_from(1), integer_from(0)

local function number_between(least, most)
  return function(value)
    if type(value) == "number" and value >= least and value <= most then return value end
    return nil, ("a number from %g to %g expected, got %s"):format(least, most, tostring(value))
  end
end

-- A copy of a table, each of its values checked by `check_of(name)`, which returns nil and a message for a wrong name.
local function each(value, check_of)
  local copy = {}
  for name, item in pairs(value) do
    local check, message = check_of(name)
    if not check then return nil, message end
    copy[name], message = check(item)
    if message then return nil, ("%s: %s"):format(tostring(name), message) end
  end
  return copy
end

local function list_of(check)
  return function(value)
    if type(value) ~= "table" then return nil, "a list expected, got " .. type(value) end
    local n = 0
    for _ in pairs(value) do n = n + 1 end
    if n ~= #value then return nil, "a list expected, without holes and names" end
    return each(value, function() return check end)
  end
end

local function map_of(check)
  return function(value)
    if type(value) ~= "table" then return any_table(value) end
    return each(value, function(name)
      if type(name) == "string" then return check end
      return nil, "names expected, got " .. tostring(name)
    end)
  end
end

-- Options by name, each with its check. An unknown name is a mistake.
local function options_of(checks)
  local function check_of(name)
    if checks[name] then return checks[name] end
    return nil, ("no option %q"):format(tostring(name))
  end
  return function(value)
    if type(value) ~= "table" then return any_table(value) end
    return each(value, check_of)
  end
end

-- A value that passes a test, or a message that says what is expected.
local function tested(test, expected)
  return function(value)
    if test(value) then return value end
    return nil, ("%s expected, got %s"):format(expected, tostring(value))
  end
end

-- }======

-- {====== Options ======

local verbosity = tested(log.is_level, "debug, info, warn, error or silent")
local visible_name = tested(function(value) return type(value) == "string" and value:find "%S" end, "a name")

local function dialect(value)
  local found, message = dialects.get(value)
  return found and value, message
end

local function command(value)
  local words, message = list_of(text)(value)
  if words and words[1] then return words end
  return nil, (message or "it is empty") .. "; what is needed is a list of strings, the program first"
end

local function digest(value)
  if type(value) == "string" and #value == 64 and not value:find "%X" then return value:lower() end
  return nil, "64 hexadecimal digits expected, got " .. tostring(value)
end

local function digests(value)
  if type(value) == "table" then return map_of(digest)(value) end
  return digest(value)
end

local LADDER = options_of { request = span, eof = span, term = span, kill = span }
local LIMITS = options_of {
  header = count, message = count, nesting = count, queue = count, calls = count, text = amount, requests = count,
  parked = count, values = count,
}
local PROCESS_LIMITS = options_of {
  memory = amount, cpu = amount, files = amount, processes = amount, core = amount,
}
local RESTART = options_of {
  max = amount, within = span, backoff = span, factor = number_between(1, 1000), longest = span,
  jitter = number_between(0, 1),
}

-- Those of a host are for its plugins, too, unless they have their own.
local SHARED = {
  dialect = dialect, timeout = false_or(span), handshake_timeout = span,
  extensions = boolean_or(list_of(text)), ladder = LADDER, restart = boolean_or(RESTART),
  limits = LIMITS,
}

local function and_shared(own)
  for name, option in pairs(SHARED) do own[name] = option end
  return options_of(own)
end

local HOST = and_shared { log = false_or(callback), verbosity = verbosity }
local START = and_shared {
  command = command, name = visible_name, env = map_of(false_or(text)),
  inherit = boolean_or(list_of(text)), cwd = text, config = anything,
  process_limits = PROCESS_LIMITS, sha256 = digests, pool = count, lazy = boolean, spin = span,
  handlers = map_of(callback), described = anything, options = any_table,
}

local function raising(options)
  return function(given, level)
    local settled, message = options(given)
    if not settled then error(message, level + 1) end
    return settled
  end
end

---@type fun(given: pintle.execute.options, level: integer): table level as `error` counts them
settings.execute = raising(options_of {
  timeout = false_or(span), workdir = text, phase = text, env = any_table, agent = any_table,
  idempotent = boolean, on_progress = callback, on_part = callback,
})

---@type fun(given: table, level: integer): table
settings.call = raising(options_of { timeout = false_or(span), on_progress = callback })

---@type fun(given: table, level: integer): table
settings.discover = raising(options_of { allow_world_writable = boolean })

-- }======

local DEFAULTS = { dialect = dialects.DEFAULT, timeout = 60, verbosity = "info" }

---@param given pintle.host.options
---@param level integer
---@return table
function settings.host(given, level)
  local settled = raising(HOST)(given, level + 1)
  settled.is_timed = settled.timeout ~= nil
  for name, default in pairs(DEFAULTS) do
    if settled[name] == nil then settled[name] = default end
  end
  return settled
end

-- {====== A plugin ======

local INTERPRETERS = {
  lua = true, luajit = true, python = true, node = true, ruby = true, perl = true, sh = true, bash = true, env = true,
}
local CODE = { ["-c"] = true, ["-e"] = true } -- what follows is no file

local function base(path) return path:match "([^/]+)/*$" or path end

-- The program's name, or that of the script which an interpreter runs.
local function guess_name(words)
  local program = base(words[1])
  if not INTERPRETERS[program:match "^(%a+)[%d.]*$"] then return program end
  for i = 2, #words do
    if CODE[words[i]] then break end
    local is_file = words[i]:sub(1, 1) ~= "-" and not words[i]:find("=", 1, true)
    if is_file then return (base(words[i]):gsub("%.%w+$", "")) end
  end
  return program
end

local function check_handlers(settled, level)
  local own = dialects.get(settled.dialect).host.handlers
  for method in pairs(settled.handlers) do
    if own[method] then
      error(("handlers: %s: the dialect %s has a handler of its own"):format(method, settled.dialect), level + 1)
    end
  end
end

---@param path? string default: the current directory
---@return string
function settings.absolute(path)
  if not path then return lfs.currentdir() end
  return path:sub(1, 1) == "/" and path or lfs.currentdir() .. "/" .. path
end

---What a plugin is started with: what was given, and the host's own settings for what was not.
---@param host table as `settings.host` made it
---@param given pintle.start.options
---@param level integer
---@return table
function settings.plugin(host, given, level)
  local settled = raising(START)(given, level + 1)
  if not settled.command then error("command: the program and its arguments are missing", level + 1) end
  settled.is_timed = settled.timeout ~= nil or host.is_timed
  for name in pairs(SHARED) do
    if settled[name] == nil then settled[name] = host[name] end
  end
  settled.handlers = settled.handlers or {}
  settled.workdir = settings.absolute(settled.cwd)
  settled.guess = guess_name(settled.command)
  check_handlers(settled, level + 1)
  return settled
end

-- }======

return settings
