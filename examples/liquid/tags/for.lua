-- for: renders its body for every item of a collection, or what is behind its else if there is none.

local block = require "liquid.block"
local bodies = require "liquid.body"
local collections = require "liquid.collections"
local errors = require "liquid.errors"
local glance = require "liquid.glance"
local lax = require "liquid.lax"
local loops = require "liquid.loops"
local memory = require "liquid.memory"
local numbers = require "liquid.numbers"
local render = require "liquid.render_body"
local values = require "liquid.values"

local null = values.null
local match, sub = string.match, string.sub

---@class liquid.for_markup
---@field variable string
---@field collection fun(ctx: liquid.context): any, table?
---@field label string the variable and the collection, by which a later loop can go on
---@field reversed boolean
---@field limit? fun(ctx: liquid.context): any, table?
---@field offset? fun(ctx: liquid.context): any, table?
---@field continue? boolean

local function set_attribute(loop, name, evaluate, text)
  if name == "offset" and text == "continue" then
    loop.continue, loop.offset = true, nil
  else
    if name == "offset" then loop.continue = nil end
    loop[name] = evaluate
  end
end

local function strict_attributes(tokens, loop)
  while tokens:look("comma") or tokens:look("id") do
    tokens:take("comma")
    local name = tokens:word("limit") or tokens:word("offset")
    if not name then tokens:fail("Invalid attribute in for loop. Valid attributes are limit and offset") end
    tokens:consume("colon")
    local from = tokens.at
    local evaluate = tokens:expression()
    set_attribute(loop, name, evaluate, tokens:text(from))
  end
end

local function strictly(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local loop = { variable = tokens:consume("id") }
  if not tokens:word("in") then tokens:fail("For loops require an 'in' clause") end
  local from = tokens.at
  loop.collection = tokens:expression()
  loop.label = loop.variable .. "-" .. tokens:text(from)
  loop.reversed = tokens:word("reversed") and true or false
  strict_attributes(tokens, loop)
  tokens:finish()
  return loop
end

local function laxly(state, markup, position)
  local variable, at = match(markup, "^([%w_%-]+)%s+in%s+()")
  local last = variable and lax.fragments_end(markup, at)
  if not last then
    errors.syntax(state, "Syntax Error in 'for loop' - Valid syntax: for [item] in [collection]", position)
  end
  local text = sub(markup, at, last)
  local loop = {
    variable = variable, collection = lax.expression(text), label = variable .. "-" .. text,
    reversed = match(markup, "^%s*reversed", last + 1) ~= nil,
  }
  for _, attribute in ipairs(lax.attributes(markup)) do
    if attribute[1] == "limit" or attribute[1] == "offset" then
      set_attribute(loop, attribute[1], (lax.expression(attribute[2])), attribute[2])
    end
  end
  return loop
end

-- A loop through a path, with nothing behind it; nil if it takes a closer look.
local function at_a_glance(markup)
  local variable, text = match(markup, "^([%a_][%w_-]*)%s+in%s+(%S+)%s*$")
  if not variable or variable == "contains" then return nil end
  local collection, after = glance.path(text, 1)
  if not collection or after <= #text then return nil end
  return { variable = variable, collection = collection, label = variable .. "-" .. text, reversed = false }
end

local function read(state, markup, position)
  if state.mode == "lax" then return laxly(state, markup, position) end
  return at_a_glance(markup) or strictly(state, markup, position)
end

local memories = memory.by_mode()

local function parse_markup(state, markup, position)
  local known = memories[state.mode]
  return known.new[markup] or known.old[markup] and known:renew(markup)
    or known:keep(markup, read(state, markup, position))
end

-- The integer of an attribute; nil if it has no value.
local function integer(evaluate, ctx)
  if not evaluate then return nil end
  local value, err = evaluate(ctx)
  if value == nil then return nil, err end
  return numbers.to_integer(value, ctx)
end

local function segment_of(loop, ctx)
  local from, limit, err
  if loop.continue then
    from = ctx.offsets[loop.label] or 0
  else
    from, err = integer(loop.offset, ctx)
    if err then return nil, err end
    from = from or 0
  end
  local collection
  collection, err = loop.collection(ctx)
  if err then return nil, err end
  limit, err = integer(loop.limit, ctx)
  if err then return nil, err end
  local segment
  segment, err = collections.segment(collection, from, limit and collections.sum(from, limit), ctx)
  if err then return nil, err end
  ctx.offsets[loop.label] = collections.sum(from, segment.count)
  return segment
end

local function each(loop, segment, body, ctx, out, n)
  local scope, err = ctx:enter()
  if err then return n, err end
  local outer, list, start, variable = ctx.loop, segment.list, segment.start, loop.variable
  local forloop = loops.forloop(loop.label, segment.count, outer)
  ctx.loop, scope.forloop = forloop, forloop
  local first, count = segment.first, segment.count
  local at, step = loop.reversed and first + count - 1 or first, loop.reversed and -1 or 1
  for i = 0, count - 1 do
    local item
    if list then item = list[at] else item = start + at - 1 end
    if item == nil then item = null end
    scope[variable] = item
    n = render(body, ctx, out, n)
    at, forloop.at = at + step, i + 1
    local interrupt = ctx.interrupt
    if interrupt then
      ctx:go_on()
      if interrupt == "break" then break end
    end
  end
  ctx.loop = outer
  return n
end

-- Nothing, however often, is nothing, but each time it sees a break or continue from before.
local function pass_by(ctx, count)
  local interrupt = ctx.interrupt
  while interrupt and count > 0 do
    ctx:go_on()
    if interrupt == "break" then return end
    interrupt, count = ctx.interrupt, count - 1
  end
end

local branches = { ["else"] = true }

-- The body behind else. A second else ends the loop: what follows it belongs to the body around, and so does the tag
-- that would end the loop.
local function parse_else(state)
  local otherwise = block.new(state)
  if not block.section(state, "for", otherwise, branches) then return otherwise, otherwise.blank end
  return block.new(state), otherwise.blank
end

local function parse_bodies(state)
  local body, otherwise, blank = block.new(state), nil, true
  if block.section(state, "for", body, branches) then otherwise, blank = parse_else(state) end
  blank = body.blank and blank
  bodies.seal(body, blank)
  if otherwise then bodies.seal(otherwise, blank) end
  return body, otherwise, blank
end

local function parse(state, markup, position)
  local loop = parse_markup(state, markup, position)
  local body, otherwise, blank = parse_bodies(state)
  -- More of them may come out of the body than the loop sees.
  local interrupts = body.interrupts or otherwise and otherwise.interrupts or false
  return function(ctx, out, n)
    local segment, err = segment_of(loop, ctx)
    if err then return n, err end
    if segment.count == 0 then
      return otherwise and render(otherwise, ctx, out, n) or n
    end
    if body.count == 0 then
      pass_by(ctx, segment.count)
      return n
    end
    local outer = ctx.scope
    n, err = each(loop, segment, body, ctx, out, n)
    if err then return n, err end
    ctx:leave(outer)
    return n
  end, blank, interrupts
end

return { ["for"] = parse }
