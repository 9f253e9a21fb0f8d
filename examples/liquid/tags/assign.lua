-- assign and capture: variables of the template's outermost scope.

local block = require "liquid.block"
local bodies = require "liquid.body"
local errors = require "liquid.errors"
local lax = require "liquid.lax"
local limits = require "liquid.limits"
local output = require "liquid.output"
local render = require "liquid.render_body"
local values = require "liquid.values"

local null = values.null
local match, sub, concat = string.match, string.sub, table.concat

local assign = {}

-- The first name that has an equals sign behind it, and where the value begins.
local function target(markup)
  local name, after = lax.signature(markup)
  while name do
    local value_at = match(markup, "^%s*=%s*()", after)
    if value_at then return name, value_at end
    name, after = lax.signature(markup, after)
  end
end

-- The name of the variable, and its value.
local function parse_assignment(state, markup, position)
  local name, value_at = match(markup, "^([%a_][%w_]*)%s*=%s*()")
  local is_plain = name ~= nil
  if not is_plain then name, value_at = target(markup) end
  if not name then
    errors.syntax(state, "Syntax Error in 'assign' - Valid syntax: assign [var] = [source]", position)
  end
  if state.mode == "strict2" and (not is_plain or name == "contains") then
    local tokens = state.reader:open(state, name, position)
    name = tokens:consume("id")
    tokens:finish()
  end
  return name, output.parse(state, sub(markup, value_at), position)
end

---@param state liquid.parse_state
---@param markup string
---@param position integer
function assign.assign(state, markup, position)
  local name, evaluate = errors.within_tag(state, markup, position, parse_assignment)
  return function(ctx, _, n)
    local value, err = evaluate(ctx)
    if err then return n, err end
    if value == nil then value = null end
    ctx.assigns[name] = value
    limits.keep(ctx, value)
    return n
  end, true
end

local function captured_name(state, markup, position)
  if state.mode == "strict2" then
    local tokens = state.reader:open(state, markup, position)
    local name = tokens:consume("id")
    tokens:finish()
    return name
  end
  local name = lax.signature(markup)
  if not name then
    errors.syntax(state, "Syntax Error in 'capture' - Valid syntax: capture [var]", position)
  end
  return name
end

---@param state liquid.parse_state
---@param markup string
---@param position integer
function assign.capture(state, markup, position)
  local name = errors.within_tag(state, markup, position, captured_name)
  local body = block.new(state)
  block.section(state, "capture", body)
  bodies.seal(body)
  return function(ctx, _, n)
    local pieces, usage = {}, ctx.usage
    -- It is kept, not put out: what is put out may be less.
    local length, limit = usage.length, usage.length_limit
    usage.length, usage.length_limit = 0, limits.defaults.render_length_limit
    local text = concat(pieces, "", 1, render(body, ctx, pieces, 0))
    usage.length, usage.length_limit = length, limit
    ctx.assigns[name] = text
    limits.keep(ctx, text)
    return n
  end, true, body.interrupts
end

return assign
