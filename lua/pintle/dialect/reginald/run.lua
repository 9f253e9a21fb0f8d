-- Commands and tasks at work: what is asked becomes an operation and its arguments, and what that comes to an answer.

local check_settings = require "pintle.dialect.reginald.settings"
local definition = require "pintle.dialect.reginald.definition"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local outcomes = require "pintle.dialect.reginald.outcome"
local reading = require "pintle.dialect.reginald.reading"

local INVALID_PARAMS = jsonrpc.INVALID_PARAMS

local run = {}

---@param code integer
---@param format string
---@return nil, pintle.error
function run.refuse(code, format, ...)
  local message = format:format(...)
  if code == INVALID_PARAMS and not message:find "^Invalid params" then message = "Invalid params: " .. message end
  return nil, errors.new("invalid", message, { code = code })
end
local refuse = run.refuse

-- {====== What is meant ======

---The operation of a command.
---@param server pintle.server
---@param name any
---@param member string where the name was
---@return pintle.operation?, pintle.error?
function run.command(server, name, member)
  local ok, err = jsonrpc.check(name, "string", member)
  if not ok then return nil, err end
  if jsonrpc.given(name) == nil then return refuse(INVALID_PARAMS, "Invalid params: %s is missing", member) end
  local names, codes = server.state.names, server.state.release.codes
  local operation = server.plugin.manifest.operations[names.commands[name]]
  if operation then return operation end
  if names.under[name] then return refuse(codes.group, "command %q only has others under it", name) end
  return refuse(codes.unknown, "Unknown command: %s", name)
end

---The operation of a task.
---@param server pintle.server
---@param name any
---@param member string where the name was
---@return pintle.operation?, pintle.error?
function run.task(server, name, member)
  local ok, err = jsonrpc.check(name, "string", member)
  if not ok then return nil, err end
  if jsonrpc.given(name) == nil then return refuse(INVALID_PARAMS, "Invalid params: %s is missing", member) end
  local operation = server.plugin.manifest.operations[server.state.names.tasks[name]]
  if operation then return operation end
  return refuse(INVALID_PARAMS, "Unknown task: %s", name)
end

local function recoded(err, code) return nil, errors.new("invalid", err.message, { code = code, data = err.data }) end

---The arguments in config entries, as they came.
---@param server pintle.server
---@param operation pintle.operation
---@param list any the entries
---@param code integer of the error if they are not right
---@param commands? table<string, true> whose settings are among the entries
---@return table?, pintle.error?
function run.read(server, operation, list, code, commands)
  local args, message = reading.values("config", list, operation.params, server.state.release, commands)
  if args then return args end
  return refuse(code, "Invalid params for %q: %s", operation.name, message)
end

---Arguments, checked and complete.
---@param server pintle.server
---@param operation pintle.operation
---@param args table
---@param code integer of the error if they are not right
---@return table?, pintle.error?
function run.check(server, operation, args, code)
  local full, err = server.plugin.manifest:check(operation.name, args)
  if full then return full end
  return recoded(err, code)
end

-- What a schema says about members that are missing, or about several of them at once.
local OF_THE_WHOLE = {
  required = true, minProperties = true, dependentRequired = true, dependentSchemas = true, dependencies = true,
  allOf = true, anyOf = true, oneOf = true, ["not"] = true, ["if"] = true, ["then"] = true, ["else"] = true,
}

---Checks arguments of which some may be missing: each by itself.
---@param operation pintle.operation
---@param args table
---@param code integer of the error if one is not right
---@return true?, pintle.error?
function run.check_each(operation, args, code)
  local schema = {}
  for keyword, value in pairs(operation.params) do
    if not OF_THE_WHOLE[keyword] then schema[keyword] = value end
  end
  local full, err = check_settings(schema, args, operation.name)
  if full then return true end
  return recoded(err, code)
end

---What the plugin as a whole is configured with, checked and complete. Where the host has nothing to say, that is what
---the command line says.
---@param server pintle.server
---@param list any the entries
---@param commands? table<string, true> whose settings are among the entries
---@return table?, pintle.error?
function run.config(server, list, commands)
  local schema = definition.config(server.plugin.manifest)
  local values, message = reading.values("config", list, schema, server.state.release, commands)
  if not values then return refuse(INVALID_PARAMS, "Invalid params: %s", message) end
  if next(values) == nil then values = server.state.command_line_config end
  local full, err = check_settings(schema, values)
  if not full then return recoded(err, INVALID_PARAMS) end
  return full
end

-- }======

-- {====== What comes of it ======

-- What keeps an operation from being run, or stops it, in the words of the release; an author's own code stays.
local function explain(server, err, way)
  if type(err) ~= "table" then err = errors.new("remote", tostring(err)) end
  if err.code ~= nil then return err end
  local codes = server.state.release.codes
  local code = err.kind == "requirement" and codes.lacking or codes[way]
  return errors.new(err.kind or "remote", err.message, { code = code, data = err.data })
end

local function tell(server, request, operation, made)
  local message, fields = outcomes.message(operation.name, request.id, made)
  if not message then return true end
  return server:log("info", message, fields, request)
end

---Runs an operation, and answers as Reginald expects it.
---@param server pintle.server
---@param request pintle.request
---@param way "command"|"task"
---@param operation pintle.operation
---@param args table
---@param context pintle.context
---@return table?, pintle.error|table?
function run.execute(server, request, way, operation, args, context)
  local made, err = server:execute(operation.name, args, context, request)
  if not made then return nil, explain(server, err, way) end
  local code = server.state.release.codes[way]
  if not made.success then return nil, outcomes.failure(operation.name, made, code) end
  local ok
  ok, err = tell(server, request, operation, made)
  if ok then return {} end
  return refuse(code, "%s succeeded, but what it gave back cannot be sent: %s", operation.name, err.message)
end

-- }======

return run
