-- render: a partial that sees only what it is given.

local collections = require "liquid.collections"
local errors = require "liquid.errors"
local glance = require "liquid.glance"
local include = require "liquid.tags.include"
local loops = require "liquid.loops"
local memory = require "liquid.memory"
local partials = require "liquid.partials"
local render_body = require "liquid.render_body"
local values = require "liquid.values"

local null = values.null
local match, sub = string.match, string.sub

local function strictly(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local tag = { name = sub(tokens:consume("string"), 2, -2), arguments = {} }
  tag.word = tokens:word("for") or tokens:word("with")
  if tag.word then tag.object = include.given(tokens:expression()) end
  return include.strict_rest(tag, tokens)
end

-- A name, and arguments that are paths or literals; nil if it takes a closer look.
local function at_a_glance(markup)
  local found, name, at = glance.literal(markup, 1)
  if not found or type(name) ~= "string" then return nil end
  local arguments = {}
  while at <= #markup do
    local key, evaluate
    key, evaluate, at = glance.argument(markup, at)
    if not key then return nil end
    include.add_argument(arguments, key, evaluate)
  end
  return { name = name, arguments = arguments }
end

local function laxly(state, markup, position)
  local name, last = match(markup, "\"([^\"]*)\"()")
  local single, single_last = match(markup, "'([^']*)'()")
  if single and (not last or single_last < last) then name, last = single, single_last end
  if not name then
    errors.syntax(state, "Syntax error in tag 'render' - Template name must be a quoted string", position)
  end
  return include.lax_rest({ name = name, arguments = {} }, markup, last - 1)
end

local function give(tag, inner, outer)
  local arguments, assigns = tag.arguments, inner.assigns
  for i = 1, #arguments, 2 do
    local value, err = arguments[i + 1](outer)
    if err then return err end
    if value == nil then value = null end
    assigns[arguments[i]] = value
  end
end

-- One rendering of the partial, in a context of its own.
local function once(tag, partial, object, forloop, ctx, out, n)
  local inner, err = ctx:isolate()
  if err then return n, err end
  inner.no_include = true
  if forloop then inner.assigns.forloop = forloop end
  err = give(tag, inner, ctx)
  if err then return n, err end
  if object ~= nil then inner.assigns[tag.variable] = object end
  return render_body(partial.body, inner, out, n)
end

local function countable(value)
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
    n, err = once(tag, partial, item, forloop, ctx, out, n)
    forloop.at = i + 1
    if err then return n, err end
  end
  return n
end

local function render(tag, ctx, out, n)
  local partial, err = ctx.partials:load(tag.name)
  if err then return n, err end
  local object
  if tag.object then
    object, err = tag.object(ctx)
    if err then return n, err end
  end
  if tag.word == "for" and countable(object) then return for_each(tag, partial, object, ctx, out, n) end
  return once(tag, partial, object, nil, ctx, out, n)
end

local function parse_markup(state, markup, position)
  if state.mode ~= "strict2" then return laxly(state, markup, position) end
  return at_a_glance(markup) or strictly(state, markup, position)
end

local function read(state, markup, position)
  local tag = errors.within_tag(state, markup, position, parse_markup)
  tag.variable = tag.alias or partials.variable(tag.name)
  return function(ctx, out, n) return render(tag, ctx, out, n) end
end

local memories = memory.by_mode()

local function parse(state, markup, position)
  local known = memories[state.mode]
  return known.new[markup] or known.old[markup] and known:renew(markup)
    or known:keep(markup, read(state, markup, position))
end

return { render = parse }
