-- The markup of outputs and tags: a cache of parsed markup, a fast parser for simple markup, and outputs.

local expressions = require "liquid.expressions"
local filters = require "liquid.filters"
local lax = require "liquid.lax"
local numbers = require "liquid.numbers"
local reader = require "liquid.reader"

local markup = {}

local match, byte = string.match, string.byte
local literals, apply_values = reader.literals, filters.apply_values
local member, member_of = expressions.member, expressions.member_of
local none = {}

-- {====== The cache ======

-- Enough for the templates of a page. A larger cache would keep garbage for longer, which is slow to collect.
local MAX_ENTRIES, MAX_LENGTH = 500, 200

local methods = {}
local metatable = { __name = "liquid.cache", __index = methods }

---A cache of values by string. It drops entries that were not used lately: new entries go into `new`; when that is full
---it replaces `old`.
---@class liquid.cache
---@field new table<string, any>
---@field old table<string, any>
---@field count integer the number of entries in `new`

---@return liquid.cache
function markup.new_cache()
  return setmetatable({ new = {}, old = {}, count = 0 }, metatable)
end

---Adds an entry.
---@param key string
---@param value any
---@return any value
function methods:keep(key, value)
  if #key > MAX_LENGTH then return value end
  if self.count >= MAX_ENTRIES then self.old, self.new, self.count = self.new, {}, 0 end
  self.new[key], self.count = value, self.count + 1
  return value
end

---Moves an entry from `old` to `new`. For speed, callers write the lookup out:
---`cache.new[key] or cache.old[key] and cache:update_manifest(key) or cache:keep(key, …)`.
---@param key string
---@return any value
function methods:update_manifest(key)
  return self:keep(key, self.old[key])
end

---One cache for each parsing mode.
---@return table<string, liquid.cache>
function markup.new_caches()
  return { strict2 = markup.new_cache(), strict = markup.new_cache(), lax = markup.new_cache() }
end

-- }======

-- {====== Simple markup ======

local PIPE, COMMA, SINGLE, DOUBLE = byte("|,'\"", 1, -1)

-- The functions of simple markup parse what most markup is: names with members, literals, and filters with literals or
-- paths as arguments. They return nil for other markup, which is left to the reader.

-- A name. Most letters are in lower case, and Lua matches a range faster than a class.
local NAME = "([%a_][a-z_%w-]*)"
local VARIABLE = "^%s*" .. NAME .. "%s*()"
local MEMBER = "^%s*" .. NAME .. "%." .. NAME .. "(%.?)%s*()"
local FURTHER_MEMBER = "^" .. NAME .. "(%.?)%s*()"
local KEY = "^,%s*" .. NAME .. "%s*:%s*()"
local FILTER = "^|%s*" .. NAME .. "%s*():?%s*()"

---A literal at a position: quoted text, or an integer.
---@param source string
---@param at integer
---@return boolean found, any value
---@return integer? after the position after it and the whitespace that follows
local function simple_literal(source, at)
  local code = byte(source, at)
  if code == SINGLE or code == DOUBLE then
    local text, after = match(source, code == SINGLE and "^'([^']*)'%s*()" or '^"([^"]*)"%s*()', at)
    return text ~= nil, text, after
  end
  local digits, after = match(source, "^(%-?%d+)%s*()", at)
  if not digits then return false end
  return true, numbers.literal(digits), after
end
markup.simple_literal = simple_literal

local function simple_variable(source, at)
  local name, after = match(source, VARIABLE, at)
  if not name or name == "contains" or literals[name] then return nil end
  return expressions.variable(name), after
end

---A path at a position: a name with or without members. Whitespace before it is skipped.
---@param source string
---@param at integer
---@return (fun(ctx: liquid.context): any, table?)? evaluate nil if there is none
---@return integer? after the position after it and the whitespace that follows
local function simple_path(source, at)
  local name, key, dot, after = match(source, MEMBER, at)
  if not name then return simple_variable(source, at) end
  if name == "contains" then return nil end
  local evaluate = member(name, key)
  while dot == "." do
    key, dot, after = match(source, FURTHER_MEMBER, after)
    if not key then return nil end
    evaluate = member_of(evaluate, key)
  end
  return evaluate, after
end
markup.simple_path = simple_path

---A path or a literal at a position.
---@param source string
---@param at integer
---@return (fun(ctx: liquid.context): any, table?)? evaluate nil if there is none
---@return integer? after the position after it and the whitespace that follows
function markup.simple_operand(source, at)
  local evaluate, after = simple_path(source, at)
  if evaluate then return evaluate, after end
  local found, value
  found, value, after = simple_literal(source, at)
  if found then return expressions.literal(value), after end
end

---A comma and a named argument at a position.
---@param source string
---@param at integer
---@return string? name nil if there is none
---@return (fun(ctx: liquid.context): any, table?)? evaluate
---@return integer? after the position after it and the whitespace that follows
function markup.simple_argument(source, at)
  local name, value_at = match(source, KEY, at)
  if not name or name == "contains" then return nil end
  local evaluate, after = markup.simple_operand(source, value_at)
  if evaluate then return name, evaluate, after end
end

-- One or two literals at a position: their number, their values and the position after them; nil for other arguments.
local function simple_arguments(source, at)
  local found, first, after = simple_literal(source, at)
  if not found then return nil end
  if byte(source, after) ~= COMMA then return 1, first, nil, after end
  local second
  found, second, after = simple_literal(source, match(source, "^.%s*()", after))
  if not found then return nil end
  return 2, first, second, after
end

-- An expression with the filter at a position, and the position after that; nil if the filter is not simple.
local function simple_filter(evaluate, source, at, known)
  local name, after, behind_colon = match(source, FILTER, at)
  if not name or name == "contains" then return nil end
  if behind_colon == after then return apply_values(known, evaluate, name, 0), after end
  local count, first, second
  count, first, second, after = simple_arguments(source, behind_colon)
  if count then return apply_values(known, evaluate, name, count, first, second), after end
  local argument
  argument, after = simple_path(source, behind_colon)
  if argument then return filters.apply(known, evaluate, name, { argument }, none), after end
end

---Compiles an output with simple markup.
---@param source string
---@return (fun(ctx: liquid.context): any, table?)?
local function simple_output(source, known)
  local evaluate, at = simple_path(source, 1)
  local length = #source
  while evaluate and at <= length do
    evaluate, at = simple_filter(evaluate, source, at, known)
    if evaluate and at <= length and byte(source, at) ~= PIPE then return nil end
  end
  return evaluate
end

-- }======

