-- include and render: partials, which are other templates.

local bodies = require "liquid.body"
local collections = require "liquid.collections"
local errors = require "liquid.errors"
local lax = require "liquid.lax"
local loops = require "liquid.tags.loops"
local markup_parser = require "liquid.markup"
local values = require "liquid.values"

local null = values.null
local match, sub = string.match, string.sub

local partials = {}

---The name of the variable that contains the object of a partial.
---@param name string
---@return string
local function variable_name(name)
  return name:match("([^/]+)/*$") or name
end

-- {====== include ======

-- The list of arguments alternates names and functions, so that an argument needs no table.
local function add_argument(arguments, name, evaluate)
  local count = #arguments
  arguments[count + 1] = name
  arguments[count + 2] = evaluate
end

-- Parses the name after `as` and the arguments.
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

-- The object after `with` or `for`. The literals nil and false count as no object.
local function given(evaluate, literal, value)
  if literal and not value then return nil end
  return evaluate
end

local function parse_include_strict(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local tag = { name = tokens:expression(), arguments = {} }
  if tokens:word("for") or tokens:word("with") then tag.object = given(tokens:expression()) end
  return strict_rest(tag, tokens)
end

-- Parses the object after `with` or `for`, the name after `as` and the arguments.
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

local function parse_include_lax(state, markup, position)
  local first = lax.fragment(markup)
  if not first then
    errors.syntax(state, "Error in tag 'include' - Valid syntax: include '[template]' (with|for) [object|collection]",
      position)
  end
  local last = lax.fragments_end(markup, first)
  return lax_rest({ name = lax.expression(sub(markup, first, last)), arguments = {} }, markup, last)
end

local function parse_include(state, markup, position)
  return (state.mode == "strict2" and parse_include_strict or parse_include_lax)(state, markup, position)
end

local function load_partial(tag, ctx)
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
    return bodies.render(body, ctx, out, n)
  end
  for i = 1, #object do
    scope[variable] = object[i]
    n = bodies.render(body, ctx, out, n)
  end
  return n
end

local function render_include(tag, ctx, out, n)
  local partial, err, name = load_partial(tag, ctx)
  if err then return n, err end
  local object
  object, err = object_for(tag, name, ctx)
  if err then return n, err end
  local outer = ctx.scope
  local scope
  scope, err = ctx:enter()
  if err then return n, err end
  err = set_arguments(tag, scope, ctx)
  local variable = tag.alias or variable_name(name)
  if not err then n = render_in(scope, variable, object, partial.body, ctx, out, n) end
  ctx:leave(outer)
  return n, err
end

function partials.include(state, markup, position)
  local tag = errors.within_tag(state, markup, position, parse_include)
  return function(ctx, out, n) return render_include(tag, ctx, out, n) end, false, true
end

-- }======

-- {====== render ======

local function parse_render_strict(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local tag = { name = sub(tokens:consume("string"), 2, -2), arguments = {} }
  tag.word = tokens:word("for") or tokens:word("with")
  if tag.word then tag.object = given(tokens:expression()) end
  return strict_rest(tag, tokens)
end

-- A name, and arguments that are paths or literals; nil for other markup.
local function parse_render_simple(markup)
  local found, name, at = markup_parser.simple_literal(markup, 1)
  if not found or type(name) ~= "string" then return nil end
  local arguments = {}
  while at <= #markup do
    local key, evaluate
    key, evaluate, at = markup_parser.simple_argument(markup, at)
    if not key then return nil end
    add_argument(arguments, key, evaluate)
  end
  return { name = name, arguments = arguments }
end

local function parse_render_lax(state, markup, position)
  local name, last = match(markup, "\"([^\"]*)\"()")
  local single, single_last = match(markup, "'([^']*)'()")
  if single and (not last or single_last < last) then name, last = single, single_last end
  if not name then
    errors.syntax(state, "Syntax error in tag 'render' - Template name must be a quoted string", position)
  end
  return lax_rest({ name = name, arguments = {} }, markup, last - 1)
end

-- Renders the partial once, in a new context.
local function render_once(tag, partial, object, forloop, ctx, out, n)
  local inner, err = ctx:isolate()
  if err then return n, err end
  inner.no_include = true
  if forloop then inner.assigns.forloop = forloop end
  err = set_arguments(tag, inner.assigns, ctx)
  if err then return n, err end
  if object ~= nil then inner.assigns[tag.variable] = object end
  return bodies.render(partial.body, inner, out, n)
end

local function is_iterable(value)
  local protocol = values.protocol(value)
  if protocol then return protocol.items ~= nil end
  return type(value) == "table" and value ~= null
end

local function for_each(tag, partial, object, ctx, out, n)
  local segment, err = collections.segment(object, 0, nil, ctx)
  if err then return n, err end
  local forloop = loops.forloop(tag.name, segment.count)
  for i = 0, segment.count - 1 do
    local at = segment.first + i
    local item
    if segment.list then item = segment.list[at] else item = segment.start + at - 1 end
    if item == null then item = nil end
    n, err = render_once(tag, partial, item, forloop, ctx, out, n)
    forloop.at = i + 1
    if err then return n, err end
  end
  return n
end

local function render_tag(tag, ctx, out, n)
  local partial, err = ctx.partials:load(tag.name)
  if err then return n, err end
  local object
  if tag.object then
    object, err = tag.object(ctx)
    if err then return n, err end
  end
  if tag.word == "for" and is_iterable(object) then return for_each(tag, partial, object, ctx, out, n) end
  return render_once(tag, partial, object, nil, ctx, out, n)
end

local function parse_render(state, markup, position)
  if state.mode ~= "strict2" then return parse_render_lax(state, markup, position) end
  return parse_render_simple(markup) or parse_render_strict(state, markup, position)
end

local function parse_render_uncached(state, markup, position)
  local tag = errors.within_tag(state, markup, position, parse_render)
  tag.variable = tag.alias or variable_name(tag.name)
  return function(ctx, out, n) return render_tag(tag, ctx, out, n) end
end

local caches = markup_parser.new_caches()

function partials.render(state, markup, position)
  local cache = caches[state.mode]
  return cache.new[markup] or cache.old[markup] and cache:update_manifest(markup)
    or cache:keep(markup, parse_render_uncached(state, markup, position))
end

-- }======

return partials
