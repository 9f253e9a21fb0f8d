-- Starting a plugin for a subcommand, with the options that `pintle.cli.options` defines for that.

local dialects = require "pintle.dialect"
local environment = require "pintle.cli.environment"
local errors = require "pintle.error"
local hosts = require "pintle.host"
local terminals = require("pintle.host.log").terminal

local recognise = require "pintle.cli.recognise"

-- Somebody sits and waits for it.
local LADDER = { request = 1, eof = 1, term = 1 }

local starting = {}

-- What it said before it failed is told, unless that was shown as it came.
local function with_last_words(err, verbosity)
  local lines = { tostring(err) }
  if verbosity == "debug" or verbosity == "info" then return err end
  for _, line in ipairs(err.stderr or {}) do lines[#lines + 1] = "  stderr    " .. line end
  err.message, err.is_text = table.concat(lines, "\n"), true
  return err
end

local function start_known(args, start, terminal)
  local ok, message = dialects.get(args.dialect)
  if not ok then return nil, errors.new("invalid", message) end
  local host = hosts { dialect = args.dialect, log = terminal.entry, verbosity = args.log, extensions = true,
    handshake_timeout = args.patience }
  local plugin, err = host:start(start)
  if not plugin then return nil, with_last_words(err, args.log) end
  return plugin, args.dialect
end

---Starts what the words of the command line say. Has to be stopped by whoever asked for it.
---@param args table with those options, and `command`
---@param console pintle.cli.console
---@return { plugin: pintle.hosted, dialect: string, is_recognised: boolean, terminal: pintle.terminal }?, pintle.error?
function starting.start(args, console)
  local terminal = terminals()
  local start = { command = args.command, config = args.config, env = environment(console), ladder = LADDER }
  local plugin, dialect
  if args.dialect then
    plugin, dialect = start_known(args, start, terminal)
  else
    plugin, dialect = recognise { start = start, patience = args.patience, log = terminal.entry,
      verbosity = args.log }
  end
  if not plugin then return nil, dialect end
  return { plugin = plugin, dialect = dialect, is_recognised = not args.dialect, terminal = terminal }
end

return starting
