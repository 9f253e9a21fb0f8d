-- What hosts, plugins and operations are set up with. What is wrong raises, and blames the line that gave it.

local check = require "pintle.host.check"
local dialects = require "pintle.dialect"
local logger = require "pintle.host.logger"

local settings = {}

-- {====== Options ======

local function verbosity(value)
  if logger.is_level(value) then return value end
  return nil, "debug, info, warn, error or silent expected, got " .. tostring(value)
end

local function dialect(value)
  local found, message = dialects.get(value)
  if not found then return nil, message end
  return value
end

local function command(value)
  local words, message = check.list_of(check.text)(value)
  if words and words[1] then return words end
  return nil, (message or "it is empty") .. "; what is needed is a list of strings, the program first"
end

local function digest(value)
  if type(value) == "string" and #value == 64 and not value:find "%X" then return value:lower() end
  return nil, "64 hexadecimal digits expected, got " .. tostring(value)
end

local function digests(value)
  if type(value) == "table" then return check.map_of(digest)(value) end
  return digest(value)
end

local span, count, amount = check.span, check.integer_from(1), check.integer_from(0)

local LADDER = check.options { request = span, eof = span, term = span, kill = span }
local LIMITS = check.options {
  header = count, message = count, nesting = count, queue = count, calls = count, text = amount, requests = count,
  parked = count, values = count,
}
local PROCESS_LIMITS = check.options {
  memory = amount, cpu = amount, files = amount, processes = amount, core = amount,
}
local RESTART = check.options {
  max = amount, within = span, backoff = span, factor = check.number_between(1, 1000), longest = span,
  jitter = check.number_between(0, 1),
}

-- Those of a host are for its plugins, too, unless they have their own.
local SHARED = {
  dialect = dialect, timeout = check.false_or(span), handshake_timeout = span,
  extensions = check.boolean_or(check.list_of(check.text)), ladder = LADDER, restart = check.boolean_or(RESTART),
  limits = LIMITS,
}

local function and_shared(own)
  for name, option in pairs(SHARED) do own[name] = option end
  return check.options(own)
end

local HOST = and_shared { log = check.false_or(check.callback), verbosity = verbosity }
local START = and_shared {
  command = command, name = check.name, env = check.map_of(check.false_or(check.text)),
  inherit = check.boolean_or(check.list_of(check.text)), cwd = check.text, config = check.anything,
  process_limits = PROCESS_LIMITS, sha256 = digests, pool = count, lazy = check.boolean, spin = span,
  handlers = check.map_of(check.callback), described = check.anything, options = check.table,
}

local function raising(options)
  return function(given, level)
    local settled, message = options(given)
    if not settled then error(message, level + 1) end
    return settled
  end
end

---@type fun(given: pintle.execute.options, level: integer): table level as `error` counts them
settings.execute = raising(check.options {
  timeout = check.false_or(span), workdir = check.text, phase = check.text, env = check.table, agent = check.table,
  idempotent = check.boolean, on_progress = check.callback, on_part = check.callback,
})

---@type fun(given: table, level: integer): table
settings.call = raising(check.options { timeout = check.false_or(span), on_progress = check.callback })

---@type fun(given: table, level: integer): table
settings.discover = raising(check.options { allow_world_writable = check.boolean })

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
  settled.guess = guess_name(settled.command)
  check_handlers(settled, level + 1)
  return settled
end

-- }======

return settings
