-- What a plugin does when it is asked for something: operations and methods carried out, or refused.

local beginning = require "pintle.plugin.beginning"
local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"

local contexts = lazy "pintle.plugin.context"
local outcomes = lazy "pintle.plugin.outcome"
local requirement = lazy "pintle.plugin.program"

local work = {}

---@param self pintle.server
---@return true?, pintle.error? err if nothing is begun any more
function work.refuse_when_over(self)
  if not self.is_over then return true end
  local message = "Invalid Request: the plugin is shutting down"
  return nil, errors.new("closed", message, { code = jsonrpc.INVALID_REQUEST })
end

local function find_required(self, requires, path)
  if #requires == 0 then return true end
  return requirement.check(self.found, requires, path)
end

local function prepare(self, operation, context)
  if self.phase ~= "ready" or self.is_over then
    local ok, err = work.refuse_when_over(self)
    if ok then ok, err = beginning.begin(self) end
    if not ok then return nil, err end
  end
  local manifest = self.plugin.manifest
  local path = context.env and context.env.PATH
  local ok, err = find_required(self, manifest.requires, path)
  if not ok then return nil, err end
  return find_required(self, manifest.operations[operation].requires, path)
end

-- What does not fit the schema is a mistake of the author, and raises. A failure need not have outputs.
local function check_outputs(self, operation, outcome)
  if not outcome.success and outcome.outputs == nil then return end
  local ok, message = self.plugin.manifest:check_outputs(operation, outcome.outputs)
  if not ok then error(("operation %q returned what it has not declared: %s"):format(operation, message), 0) end
end

-- Calls the function of the operation. One that takes no context is not given any.
local function run(self, operation, args, context, request)
  local fn = self.plugin.functions[operation]
  if self.plugin.without_context[operation] then return fn(args) end
  return fn(args, contexts.new(self, request, operation, context))
end

local function check_args(self, operation, args, request)
  local manifest = self.plugin.manifest
  if manifest:fits(operation, args) then return args end
  return manifest:check(operation, args, true, function()
    local is_unwanted, why = request:cancelled()
    return is_unwanted and why or nil
  end)
end

---Carries out an operation.
---@param self pintle.server
---@param operation string
---@param args any
---@param context pintle.context
---@param request pintle.request
---@return pintle.outcome?, pintle.error|table|string? err
function work.execute(self, operation, args, context, request)
  if context.timeout then request:set_deadline(context.timeout, ("Operation %q"):format(operation)) end
  local checked, err = check_args(self, operation, args, request)
  if not checked then return nil, err end
  local ok
  ok, err = prepare(self, operation, context)
  if not ok then return nil, err end
  local outcome
  outcome, err = outcomes.of(operation, run(self, operation, checked, context, request))
  if request.concluding then request.concluding() end
  local is_unwanted, why = request:cancelled()
  if is_unwanted then return nil, why end
  if outcome and self.plugin.manifest.operations[operation].validate_outputs then
    check_outputs(self, operation, outcome)
  end
  return outcome, err
end

local function conclude(self, request, ...)
  if request.concluding then request.concluding() end
  local answer_by_dialect = self.dialect and self.dialect.plugin.answer
  if answer_by_dialect then return answer_by_dialect(self, request, ...) end
  return ...
end

local function admit(self, request, params)
  local admit_by_dialect = self.dialect and self.dialect.plugin.admit
  if not admit_by_dialect then return true end
  local ok, err = admit_by_dialect(self, request, params)
  if ok then return true end
  return nil, request.id ~= nil and err or nil
end

---What a function of the author's that is no operation is given as `ctx`. It begins where nobody else has.
---@param self pintle.server
---@param request pintle.request
---@return pintle.plugin.context?, pintle.error|table|string? err
function work.enter(self, request)
  local ok, err = work.refuse_when_over(self)
  if ok then ok, err = beginning.begin(self) end
  if not ok then return nil, err end
  return contexts.new(self, request)
end

---Handles a method that the author has declared.
---@param self pintle.server
---@param fn pintle.plugin.method
---@param params any
---@param request pintle.request
---@return any, any
function work.handle(self, fn, params, request)
  local ok, err = admit(self, request, params)
  if not ok then return nil, err end
  local ctx
  ctx, err = work.enter(self, request)
  if not ctx then return nil, err end
  return conclude(self, request, fn(params, ctx))
end

---Handles a method that nobody has declared.
---@param self pintle.server
---@param params any
---@param request pintle.request
---@return nil, pintle.error? err
function work.refuse(self, params, request)
  local ok, err = admit(self, request, params)
  if not ok or request.id == nil then return nil, err end
  return nil, errors.new("invalid", "Method not found: " .. request.method, { code = jsonrpc.METHOD_NOT_FOUND })
end

return work
