-- The options of hosts, plugins and operations. A wrong option raises at the line that gave it.

local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local lfs = require "lfs"
local log = require "pintle.host.log"

local duration = lazy "pintle.duration"

local LONGEST = 9e9 -- seconds; protocols cannot send more

local settings = {}

-- {====== Checks ======

---A check is the name of a type; a table of checks by option; or a function that returns the value to use, or nil and a
---message.
---@alias pintle.check string|table<string, pintle.check>|fun(value: any): any, string?

local apply_check

-- A copy of a table with checked values: by the one check, or by the check of each name.
local function check_values(value, check, checks)
  if type(value) ~= "table" then return nil, "table expected, got " .. type(value) end
  local copy = {}
  for name, item in pairs(value) do
    local own = check or checks[name]
    if not own then return nil, ("no option %q"):format(tostring(name)) end
    local checked, message = apply_check(own, item)
    copy[name] = checked
    if message then return nil, ("%s: %s"):format(tostring(name), message) end
  end
  return copy
end

function apply_check(check, value)
  if type(check) == "function" then return check(value) end
  if type(check) == "table" then return check_values(value, nil, check) end
  if type(value) == check then return value end
  return nil, ("%s expected, got %s"):format(check, type(value))
end

local function any_value(value) return value end

local function false_or(check)
  return function(value)
    if value == false then return false end
    return apply_check(check, value)
  end
end

local function boolean_or(check)
  return function(value)
    if type(value) == "boolean" then return value end
    return apply_check(check, value)
  end
end

local function list_of(check)
  return function(value)
    if type(value) ~= "table" then return nil, "a list expected, got " .. type(value) end
    local n = 0
    for _ in pairs(value) do n = n + 1 end
    if n ~= #value then return nil, "a list expected, without holes and names" end
    return check_values(value, check)
  end
end

local function map_of(check)
  return function(value)
    for name in pairs(type(value) == "table" and value or {}) do
      if type(name) ~= "string" then return nil, "names expected, got " .. tostring(name) end
    end
    return check_values(value, check)
  end
end

local function check_by(test, expected)
  return function(value)
    if test(value) then return value end
    return nil, ("%s expected, got %s"):format(expected, tostring(value))
  end
end

local function integer_from(least)
  return check_by(function(value) return math.type(value) == "integer" and value >= least end,
    ("an integer of %d or more"):format(least))
end

local function number_between(least, most)
  return check_by(function(value) return type(value) == "number" and value >= least and value <= most end,
    ("a number from %g to %g"):format(least, most))
end

-- }======

-- {====== Options ======

local count, amount = integer_from(1), integer_from(0)
local verbosity = check_by(log.is_level, "debug, info, warn, error or silent")
local plugin_name = check_by(function(value) return type(value) == "string" and value:find "%S" end, "a name")

-- Seconds or a duration; returns seconds.
local function seconds_of(value)
  local seconds, message = duration.seconds(value)
  if seconds and seconds > LONGEST then return nil, ("a span of %g seconds is too long"):format(seconds) end
  return seconds, message
end

local function dialect_name(value)
  local found, message = dialects.get(value)
  return found and value, message
end

local function command_words(value)
  local words, message = list_of "string"(value)
  if words and words[1] and words[1]:find "%S" then return words end
  return nil, (message or "no program in it") .. '; write { "lua5.4", "plugin.lua" }'
end

local function sha256_digest(value)
  if type(value) == "string" and #value == 64 and not value:find "%X" then return value:lower() end
  return nil, "64 hexadecimal digits expected, got " .. tostring(value)
end

local function sandbox_option(value) return require("pintle.process.sandbox").check(value) end

local function way_option(value) return require("pintle.via").check(value) end

-- One way, or a list of ways; returns a list.
local function ways_option(value)
  if type(value) == "table" and type(value[1]) == "table" then return list_of(way_option)(value) end
  local way, message = way_option(value)
  return way and { way }, message
end

local function sha256_digests(value)
  return (type(value) == "table" and map_of(sha256_digest) or sha256_digest)(value)
end

-- Options of a host that are also the defaults of its plugins.
local SHARED = {
  dialect = dialect_name, timeout = false_or(seconds_of), extend_on_progress = "boolean",
  longest = false_or(seconds_of), handshake_timeout = seconds_of, extensions = boolean_or(list_of "string"),
  stop_timeouts = { request = seconds_of, eof = seconds_of, term = seconds_of, kill = seconds_of },
  restart = boolean_or {
    max = amount, within = seconds_of, backoff = seconds_of, factor = number_between(1, 1000), max_backoff = seconds_of,
    jitter = number_between(0, 1),
  },
  sandbox = sandbox_option, via = false_or(way_option),
  limits = {
    header = count, message = count, nesting = count, queue = count, calls = count, text = amount, requests = count,
    backlog = count, values = count,
  },
}

local HOST = { log = false_or "function", verbosity = verbosity }

local POOL = { size = count, via = ways_option }

-- Returns a table. By default there is a process for each way.
local function pool_option(value)
  if type(value) ~= "table" then
    local size, message = count(value)
    return size and { size = size }, message
  end
  local pool, message = check_values(value, nil, POOL)
  if pool and not pool.size then
    if not pool.via then return nil, "size or via expected" end
    pool.size = #pool.via
  end
  return pool, message
end

local START = {
  command = command_words, name = plugin_name, env = map_of(false_or "string"), inherit = boolean_or(list_of "string"),
  cwd = "string", config = any_value, sha256 = sha256_digests, pool = pool_option, lazy = "boolean", spin = seconds_of,
  process_limits = { memory = amount, cpu = amount, files = amount, processes = amount, core = amount },
  handlers = map_of "function", discovered_manifest = any_value, options = "table", ordered = "boolean",
}
for name, check in pairs(SHARED) do HOST[name], START[name] = check, check end

-- Returns a function that checks options, and raises at `level` for a wrong one.
local function raising_check(checks)
  return function(given, level)
    local checked, message = apply_check(checks, given)
    return checked or error(message, level + 1)
  end
end

---@type fun(given: pintle.execute.options, level: integer): table
settings.execute = raising_check {
  timeout = false_or(seconds_of), workdir = "string", phase = "string", env = "table", agent = "table",
  idempotent = "boolean", on_progress = "function", on_part = "function", extend_on_progress = "boolean",
  longest = false_or(seconds_of),
}

---@type fun(given: pintle.call.options, level: integer): table
settings.call = raising_check {
  timeout = false_or(seconds_of), on_progress = "function", extend_on_progress = "boolean",
  longest = false_or(seconds_of),
}

---@type fun(given: table, level: integer): table
settings.discover = raising_check { allow_world_writable = "boolean" }

-- }======

