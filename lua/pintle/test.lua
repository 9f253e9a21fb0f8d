-- For the specs of plugins: a host for a plugin in the same process. It serves the plugin over a pair of sockets, so
-- every message is encoded, sent and checked as between two processes, and no process is started.

local core = require "pintle.core"
local errors = require "pintle.error"
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local option_checks = require "pintle.options"
local peers = require "pintle.peer"
local plugins = require "pintle.plugin"
local settings = require "pintle.host.settings"
local tasks = require "pintle.task"

core.protect()

local REQUEST_TIMEOUT = 2 -- seconds for the request to end, if the protocol has one
local EOF_TIMEOUT = 2 -- seconds for pending operations after the end of input
local STOP_TIMEOUT = 30 -- seconds for the functions of on_shutdown
local STATUS_TIMEOUT = 1 -- seconds between the end of a plugin's output and its status

---@class pintle.test
local test = {}

-- {====== The file of a plugin ======

local restoring = {
  __close = function(replaced) plugins.methods.serve = replaced.serve end,
}

local function is_plugin(value)
  local metatable = getmetatable(value)
  return type(metatable) == "table" and metatable.__index == plugins.methods
end

---@class pintle.test.subject
---@field plugin pintle.plugin
---@field options? pintle.serve.options as its file gave them to `serve`
---@field file? thread runs the file, and stays in `serve`, so that the variables of the file stay open

-- Runs a file until it serves its plugin.
local function load_plugin_file(path)
  local chunk, message = loadfile(path)
  if not chunk then return nil, errors.new("invalid", message) end
  local _ <close> = setmetatable({ serve = plugins.methods.serve }, restoring)
  function plugins.methods.serve(...) return coroutine.yield(...) end
  local file = coroutine.create(chunk)
  local ok, plugin, options = coroutine.resume(file)
  if not ok then return nil, errors.new("invalid", debug.traceback(file, errors.text(plugin))) end
  if not is_plugin(plugin) then return nil, errors.new("invalid", path .. " serves no plugin") end
  return { plugin = plugin, options = options, file = file }
end

local function close_plugin_file(file)
  local ok, err = coroutine.close(file)
  if not ok then error(err, 0) end
end

-- }======

-- {====== Serving in this process ======

---@class pintle.test.server: pintle.task.object
---@field ended pintle.event set with the exit status

local function serve_subject(subject, far)
  local options, plugin = {}, subject.plugin
  for name, value in pairs(subject.options or {}) do options[name] = value end
  options.read, options.write, options.exit = far, far, false
  local server = { ended = loop.event() }
  function server.failed(_, err, traceback)
    far:close()
    loop.on_error(err, errors.text(err) .. "\n" .. traceback, plugin.manifest.name)
    server.ended:set(1)
  end
  -- No `pintle.task`, because `pintle.run` waits for those.
  loop.start(server, function()
    local status = plugin:serve(options)
    if subject.file then close_plugin_file(subject.file) end
    server.ended:set(status)
  end)
  return server
end

-- Why a plugin has ended that was not stopped.
local function explain_plugin_end(peer, err)
  tasks.start(function()
    local status = peer.server.ended:wait(STATUS_TIMEOUT)
    if status and not peer.farewell then
      local message = ("%s ended with status %d"):format(peer.name, status)
      err = errors.new("closed", message, { exit = { code = status } })
    end
    peer:finish(peer.farewell or err)
  end)
end

-- The steps of stopping a program, without signals. A plugin whose host is gone answers nothing more.
local function stop_subject(peer)
  local ended = peer.server.ended
  peer.farewell = errors.new("closed", "the conversation was closed on this side")
  if peer.ask then loop.call(peer.ask, REQUEST_TIMEOUT) end
  peer:close_output()
  ended:wait(EOF_TIMEOUT)
  peer:finish(peer.farewell)
  local late = errors.new("timeout", peer.name .. " has not ended in time")
  local _, err = ended:wait(STOP_TIMEOUT, late)
  if err == late then loop.on_error(err, err.message, peer.name) end
end

-- Returns a function that opens a peer as `pintle.connect` does for a program.
local function subject_opener(subject)
  return function(options)
    local near, far = core.socketpair()
    if not near then return nil, errors.new("spawn", far) end
    options.read, options.write, options.explain = near, near, explain_plugin_end
    local peer, err = peers.open(options)
    if not peer then
      far:close()
      return nil, err
    end
    peer.child = { lines = {}, close = function() end }
    peer.server, peer.stop = serve_subject(subject, far), stop_subject
    return peer
  end
end

-- }======

---@class pintle.test.options
---@field dialect? string default: "gevals"
---@field log? false|fun(entry: pintle.entry) called with each log entry; default: false
---@field verbosity? pintle.level|"silent" minimum level of log entries; default: "info"
---@field name? string default: the name of the plugin
---@field config? any the configuration of the plugin
---@field options? table options of the dialect
---@field extensions? boolean|string[] offer extensions of the protocol
---@field timeout? number|string|false the timeout of operations; default: 60s
---@field extend_on_progress? boolean the timeout counts from the last report of progress
---@field longest? number|string|false the timeout for everything if progress extends the other one
---@field handshake_timeout? number|string default: 10s
---@field handlers? table<string, pintle.handler> handlers for calls of the plugin
---@field limits? pintle.peer.limits

local OPTIONS = option_checks.names [[
  dialect log verbosity name config options extensions timeout extend_on_progress longest handshake_timeout handlers
  limits
]]

local HOST_OPTIONS = option_checks.names "log verbosity"

-- Returns the options of the host, and those of the plugin.
local function split_host_options(given, name)
  local of_host, of_plugin = { log = false }, { name = name, command = { name } }
  for option, value in pairs(given) do (HOST_OPTIONS[option] and of_host or of_plugin)[option] = value end
  return of_host, of_plugin
end

---Serves a plugin in this process, and returns it as `host:start` does. A string is the path of a file that serves a
---plugin; it runs until it calls `serve`.
---@param plugin pintle.plugin|string
---@param options? pintle.test.options
---@return pintle.hosted?, pintle.error?
function test.host(plugin, options)
  option_checks.check_names(options or {}, OPTIONS, 2)
  local subject, problem = { plugin = plugin }
  if type(plugin) == "string" then
    subject, problem = load_plugin_file(plugin)
    if not subject then return nil, problem end
  elseif not is_plugin(plugin) then
    error("a plugin or the path of its file expected, got " .. type(plugin), 2)
  end
  local of_host, of_plugin = split_host_options(options or {}, subject.plugin.manifest.name)
  settings.host(of_host, 2)
  local started, err = hosts(of_host):start_connected(of_plugin, subject_opener(subject), 2)
  return started, err
end

return test
