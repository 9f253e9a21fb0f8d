-- The operations of a plugin as tags: a template that is one of them and nothing else executes it, with the environment
-- as its arguments.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local params = require "pintle.dialect.liquid.params"

local RENDER_ERROR = -32001
local DATA = json.order { "type", "line", "outputs" }

---@class pintle.liquid.tag
---@field operation string
---@field line integer
---@field before string what is rendered before it
---@field after string

local tags = {}

local function is_tag(manifest, name)
  local operation = manifest.operations[name]
  local own = operation and operation.dialects.liquid
  return operation ~= nil and not (own and own.is_engine)
end

local function line_of(source, at)
  local _, breaks = source:sub(1, at - 1):gsub("\n", "")
  return breaks + 1
end

---@param manifest pintle.manifest
---@param source string
---@return pintle.liquid.tag? nil if it is any other template
function tags.find(manifest, source)
  local before, trim, name, trim_after, after = source:match "^(%s*){%%(%-?)%s*(.-)%s*(%-?)%%}(%s*)$"
  if not name or not is_tag(manifest, name) then return nil end
  return {
    operation = name, line = line_of(source, #before + 1),
    before = trim == "" and before or "", after = trim_after == "" and after or "",
  }
end

-- {====== Refusing ======

local function possible(manifest)
  local list = {}
  for _, name in ipairs(manifest.names) do
    if is_tag(manifest, name) then list[#list + 1] = ("{%% %s %%}"):format(name) end
  end
  if #list == 0 then return "there are no tags" end
  return (#list == 1 and "there is " or "there are ") .. table.concat(list, ", ")
end

local function problem_with(manifest, name)
  if not name then return "Only a tag can be rendered; " .. possible(manifest) end
  if not is_tag(manifest, name) then return ("Unknown tag '%s'; %s"):format(name, possible(manifest)) end
  local alone = "Syntax Error in '%s' - it stands alone, and its arguments are the environment: {%% %s %%}"
  return alone:format(name, name)
end

---What is wrong with a template that is no tag, where there is no engine.
---@param manifest pintle.manifest
---@param source string
---@return { type: string, message: string, line: integer }
function tags.refusal(manifest, source)
  local at, name = source:match "(){%%%-?%s*([^%s%%}]+)"
  if name then name = name:gsub("%-$", "") end
  local line = line_of(source, at or 1)
  local message = ("Liquid syntax error (line %d): %s"):format(line, problem_with(manifest, name))
  return { type = "syntax_error", message = message, line = line }
end

-- }======

-- {====== Rendering ======

-- Arguments that do not fit are told by where they are in the environment.
local function refused(err)
  if type(err) ~= "table" or err.code ~= jsonrpc.INVALID_PARAMS or type(err.data) ~= "table" or not err.data.path then
    return err
  end
  return params.error(err.message, "environment" .. err.data.path:gsub("/", "."), err.data.reason)
end

local function failed(tag, outcome, is_strict)
  local text = outcome.error or outcome.message or "the operation failed"
  local inline = ("Liquid error (line %d): %s"):format(tag.line, text)
  local kind = { type = "render_error", line = tag.line, outputs = outcome.outputs }
  if is_strict then return nil, { code = RENDER_ERROR, message = inline, data = setmetatable(kind, DATA) } end
  local told = { type = kind.type, message = text, line = tag.line }
  return tag.before .. inline .. tag.after, { told }, outcome.outputs
end

---@param server pintle.server
---@param tag pintle.liquid.tag
---@param environment table
---@param options table
---@param request pintle.request
---@return string? output, table? errors or what is wrong, table? outputs
function tags.render(server, tag, environment, options, request)
  local outcome, err = server:execute(tag.operation, environment, {}, request)
  if not outcome then return nil, refused(err) end
  if not outcome.success then return failed(tag, outcome, options.strict_errors) end
  return tag.before .. (outcome.message or "") .. tag.after, nil, outcome.outputs
end

-- }======

return tags
