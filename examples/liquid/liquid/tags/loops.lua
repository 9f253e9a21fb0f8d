-- for, tablerow, break and continue, and the objects forloop and tablerowloop.

local bigint = require "liquid.bigint"
local block = require "liquid.block"
local bodies = require "liquid.body"
local collections = require "liquid.collections"
local errors = require "liquid.errors"
local lax = require "liquid.lax"
local markup_parser = require "liquid.markup"
local numbers = require "liquid.numbers"
local values = require "liquid.values"

local null, render = values.null, bodies.render
local match, sub, format = string.match, string.sub, string.format

local loops = {}

-- {====== forloop and tablerowloop ======

local forloop_metatable = { __name = "liquid.forloop" }
local tablerow_metatable = { __name = "liquid.tablerowloop" }

local shared = {
  length = function(loop) return loop.count end,
  index = function(loop) return loop.at + 1 end,
  index0 = function(loop) return loop.at end,
  rindex = function(loop) return loop.count - loop.at end,
  rindex0 = function(loop) return loop.count - loop.at - 1 end,
  first = function(loop) return loop.at == 0 end,
  last = function(loop) return loop.at == loop.count - 1 end,
}

local of_for = setmetatable({
  name = function(loop) return loop.label end,
  parentloop = function(loop) return loop.outer end,
}, { __index = shared })

local of_tablerow = setmetatable({
  col = function(loop) return loop.column end,
  col0 = function(loop) return loop.column - 1 end,
  col_first = function(loop) return loop.column == 1 end,
  col_last = function(loop) return loop.column == loop.columns end,
  row = function(loop) return loop.line end,
}, { __index = shared })

local function protocol(kind, getters, class_name)
  return {
    kind = kind,
    get = function(loop, key)
      local getter = getters[key]
      if getter then return getter(loop) end
      return nil, nil, true
    end,
    to_s = function() return class_name end,
    -- For the filters first and last.
    first = shared.first, last = shared.last,
  }
end

values.register(forloop_metatable, protocol("forloop", of_for, "Liquid::ForloopDrop"))
values.register(tablerow_metatable, protocol("tablerowloop", of_tablerow, "Liquid::TablerowloopDrop"))

---@param label string
---@param count integer
---@param outer? table the loop around it
---@return table
function loops.forloop(label, count, outer)
  return setmetatable({ label = label, count = count, outer = outer, at = 0 }, forloop_metatable)
end

---@param count integer
---@param columns integer
---@return table
local function new_tablerowloop(count, columns)
  return setmetatable({ count = count, columns = columns, at = 0, column = 1, line = 1 }, tablerow_metatable)
end

---Advances to the next cell.
---@param loop table
local function next_cell(loop)
  loop.at = loop.at + 1
  if loop.column == loop.columns then
    loop.column, loop.line = 1, loop.line + 1
  else
    loop.column = loop.column + 1
  end
end

-- }======

