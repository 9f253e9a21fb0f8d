-- What a server says it is: its name, what it can do, and how it is used.

local json = require("pintle.core").json

local identity = {}

local INFO = json.order { "name", "title", "version", "description", "websiteUrl", "icons" }
local CAPABILITIES = json.order { "tools", "resources", "prompts", "completions", "logging" }

---What the author declares for this dialect alone.
---@class pintle.mcp.declaration
---@field title? string for people to read, instead of the name
---@field instructions? string how a model is to use it
---@field websiteUrl? string
---@field icons? table[]
---@field page_size? integer tools that are listed at once: 100
---@field capabilities? table on top of those that follow from what is declared

local KINDS = {
  title = "string", instructions = "string", websiteUrl = "string", icons = "table", page_size = "number",
  capabilities = "table",
}

---What is wrong with what an author declares.
---@param given table
---@return string?
function identity.fault(given)
  for name, value in pairs(given) do
    local expected = KINDS[name]
    if not expected then return ("there is no %q"):format(tostring(name)) end
    if type(value) ~= expected then return ("%s: %s expected, got %s"):format(name, expected, type(value)) end
  end
  local size = given.page_size
  if size and (math.type(size) ~= "integer" or size < 1) then return "page_size: an integer of 1 or more expected" end
end

---@param plugin pintle.plugin
---@return pintle.mcp.declaration
function identity.declared(plugin) return plugin.manifest.dialects.mcp or {} end

---@param plugin pintle.plugin
---@return table
function identity.info(plugin)
  local manifest, declared = plugin.manifest, identity.declared(plugin)
  return setmetatable({
    name = manifest.name, title = declared.title, version = manifest.version, description = manifest.description,
    websiteUrl = declared.websiteUrl, icons = declared.icons,
  }, INFO)
end

local function handles_family(plugin, family)
  for method in pairs(plugin.methods) do
    if method:sub(1, #family) == family then return true end
  end
  return false
end

-- What a capability tells of itself is added to, not replaced.
local function add(capabilities, more)
  for name, told in pairs(more) do
    local own = capabilities[name]
    if type(own) == "table" and type(told) == "table" then
      for member, value in pairs(told) do own[member] = value end
    else
      capabilities[name] = told
    end
  end
end

---What it can do follows from the methods that it handles.
---@param plugin pintle.plugin
---@param is_modern boolean
---@return table
function identity.capabilities(plugin, is_modern)
  local capabilities = setmetatable({ tools = {}, logging = {} }, CAPABILITIES)
  if handles_family(plugin, "resources/") then
    local can_subscribe = not is_modern and plugin.methods["resources/subscribe"] ~= nil
    capabilities.resources = { subscribe = can_subscribe or nil }
  end
  if handles_family(plugin, "prompts/") then capabilities.prompts = {} end
  if plugin.methods["completion/complete"] then capabilities.completions = {} end
  add(capabilities, identity.declared(plugin).capabilities or {})
  return capabilities
end

return identity
