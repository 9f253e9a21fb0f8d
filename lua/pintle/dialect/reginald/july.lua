-- What a plugin answers to a host of july, once hands are shaken.

local jsonrpc = require "pintle.jsonrpc"
local run = require "pintle.dialect.reginald.run"

local INVALID_PARAMS = jsonrpc.INVALID_PARAMS

local july = {}

-- What the plugin as a whole is configured with comes along each time. The settings of commands are among it, and those
-- of the commands under one among its own.
local function run_operation(server, params, request, way, operation)
  local under = server.state.names.under
  local own = way == "command" and under[operation.name] or nil
  local args, err = run.read(server, operation, params.config, INVALID_PARAMS, own)
  if args then args, err = run.check(server, operation, args, INVALID_PARAMS) end
  if not args then return nil, err end
  local config
  config, err = run.config(server, params.pluginConfig, under[""])
  if not config then return nil, err end
  server.config = config
  return run.execute(server, request, way, operation, args, {})
end

function july.runCommand(server, params, request)
  local operation, err = run.command(server, params.cmd, "cmd")
  if not operation then return nil, err end
  return run_operation(server, params, request, "command", operation)
end

function july.runTask(server, params, request)
  local operation, err = run.task(server, params.taskType, "taskType")
  if not operation then return nil, err end
  return run_operation(server, params, request, "task", operation)
end

return july
