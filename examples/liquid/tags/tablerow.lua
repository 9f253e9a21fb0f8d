-- tablerow: the rows and cells of a table, a cell for every item.

local bigint = require "liquid.bigint"
local block = require "liquid.block"
local bodies = require "liquid.body"
local collections = require "liquid.collections"
local errors = require "liquid.errors"
local lax = require "liquid.lax"
local loops = require "liquid.loops"
local numbers = require "liquid.numbers"
local render = require "liquid.render_body"
local values = require "liquid.values"

local null = values.null
local match, sub, format = string.match, string.sub, string.format

local allowed = { cols = true, limit = true, offset = true, range = true }

local function strictly(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local row = { variable = tokens:consume("id") }
  if not tokens:word("in") then tokens:fail("For loops require an 'in' clause") end
  row.collection = tokens:expression()
  tokens:take("comma")
  while tokens:look("id") do
    local name = tokens:consume("id")
    if not allowed[name] then
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

local function laxly(state, markup, position)
  local variable, at = match(markup, "([%w_]+)%s+in%s+()")
  local last = variable and lax.fragments_end(markup, at)
  if not last then
    errors.syntax(state, "Syntax Error in 'table_row loop' - Valid syntax: table_row [item] in [collection] cols=3",
      position)
  end
  local row = { variable = variable, collection = (lax.expression(sub(markup, at, last))) }
  for _, attribute in ipairs(lax.attributes(markup)) do
    if allowed[attribute[1]] then row[attribute[1]] = lax.expression(attribute[2]) end
  end
  return row
end

-- Ruby's to_i: nil is 0, and values without to_i, such as booleans and drops, are an error.
local function integer(evaluate, ctx)
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

local function segment_of(row, ctx)
  local collection, err = row.collection(ctx)
  if err or not collection then return nil, err end
  local from, to = 0, nil
  if row.offset then from, err = integer(row.offset, ctx) end
  if err then return nil, err end
  if row.limit then to, err = integer(row.limit, ctx) end
  if err then return nil, err end
  return collections.segment(collection, from, to and collections.sum(from, to), ctx)
end

local CELL_END = "</td>"

-- A cell counts as output before it is rendered, so that there is an end to empty ones too.
local function cells(row, segment, columns, body, ctx, out, n)
  local outer = ctx.scope
  local scope, err = ctx:enter()
  if err then return n, err end
  local loop, usage = loops.tablerow(segment.count, columns), ctx.usage
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
    if interrupt then ctx:go_on() end
    if interrupt == "break" then break end
    if loop.column == columns and i < segment.count - 1 then
      n = n + 1
      out[n] = format('</tr>\n<tr class="row%d">', loop.line + 1)
    end
    loops.next_cell(loop)
  end
  ctx:leave(outer)
  return n
end

local function parse(state, markup, position)
  local row = errors.within_tag(state, markup, position, state.mode == "strict2" and strictly or laxly)
  local body = block.new(state)
  block.section(state, "tablerow", body)
  bodies.seal(body)
  return function(ctx, out, n)
    local segment, err = segment_of(row, ctx)
    if err then return n, err end
    if not segment then return n end
    local columns = segment.count
    if row.cols then columns, err = integer(row.cols, ctx) end
    if err then return n, err end
    out[n + 1] = '<tr class="row1">\n'
    n, err = cells(row, segment, columns, body, ctx, out, n + 1)
    if err then return n, err end
    out[n + 1] = "</tr>\n"
    return n + 1
  end, body.blank, body.interrupts
end

return { tablerow = parse }