-- {====== for ======

---@class liquid.for_markup
---@field variable string
---@field collection fun(ctx: liquid.context): any, table?
---@field label string the variable and the collection, by which a later loop can continue after this one
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

local function parse_for_strict(state, markup, position)
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

local function parse_for_lax(state, markup, position)
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

-- A loop over a path without attributes; nil for other markup.
local function parse_for_simple(markup)
  local variable, text = match(markup, "^([%a_][%w_-]*)%s+in%s+(%S+)%s*$")
  if not variable or variable == "contains" then return nil end
  local collection, after = markup_parser.simple_path(text, 1)
  if not collection or after <= #text then return nil end
  return { variable = variable, collection = collection, label = variable .. "-" .. text, reversed = false }
end

local function parse_for_uncached(state, markup, position)
  if state.mode == "lax" then return parse_for_lax(state, markup, position) end
  return parse_for_simple(markup) or parse_for_strict(state, markup, position)
end

local caches = markup_parser.new_caches()

local function parse_for(state, markup, position)
  local cache = caches[state.mode]
  return cache.new[markup] or cache.old[markup] and cache:update_manifest(markup)
    or cache:keep(markup, parse_for_uncached(state, markup, position))
end

-- The integer value of an attribute; nil if it has none.
local function attribute_integer(evaluate, ctx)
  if not evaluate then return nil end
  local value, err = evaluate(ctx)
  if value == nil then return nil, err end
  return numbers.to_integer(value, ctx)
end

local function for_segment(loop, ctx)
  local from, limit, err
  if loop.continue then
    from = ctx.offsets[loop.label] or 0
  else
    from, err = attribute_integer(loop.offset, ctx)
    if err then return nil, err end
    from = from or 0
  end
  local collection
  collection, err = loop.collection(ctx)
  if err then return nil, err end
  limit, err = attribute_integer(loop.limit, ctx)
  if err then return nil, err end
  local segment
  segment, err = collections.segment(collection, from, limit and collections.sum(from, limit), ctx)
  if err then return nil, err end
  ctx.offsets[loop.label] = collections.sum(from, segment.count)
  return segment
end

local function render_items(loop, segment, body, ctx, out, n)
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
      ctx:remove_interrupt()
      if interrupt == "break" then break end
    end
  end
  ctx.loop = outer
  return n
end

-- Iterates over an empty body, which only handles earlier breaks and continues.
local function skip_items(ctx, count)
  local interrupt = ctx.interrupt
  while interrupt and count > 0 do
    ctx:remove_interrupt()
    if interrupt == "break" then return end
    interrupt, count = ctx.interrupt, count - 1
  end
end

local branch_tags = { ["else"] = true }

-- The body after else. A second else ends the loop, and its body is not rendered: the source after it, with the end tag
-- of the loop, belongs to the body around.
local function parse_else(state)
  local otherwise = block.new(state)
  if not block.section(state, "for", otherwise, branch_tags) then return otherwise, otherwise.blank end
  return block.new(state), otherwise.blank
end

local function parse_bodies(state)
  local body, otherwise, blank = block.new(state), nil, true
  if block.section(state, "for", body, branch_tags) then otherwise, blank = parse_else(state) end
  blank = body.blank and blank
  if blank then
    bodies.remove_texts(body)
    if otherwise then bodies.remove_texts(otherwise) end
  end
  return body, otherwise, blank
end

loops["for"] = function(state, markup, position)
  local loop = parse_for(state, markup, position)
  local body, otherwise, blank = parse_bodies(state)
  -- The body may cause more breaks and continues than the loop handles.
  local interrupts = body.interrupts or otherwise and otherwise.interrupts or false
  return function(ctx, out, n)
    local segment, err = for_segment(loop, ctx)
    if err then return n, err end
    if segment.count == 0 then
      return otherwise and render(otherwise, ctx, out, n) or n
    end
    if body.count == 0 then
      skip_items(ctx, segment.count)
      return n
    end
    local outer = ctx.scope
    n, err = render_items(loop, segment, body, ctx, out, n)
    if err then return n, err end
    ctx:leave(outer)
    return n
  end, blank, interrupts
end

-- }======

