-- include: a partial that sees, and may change, all variables of where it stands.

local errors = require "liquid.errors"
local lax = require "liquid.lax"
local partials = require "liquid.partials"
local render = require "liquid.render_body"
local values = require "liquid.values"

local null = values.null
local match, sub = string.match, string.sub

-- Arguments are names and functions, by turns, so that they need no tables of their own.
local function add_argument(arguments, name, evaluate)
  local count = #arguments
  arguments[count + 1] = name
  arguments[count + 2] = evaluate
end

-- The name behind as, and the arguments.
local function strict_rest(tag, tokens)
  if tokens:word("as") then tag.alias = tokens:consume("id") end
  tokens:take("comma")
  while tokens:look("id") do
    local name = tokens:consume("id")
    tokens:consume("colon")
    add_argument(tag.arguments, name, tokens:expression())
    tokens:take("comma")
  end
  tokens:finish()
  return tag
end

-- The object behind with or for. The words nil and false are none: it is as if they were not there.
local function given(evaluate, literal, value)
  if literal and not value then return nil end
  return evaluate
end

local function strictly(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local tag = { name = tokens:expression(), arguments = {} }
  if tokens:word("for") or tokens:word("with") then tag.object = given(tokens:expression()) end
  return strict_rest(tag, tokens)
end

-- The object behind with or for, and the name behind as.
local function lax_rest(tag, markup, last)
  local word, at = match(markup, "^%s+(%a+)%s+()", last + 1)
  local stop = (word == "with" or word == "for") and lax.fragments_end(markup, at)
  if stop then
    tag.object, tag.word = given(lax.expression(sub(markup, at, stop))), word
    last = stop
  end
  tag.alias = match(markup, "^%s+as%s+([%w_%-]+)", last + 1)
  for _, attribute in ipairs(lax.attributes(markup)) do
    add_argument(tag.arguments, attribute[1], lax.expression(attribute[2]))
  end
  return tag
end

local function laxly(state, markup, position)
  local first = lax.fragment(markup)
  if not first then
    errors.syntax(state, "Error in tag 'include' - Valid syntax: include '[template]' (with|for) [object|collection]",
      position)
  end
  local last = lax.fragments_end(markup, first)
  return lax_rest({ name = lax.expression(sub(markup, first, last)), arguments = {} }, markup, last)
end

local function load(tag, ctx)
  if ctx.no_include then
    return nil, errors.new("disabled_error", "include usage is not allowed in this context")
  end
  local name, err = tag.name(ctx)
  if err then return nil, err end
  if type(name) ~= "string" then
    return errors.argument("Argument error in tag 'include' - Illegal template name")
  end
  local partial
  partial, err = ctx.partials:load(name)
  return partial, err, name
end

local function object_for(tag, name, ctx)
  if tag.object then return tag.object(ctx) end
  local value = ctx.scope[name]
  if value == null then return nil end
  return value
end

local function set_arguments(tag, scope, ctx)
  local arguments = tag.arguments
  for i = 1, #arguments, 2 do
    local value, err = arguments[i + 1](ctx)
    if err then return err end
    if value == nil then value = null end
    scope[arguments[i]] = value
  end
end

local function render_in(scope, variable, object, body, ctx, out, n)
  if not values.is_array(object) then
    if object == nil then object = null end
    scope[variable] = object
    return render(body, ctx, out, n)
  end
  for i = 1, #object do
    scope[variable] = object[i]
    n = render(body, ctx, out, n)
  end
  return n
end

local function include(tag, ctx, out, n)
  local partial, err, name = load(tag, ctx)
  if err then return n, err end
  local object
  object, err = object_for(tag, name, ctx)
  if err then return n, err end
  local outer = ctx.scope
  local scope
  scope, err = ctx:enter()
  if err then return n, err end
  err = set_arguments(tag, scope, ctx)
  local variable = tag.alias or partials.variable(name)
  if not err then n = render_in(scope, variable, object, partial.body, ctx, out, n) end
  ctx:leave(outer)
  return n, err
end

local function parse(state, markup, position)
  local tag = errors.within_tag(state, markup, position, state.mode == "strict2" and strictly or laxly)
  return function(ctx, out, n) return include(tag, ctx, out, n) end, false, true
end

return {
  include = parse, add_argument = add_argument, given = given, strict_rest = strict_rest, lax_rest = lax_rest,
}
