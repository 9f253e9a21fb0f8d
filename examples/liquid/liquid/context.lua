-- What a render knows: variables and their scopes, counters, errors, and how much it may still use.
--
-- A scope is a table that looks into the one around it through its metatable, so that a variable is found by one
-- index wherever it is. The chain ends in the data of the caller, which is never written to.

local errors = require "liquid.errors"
local values = require "liquid.values"

local context = {}

local setmetatable, null = setmetatable, values.null
local methods = {}
local metatable = { __name = "liquid.context", __index = methods }
local self_metatable = { __name = "liquid.self" }

-- {====== Limits ======

-- Bytes that filters may go over, and items, in sum. Nodes alone do not tell how long a render takes.
local WORK_LIMIT = 256 * 1024 * 1024

-- The work that the new context of a partial counts as.
local ISOLATION_WORK = 1024

---What is allowed where nothing is said: nodes rendered, bytes put out, bytes kept in variables.
context.default_limits = {
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
  local limit = math.type(own) == "integer" and own or context.default_limits[name]
  return math.type(shared) == "integer" and shared < limit and shared or limit
end

---@param given? table<string, integer> of the caller: render_score_limit and so on
---@return liquid.usage
local function new_usage(given)
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
function context.count_work(ctx, size)
  local usage = ctx.usage
  local work = usage.work + size
  usage.work = work
  if work > WORK_LIMIT then ctx.exhausted() end
end

---Counts a value that is kept in a variable.
---@param ctx liquid.context
---@param value any
function context.count_kept(ctx, value)
  local usage = ctx.usage
  local assigned = usage.assigned + kept(usage, value)
  usage.assigned = assigned
  if assigned > usage.assign_limit then ctx.exhausted() end
end

-- }======

-- {====== The variable self ======

---@param ctx liquid.context
---@return table
local function new_self_drop(ctx)
  return setmetatable({ ctx = ctx }, self_metatable)
end

-- The scope is asked for when something is looked up: an object kept in a variable sees what the context then has.
local function get(drop, key)
  local value
  if type(key) == "string" then value = drop.ctx.scope[key] end
  if value == null then return nil end
  if value == nil and key == "self" then return drop end
  return value, nil, value == nil
end

-- It has no `contains`: in the reference the operator is false for every drop that is not enumerable.
values.register(self_metatable, {
  kind = "self", shows_all = true,
  get = get,
  to_s = function() return "Liquid::SelfDrop" end,
  equal = function(a, b) return getmetatable(b) == self_metatable and a.ctx == b.ctx end,
})

-- }======

---@class liquid.context
---@field scope table<string, any> the innermost scope
---@field assigns table<string, any> the outermost, where assign writes
---@field counters table<string, integer> of increment and decrement
---@field interrupt? string "break" or "continue", until a loop has seen it
---@field earlier? table those that no loop has seen when it came, the last first
---@field strict_variables? boolean
---@field strict_filters? boolean
---@field strict_errors? boolean
---@field now? number|string
---@field guards integer|false the nesting depth of guards (see render_body.lua); false in a render without guards

local function within(outer)
  return setmetatable({}, { __index = outer })
end

-- The environment. If it is a Lua object, reserved names are hidden from the template.
local function visible(environment)
  if not values.is_lua_object(environment) then return environment end
  return setmetatable({}, {
    __index = function(_, name)
      if values.is_reserved(name) then return nil end
      return environment[name]
    end,
  })
end

local function isolated(environment)
  local counters = within(environment)
  local assigns = within(counters)
  return setmetatable({
    environment = environment, counters = counters, assigns = assigns, scope = assigns,
    scopes = 1, base_depth = 0, writing = 0, cycles = {}, offsets = {}, loop = nil, changed = nil, guards = false,
  }, metatable)
end

---@param environment table<string, any>
---@param options table see `liquid.render_options`
---@param template liquid.template
---@return liquid.context
function context.new(environment, options, template)
  local ctx = isolated(visible(environment))
  ctx.strict_variables, ctx.strict_filters = options.strict_variables, options.strict_filters
  ctx.strict_errors, ctx.now, ctx.registers = options.strict_errors, options.now, options.registers
  ctx.filters, ctx.partials, ctx.errors = template.filters, template.partials, {}
  ctx.usage = new_usage(options.resource_limits)
  -- The text has an offset, which the seconds have not.
  ctx.now = options.current_time or ctx.now
  return ctx
end

---A context for a partial that sees nothing of this one but the data that all see.
---@return liquid.context? ctx, table? err
function methods:isolate()
  if self.base_depth + self.scopes > MAX_DEPTH then
    return nil, errors.new("stack_level_error", "Nesting too deep")
  end
  context.count_work(self, ISOLATION_WORK)
  local ctx = isolated(self.environment)
  ctx.base_depth = self.base_depth + 1
  ctx.strict_variables, ctx.strict_filters = self.strict_variables, self.strict_filters
  ctx.strict_errors, ctx.now, ctx.registers = self.strict_errors, self.now, self.registers
  ctx.filters, ctx.partials, ctx.errors = self.filters, self.partials, self.errors
  ctx.usage, ctx.no_include, ctx.guards = self.usage, self.no_include, self.guards
  return ctx
end

---Reads a variable, for tags of the program.
---@param name string
---@return any value
function methods:get(name)
  return values.plain(self.scope[name])
end

---Sets a variable as `assign` does, for tags of the program.
---@param name string
---@param value any
function methods:set(name, value)
  if value == nil then value = null end
  self.assigns[name] = value
  context.count_kept(self, value)
end

---Opens a scope. The caller keeps what `scope` was and gives it back to `leave`.
---@return table? scope, table? err
function methods:enter()
  local scopes = self.scopes + 1
  if self.base_depth + scopes > MAX_DEPTH then
    return nil, errors.new("stack_level_error", "Nesting too deep")
  end
  local scope = within(self.scope)
  self.scopes, self.scope = scopes, scope
  return scope
end

---@param outer table
function methods:leave(outer)
  self.scopes, self.scope = self.scopes - 1, outer
end

---A break or continue. There may be one already, of a body that was rendered before: each is seen by one loop.
---@param kind string
function methods:stop(kind)
  if self.interrupt then self.earlier = { kind = self.interrupt, earlier = self.earlier } end
  self.interrupt = kind
end

---A loop has seen the last break or continue.
function methods:go_on()
  local earlier = self.earlier
  self.interrupt, self.earlier = nil, nil
  if earlier then self.interrupt, self.earlier = earlier.kind, earlier.earlier end
end

---The variables in scope, as a value of their own.
---@return table
function methods:self()
  return new_self_drop(self)
end

---Ends the render: it has used more than it may.
function methods.exhausted()
  error(errors.new("memory_error", "Memory limits exceeded"), 0)
end

-- That a file is missing is nothing the outermost template did: it is told without its name.
local function name_for(err, template)
  if err.type == "file_system_error" and not template.is_partial then return nil end
  return template.name
end

---An error at a place in a template. It is kept and, unless it is to end the render, shown in the output.
---@param err liquid.error
---@param template liquid.template
---@param position integer
---@param out string[]
---@param n integer
---@param blank? boolean whether the tag shows nothing, not even its error
---@return integer n
function methods:fail(err, template, position, out, n, blank)
  if err.type == "memory_error" then error(err, 0) end
  if not err.placed then
    err.placed = true
    if template.line_numbers then err.line = err.line or errors.line_at(template, position) end
    err.template_name = err.template_name or name_for(err, template)
  end
  self.errors[#self.errors + 1] = err
  if self.strict_errors then error(err, 0) end
  if blank or errors.silent[err.type] then return n end
  out[n + 1] = errors.sentence(err)
  return n + 1
end

return context