local check_host, check_start = raising_check(HOST), raising_check(START)

-- Adds the defaults. `is_timed` tells whether the user has set a timeout.
local function add_defaults(checked, defaults, names)
  checked.is_timed = checked.timeout ~= nil or defaults.is_timed or false
  for name in pairs(names) do
    if checked[name] == nil then checked[name] = defaults[name] end
  end
  return checked
end

local DEFAULTS = { dialect = dialects.DEFAULT, timeout = 60, verbosity = "info" }

---@param given pintle.host.options
---@param level integer
---@return table
function settings.host(given, level) return add_defaults((check_host(given, level + 1)), DEFAULTS, DEFAULTS) end

-- {====== A plugin ======

local INTERPRETERS = {
  lua = true, luajit = true, python = true, node = true, ruby = true, perl = true, sh = true, bash = true, env = true,
}
local CODE_FLAGS = { ["-c"] = true, ["-e"] = true } -- the next word is code, not a file

local function base_name(path) return path:match "([^/]+)/*$" or path end

-- The name of the program, or of the script that an interpreter runs.
local function guess_name(words)
  local program = base_name(words[1])
  if not INTERPRETERS[program:match "^(%a+)[%d.]*$"] then return program end
  for i = 2, #words do
    if CODE_FLAGS[words[i]] then break end
    local is_file = words[i]:sub(1, 1) ~= "-" and not words[i]:find("=", 1, true)
    if is_file then return (base_name(words[i]):gsub("%.%w+$", "")) end
  end
  return program
end

---@param path? string default: the current directory
---@return string
function settings.absolute(path)
  if not path then return lfs.currentdir() end
  return path:sub(1, 1) == "/" and path or lfs.currentdir() .. "/" .. path
end

---The working directory of an operation. What is relative at the far end of a way is relative to the
---directory that the plugin runs in, which this end does not know.
---@param spec table as `settings.plugin` returns it
---@param path string
---@return string
function settings.workdir(spec, path) return spec.ways and path or settings.absolute(path) end

local function default_workdir(checked)
  if not checked.ways then return settings.absolute(checked.cwd) end
  return checked.cwd and checked.cwd:sub(1, 1) == "/" and checked.cwd or "."
end

-- What is for programs of this machine only.
local THIS_MACHINE = { "sandbox", "sha256" }

-- The ways of its processes, and how many processes there are.
local function set_ways(checked, given, level)
  local pool = checked.pool or { size = 1 }
  if pool.via and given.via then error("either via or pool.via", level + 1) end
  checked.ways, checked.pool = pool.via or checked.via and { checked.via } or nil, pool.size
  for _, name in ipairs(checked.ways and THIS_MACHINE or {}) do
    if checked[name] then
      local advice = given[name] == nil and ("; %s = false starts the plugin without it"):format(name) or ""
      error(("%s cannot be used with via: it is for programs of this machine%s"):format(name, advice), level + 1)
    end
  end
end

---The settings of a plugin: its options, with those of the host as defaults.
---@param host table as `settings.host` returns it
---@param given pintle.start.options
---@param level integer
---@return table
function settings.plugin(host, given, level)
  local checked = add_defaults(check_start(given, level + 1), host, SHARED)
  if not checked.command then error("command: the program and its arguments are missing", level + 1) end
  checked.handlers = checked.handlers or {}
  set_ways(checked, given, level + 1)
  checked.workdir = default_workdir(checked)
  checked.guess = guess_name(checked.command)
  checked.persistent = {}
  for method in pairs(dialects.get(checked.dialect).host.handlers) do
    if checked.handlers[method] then
      error(("handlers: %s: the dialect %s has a handler of its own"):format(method, checked.dialect), level + 1)
    end
  end
  return checked
end

-- }======

return settings
