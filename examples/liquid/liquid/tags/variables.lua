-- Tags that write variables and other state of the context: assign, capture, increment, decrement, cycle and ifchanged.
-- Also echo.

local block = require "liquid.block"
local bodies = require "liquid.body"
local context = require "liquid.context"
local errors = require "liquid.errors"
local lax = require "liquid.lax"
local markup_parser = require "liquid.markup"
local text = require "liquid.text"
local values = require "liquid.values"

local null = values.null
local find, match, sub, concat = string.find, string.match, string.sub, table.concat

local variables = {}

-- {====== assign and capture ======

-- The first name with an equals sign after it, and the position of the value.
local function target(markup)
  local name, after = lax.signature(markup)
  while name do
    local value_at = match(markup, "^%s*=%s*()", after)
    if value_at then return name, value_at end
    name, after = lax.signature(markup, after)
  end
end

-- Parses the name of the variable and its value.
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
  return name, markup_parser.output(state, sub(markup, value_at), position)
end

---@param state liquid.parse_state
---@param markup string
---@param position integer
function variables.assign(state, markup, position)
  local name, evaluate = errors.within_tag(state, markup, position, parse_assignment)
  return function(ctx, _, n)
    local value, err = evaluate(ctx)
    if err then return n, err end
    if value == nil then value = null end
    ctx.assigns[name] = value
    context.count_kept(ctx, value)
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
function variables.capture(state, markup, position)
  local name = errors.within_tag(state, markup, position, captured_name)
  local body = block.new(state)
  block.section(state, "capture", body)
  return function(ctx, _, n)
    local pieces, usage = {}, ctx.usage
    -- The text is stored, not written, so it does not count as output.
    local length, limit = usage.length, usage.length_limit
    usage.length, usage.length_limit = 0, context.default_limits.render_length_limit
    local captured = concat(pieces, "", 1, bodies.render(body, ctx, pieces, 0))
    usage.length, usage.length_limit = length, limit
    ctx.assigns[name] = captured
    context.count_kept(ctx, captured)
    return n
  end, true, body.interrupts
end

-- }======

-- {====== increment and decrement ======

local function parse_name(state, markup, position)
  if state.mode ~= "strict2" then return markup:match("^%s*(.-)%s*$") end
  local tokens = state.reader:open(state, markup, position)
  local name = tokens:consume("id")
  tokens:finish()
  return name
end

---Writes the counter, then adds one.
---@param state liquid.parse_state
---@param markup string
---@param position integer
function variables.increment(state, markup, position)
  local name = parse_name(state, markup, position)
  return function(ctx, out, n)
    local value = rawget(ctx.counters, name) or 0
    ctx.counters[name] = value + 1
    out[n + 1] = value
    return n + 1
  end
end

---Subtracts one, then writes the counter.
---@param state liquid.parse_state
---@param markup string
---@param position integer
function variables.decrement(state, markup, position)
  local name = parse_name(state, markup, position)
  return function(ctx, out, n)
    local value = (rawget(ctx.counters, name) or 0) - 1
    ctx.counters[name] = value
    out[n + 1] = value
    return n + 1
  end
end

-- }======

