-- A host: starts plugins, keeps them running, speaks to them in their dialect, stops them.

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
---@field log? false|fun(entry: pintle.entry) called with everything that plugins log or print; default: to stderr
---@field verbosity? pintle.level|"silent" the lowest level that is logged; default: "info"
---@field dialect? string the dialect of plugins that name none; default: "gevals"
---@field timeout? number|string|false the timeout of operations; default: 60s
---@field handshake_timeout? number|string default: 10s
---@field extensions? boolean|string[] offer extensions of the protocol (docs/extensions.md)
---@field ladder? pintle.ladder how long each step of stopping may take
---@field restart? pintle.restart|boolean restart plugins that died
---@field limits? pintle.peer.limits

---@class pintle.start.options
---@field command string[] the program and its arguments
---@field name? string default: the name of its program or script
---@field dialect? string
---@field env? table<string, string|false>
---@field inherit? boolean|string[]
---@field cwd? string
---@field config? any what the plugin is configured with
---@field options? table options of its dialect, which the page of the dialect describes
---@field limits? pintle.peer.limits of the conversation
---@field process_limits? pintle.limits of the process
---@field restart? pintle.restart|boolean
---@field sha256? string|table<string, string> of the program, or of files by their path
---@field pool? integer how many processes; default: 1
---@field lazy? boolean start it when it is first used
---@field timeout? number|string|false
---@field handshake_timeout? number|string
---@field extensions? boolean|string[]
---@field ladder? pintle.ladder
---@field spin? number
---@field handlers? table<string, pintle.handler> handlers of requests and notifications that the dialect does not
---handle, or handles by default
---@field described? table the manifest.json that `discover` has found

---@class pintle.host
---@field plugins table<string, pintle.hosted> by name
local methods = {}

local metatable = { __name = "pintle.host", __index = methods }

-- {====== Starting ======

local function free_name(host, name)
  local free, n = name, 1
  while host.plugins[free] do
    n = n + 1
    free = name .. "-" .. n
  end
  return free
end

local function register(host, spec)
  spec.name = spec.name or free_name(host, spec.guess)
  if host.plugins[spec.name] then
    return nil, errors.new("invalid", ("a plugin called %s runs already"):format(spec.name))
  end
  local supervisor = supervisors.new(spec, dialects.get(spec.dialect), host.logger)
  -- The callback keeps the host from being collected while the plugin is in use.
  local plugin = hosted.new(supervisor, host.logger, function(stopped) host.plugins[stopped.name] = nil end)
  host.plugins[spec.name] = plugin
  return plugin
end

local function launch(plugin)
  if plugin.supervisor.spec.lazy then return plugin end
  local ok, err = plugin.supervisor:start()
  if ok then return plugin end
  plugin:stop()
  return nil, err
end

---Starts a plugin, handshake included.
---@param given pintle.start.options
---@return pintle.hosted?, pintle.error?
function methods:start(given)
  local plugin, err = register(self, settings.plugin(self.settings, given, 2))
  if not plugin then return nil, err end
  return launch(plugin)
end

---Starts several plugins at once. If one cannot be started, the others run.
---@param list pintle.start.options[]
---@return pintle.hosted[] plugins, table<string, pintle.error> failed by name
function methods:start_all(list)
  if type(list) ~= "table" or #list == 0 and next(list) ~= nil then error("a list of plugins expected", 2) end
  local specs, launching, started, failed = {}, {}, {}, {}
  for i, given in ipairs(list) do specs[i] = settings.plugin(self.settings, given, 2) end
  for i, spec in ipairs(specs) do
    local plugin, err = register(self, spec)
    launching[i] = tasks.start(function()
      if not plugin then return nil, err end
      return launch(plugin)
    end)
  end
  for i, task in ipairs(launching) do
    local plugin, err = task:await()
    if plugin then started[#started + 1] = plugin else failed[specs[i].name] = err end
  end
  return started, failed
end

local function where_to_look(directory, dialect)
  if directory ~= nil then return directory end
  local rules = dialect.host.discovery
  if not rules then error(("discover: a directory expected: %s has none of its own"):format(dialect.name), 3) end
  return rules.directory()
end

local function report_skipped(self, skipped)
  for _, item in ipairs(skipped) do
    local message = ("passed over %s: %s"):format(item.path, item.reason)
    self.logger:entry { plugin = "discover", source = "host", level = "warn", message = message }
  end
end

---The plugins in a directory, as `start` and `start_all` take them: programs, and directories with a manifest.json,
---by the rules of the host's dialect where that has some. What is passed over comes with the reason, and goes to the
---log.
---@param directory? string that of the dialect, where it has one, unless told
---@param given? { allow_world_writable?: boolean }
---@return pintle.start.options[]? found, pintle.skipped[]|pintle.error skipped
function methods:discover(directory, given)
  local discover = require "pintle.host.discover"
  local allow = settings.discover(given or {}, 2).allow_world_writable
  local dialect = dialects.get(self.settings.dialect)
  local path, message = where_to_look(directory, dialect)
  local found, skipped
  if path then
    found, skipped = discover(path, allow, dialect.host.discovery)
  end
  if not found then return nil, errors.new("invalid", skipped or message) end
  report_skipped(self, skipped)
  return found, skipped
end

-- }======

-- {====== Stopping ======

local function stop_all(plugins)
  local list, stopping = {}, {}
  for _, plugin in pairs(plugins) do list[#list + 1] = plugin end
  for i, plugin in ipairs(list) do stopping[i] = tasks.start(plugin.stop, plugin) end
  return stopping
end

---Stops all its plugins, at once. Others can be started afterwards.
function methods:stop()
  for _, task in ipairs(stop_all(self.plugins)) do task:await() end
end

methods.close = methods.stop
metatable.__close = methods.stop

-- Collected: the plugins are stopped from the loop, for a finalizer must not wait.
function metatable.__gc(host)
  local plugins = host.plugins
  if next(plugins) then
    loop.soon(stop_all, plugins)
  end
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
