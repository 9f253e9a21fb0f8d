-- What the author of a plugin may declare for this dialect: for the plugin, and for an operation.

local settings = {}

---What a plugin may declare for this dialect.
---@class pintle.mcp.declaration
---@field title? string shown to people instead of the name
---@field instructions? string how a model should use the server
---@field websiteUrl? string
---@field icons? table[]
---@field page_size? integer items in one page of a list; default: 100
---@field capabilities? table added to those that follow from what is declared
---@field limits? pintle.mcp.limits

---Bounds of a server.
---@class pintle.mcp.limits
---@field subscriptions? integer resources that a client with a handshake may subscribe to; default: 1000
---@field questions? integer requests that may wait for a client without a handshake to answer; default: 64
---@field question_time? number seconds that such a request waits; default: 600
---@field tasks? integer tasks that are kept, with those that have ended; default: 64
---@field task_time? number seconds after which a task is stopped, and its result forgotten; default: 3600

-- Defaults.
local LIMITS = { subscriptions = 1000, questions = 64, question_time = 600, tasks = 64, task_time = 3600 }
local ARE_SECONDS = { question_time = true, task_time = true }

---What an operation may declare for this dialect.
---@class pintle.mcp.operation.declaration
---@field title? string shown to people instead of the name
---@field annotations? table
---@field icons? table[]
---@field _meta? table
---@field task? "optional"|"required" whether it runs as a task, for a client that supports the tasks of 2026-07-28; a
---client that does not gets the result as usual, or an error if a task is required
---@field task_after? number seconds after which it becomes a task, unless it has ended; default: 0

local TYPES = {
  title = "string", instructions = "string", websiteUrl = "string", icons = "table", page_size = "number",
  capabilities = "table", limits = "table",
}
local OPERATION_TYPES = {
  title = "string", annotations = "table", icons = "table", _meta = "table", task = "string", task_after = "number",
}
local TASK_SUPPORT = { optional = true, required = true }

local function type_fault(declared, types)
  for name, value in pairs(declared) do
    local expected = types[name]
    if not expected then return ("there is no %q"):format(tostring(name)) end
    if type(value) ~= expected then return ("%s: %s expected, got %s"):format(name, expected, type(value)) end
  end
end

local function limits_fault(limits)
  for name, value in pairs(limits) do
    if not LIMITS[name] then return ("limits: there is no %q"):format(tostring(name)) end
    local is_valid = ARE_SECONDS[name] and type(value) == "number" or math.type(value) == "integer"
    local is_bound = is_valid and value >= 0 and value < math.huge
    if not is_bound then return ("limits: %s: a finite number of 0 or more expected"):format(name) end
  end
end

---Returns a message if the declaration of a plugin is wrong.
---@param declared table
---@return string?
function settings.check(declared)
  local fault, size = type_fault(declared, TYPES), declared.page_size
  if fault then return fault end
  if size and (math.type(size) ~= "integer" or size < 1) then return "page_size: an integer of 1 or more expected" end
  return limits_fault(declared.limits or {})
end

---The same for the declaration of an operation.
---@param declared table
---@return string?
function settings.check_operation(declared)
  local fault = type_fault(declared, OPERATION_TYPES)
  if fault then return fault end
  if declared.task and not TASK_SUPPORT[declared.task] then return "task: optional or required expected" end
  if declared.task_after and declared.task_after < 0 then return "task_after: seconds expected" end
end

---@param plugin pintle.plugin
---@param name string
---@return number
function settings.limit(plugin, name)
  local declared = plugin.manifest.dialects.mcp
  local limits = declared and declared.limits
  return limits and limits[name] or LIMITS[name]
end

return settings
