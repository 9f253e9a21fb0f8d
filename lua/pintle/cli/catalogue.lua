-- What an MCP server offers besides tools: resources, templates of resources, and prompts; and their contents as text.

local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"

local errors = lazy "pintle.error"

local MAX_PAGES = 100
local TIMEOUT = 10 -- seconds for each page

local catalogue = {}

---@class pintle.cli.catalogue
---@field resources table[]
---@field templates table[]
---@field prompts table[]

local function object(value) return jsonrpc.is_object(value) and value or {} end

local function is_array(value) return type(value) == "table" and not jsonrpc.is_object(value) end

-- Adds the items of all pages. Returns what is wrong with the first bad page.
local function read_pages(plugin, method, member, items)
  local cursor
  for _ = 1, MAX_PAGES do
    local page, err = plugin:call(method, { cursor = cursor }, { timeout = TIMEOUT })
    if err then return err end
    if not is_array(object(page)[member]) then
      return errors.new("protocol", ("its answer to %s has no %s"):format(method, member))
    end
    for _, item in ipairs(page[member]) do items[#items + 1] = jsonrpc.is_object(item) and item or nil end
    cursor = jsonrpc.text(page.nextCursor)
    if not cursor then return nil end
  end
end

-- Lists that a server says it has, but does not implement, are empty.
local function read_list(plugin, method, member, report)
  local items = {}
  local err = read_pages(plugin, method, member, items)
  if err and err.code ~= jsonrpc.METHOD_NOT_FOUND then report(("%s: %s"):format(method, tostring(err))) end
  return items
end

---Reads the lists of a server.
---@param plugin pintle.hosted
---@param dialect string
---@param report fun(message: string) called for each list that cannot be read
---@return pintle.cli.catalogue empty for other dialects
function catalogue.read(plugin, dialect, report)
  local offered = dialect == "mcp" and object(object(plugin.raw_manifest).capabilities) or {}
  local function read(capability, method, member)
    if not jsonrpc.is_object(offered[capability]) then return {} end
    return read_list(plugin, method, member, report)
  end
  return {
    resources = read("resources", "resources/list", "resources"),
    templates = read("resources", "resources/templates/list", "resourceTemplates"),
    prompts = read("prompts", "prompts/list", "prompts"),
  }
end

return catalogue
