-- What a host can do with a server beside executing its tools: the methods that this dialect adds to the handle of a
-- plugin. Loaded when one of them is first used.

local calls = require "pintle.dialect.mcp.calls"
local core = require "pintle.core"
local jsonrpc = require "pintle.jsonrpc"
local results = require "pintle.dialect.mcp.results"
local subscriptions = require "pintle.dialect.mcp.subscriptions"
local wire = require "pintle.dialect.mcp.wire"

local json = core.json
local kind_of, given, protocol_error = json.kind, jsonrpc.given, jsonrpc.protocol_error

---A `pintle.hosted` that is a server of the Model Context Protocol has these methods as well.
---@class pintle.mcp.hosted
local methods = {}

-- {====== Arguments ======

-- Raises at the line that called the method.
local function check_argument_of_handle(name, value, expected)
  if type(value) ~= expected then error(("%s: %s expected, got %s"):format(name, expected, type(value)), 3) end
end

local function check_strings_of_handle(name, values)
  if values == nil then return end
  if type(values) ~= "table" then error(("%s: table expected, got %s"):format(name, type(values)), 3) end
  for key, value in pairs(values) do
    if type(key) ~= "string" or type(value) ~= "string" then
      error(("%s: strings by name expected, got %s at %s"):format(name, type(value), tostring(key)), 3)
    end
  end
end

-- }======

