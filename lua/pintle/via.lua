-- Ways to run a program on another machine or in a container: the command of the client that reaches the far end, and
-- the relay (`pintle.via.relay`) that a host starts in place of the program. docs/far.md describes the whole.

local core = require "pintle.core"
local duration = require "pintle.duration"
local errors = require "pintle.error"

local via = {}

---A way: the words of a client's command, behind which a command for the far end can be put; or one of the engines.
---@class pintle.via: string[]
---@field ssh? string|pintle.via.ssh
---@field slurm? true|pintle.via.slurm
---@field kubernetes? string|pintle.via.kubernetes
---@field docker? string|pintle.via.container
---@field podman? string|pintle.via.container
---@field env? table<string, string|false> variables for the client
---@field lua? string|string[] Lua at the far end: names, or paths; the first that is 5.3 or newer is used
---@field connect_timeout? number|string how long it may take until the far end is ready; default: 30s, 10m for Slurm
---@field keepalive? number|string interval of the messages that keep the far end running; default: 5s

---@class pintle.via.ssh
---@field host string as ssh takes it: a name of ~/.ssh/config, HOST or USER@HOST
---@field port? integer
---@field user? string
---@field config? string the file of ssh's configuration
---@field options? string[] further options of ssh

---@class pintle.via.slurm
---@field partition? string
---@field nodes? string names of nodes: "node[3-5]"
---@field account? string
---@field time? string limit of time, as srun takes it
---@field cpus? integer
---@field memory? string as srun takes it: "4G"
---@field options? string[] further options of srun

---@class pintle.via.kubernetes
---@field pod string
---@field container? string
---@field namespace? string
---@field context? string
---@field options? string[] further options of kubectl

---@class pintle.via.container
---@field container? string one that runs
---@field image? string a container is made of it, and removed at the end
---@field options? string[] further options of `exec` or `run`

local LUA = { "lua5.4", "lua54", "lua-5.4", "lua5.3", "lua" }
local CONNECT_TIMEOUT, KEEPALIVE = 30, 5 -- seconds
local SLURM_CONNECT_TIMEOUT = 600 -- seconds; a job may have to wait for its node
local STOP_TIMEOUTS = { eof = 2, term = 2, kill = 5 } -- seconds for each step, as on this machine
local SSH_AT_ONCE = 8 -- a server refuses some connections if more than ten are being opened