-- {====== Outputs ======

local function argument(tokens, positional, named)
  if tokens:look("id") and tokens:look("colon", 1) then
    local name = tokens:consume("id")
    tokens:consume("colon")
    named[#named + 1] = { name, (tokens:expression()) }
    return
  end
  positional[#positional + 1] = (tokens:expression())
end

local function at_end(tokens) return tokens:look("pipe") or tokens:look("end_of_string") end

-- In strict2 mode the colon needs no argument after it, and the last argument may have a comma after it.
local function arguments(tokens)
  local positional, named = {}, {}
  local strict2 = tokens.state.mode == "strict2"
  if not (strict2 and at_end(tokens)) then argument(tokens, positional, named) end
  while tokens:take("comma") do
    if strict2 and at_end(tokens) then break end
    argument(tokens, positional, named)
  end
  return positional, named
end

---Parses an expression with filters, up to the end of the markup.
---@param tokens liquid.reader
---@return fun(ctx: liquid.context): any, table?
local function filtered(tokens)
  local evaluate = tokens:expression()
  while tokens:take("pipe") do
    local name = tokens:consume("id")
    local positional, named = none, none
    if tokens:take("colon") then positional, named = arguments(tokens) end
    evaluate = filters.apply(tokens.state.filters, evaluate, name, positional, named)
  end
  tokens:finish()
  return evaluate
end

local function nothing() return nil end

local function strictly(state, source, position)
  local tokens = state.reader:open(state, source, position, "output")
  if tokens:look("end_of_string") then return nothing end
  return filtered(tokens)
end

local function read(state, source, position)
  local evaluate = simple_output(source, state.filters)
  if evaluate then return evaluate end
  if state.mode ~= "lax" then return strictly(state, source, position) end
  -- Valid markup is parsed strictly; only other markup is parsed laxly.
  local ok, result = pcall(strictly, state, source, position)
  return ok and result or lax.output(state, source)
end

---Compiles an expression with filters: that of an output, an assignment, or a tag of the program.
---@param state liquid.parse_state
---@param source string
---@param position integer
---@return fun(ctx: liquid.context): any, table?
function markup.output(state, source, position)
  local cache = state.outputs
  return cache.new[source] or cache.old[source] and cache:update_manifest(source)
    or cache:keep(source, read(state, source, position))
end

-- }======

return markup
