-- The state of a render: variables and their scopes, counters, errors, and the resources used.
--
-- A scope is a table whose metatable refers to the scope around it, so that one index operation finds a variable in any
-- scope. The last of them is the environment of the caller, which is never written to.

local errors = require "liquid.errors"
local values = require "liquid.values"

local context = {}

local setmetatable, null = setmetatable, values.null
local methods = {}
local metatable = { __name = "liquid.context", __index = methods }
local self_metatable = { __name = "liquid.self" }

-- {====== Limits ======

-- The bytes and items that all filters together may process. The number of nodes alone does not limit the time.
local WORK_LIMIT = 256 * 1024 * 1024

-- The work that the new context of a partial counts as.
local ISOLATION_WORK = 1024

---The limits of a render without limits of the caller: nodes rendered, bytes written, bytes stored in variables. They
---are far beyond any page, so that no template can run without end or fill the memory.
context.default_limits = {
  render_score_limit = 5000000,
  render_length_limit = 64 * 1024 * 1024,
  assign_score_limit = 64 * 1024 * 1024,
}

---@class liquid.usage
---@field score integer nodes rendered
---@field score_limit integer
---@field work integer bytes and items that filters processed
---@field length integer bytes written
---@field assigned integer bytes stored in variables
---@field counts_all boolean whether the items of lists and hashes are counted

-- A limit for one render, or for all renders of a group. Both apply to the one render.
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

-- The size of a value in bytes. A list or hash counts as 1 plus its items.
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

-- The size of an assigned value. Items of lists and hashes are counted only if the caller sets a limit: they were
-- counted before, or are part of the environment.
local function kept(usage, value)
  if type(value) == "string" then return #value end
  return usage.counts_all and size_of(value, 0) or 1
end

---Counts work that grows with a value.
---@param ctx liquid.context
---@param size integer the bytes of a text, or the items of a list
function context.count_work(ctx, size)
  local usage = ctx.usage
  local work = usage.work + size
  usage.work = work
  if work > WORK_LIMIT then ctx.exceed_limits() end
end

---Counts a value that is stored in a variable.
---@param ctx liquid.context
---@param value any
function context.count_kept(ctx, value)
  local usage = ctx.usage
  local assigned = usage.assigned + kept(usage, value)
  usage.assigned = assigned
  if assigned > usage.assign_limit then ctx.exceed_limits() end
end

-- }======

-- {====== The variable self ======

-- `self`: an object with the variables in scope as members, so that an expression can name one: self[name].
local function new_self_drop(ctx)
  return setmetatable({ ctx = ctx }, self_metatable)
end

-- Reads the current scope of the context, so an object in a variable sees variables that are set later.
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
---@field assigns table<string, any> the outermost scope, to which assign writes
---@field counters table<string, integer> of increment and decrement
---@field interrupt? string "break" or "continue", until a loop handles it
---@field earlier_interrupts? table linked list of interrupts before it that no loop has handled
---@field strict_variables? boolean
---@field strict_filters? boolean
---@field strict_errors? boolean
---@field now? number|string
---@field guards integer|false the nesting depth of guards (see body.lua); false in a render without guards

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
  -- A text has a UTC offset, a number has none.
  ctx.now = options.current_time or ctx.now
  return ctx
end

---A context for a partial, which sees the environment but not the variables of this context.
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

---Opens a scope. The caller saves `scope` before, and passes it to `leave`.
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

---Adds a break or continue. An earlier body may have left another one; each of them is handled by one loop.
---@param kind string
function methods:add_interrupt(kind)
  if self.interrupt then
    self.earlier_interrupts = { kind = self.interrupt, earlier = self.earlier_interrupts }
  end
  self.interrupt = kind
end

---Removes the last break or continue, which a loop has handled.
function methods:remove_interrupt()
  local earlier = self.earlier_interrupts
  self.interrupt, self.earlier_interrupts = nil, nil
  if earlier then self.interrupt, self.earlier_interrupts = earlier.kind, earlier.earlier end
end

---The value of the variable `self`.
---@return table
function methods:self()
  return new_self_drop(self)
end

---Ends the render because a limit is exceeded.
function methods.exceed_limits()
  error(errors.new("memory_error", "Memory limits exceeded"), 0)
end

-- The template name in an error. The outermost template is not named for a missing file.
local function name_for(err, template)
  if err.type == "file_system_error" and not template.is_partial then return nil end
  return template.name
end

---Records an error at a position in a template. With `strict_errors` it ends the render, otherwise it is written.
---@param err liquid.error
---@param template liquid.template
---@param position integer
---@param out string[]
---@param n integer
---@param blank? boolean whether the tag is blank, so that its error is not written
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