-- {====== cycle ======

local function value_key(value)
  return values.kind(value) .. ":" .. text.inspect(value)
end

-- The key of a cycle without a name: cycles with the same literals and ranges take turns together. nil if a value is a
-- variable. In the reference, ranges with the same source are one object, even if their bounds are variables.
local function group_name(items)
  local names = {}
  for i, item in ipairs(items) do
    if item.literal then
      names[i] = value_key(item.value)
    elseif find(item.shown, "^%(.*%.%..*%)$") then
      names[i] = "dynamic:" .. item.shown
    else
      return nil
    end
  end
  return "\0" .. table.concat(names, "\0")
end

local function item(shown, evaluate, literal, value)
  return { shown = shown, evaluate = evaluate, literal = literal, value = value }
end

local function strict_item(tokens)
  local from = tokens.at
  local evaluate, literal, value = tokens:expression()
  return item(tokens:text(from), evaluate, literal, value)
end

local function invalid(state, position)
  errors.syntax(state, "Syntax Error in 'cycle' - Valid syntax: cycle [name :] var [, var2, var3 ...]", position)
end

local function parse_cycle_strict(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  if tokens:look("end_of_string") then tokens:fail("Syntax Error in 'cycle' - "
    .. "Valid syntax: cycle [name :] var [, var2, var3 ...]") end
  local name
  local items = { strict_item(tokens) }
  if tokens:take("colon") then
    name = items[1].evaluate
    items = { strict_item(tokens) }
  end
  while tokens:take("comma") and not tokens:look("end_of_string") do
    items[#items + 1] = strict_item(tokens)
  end
  tokens:finish()
  return name, items
end

local function lax_items(markup)
  local items = {}
  for part in (markup .. ","):gmatch("([^,]*),") do
    local first, last = lax.fragment(part)
    local shown = first and sub(part, first, last)
    local found = shown and item(shown, lax.expression(shown))
    -- nil is not a value of the cycle.
    if found and not (found.literal and found.value == nil) then items[#items + 1] = found end
  end
  return items
end

-- The last colon of a fragment that is not in quotes.
local function last_colon(fragment)
  local at, found = 1, nil
  while true do
    at = find(fragment, "[:'\"]", at)
    if not at then return found end
    if sub(fragment, at, at) == ":" then
      found = at
    else
      at = find(fragment, sub(fragment, at, at), at + 1, true) or at
    end
    at = at + 1
  end
end

-- The name of a cycle, and the position of its values.
local function read_name(markup, first)
  local last = lax.fragment_at(markup, first)
  local rest = match(markup, "^%s*:%s*()", last + 1)
  if rest then return sub(markup, first, last), rest end
  last = lax.fragment_end(markup, first)
  rest = match(markup, "^%s*:%s*()", last + 1)
  if rest then return sub(markup, first, last), rest end
  -- The fragment contains the colon after the name: `name: 'a', 'b'`.
  local colon = last_colon(sub(markup, first, last))
  if not colon or colon == 1 then return nil end
  return sub(markup, first, first + colon - 2), match(markup, "^%s*()", first + colon)
end

local function parse_cycle_lax(state, markup, position)
  local first = match(markup, "^%s*()")
  if not lax.fragment_at(markup, first) then return invalid(state, position) end
  local name, rest = read_name(markup, first)
  if name then return (lax.expression(name)), lax_items(sub(markup, rest)) end
  return nil, lax_items(markup)
end

local function key_of(name, ctx)
  local value, err = name(ctx)
  if err then return nil, err end
  return value_key(value)
end

local function current_text(items, turn, ctx)
  if not items[turn] then return "" end
  local value, err = items[turn].evaluate(ctx)
  if err then return nil, err end
  if not values.is_array(value) then return text.to_s(value, ctx) end
  local pieces = {}
  local count
  count, err = text.write(value, ctx, pieces, 0)
  if err then return nil, err end
  return table.concat(pieces, "", 1, count)
end

local caches = markup_parser.new_caches()

local function parse_cycle(state, markup, position)
  local parse = state.mode == "strict2" and parse_cycle_strict or parse_cycle_lax
  local name, items = errors.within_tag(state, markup, position, parse)
  return { name = name, items = items, group = not name and group_name(items) }
end

function variables.cycle(state, markup, position)
  local cache = caches[state.mode]
  local cycle = cache.new[markup] or cache.old[markup] and cache:update_manifest(markup)
    or cache:keep(markup, parse_cycle(state, markup, position))
  local name, items = cycle.name, cycle.items
  -- A cycle with variables and without a name has a key of its own.
  local fixed = not name and (cycle.group or {})
  return function(ctx, out, n)
    local key, err = fixed, nil
    if name then key, err = key_of(name, ctx) end
    if err then return n, err end
    local turn = ctx.cycles[key] or 1
    local shown
    shown, err = current_text(items, turn, ctx)
    if err then return n, err end
    ctx.cycles[key] = turn < #items and turn + 1 or 1
    out[n + 1] = shown
    return n + 1
  end
end

-- }======

function variables.ifchanged(state)
  local body = block.new(state)
  block.section(state, "ifchanged", body)
  return function(ctx, out, n)
    local pieces = {}
    local rendered = concat(pieces, "", 1, bodies.render(body, ctx, pieces, 0))
    if rendered == ctx.changed then return n end
    ctx.changed = rendered
    out[n + 1] = rendered
    return n + 1
  end, body.blank, body.interrupts
end

---An output as a tag.
---@param state liquid.parse_state
---@param markup string
---@param position integer
---@return fun(ctx: liquid.context, out: string[], n: integer): integer, table?
function variables.echo(state, markup, position)
  local evaluate = markup_parser.output(state, markup, position)
  return function(ctx, out, n)
    local value, err = evaluate(ctx)
    if value == nil then return n, err end
    local after
    after, err = text.write(value, ctx, out, n)
    return after or n, err
  end
end

return variables
