-- What a plugin answers to a host of june, once hands are shaken.

local definition = require "pintle.dialect.reginald.definition"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local levels = require "pintle.dialect.reginald.level"
local run = require "pintle.dialect.reginald.run"

local INVALID_PARAMS = jsonrpc.INVALID_PARAMS

local given, refuse = jsonrpc.given, run.refuse

local june = {}

-- {====== Initialize ======

local function read_logging(logging)
  local ok, err = jsonrpc.check(logging, "object", "logging")
  if not ok then return nil, err end
  logging = given(logging) or {}
  ok, err = jsonrpc.check(logging.enabled, "boolean", "logging.enabled")
  if not ok then return nil, err end
  if given(logging.enabled) == false then return math.huge end
  if given(logging.level) == nil then return -math.huge end
  local threshold = levels.number(logging.level)
  if threshold then return threshold end
  return refuse(INVALID_PARAMS, "Invalid params: logging.level: TRACE, DEBUG, INFO, WARN or ERROR expected, got %s",
    json.encode(logging.level))
end

function june.initialize(server, params)
  local threshold, err = read_logging(params.logging)
  if not threshold then return nil, err end
  local config
  config, err = run.config(server, params.config)
  if not config then return nil, err end
  local before, ok = server.state.threshold
  server.state.threshold = threshold
  ok, err = server:initialize(config)
  if ok then return {} end
  server.state.threshold = before
  return nil, err
end

-- }======

-- {====== Commands ======

local function positional(operation, list)
  local ok, err = jsonrpc.check(list, "array", "args")
  if not ok then return nil, err end
  if given(list) == nil or #list == 0 then return {} end
  local name = definition.options(operation).positional
  if name then return { [name] = list } end
  return refuse(INVALID_PARAMS, "Invalid params for %q: it takes no arguments beside its flags", operation.name)
end

-- What is set up stays until it is set up anew; a run that has begun keeps what it began with.
function june.setupCommand(server, params)
  local operation, err = run.command(server, params.name, "name")
  if not operation then return nil, err end
  local words
  words, err = positional(operation, params.args)
  if not words then return nil, err end
  local args
  args, err = run.read(server, operation, params.config, INVALID_PARAMS)
  if not args then return nil, err end
  for name, value in pairs(words) do args[name] = value end
  args, err = run.check(server, operation, args, INVALID_PARAMS)
  if not args then return nil, err end
  server.state.setups[operation.name] = args
  return {}
end

function june.runCommand(server, params, request)
  local operation, err = run.command(server, params.name, "name")
  if not operation then return nil, err end
  return run.execute(server, request, "command", operation, server.state.setups[operation.name] or {}, {})
end

-- }======

-- {====== Tasks ======

-- The host also asks about the defaults for a type of task alone, which need not be complete. `runTask` sees the whole.
function june.validateTask(server, params)
  local operation, err = run.task(server, params.type, "type")
  if not operation then return nil, err end
  local code = server.state.release.codes.config
  local args
  args, err = run.read(server, operation, params.config, code)
  if not args then return nil, err end
  local ok
  ok, err = run.check_each(operation, args, code)
  if ok then return {} end
  return nil, err
end

function june.runTask(server, params, request)
  local operation, err = run.task(server, params.type, "type")
  if not operation then return nil, err end
  local ok
  ok, err = jsonrpc.check(params.dir, "string", "dir")
  if not ok then return nil, err end
  local code = server.state.release.codes.config
  local args
  args, err = run.read(server, operation, params.config, code)
  if args then args, err = run.check(server, operation, args, code) end
  if not args then return nil, err end
  return run.execute(server, request, "task", operation, args, { workdir = given(params.dir) })
end

-- }======

return june
