-- What a plugin answers, as the outcome of an operation.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local RENDER_ERROR = -32001

local outcomes = {}

local function failed(text, result, outputs)
  return { success = false, message = text, error = text, result = result, outputs = outputs }
end

local function text_of(problem, otherwise)
  if type(problem) == "table" then problem = problem.message end
  return type(problem) == "string" and problem or otherwise
end

---What compile says is wrong with a template.
---@param result table
---@return pintle.outcome
function outcomes.of_refusal(result) return failed(text_of(result.error, "the template does not compile"), result) end

local function object_of(value) return json.kind(value) == "object" and value or nil end

-- A render that failed is an error of its own code, and nothing has been received besides.
local function of_error(err)
  if err.kind ~= "remote" or err.code ~= RENDER_ERROR then return nil, err end
  local data = object_of(err.data) or {}
  local problem = { type = data.type, message = err.message, line = data.line }
  return failed(err.message, { errors = { problem } }, object_of(data.outputs))
end

local function wrong(format, ...) return nil, errors.new("protocol", format:format(...)) end

-- Its members as they should be; null stands for nothing.
local function check(result)
  if not object_of(result) then return wrong("its answer to render: object expected, got %s", json.kind(result)) end
  local output, list = jsonrpc.given(result.output), jsonrpc.given(result.errors)
  if output ~= nil and type(output) ~= "string" then
    return wrong("its answer to render: output: string expected, got %s", json.kind(output))
  end
  local is_list = json.kind(list) == "array" or type(list) == "table" and next(list) == nil -- some write {} for none
  if list ~= nil and not is_list then
    return wrong("its answer to render: errors: array expected, got %s", json.kind(list))
  end
  return true
end

---@param result any
---@param err pintle.error?
---@param is_strict boolean? whether errors in the output are failures, also where the plugin does not know of that
---@return pintle.outcome?, pintle.error?
function outcomes.of_render(result, err, is_strict)
  if err ~= nil then return of_error(err) end
  local ok
  ok, err = check(result)
  if not ok then return nil, err end
  local first = jsonrpc.given(result.error) or is_strict and (jsonrpc.given(result.errors) or {})[1]
  if first then return failed(text_of(first, "the render failed"), result, object_of(result.outputs)) end
  return { success = true, message = jsonrpc.given(result.output) or "", result = result,
           outputs = object_of(result.outputs) }
end

-- Where it happened says nothing: there is one tag.
local function without_place(text) return text and (text:gsub("^Liquid error %(line %d+%): ", "")) end

---@param result any
---@param err pintle.error?
---@return pintle.outcome?, pintle.error?
function outcomes.of_tag(result, err)
  local outcome
  outcome, err = outcomes.of_render(result, err, true)
  if not outcome then return nil, err end
  outcome.error = without_place(outcome.error)
  if not outcome.success then outcome.message = outcome.error end
  return outcome
end

return outcomes