-- {====== Engines ======

---@class pintle.via.engine
---@field short? string the field that a string stands for
---@field fields table<string, "string"|"integer"|"strings"> "strings" is a list
---@field required string[] one of these must be given
---@field connect_timeout? number seconds
---@field at_once? integer how many connections may be opened at the same time
---@field words fun(way: table): string[] the client's command

-- Adds `flag` and the value to the words, if there is a value.
local function add_option(words, flag, value)
  if value == nil then return end
  words[#words + 1] = flag
  words[#words + 1] = tostring(value)
end

local function add_words(words, list) return table.move(list or {}, 1, #(list or {}), #words + 1, words) end

local engines = {} ---@type table<string, pintle.via.engine>

-- ssh must not ask for anything. A host that begins with a dash is no option.
engines.ssh = {
  short = "host", required = { "host" }, at_once = SSH_AT_ONCE,
  fields = { host = "string", port = "integer", user = "string", config = "string", options = "strings" },
  words = function(way)
    local words = { "ssh", "-T", "-o", "BatchMode=yes" }
    add_option(words, "-F", way.config)
    add_option(words, "-p", way.port)
    add_option(words, "-l", way.user)
    add_words(words, way.options)
    return add_words(words, { "--", way.host })
  end,
}

engines.slurm = {
  required = {}, connect_timeout = SLURM_CONNECT_TIMEOUT,
  fields = {
    partition = "string", nodes = "string", account = "string", time = "string", cpus = "integer", memory = "string",
    options = "strings",
  },
  words = function(way)
    local words = { "srun", "--ntasks=1", "--nodes=1", "--unbuffered" }
    add_option(words, "--partition", way.partition)
    add_option(words, "--nodelist", way.nodes)
    add_option(words, "--account", way.account)
    add_option(words, "--time", way.time)
    add_option(words, "--cpus-per-task", way.cpus)
    add_option(words, "--mem", way.memory)
    return add_words(words, way.options)
  end,
}

engines.kubernetes = {
  short = "pod", required = { "pod" },
  fields = { pod = "string", container = "string", namespace = "string", context = "string", options = "strings" },
  words = function(way)
    local words = { "kubectl" }
    add_option(words, "--context", way.context)
    add_option(words, "--namespace", way.namespace)
    add_words(words, { "exec", "-i", "--quiet" })
    add_option(words, "-c", way.container)
    add_words(words, way.options)
    return add_words(words, { way.pod, "--" })
  end,
}

local function container_engine(client)
  return {
    short = "container", required = { "container", "image" },
    fields = { container = "string", image = "string", options = "strings" },
    words = function(way)
      local words = way.image and { client, "run", "-i", "--rm" } or { client, "exec", "-i" }
      add_words(words, way.options)
      return add_words(words, { way.image or way.container })
    end,
  }
end

engines.docker, engines.podman = container_engine "docker", container_engine "podman"

-- }======

-- {====== Checks ======

local function is_list_of_strings(value)
  if type(value) ~= "table" then return false end
  local n = 0
  for _, item in pairs(value) do
    if type(item) ~= "string" then return false end
    n = n + 1
  end
  return n == #value
end

local IS = {
  string = function(value) return type(value) == "string" and value ~= "" end,
  integer = function(value) return math.type(value) == "integer" end,
  strings = is_list_of_strings,
}
local KINDS = { string = "a string", integer = "an integer", strings = "a list of strings" }

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function check_fields(name, engine, fields)
  for field, value in pairs(fields) do
    local kind = engine.fields[field]
    if not kind then
      return nil, ("%s: no field %q; there are %s"):format(name, tostring(field),
        table.concat(sorted_names(engine.fields), ", "))
    end
    if not IS[kind](value) then return nil, ("%s: %s: %s expected"):format(name, field, KINDS[kind]) end
  end
  local given = #engine.required == 0 and 1 or 0
  for _, field in ipairs(engine.required) do given = given + (fields[field] and 1 or 0) end
  if given == 1 then return fields end
  return nil, ("%s: %s expected"):format(name, table.concat(engine.required, " or "))
end

-- The fields of an engine; `true` and a string stand for tables.
local function engine_fields(name, value)
  local engine = engines[name]
  if value == true and #engine.required == 0 then value = {} end
  if type(value) == "string" and engine.short then value = { [engine.short] = value } end
  if type(value) ~= "table" then
    local expected = engine.short and "a string or a table" or "a table"
    return nil, ("%s: %s expected, got %s"):format(name, expected, type(value))
  end
  return check_fields(name, engine, value)
end

local function check_seconds(value, default)
  if value == nil then return default end
  local seconds, message = duration.seconds(value)
  if seconds and (seconds <= 0 or seconds > 9e9) then return nil, "more than 0 seconds expected" end
  return seconds, message
end

local function check_env(env)
  for name, value in pairs(env or {}) do
    if type(name) ~= "string" or value ~= false and type(value) ~= "string" then
      return nil, "env: strings by name expected"
    end
  end
  return env or {}
end

-- What every way has, beside its client.
local OWN_FIELDS = { env = true, lua = true, connect_timeout = true, keepalive = true }

local way_metatable = { __name = "pintle.way" }

local function check_own_fields(way, given, connect_timeout)
  local message
  way.env, message = check_env(given.env)
  if message then return nil, message end
  way.lua = given.lua == nil and LUA or type(given.lua) == "string" and { given.lua } or given.lua
  if not is_list_of_strings(way.lua) or not way.lua[1] then return nil, "lua: names or paths of Lua expected" end
  way.connect_timeout, message = check_seconds(given.connect_timeout, connect_timeout or CONNECT_TIMEOUT)
  if not way.connect_timeout then return nil, "connect_timeout: " .. message end
  way.keepalive, message = check_seconds(given.keepalive, KEEPALIVE)
  if not way.keepalive then return nil, "keepalive: " .. message end
  return setmetatable(way, way_metatable)
end

-- Divides the fields of a way: the words in front, the names of engines, all others.
local function divide_fields(given)
  local words, names = {}, {}
  for name in pairs(given) do
    if math.type(name) == "integer" then
      words[name] = given[name]
    elseif engines[name] then
      names[#names + 1] = name
    elseif not OWN_FIELDS[name] then
      return nil, ("no field %q; there are %s"):format(tostring(name), table.concat(sorted_names(engines), ", "))
    end
  end
  return words, names
end

---A checked way.
---@class pintle.way
---@field client string[] the client's command
---@field place string the far end, for messages
---@field env table<string, string|false>
---@field lua string[]
---@field connect_timeout number seconds
---@field keepalive number seconds
---@field at_once? integer how many connections may be opened at the same time

---Checks a way. A checked one is returned as it is.
---@param given any
---@return pintle.way?, string? message
function via.check(given)
  if getmetatable(given) == way_metatable then return given end
  if type(given) ~= "table" then return nil, "a table expected, got " .. type(given) end
  local words, names = divide_fields(given)
  if not words then return nil, names end
  if #names > 1 or names[1] and next(words) then return nil, "either the words of a command or one engine expected" end
  if not names[1] then
    if not is_list_of_strings(words) then return nil, "a list of strings expected, the client first" end
    local is_ssh = words[1] and words[1]:match "[^/]+$" == "ssh"
    return check_own_fields({
      client = words, place = words[1] and table.concat(words, " ") or "this machine",
      at_once = is_ssh and SSH_AT_ONCE or nil,
    }, given)
  end
  local name = names[1]
  local fields, message = engine_fields(name, given[name])
  if not fields then return nil, message end
  local engine, target = engines[name], nil
  for _, field in ipairs(engine.required) do target = target or fields[field] end
  local place = target and name .. " " .. target or name
  return check_own_fields({ client = engine.words(fields), place = place, at_once = engine.at_once }, given,
    engine.connect_timeout)
end

-- }======

-- {====== The relay ======

-- Lua code for a value made of tables, strings, numbers and booleans.
local function to_code(value)
  if type(value) ~= "table" then return ("%q"):format(value) end
  local parts = {}
  for key, item in pairs(value) do parts[#parts + 1] = ("[%s]=%s"):format(to_code(key), to_code(item)) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- Lua for the relay: what runs this program, or what the PATH has.
local function find_lua()
  local own = core.realpath "/proc/self/exe"
  if own and own:find "/lua[^/]*$" then return own end
  return core.which "lua5.4" or core.which "lua"
end

-- The source of `pintle.via.lead`, without comments but with the same numbers of lines. Kept: nothing is opened for a
-- restart.
local lead ---@type string?

local function read_lead()
  if lead then return lead end
  local path = assert(package.searchpath("pintle.via.lead", package.path))
  local file <close> = assert(io.open(path, "rb"))
  lead = file:read "a":gsub("\n *%-%-[^\n]*", "\n")
  return lead
end

local function new_mark()
  local file <close> = assert(io.open("/dev/urandom", "rb"))
  return ("pintle-%s: "):format(file:read(16):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

-- What a client gets when its relay is killed, if it is not KILL. srun takes its job back then.
local DEATH_SIGNALS = { srun = "TERM" }

---What a host sends to a relay to have the program killed. SIGKILL would end the relay alone; the far end notices that
---later.
via.KILL_SIGNAL = "VTALRM"

local CODE_LIMIT = 131000 -- bytes of a variable; Linux takes no more
local RELAY = "package.path, package.cpath = %q, %q require('pintle.via.relay').run(%s)"

---What a relay does.
---@param way pintle.way
---@param spawning pintle.spawn_options those of the program
---@param stop_timeouts? pintle.stop_timeouts
---@return pintle.relay.settings
function via.relay_settings(way, spawning, stop_timeouts)
  local timeouts = {}
  for step, seconds in pairs(STOP_TIMEOUTS) do timeouts[step] = (stop_timeouts or {})[step] or seconds end
  local start = {
    command = spawning.command, env = spawning.env, inherit = spawning.inherit, cwd = spawning.cwd,
    limits = spawning.limits, stop_timeouts = timeouts,
  }
  return {
    client = add_words(add_words({}, way.client), { "sh" }), env = { PINTLE_RELAY = false }, place = way.place,
    lua = way.lua, connect_timeout = way.connect_timeout, keepalive = way.keepalive, lead = read_lead(),
    death_signal = DEATH_SIGNALS[(way.client[1] or ""):match "[^/]*$"], mark = new_mark(),
    start = "return " .. to_code(start),
  }
end

---The options of `core.spawn` for a relay that runs a program by a way.
---@param way pintle.way
---@param spawning pintle.spawn_options those of the program; what concerns this machine stays
---@param stop_timeouts? pintle.stop_timeouts for the far end, when the near one is gone
---@param reports? boolean whether the relay tells the host what happens, in lines of stderr that begin with the mark
---@return pintle.spawn_options?, string|pintle.error mark_or_err
function via.relay(way, spawning, stop_timeouts, reports)
  local lua = find_lua()
  if not lua then return nil, errors.new("spawn", "no lua5.4 in the PATH, which the relay to the far end needs") end
  local options = {}
  for name, value in pairs(spawning) do options[name] = value end
  options.command = { lua, "-e", 'load(os.getenv "PINTLE_RELAY")()', "/dev/null" }
  local settings = via.relay_settings(way, spawning, stop_timeouts)
  settings.reports, settings.kill_signal = reports, via.KILL_SIGNAL
  local code = RELAY:format(package.path, package.cpath, to_code(settings))
  if #code > CODE_LIMIT then
    return nil, errors.new("spawn", ("the command and its environment are too long for the relay: %d bytes of %d")
      :format(#code, CODE_LIMIT))
  end
  options.env = { PINTLE_RELAY = code }
  for name, value in pairs(way.env) do options.env[name] = value end
  options.inherit, options.cwd, options.limits = nil, nil, { core = 0 }
  return options, settings.mark
end

-- }======

return via
