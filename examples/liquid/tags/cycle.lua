-- cycle: gives its values in turn. Cycles of the same name, or of the same literals and ranges, take turns together.

local errors = require "liquid.errors"
local lax = require "liquid.lax"
local memory = require "liquid.memory"
local text = require "liquid.text"
local values = require "liquid.values"

local find, sub, match = string.find, string.sub, string.match

local function value_key(value)
  return values.kind(value) .. ":" .. text.inspect(value)
end

-- What the values are called together; nil if one of them is a variable. To the reference ranges that are written the
-- same are one object, also where their bounds are known only when rendered.
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

local function strictly(state, markup, position)
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
    -- Nothing is not a value to give in turn.
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

-- The name that a cycle begins with, and where its values do.
local function named(markup, first)
  local last = lax.fragment_at(markup, first)
  local rest = match(markup, "^%s*:%s*()", last + 1)
  if rest then return sub(markup, first, last), rest end
  last = lax.fragment_end(markup, first)
  rest = match(markup, "^%s*:%s*()", last + 1)
  if rest then return sub(markup, first, last), rest end
  -- The fragment holds the colon that ends the name: `name: 'a', 'b'`.
  local colon = last_colon(sub(markup, first, last))
  if not colon or colon == 1 then return nil end
  return sub(markup, first, first + colon - 2), match(markup, "^%s*()", first + colon)
end

local function laxly(state, markup, position)
  local first = match(markup, "^%s*()")
  if not lax.fragment_at(markup, first) then return invalid(state, position) end
  local name, rest = named(markup, first)
  if name then return (lax.expression(name)), lax_items(sub(markup, rest)) end
  return nil, lax_items(markup)
end

local function key_of(name, ctx)
  local value, err = name(ctx)
  if err then return nil, err end
  return value_key(value)
end

local function current(items, turn, ctx)
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

local memories = memory.by_mode()

local function read(state, markup, position)
  local name, items = errors.within_tag(state, markup, position, state.mode == "strict2" and strictly or laxly)
  return { name = name, items = items, group = not name and group_name(items) }
end

local function parse(state, markup, position)
  local known = memories[state.mode]
  local cycle = known.new[markup] or known.old[markup] and known:renew(markup)
    or known:keep(markup, read(state, markup, position))
  local name, items = cycle.name, cycle.items
  -- Without a name, and with variables, every cycle is its own.
  local fixed = not name and (cycle.group or {})
  return function(ctx, out, n)
    local key, err = fixed, nil
    if name then key, err = key_of(name, ctx) end
    if err then return n, err end
    local turn = ctx.cycles[key] or 1
    local shown
    shown, err = current(items, turn, ctx)
    if err then return n, err end
    ctx.cycles[key] = turn < #items and turn + 1 or 1
    out[n + 1] = shown
    return n + 1
  end
end

return { cycle = parse }
