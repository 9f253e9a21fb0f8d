-- Validation: the state of a run, the checks that it runs, and the defaults that it fills in.
--
-- A check is a function (value, run, seen) -> boolean. If the check of the root returns false, it is called again with
-- `run.explain` set, to get the reason. So no messages are made for alternatives that do not fit. If an outer
-- unevaluatedItems or unevaluatedProperties needs it, `seen` is a set of what has been evaluated: names, indices of
-- items from 1, and 0 for all.

local lazy = require "pintle.lazy"
local values = require "pintle.schema.values"

local applicators = lazy "pintle.schema.applicators"
local assertions = lazy "pintle.schema.assertions"
local errors = lazy "pintle.schema.errors"

local next = next
local is_array, is_object = values.is_array, values.is_object

local validation = {}

-- {====== The run ======

---@class pintle.schema.run
---@field steps integer steps left until `stop` is called again
---@field reserve integer steps left after those
---@field stop? pintle.schema.stop
---@field depth integer nesting of the schemas being applied
---@field explain boolean
---@field failure? pintle.schema.failure set while a failure is returned through the checks
---@field scope table[] the resources that are entered, the outermost first; without repetition
---@field inside table<table, true> the same as a set
local methods = {}

local run_metatable = { __index = methods }

local STOP_INTERVAL = 20000 -- steps between two calls of `stop`: about 10 ms

---Called every few milliseconds. Returns nil to go on, or a table with a `message`, the reason to stop.
---@alias pintle.schema.stop fun(): { message: string }?

---@alias pintle.schema.check fun(value: any, run: pintle.schema.run, seen: table?): boolean

---A keyword in its place.
---@class pintle.schema.site
---@field keyword string
---@field path string
---@field reason fun(value: any): string returns the message of a failure

---Ends the whole validation with an error. A mere failure of the check would be a success inside of `not`.
---@param site pintle.schema.site
---@param message string
function validation.abort(site, message) error(errors.new(site, message, ""), 0) end

local function use_step_reserve(self, site)
  local more = math.min(self.reserve, STOP_INTERVAL - self.steps)
  self.reserve, self.steps = self.reserve - more, self.steps + more
  if self.steps < 0 then validation.abort(site, "it takes more steps than the limit allows") end
  local why = self.stop and self.stop()
  if why then validation.abort(site, why.message) end
end

---Counts steps.
---@param site pintle.schema.site
---@param steps integer
function validation.pay_steps(self, site, steps)
  local left = self.steps - steps
  self.steps = left
  if left < 0 then use_step_reserve(self, site) end
end

---Adds what a part has evaluated to what an outer schema has.
---@param site pintle.schema.site
---@param seen table
---@param more table
function validation.gather_seen(self, site, seen, more)
  local count = 0
  for key in next, more do
    seen[key], count = true, count + 1
  end
  validation.pay_steps(self, site, count)
end

---@param site pintle.schema.site
---@param value any
---@return false
function validation.fail_keyword(self, site, value)
  if self.explain then self.failure = { site = site, message = site.reason(value) } end
  return false
end

---Extends the path of the failure by one token in front.
---@param token string|integer
---@return false
function validation.fail_within(self, token)
  local failure = self.failure
  if failure then failure[#failure + 1] = token end
  return false
end

---Runs a check whose failure is not reported.
---@param check pintle.schema.check
---@param value any
---@param seen? table
---@return boolean
function validation.check_quietly(self, check, value, seen)
  local explain = self.explain
  self.explain = false
  local fits = check(value, self, seen)
  self.explain = explain
  return fits
end

local function reset_run(self, limits, explain)
  self.steps = math.min(limits.steps, STOP_INTERVAL)
  self.reserve = limits.steps - self.steps
  self.depth, self.explain, self.failure = 0, explain, nil
  for i = #self.scope, 1, -1 do
    self.inside[self.scope[i]] = nil
    self.scope[i] = nil
  end
end

local function run_within_limits(self, limits, explain, fill_in_root, ...)
  reset_run(self, limits, explain)
  local ok, result = pcall(fill_in_root, ...)
  if ok then return result end
  if errors.is_error(result) then return nil, result end
  error(result, 0)
end

---Runs other work than a validation within the same limits.
---@generic T
---@param limits pintle.schema.limits
---@param work fun(value: any): T
---@param value any
---@param stop? pintle.schema.stop
---@return T?, pintle.schema.error?
function methods:spend(limits, fill_in_root, value, stop)
  self.stop = stop
  return run_within_limits(self, limits, false, fill_in_root, value)
end

---@param check pintle.schema.check
---@param value any
---@param limits pintle.schema.limits
---@param stop? pintle.schema.stop
---@return true?, pintle.schema.error?
function methods:validate(check, value, limits, stop)
  self.stop = stop
  local fits, err = run_within_limits(self, limits, false, check, value, self)
  if fits then return true end
  if not err then err = select(2, run_within_limits(self, limits, true, check, value, self)) end
  if err then return nil, err end
  local failure = assert(self.failure, "a check has failed without a reason")
  self.failure = nil
  return nil, errors.from_failure(failure)
end

---@return pintle.schema.run
function validation.new_run() return setmetatable({ scope = {}, inside = {} }, run_metatable) end

---@param keyword string
---@param path string of the schema that has the keyword
---@param reason fun(value: any): string
---@return pintle.schema.site
function validation.new_site(keyword, path, reason)
  return { keyword = keyword, path = path .. "/" .. keyword, reason = reason }
end

---@param expected string|fun(): string
---@return fun(value: any): string reason
function validation.expectation_reason(expected)
  return function(value)
    local phrase = type(expected) == "function" and expected() or expected
    return ("expected %s, got %s"):format(phrase, errors.describe(value))
  end
end

-- }======

-- {====== Building the checks ======

---Passed to the functions that build the check of a keyword.
---@class pintle.schema.context
---@field dynamic boolean whether any reference depends on the dynamic scope
---@field limits pintle.schema.limits
---@field either boolean whether an unmarked empty table may be an array
---@field formats boolean whether `format` is an assertion everywhere
---@field patterns table<string, pintle.schema.regex> the patterns compiled so far
---@field one fun(parent: pintle.schema.node, child: pintle.schema.node): pintle.schema.check
---@field all fun(parent: pintle.schema.node, children: pintle.schema.node[]): pintle.schema.check[]
---@field named fun(parent: pintle.schema.node, children: table<string, pintle.schema.node>?): string[],
---pintle.schema.check[] sorted names, and the check of each

-- The order of the checks: cheap ones come first. It decides which failure is reported if a value has several.
local ORDER = {
  { assertions, [[type enum const multipleOf minimum exclusiveMinimum maximum exclusiveMaximum minLength maxLength
    pattern format minItems maxItems uniqueItems minProperties maxProperties required dependentRequired]] },
  { applicators, [[propertyNames properties patternProperties additionalProperties prefixItems items contains
    dependentSchemas dependencies $ref $dynamicRef allOf anyOf oneOf not if]] },
}

local BUILDERS = {}
for _, row in ipairs(ORDER) do
  for keyword in row[2]:gmatch "%S+" do BUILDERS[#BUILDERS + 1] = { keyword = keyword, part = row[1] } end
end

local function build_keyword_checks(node, context)
  local checks, active = {}, node.resource.dialect.active
  for _, builder in ipairs(BUILDERS) do
    if node.schema[builder.keyword] ~= nil and active[builder.keyword] then
      checks[#checks + 1] = builder.part[builder.keyword](node, context)
    end
  end
  return checks
end

local function accept_any_value() return true end

local function new_false_check(node)
  local site = validation.new_site("false", node.path, function() return "no value is allowed here" end)
  site.path = node.path
  return function(value, state) return validation.fail_keyword(state, site, value) end
end

local function check_all_keywords(checks)
  local first, second = checks[1], checks[2]
  if #checks == 0 then return accept_any_value end
  if #checks == 1 then return first end
  if #checks == 2 then
    return function(value, state, seen) return first(value, state, seen) and second(value, state, seen) end
  end
  return function(value, state, seen)
    for i = 1, #checks do
      if not checks[i](value, state, seen) then return false end
    end
    return true
  end
end

-- Schemas that apply others can apply one another endlessly.
local function check_within_depth(node, check, limits)
  local max_depth = limits.depth
  local site = { keyword = "$ref", path = node.path }
  return function(value, state, seen)
    local depth = state.depth + 1
    if depth > max_depth then validation.abort(site, "schemas are applied more deeply than the limit allows") end
    state.depth = depth
    local fits = check(value, state, seen)
    state.depth = depth - 1
    return fits
  end
end

local function is_nonempty_object(value) return is_object(value) and next(value) ~= nil end

local function set_predicates(node, context)
  local lenient = context.either and values.wants_array(node.schema)
  node.is_array = lenient and values.is_list or is_array
  node.is_object = lenient and is_nonempty_object or is_object
end

local function build_check(node, context)
  if node.schema == true then return accept_any_value end
  if node.schema == false then return new_false_check(node) end
  set_predicates(node, context)
  local check = check_all_keywords(build_keyword_checks(node, context))
  if node.schema.unevaluatedItems ~= nil or node.schema.unevaluatedProperties ~= nil then
    check = applicators.with_unevaluated(node, context, check)
  end
  local is_leaf = next(node.children) == nil and not node.ref and not node.dynamic_ref
  return is_leaf and check or check_within_depth(node, check, context.limits)
end

local function build_check_once(node, context)
  if not node.check then node.check = build_check(node, context) end
  return node.check
end

local function add_context_functions(context)
  function context.one(parent, child)
    local check = build_check_once(child, context)
    if not context.dynamic or child.resource == parent.resource then return check end
    return applicators.entering(child.resource, check)
  end

  function context.all(parent, children)
    local checks = {}
    for i, child in ipairs(children) do checks[i] = context.one(parent, child) end
    return checks
  end

  function context.named(parent, children)
    local names, checks = values.sorted_names(children or {}), {}
    for i, name in ipairs(names) do checks[i] = context.one(parent, children[name]) end
    return names, checks
  end
end

---@param context pintle.schema.context without its functions
---@param reached pintle.schema.node[] the root, and all targets of references
---@return pintle.schema.check
function validation.build_checks(context, reached)
  add_context_functions(context)
  for _, node in ipairs(reached) do build_check_once(node, context) end
  local root = reached[1]
  return context.dynamic and applicators.entering(root.resource, root.check) or root.check
end

-- }======

-- {====== Filling in defaults ======

---@class pintle.schema.filling
---@field run pintle.schema.run counts the steps
---@field max_depth integer
---@field inserting table<pintle.schema.node, true> schemas whose own default is being filled in

local DEFAULT_SITE = { keyword = "default", path = "" }

local function pay_filling(filling, steps) validation.pay_steps(filling.run, DEFAULT_SITE, steps) end

-- A copy costs more steps than a look, because it takes memory.
local function copy_default_value(value, filling)
  pay_filling(filling, 10)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, member in next, value do copy[key] = copy_default_value(member, filling) end
  return setmetatable(copy, getmetatable(value))
end

local NONE = {}

-- The schemas that a schema always applies to its own value.
local function schemas_in_place(node)
  local list = node.in_place
  if list then return list end
  list = { node.ref }
  if not node.dynamic_name then list[#list + 1] = node.dynamic_ref end
  table.move(node.children.allOf or NONE, 1, #(node.children.allOf or NONE), #list + 1, list)
  node.in_place = list
  return list
end

-- The first schema with a default. A schema comes before those that it refers to.
local function find_default_owner(node, filling)
  pay_filling(filling, 1)
  if type(node.schema) ~= "table" then return nil end
  if node.schema.default ~= nil and node.resource.dialect.active.default then return node end
  for _, part in ipairs(schemas_in_place(node)) do
    local owner = find_default_owner(part, filling)
    if owner then return owner end
  end
end

-- An empty default needs no mark if it can only be an array.
local function copy_default(schema, filling)
  local default = schema.default
  local is_empty = type(default) == "table" and next(default) == nil
  if is_empty and values.wants_array(schema) then return setmetatable({}, values.array_mt) end
  return copy_default_value(default, filling)
end

local fill_in_defaults

-- Defaults are also filled in inside of a default, but not the default of a schema inside of itself.
local function missing_default(node, filling, depth)
  local owner = find_default_owner(node, filling)
  if not owner or filling.inserting[owner] then return nil end
  filling.inserting[owner] = true
  local value = fill_in_defaults(node, copy_default(owner.schema, filling), filling, depth)
  filling.inserting[owner] = nil
  return value
end

-- Sets a member of the value, which is copied first if it is the original.
local function set_filled_member(value, original, key, member)
  if value[key] == member then return value end
  if value == original then value = values.shallow_copy(original) end
  value[key] = member
  return value
end

local function fill_properties(node, original, filling, depth)
  local value = original
  for name, child in next, node.children.properties do
    local member = original[name]
    if member == nil then
      member = missing_default(child, filling, depth)
    else
      member = fill_in_defaults(child, member, filling, depth)
    end
    if member ~= nil then value = set_filled_member(value, original, name, member) end
  end
  return value
end

local function fill_items(node, original, filling, depth)
  local value = original
  local prefix, rest = node.children.prefixItems or NONE, node.children.items
  for i = 1, #original do
    local child = prefix[i] or rest
    if not child then break end
    value = set_filled_member(value, original, i, fill_in_defaults(child, original[i], filling, depth))
  end
  return value
end

function fill_in_defaults(node, value, filling, depth)
  pay_filling(filling, 1)
  if depth > filling.max_depth then
    validation.abort(DEFAULT_SITE, "defaults are nested more deeply than the limit allows")
  end
  if type(value) ~= "table" or type(node.schema) ~= "table" then return value end
  if node.children.properties and is_object(value) then value = fill_properties(node, value, filling, depth + 1) end
  if is_array(value) then value = fill_items(node, value, filling, depth + 1) end
  for _, part in ipairs(schemas_in_place(node)) do value = fill_in_defaults(part, value, filling, depth + 1) end
  return value
end

---@param root pintle.schema.node
---@param limits pintle.schema.limits
---@return fun(value: any, stop: pintle.schema.stop?): any, pintle.schema.error? fill_in returns the value itself if
---nothing is missing
function validation.new_filler(root, limits)
  local filling = { run = validation.new_run(), max_depth = limits.depth, inserting = {} }
  local function fill_in_root(value)
    if value == nil then return missing_default(root, filling, 1) end
    return fill_in_defaults(root, value, filling, 1)
  end
  return function(value, stop)
    local filled, err = filling.run:spend(limits, fill_in_root, value, stop)
    if err then filling.inserting = {} end
    return filled, err
  end
end

-- }======

return validation