-- {====== Lists ======

local function read_list_for_handle(session, options, method, member)
  local items, left = json.array(), calls.countdown(session, options.timeout)
  local is_cut, err = calls.read_pages(session, method, member, left, function(item) items[#items + 1] = item end)
  if is_cut == nil then return nil, err end
  return items
end

---All its resources, as the server describes them: `uri`, `name`, `title`, `description`, `mimeType`, `size` and so on.
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:resources(options)
  return self:in_session("resources/list", options, read_list_for_handle, "resources/list", "resources")
end

---All its resource templates: `uriTemplate`, `name` and so on.
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:resource_templates(options)
  return self:in_session("resources/templates/list", options, read_list_for_handle, "resources/templates/list",
    "resourceTemplates")
end

---All its prompts: `name`, `title`, `description`, `arguments` and so on.
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:prompts(options)
  return self:in_session("prompts/list", options, read_list_for_handle, "prompts/list", "prompts")
end

-- }======

-- {====== Resources and prompts ======

-- The result of a call, which has to be an object with a list.
local function call_list_for_handle(session, options, method, params, member)
  local result, err = calls.call(session, method, params, options)
  if err ~= nil then return nil, err end
  if kind_of(result) ~= "object" or kind_of(result[member]) ~= "array" then
    return protocol_error("its answer to %s has no list of %s", method, member)
  end
  return result
end

local function read_resource_for_handle(session, options, uri)
  local result, err = call_list_for_handle(session, options, "resources/read", { uri = uri }, "contents")
  if not result then return nil, err end
  return results.convert_list(session, result.contents, results.resource)
end

---The contents of a resource: a list, since one URI may stand for several. Each has `uri`, `mimeType`, and `text` or
---`blob`, which is `pintle.bytes`.
---@param uri string
---@param options? pintle.call.options
---@return table[]?, pintle.error?
function methods:read(uri, options)
  check_argument_of_handle("uri", uri, "string")
  return self:in_session("resources/read", options, read_resource_for_handle, uri)
end

-- Copies a message of a prompt, whose content is a block, or a list of blocks.
local function prompt_message_for_handle(session, message)
  if type(message) ~= "table" then return message end
  local copy = wire.copy_members(message, {})
  local content = copy.content
  if kind_of(content) == "array" then
    copy.content = results.convert_list(session, content, results.block)
  else
    copy.content = results.block(session, content)
  end
  return setmetatable(copy, getmetatable(message))
end

local function get_prompt_for_handle(session, options, name, arguments)
  local params = { name = name, arguments = arguments }
  local result, err = call_list_for_handle(session, options, "prompts/get", params, "messages")
  if not result then return nil, err end
  return {
    description = given(result.description), result = result,
    messages = results.convert_list(session, result.messages, prompt_message_for_handle),
  }
end

---A prompt: `description`, and `messages`, each with `role` and `content`, a block as an operation returns it; `result`
---is the whole result.
---@param name string
---@param args? table<string, string>
---@param options? pintle.call.options
---@return { description: string?, messages: table[], result: table }?, pintle.error?
function methods:prompt(name, args, options)
  check_argument_of_handle("name", name, "string")
  check_strings_of_handle("args", args)
  return self:in_session("prompts/get", options, get_prompt_for_handle, name, args)
end

-- }======

-- {====== Completion ======

---What to complete: an argument of a prompt, or a variable of a resource template.
---@class pintle.mcp.completion
---@field prompt? string the name of a prompt
---@field template? string the URI of a resource template, instead of a prompt
---@field argument string the name of the argument or variable
---@field value? string the beginning of its value; default: ""
---@field arguments? table<string, string> the arguments that are known already

local function completion_reference_for_handle(what)
  if what.prompt then return { type = "ref/prompt", name = what.prompt } end
  return { type = "ref/resource", uri = what.template }
end

local function request_completion_for_handle(session, options, params)
  local result, err = calls.call(session, "completion/complete", params, options)
  if err ~= nil then return nil, err end
  local completion = kind_of(result) == "object" and result.completion
  if kind_of(completion) ~= "object" or kind_of(completion.values) ~= "array" then
    return protocol_error "its answer to completion/complete has no list of values"
  end
  return { values = completion.values, total = given(completion.total), has_more = completion.hasMore == true }
end

---Values that the server suggests. `total` is how many there are, if the server says so.
---@param what pintle.mcp.completion
---@param options? pintle.call.options
---@return { values: string[], total: integer?, has_more: boolean }?, pintle.error?
function methods:complete(what, options)
  check_argument_of_handle("what", what, "table")
  check_argument_of_handle(what.prompt ~= nil and "prompt" or "template", what.prompt or what.template, "string")
  check_argument_of_handle("argument", what.argument, "string")
  check_strings_of_handle("arguments", what.arguments)
  if what.value ~= nil then check_argument_of_handle("value", what.value, "string") end
  return self:in_session("completion/complete", options, request_completion_for_handle, {
    ref = completion_reference_for_handle(what), argument = { name = what.argument, value = what.value or "" },
    context = what.arguments and { arguments = what.arguments },
  })
end

-- }======

-- {====== Changes ======

---Calls `fn(uri)` in a task whenever the server notifies of a change of the resource. After a restart of the server it
---is called once, because changes may have been missed. A second function for the same URI replaces the first. Every
---process of a pool notifies.
---@param uri string
---@param fn fun(uri: string)
---@param options? pintle.call.options
---@return true?, pintle.error?
function methods:subscribe(uri, fn, options)
  check_argument_of_handle("uri", uri, "string")
  check_argument_of_handle("fn", fn, "function")
  return self:in_session("resources/subscribe", options, subscriptions.subscribe, self, uri, fn)
end

---Ends a subscription; without one, nothing happens.
---@param uri string
---@param options? pintle.call.options
---@return true?, pintle.error?
function methods:unsubscribe(uri, options)
  check_argument_of_handle("uri", uri, "string")
  if not subscriptions.forget(self, uri) then return true end
  return self:in_session("resources/unsubscribe", options, subscriptions.unsubscribe, self, uri)
end

---Calls `fn(what)` in a task whenever the server notifies of a change of one of its lists: "tools" (the manifest is
---read again before), "resources" or "prompts". Another function replaces it; nil removes it.
---@param fn? fun(what: "tools"|"resources"|"prompts")
function methods:on_change(fn)
  if fn ~= nil then check_argument_of_handle("fn", fn, "function") end
  self.persistent.on_change = fn
end

-- }======

return methods