-- {====== tablerow ======

local tablerow_attributes = { cols = true, limit = true, offset = true, range = true }

local function parse_tablerow_strict(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local row = { variable = tokens:consume("id") }
  if not tokens:word("in") then tokens:fail("For loops require an 'in' clause") end
  row.collection = tokens:expression()
  tokens:take("comma")
  while tokens:look("id") do
    local name = tokens:consume("id")
    if not tablerow_attributes[name] then
      tokens:fail("Invalid attribute '" .. name .. "' in tablerow loop. "
        .. "Valid attributes are cols, limit, offset, and range")
    end
    tokens:consume("colon")
    row[name] = tokens:expression()
    tokens:take("comma")
  end
  tokens:finish()
  return row
end

local function parse_tablerow_lax(state, markup, position)
  local variable, at = match(markup, "([%w_]+)%s+in%s+()")
  local last = variable and lax.fragments_end(markup, at)
  if not last then
    errors.syntax(state, "Syntax Error in 'table_row loop' - Valid syntax: table_row [item] in [collection] cols=3",
      position)
  end
  local row = { variable = variable, collection = (lax.expression(sub(markup, at, last))) }
  for _, attribute in ipairs(lax.attributes(markup)) do
    if tablerow_attributes[attribute[1]] then row[attribute[1]] = lax.expression(attribute[2]) end
  end
  return row
end

local function parse_tablerow(state, markup, position)
  return (state.mode == "strict2" and parse_tablerow_strict or parse_tablerow_lax)(state, markup, position)
end

-- Ruby's to_i: nil is 0, and values without to_i, such as booleans and drops, are an error.
local function tablerow_integer(evaluate, ctx)
  local value, err = evaluate(ctx)
  if err then return nil, err end
  if value == nil then return 0 end
  if type(value) == "string" then value = numbers.leading_integer(value) end
  if math.type(value) == "float" then
    local whole = value < 0 and -(-value // 1) or value // 1
    return math.tointeger(whole) or value > 0 and math.maxinteger or math.mininteger
  end
  if math.type(value) == "integer" or bigint.is(value) then return numbers.to_integer(value) end
  return errors.argument("invalid integer")
end

local function tablerow_segment(row, ctx)
  local collection, err = row.collection(ctx)
  if err or not collection then return nil, err end
  local from, to = 0, nil
  if row.offset then from, err = tablerow_integer(row.offset, ctx) end
  if err then return nil, err end
  if row.limit then to, err = tablerow_integer(row.limit, ctx) end
  if err then return nil, err end
  return collections.segment(collection, from, to and collections.sum(from, to), ctx)
end

local CELL_END = "</td>"

-- A cell is counted as output before it is rendered, so that the number of empty cells is limited, too.
local function render_cells(row, segment, columns, body, ctx, out, n)
  local outer = ctx.scope
  local scope, err = ctx:enter()
  if err then return n, err end
  local loop, usage = new_tablerowloop(segment.count, columns), ctx.usage
  scope.tablerowloop = loop
  for i = 0, segment.count - 1 do
    local at = segment.first + i
    local item
    if segment.list then item = segment.list[at] else item = segment.start + at - 1 end
    if item == nil then item = null end
    scope[row.variable] = item
    local cell = format('<td class="col%d">', loop.column)
    out[n + 1] = cell
    usage.length = usage.length + #cell + #CELL_END
    n = render(body, ctx, out, n + 1) + 1
    out[n] = CELL_END
    local interrupt = ctx.interrupt
    if interrupt then ctx:remove_interrupt() end
    if interrupt == "break" then break end
    if loop.column == columns and i < segment.count - 1 then
      n = n + 1
      out[n] = format('</tr>\n<tr class="row%d">', loop.line + 1)
    end
    next_cell(loop)
  end
  ctx:leave(outer)
  return n
end

function loops.tablerow(state, markup, position)
  local row = errors.within_tag(state, markup, position, parse_tablerow)
  local body = block.new(state)
  block.section(state, "tablerow", body)
  return function(ctx, out, n)
    local segment, err = tablerow_segment(row, ctx)
    if err then return n, err end
    if not segment then return n end
    local columns = segment.count
    if row.cols then columns, err = tablerow_integer(row.cols, ctx) end
    if err then return n, err end
    out[n + 1] = '<tr class="row1">\n'
    n, err = render_cells(row, segment, columns, body, ctx, out, n + 1)
    if err then return n, err end
    out[n + 1] = "</tr>\n"
    return n + 1
  end, body.blank, body.interrupts
end

-- }======

local function interrupt(kind)
  local function node(ctx, _, n)
    ctx:add_interrupt(kind)
    return n
  end
  return function() return node, false, true end
end

loops["break"], loops.continue = interrupt("break"), interrupt("continue")

return loops
