-- Prompts, and the completion of their arguments and of the variables of templates, on the server's side.

local bytes = require "pintle.bytes"
local contents = require "pintle.content"
local era = require "pintle.dialect.mcp.era"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local pages = require "pintle.dialect.mcp.pages"
local wire = require "pintle.dialect.mcp.wire"

local prompts = {}

local function catalog_of(server) return era.catalog(server.plugin) end

-- {====== prompts/list ======

local PROMPT = json.order { "name", "title", "description", "arguments", "icons", "_meta" }
local ARGUMENT = json.order { "name", "title", "description", "required" }

local function described_arguments(list)
  if #list == 0 then return nil end
  local all = {}
  for i, argument in ipairs(list) do
    all[i] = setmetatable({
      name = argument.name, title = argument.title, description = argument.description, required = argument.required,
    }, ARGUMENT)
  end
  return all
end

---@param list table[] declared prompts
---@param first integer
---@param last integer
---@return table[] as the client gets them
function prompts.described(list, first, last)
  local all = json.array()
  for i = first, last do
    local item = list[i]
    all[#all + 1] = setmetatable({
      name = item.name, title = item.title, description = item.description,
      arguments = described_arguments(item.arguments), icons = item.icons, _meta = item._meta,
    }, PROMPT)
  end
  return all
end

---@param server pintle.server
---@param params table?
---@return table?, pintle.error?
function prompts.list(server, params)
  local list = catalog_of(server).prompts
  local first, last, next_cursor = pages.cut(server, params, #list)
  if not first then return nil, last end
  return { prompts = prompts.described(list, first, last), nextCursor = next_cursor }
end

-- }======

-- {====== prompts/get ======

-- The declared arguments; others are ignored.
local function read_arguments(item, given)
  local args = {}
  for _, argument in ipairs(item.arguments) do
    local name = argument.name
    local value = jsonrpc.given(given[name])
    if value == nil and argument.required then return wire.invalid_params("arguments: %s is missing", name) end
    if value ~= nil and type(value) ~= "string" then
      return wire.invalid_params("arguments: %s: string expected, got %s", name, json.kind(value))
    end
    args[name] = value
  end
  return args
end

local function read_params(server, params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.name, "string", "name") end
  if ok then ok, err = jsonrpc.check(params.arguments, "object", "arguments") end
  if not ok then return nil, err end
  local item = catalog_of(server).prompts[params.name]
  if not item then return wire.invalid_params("there is no prompt %q", params.name) end
  local args
  args, err = read_arguments(item, jsonrpc.given(params.arguments) or {})
  return args and item, args or err
end

local ROLES = { user = true, assistant = true }

local function message_of(given, place)
  local role, item = "user", given
  if type(given) == "table" and given.role ~= nil then role, item = given.role, given.content end
  if not ROLES[role] then return nil, ("role: user or assistant expected, got %s"):format(tostring(role)) end
  local block, problem = contents.block(item, place)
  if not block then return nil, problem end
  return { role = role, content = block }
end

local function is_one(given) return type(given) ~= "table" or bytes.is(given) or given.role or given.type end

local function result_of(item, given)
  local description = item.description
  if type(given) == "table" and given.messages then
    description, given = given.description or description, given.messages
  end
  if is_one(given) then given = { given } end
  local messages = json.array()
  for i, one in ipairs(given) do
    local message, problem = message_of(one, i)
    if not message then error(("prompt %q: wrong message: [%d]: %s"):format(item.name, i, problem), 0) end
    messages[i] = message
  end
  return { description = description, messages = messages }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function prompts.get(server, params, request)
  local item, args = read_params(server, params)
  if not item then return nil, args end
  local ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local given
  given, err = item.fn(args, ctx)
  if given ~= nil then return result_of(item, given) end
  return nil, err or ("the prompt %q has no text"):format(item.name)
end

-- }======

-- {====== completion/complete ======

local MOST_VALUES = 100

local REFERENCES = {
  ["ref/prompt"] = { "prompts", "name" },
  ["ref/resource"] = { "templates", "uri" },
}

local function read_reference(catalog, ref)
  local kind = REFERENCES[ref.type]
  if not kind then return wire.invalid_params("ref: type: ref/prompt or ref/resource expected") end
  local ok, err = wire.check_required(ref[kind[2]], "string", "ref: " .. kind[2])
  if not ok then return nil, err end
  local key = ref[kind[2]]
  local item = catalog[kind[1]][key] or kind[1] == "templates" and catalog.resources[key]
  if item then return item end
  return wire.invalid_params("ref: there is no %s", key)
end

local function read_completion(server, params)
  local ok, err = wire.check_required(params, "object", "params")
  if ok then ok, err = wire.check_required(params.ref, "object", "ref") end
  if ok then ok, err = wire.check_required(params.argument, "object", "argument") end
  if ok then ok, err = wire.check_required(params.argument.name, "string", "argument: name") end
  if ok then ok, err = wire.check_required(params.argument.value, "string", "argument: value") end
  if ok then ok, err = jsonrpc.check(params.context, "object", "context") end
  local context = ok and jsonrpc.given(params.context) or {}
  if ok then ok, err = jsonrpc.check(context.arguments, "object", "context: arguments") end
  if not ok then return nil, err end
  local item
  item, err = read_reference(catalog_of(server), params.ref)
  return item, err or jsonrpc.given(context.arguments) or {}
end

local function beginning_with(list, typed)
  local found = {}
  for _, value in ipairs(list) do
    if value:sub(1, #typed):lower() == typed:lower() then found[#found + 1] = value end
  end
  return found
end

local function values_of(source, typed, ctx, others)
  if type(source) == "table" then return beginning_with(source, typed) end
  return source(typed, ctx, others)
end

local COMPLETION = json.order { "values", "total", "hasMore" }

local function completion_of(values, total)
  local shown = json.array(table.move(values, 1, math.min(#values, MOST_VALUES), 1, {}))
  total = math.tointeger(total) or #values
  return { completion = setmetatable({ values = shown, total = total, hasMore = total > #shown }, COMPLETION) }
end

---@param server pintle.server
---@param params table?
---@param request pintle.request
---@return table?, any err
function prompts.complete(server, params, request)
  local item, others = read_completion(server, params)
  if not item then return nil, others end
  local source = item.complete and item.complete[params.argument.name]
  if not source then return completion_of({}, 0) end
  local ctx, err = server:enter(request)
  if not ctx then return nil, err end
  local values, total = values_of(source, params.argument.value, ctx, others)
  if values == nil and total ~= nil then return nil, total end
  return completion_of(values or {}, total)
end

-- }======

return prompts
