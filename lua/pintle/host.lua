-- A host: starts plugins, restarts them when they die, calls their operations, and stops them.

local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local hosted = require "pintle.host.hosted"
local log = require "pintle.host.log"
local loop = require "pintle.loop"
local settings = require "pintle.host.settings"
local supervisors = require "pintle.host.supervisor"
local tasks = require "pintle.task"

require("pintle.core").protect()

---@class pintle.host.options
---@field log? false|fun(entry: pintle.entry) called with each log entry and line of output; default: prints to stderr
---@field verbosity? pintle.level|"silent" minimum level of log entries; default: "info"
---@field dialect? string the default dialect of its plugins; default: "gevals"
---@field timeout? number|string|false the timeout of operations; default: 60s
---@field extend_on_progress? boolean the timeout counts from the last report of progress
---@field longest? number|string|false the timeout for everything if progress extends the other one; default: ten times
---that one
---@field handshake_timeout? number|string default: 10s
---@field extensions? boolean|string[] offer extensions of the protocol (docs/extensions.md)
---@field stop_timeouts? pintle.stop_timeouts timeouts of the steps of stopping
---@field restart? pintle.restart|boolean restart plugins that died
---@field limits? pintle.peer.limits
---@field sandbox? "strict"|"read-only"|pintle.sandbox|false what its plugins may do; default: everything
---@field via? pintle.via|false the way to another machine or a container, where its plugins run; default: this machine

---@class pintle.start.options
---@field command string[] the program and its arguments
---@field name? string default: the name of its program or script
---@field dialect? string
---@field env? table<string, string|false>
---@field inherit? boolean|string[]
---@field cwd? string
---@field config? any the configuration of the plugin
---@field options? table options of its dialect (docs/dialects)
---@field limits? pintle.peer.limits of the connection
---@field process_limits? pintle.limits of the process
---@field sandbox? "strict"|"read-only"|pintle.sandbox|false what it may do; default: what the host's option says
---@field restart? pintle.restart|boolean
---@field sha256? string|table<string, string> of the program, or of files by their path
---@field via? pintle.via|false the way to another machine or a container, where it runs; default: what the host's
---option says
---@field pool? integer|pintle.pool how many processes, and where; default: 1
---@field lazy? boolean start it when it is first used
---@field timeout? number|string|false
---@field extend_on_progress? boolean
---@field longest? number|string|false
---@field handshake_timeout? number|string
---@field extensions? boolean|string[]
---@field stop_timeouts? pintle.stop_timeouts
---@field spin? number
---@field ordered? boolean objects that the plugin sends keep the order of their members
---@field handlers? table<string, pintle.handler> for requests and notifications that the dialect does not handle, or
---handles only by default
---@field discovered_manifest? table the manifest.json that `discover` found

---@class pintle.pool
---@field size? integer how many processes; default: one for each way
---@field via? pintle.via|pintle.via[] the way of all processes, or ways over which they are spread evenly

---@class pintle.host
---@field plugins table<string, pintle.hosted> by name
local methods = {}

local metatable = { __name = "pintle.host", __index = methods }

-- {====== Starting ======

local function free_plugin_name(host, name)
  local free, n = name, 1
  while host.plugins[free] do
    n = n + 1
    free = name .. "-" .. n
  end
  return free
end

local function register_plugin(host, spec)
  spec.name = spec.name or free_plugin_name(host, spec.guess)
  if host.plugins[spec.name] then
    return nil, errors.new("invalid", ("a plugin called %s is already running"):format(spec.name))
  end
  local plugin = hosted.new(supervisors.new(spec, dialects.get(spec.dialect), host.logger), host)
  host.plugins[spec.name] = plugin
  return plugin
end

local function launch_plugin(plugin, err)
  if not plugin then return nil, err end
  if plugin.supervisor.spec.lazy then return plugin end
  local ok
  ok, err = plugin.supervisor:start()
  if ok then return plugin end
  plugin:stop()
  return nil, err
end

---Starts a plugin, including the handshake.
---@param given pintle.start.options
---@return pintle.hosted?, pintle.error?
function methods:start(given) return launch_plugin(register_plugin(self, settings.plugin(self.settings, given, 2))) end

---Starts a plugin that is no program: `open` returns a peer that is connected to it. For `pintle.test`.
---@private
---@param open fun(options: table): pintle.peer?, pintle.error?
---@param level integer as for `error`
function methods:start_connected(given, open, level)
  local spec = settings.plugin(self.settings, given, level + 1)
  spec.open = open
  return launch_plugin(register_plugin(self, spec))
end

---Starts several plugins at once. If one cannot be started, the others still run.
---@param list pintle.start.options[]
---@return pintle.hosted[] plugins, table<string, pintle.error> failed by name
function methods:start_all(list)
  if type(list) ~= "table" or #list == 0 and next(list) ~= nil then error("a list of plugins expected", 2) end
  local specs, launching, started, failed = {}, {}, {}, {}
  for i, given in ipairs(list) do specs[i] = settings.plugin(self.settings, given, 2) end
  for i, spec in ipairs(specs) do launching[i] = tasks.start(launch_plugin, register_plugin(self, spec)) end
  for i, task in ipairs(launching) do
    local plugin, err = task:await()
    if plugin then started[#started + 1] = plugin else failed[specs[i].name] = err end
  end
  return started, failed
end

---Finds the plugins in a directory, in the form that `start` and `start_all` take: programs, and directories with a
---manifest.json. The host's dialect may have rules of its own. What is skipped is returned with the reason, and logged.
---@param directory? string default: the directory of the dialect, if it has one
---@param given? { allow_world_writable?: boolean }
---@return pintle.start.options[]? found, pintle.skipped[]|pintle.error skipped
function methods:discover(directory, given)
  local discover = require "pintle.host.discover"
  local allow = settings.discover(given or {}, 2).allow_world_writable
  local dialect = dialects.get(self.settings.dialect)
  local rules, found, problem = dialect.host.discovery, nil, nil
  if directory == nil then
    if not rules then error(("discover: the dialect %s has no default directory"):format(dialect.name), 2) end
    directory, problem = rules.directory()
  end
  if directory then found, problem = discover(directory, allow, rules) end
  if not found then return nil, errors.new("invalid", problem) end
  for _, item in ipairs(problem) do
    self.logger:add("discover", "host", "warn", ("skipped %s: %s"):format(item.path, item.reason))
  end
  return found, problem
end

-- }======

-- {====== Stopping ======

local function stop_all_plugins(plugins)
  local list = {}
  for _, plugin in pairs(plugins) do list[#list + 1] = plugin end
  for i, plugin in ipairs(list) do list[i] = tasks.start(plugin.stop, plugin) end
  return list
end

---Stops all its plugins at once. Others can be started afterwards.
function methods:stop()
  for _, task in ipairs(stop_all_plugins(self.plugins)) do task:await() end
end

methods.close = methods.stop
metatable.__close = methods.stop

-- A finalizer must not wait, so the loop stops the plugins.
function metatable.__gc(host)
  if next(host.plugins) then loop.soon(stop_all_plugins, host.plugins) end
end

-- }======

---@param given? pintle.host.options
---@return pintle.host
return function(given)
  local settled = settings.host(given or {}, 2)
  return setmetatable({
    settings = settled,
    logger = log.new(settled.log, settled.verbosity),
    plugins = {},
  }, metatable)
end
