-- How much a render may use. Without limits of the caller there are still some, far beyond any page, so that no
-- template can hold the program for ever or fill its memory.

local values = require "liquid.values"

local limits = {}

-- Bytes that filters may go over, and items, in sum. Nodes alone do not tell how long a render takes.
local WORK_LIMIT = 256 * 1024 * 1024

---What a context of its own for a partial costs, in the same measure.
limits.ISOLATION = 1024

---What is allowed where nothing is said: nodes rendered, bytes put out, bytes kept in variables.
limits.defaults = {
  render_score_limit = 5000000,
  render_length_limit = 64 * 1024 * 1024,
  assign_score_limit = 64 * 1024 * 1024,
}

---@class liquid.usage
---@field score integer nodes rendered
---@field score_limit integer
---@field work integer bytes and items that filters went over
---@field length integer bytes put out
---@field assigned integer bytes kept in variables
---@field counts_all boolean whether what is in lists and hashes counts too

-- A limit may be given twice, for this render and for all that belong together: here that is one.
local function bound(given, name)
  local own, shared = given and given[name], given and given["cumulative_" .. name]
  local limit = math.type(own) == "integer" and own or limits.defaults[name]
  return math.type(shared) == "integer" and shared < limit and shared or limit
end

---@param given? table<string, integer> of the caller: render_score_limit and so on
---@return liquid.usage
function limits.new(given)
  return {
    score = 0, score_limit = bound(given, "render_score_limit"),
    length = 0, length_limit = bound(given, "render_length_limit"),
    work = 0, assigned = 0, assign_limit = bound(given, "assign_score_limit"),
    counts_all = given ~= nil and (given.assign_score_limit or given.cumulative_assign_score_limit) ~= nil,
  }
end

local MAX_DEPTH = 100

-- A list or a hash is one, and all that is in it.
local function size_of(value, depth)
  if type(value) == "string" then return #value end
  if type(value) ~= "table" or depth > MAX_DEPTH or values.protocol(value) or value == values.null then return 1 end
  local size, is_list = 1, values.is_array(value)
  for key, item in next, value do
    if not is_list then size = size + size_of(key, depth) end
    size = size + size_of(item, depth + 1)
  end
  return size
end

-- Without a limit of the caller's nobody counts what is in lists and hashes: they hold what was counted, or came with
-- the data.
local function kept(usage, value)
  if type(value) == "string" then return #value end
  return usage.counts_all and size_of(value, 0) or 1
end

---Counts work that grows with a value.
---@param ctx liquid.context
---@param size integer bytes of a text, or items of a list
function limits.work(ctx, size)
  local usage = ctx.usage
  local work = usage.work + size
  usage.work = work
  if work > WORK_LIMIT then ctx.exhausted() end
end

---Counts a value that is kept in a variable.
---@param ctx liquid.context
---@param value any
function limits.keep(ctx, value)
  local usage = ctx.usage
  local assigned = usage.assigned + kept(usage, value)
  usage.assigned = assigned
  if assigned > usage.assign_limit then ctx.exhausted() end
end

return limits
