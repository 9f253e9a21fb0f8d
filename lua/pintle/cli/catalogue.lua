-- What an MCP server offers besides tools: resources, templates of resources, and prompts.

local jsonrpc = require "pintle.jsonrpc"

local TIMEOUT = 10 -- seconds for each list

local catalogue = {}

---@class pintle.cli.catalogue
---@field resources table[]
---@field templates table[]
---@field prompts table[]

local function object(value) return jsonrpc.is_object(value) and value or {} end

local function objects_in(list)
  local objects = {}
  for _, item in ipairs(list) do objects[#objects + 1] = jsonrpc.is_object(item) and item or nil end
  return objects
end

-- Lists that a server says it has, but does not implement, are empty.
local function read_list(plugin, name, report)
  local list, err = plugin[name](plugin, { timeout = TIMEOUT })
  if list then return objects_in(list) end
  if err.code ~= jsonrpc.METHOD_NOT_FOUND then report(("its %s cannot be listed: %s"):format(name, tostring(err))) end
  return {}
end

---Whether a plugin has this capability of MCP.
---@param plugin pintle.hosted
---@param dialect string
---@param capability string
---@return boolean
function catalogue.has(plugin, dialect, capability)
  local offered = dialect == "mcp" and object(object(plugin.raw_manifest).capabilities) or {}
  return jsonrpc.is_object(offered[capability])
end

---Reads the lists of a server.
---@param plugin pintle.hosted
---@param dialect string
---@param report fun(message: string) called for each list that cannot be read
---@return pintle.cli.catalogue empty for other dialects
function catalogue.read(plugin, dialect, report)
  local has_resources = catalogue.has(plugin, dialect, "resources")
  local has_prompts = catalogue.has(plugin, dialect, "prompts")
  return {
    resources = has_resources and read_list(plugin, "resources", report) or {},
    templates = has_resources and read_list(plugin, "resource_templates", report) or {},
    prompts = has_prompts and read_list(plugin, "prompts", report) or {},
  }
end

return catalogue
