-- Starting a plugin for a subcommand, with the options that `options.define_starting` defines.

local lazy = require "pintle.lazy"

local dialects = lazy "pintle.dialect"
local errors = lazy "pintle.error"
local log = lazy "pintle.host.log"
local recognition = lazy "pintle.cli.recognition"

local starting = {}

---Stages of stopping a plugin, in seconds: short, because a user is waiting.
starting.STOP_TIMEOUTS = { request = 1, eof = 1, term = 1 }

-- {====== The environment of plugins ======

local function append_to(name, places)
  return (os.getenv(name .. "_5_4") or os.getenv(name) or ";;") .. ";" .. places
end

---Extra environment variables for plugins. In a checkout, plugins find its modules after all others.
---@param console pintle.cli.console
---@return table<string, string>?
function starting.environment(console)
  local root = console.checkout
  if not root then return nil end
  return {
    LUA_PATH_5_4 = append_to("LUA_PATH", ("%s/lua/?.lua;%s/lua/?/init.lua"):format(root, root)),
    LUA_CPATH_5_4 = append_to("LUA_CPATH", root .. "/build/?.so"),
  }
end

-- }======

-- Adds the plugin's stderr to the error, unless the log has shown it already.
local function add_stderr(err, log_level)
  if log_level == "debug" or log_level == "info" then return err end
  local lines = { tostring(err) }
  for _, line in ipairs(err.stderr or {}) do lines[#lines + 1] = "  stderr    " .. line end
  err.message, err.is_text = table.concat(lines, "\n"), true
  return err
end

local function start_known(args, start, terminal)
  local ok, message = dialects.get(args.dialect)
  if not ok then return nil, errors.new("invalid", message) end
  local host = require "pintle.host" { dialect = args.dialect, log = terminal.entry, verbosity = args.log,
    extensions = true, handshake_timeout = args.start_timeout }
  local plugin, err = host:start(start)
  if not plugin then return nil, add_stderr(err, args.log) end
  return plugin, args.dialect
end

---Starts the plugin that the command line names. The caller has to stop it.
---@param args table the parsed options, and `command`
---@param console pintle.cli.console
---@return { plugin: pintle.hosted, dialect: string, is_recognised: boolean, terminal: pintle.terminal }?, pintle.error?
function starting.start(args, console)
  local terminal = log.terminal()
  local start = { command = args.command, config = args.config, env = starting.environment(console),
    stop_timeouts = starting.STOP_TIMEOUTS }
  local plugin, dialect
  if args.dialect then
    plugin, dialect = start_known(args, start, terminal)
  else
    plugin, dialect = recognition.start { start = start, start_timeout = args.start_timeout, log = terminal.entry,
      verbosity = args.log }
  end
  if not plugin then return nil, dialect end
  return { plugin = plugin, dialect = dialect, is_recognised = not args.dialect, terminal = terminal }
end

return starting
