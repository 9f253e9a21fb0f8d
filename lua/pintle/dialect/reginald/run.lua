-- Commands and tasks at work: what is asked becomes an operation and its arguments, and what that comes to an answer.

local check_settings = require "pintle.dialect.reginald.settings"
local definition = require "pintle.dialect.reginald.definition"
local errors = require "pintle.error"
local members = require "pintle.members"
local outcomes = require "pintle.dialect.reginald.outcome"
local reading = require "pintle.dialect.reginald.reading"
local releases = require "pintle.dialect.reginald.release"

local INVALID_PARAMS = releases.INVALID_PARAMS

local run = {}

---@param code integer
---@param format string
---@return nil, pintle.error
function run.refuse(code, format, ...)
  return nil, errors.new("invalid", format:format(...), { code = code })
end
local refuse = run.refuse

-- {====== What is meant ======

---The operation of a command.
---@param server pintle.server
---@param name any
---@param member string where the name was
---@return pintle.operation?, pintle.error?
function run.command(server, name, member)
  local ok, err = members.check(name, "string", member)
  if not ok then return nil, err end
  if members.given(name) == nil then return refuse(INVALID_PARAMS, "Invalid params: %s is missing", member) end
  local names, codes = server.state.names, server.state.release.codes
  local operation = server.plugin.manifest.operations[names.commands[name]]
  if operation then return operation end
  if names.groups[name] then return refuse(codes.group, "command %q only has others under it", name) end
  return refuse(codes.unknown, "Unknown command: %s", name)
end

---The operation of a task.
---@param server pintle.server
---@param name any
---@param member string where the name was
---@return pintle.operation?, pintle.error?
function run.task(server, name, member)
  local ok, err = members.check(name, "string", member)
  if not ok then return nil, err end
  if members.given(name) == nil then return refuse(INVALID_PARAMS, "Invalid params: %s is missing", member) end
  local operation = server.plugin.manifest.operations[server.state.names.tasks[name]]
  if operation then return operation end
  return refuse(INVALID_PARAMS, "Unknown task: %s", name)
end

local function recoded(err, code) return nil, errors.new("invalid", err.message, { code = code, data = err.data }) end

---The arguments in config entries, checked and complete.
---@param server pintle.server
---@param operation pintle.operation
---@param list any the entries
---@param code integer of the error if they are not right
---@param more? table arguments that came another way
---@return table?, pintle.error?
function run.arguments(server, operation, list, code, more)
  local args, message = reading.values("config", list, operation.params, server.state.release)
  if not args then return refuse(code, "Invalid params for %q: %s", operation.name, message) end
  for name, value in pairs(more or {}) do args[name] = value end
  local full, err = server.plugin.manifest:check(operation.name, args)
  if not full then return recoded(err, code) end
  return full
end

---What the plugin as a whole is configured with, checked and complete. Where the host has nothing to say, that is what
---the command line says.
---@param server pintle.server
---@param list any the entries
---@return table?, pintle.error?
function run.config(server, list)
  local schema = definition.config(server.plugin.manifest)
  local values, message = reading.values("config", list, schema, server.state.release)
  if not values then return refuse(INVALID_PARAMS, "Invalid params: %s", message) end
  if next(values) == nil then values = server.config end
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
