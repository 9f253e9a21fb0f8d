-- Operations as commands, on the side of the server: the request read, and the result written.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"
local outcomes = require "pintle.outcome"

local uri = lazy "pintle.dialect.lsp.uri"

local REQUEST_FAILED = -32803

local commands = {}

local function wrong(format, ...)
  return nil, errors.new("invalid", "Invalid params: " .. format:format(...), { code = jsonrpc.INVALID_PARAMS })
end

-- Commands have a list of arguments, and operations have names for theirs: the one item is the object with all.
local function args_of(list)
  if #list > 1 then return wrong("arguments: one object expected, got %d items", #list) end
  local args = jsonrpc.given(list[1])
  if args == nil then return {} end
  if json.kind(args) ~= "object" then return wrong("arguments[0]: object expected, got %s", json.kind(args)) end
  return args
end

local function read(params)
  if json.kind(params) ~= "object" then return wrong("object expected, got %s", json.kind(params)) end
  if type(params.command) ~= "string" then
    return wrong("command: string expected, got %s", json.kind(params.command))
  end
  local ok, err = jsonrpc.check(params.arguments, "array", "arguments")
  if not ok then return nil, err end
  return args_of(jsonrpc.given(params.arguments) or {})
end

local function find(server, name)
  local operation = server.plugin.manifest.operations[name]
  if operation then return operation end
  local _, err = server.plugin.manifest:check(name)
  err.code, err.message = jsonrpc.INVALID_PARAMS, "Invalid params: " .. err.message
  return nil, err
end

-- Where the client works: its first folder; older clients have only one.
local function workdir(client)
  local folders = jsonrpc.given(client.workspaceFolders)
  local first = json.kind(folders) == "array" and folders[1]
  return json.kind(first) == "object" and uri.path(first.uri) or uri.path(client.rootUri)
end

---@param server pintle.server
---@param params any
---@param request pintle.request
---@return any result, pintle.error|table? err
function commands.answer(server, params, request)
  local args, err = read(params)
  if not args then return nil, err end
  local operation
  operation, err = find(server, params.command)
  if not operation then return nil, err end
  request.title = operation.description or operation.name
  local outcome
  outcome, err = server:execute(operation.name, args, { workdir = workdir(server.client) }, request)
  if not outcome then return nil, err end
  if outcome.success then return outcomes.value(outcome) end
  return nil, outcomes.failure(outcome, REQUEST_FAILED)
end

return commands
