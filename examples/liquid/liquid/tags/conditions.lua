-- if, unless and case, and the conditions in them.

local block = require "liquid.block"
local bodies = require "liquid.body"
local comparison = require "liquid.comparison"
local errors = require "liquid.errors"
local expressions = require "liquid.expressions"
local lax = require "liquid.lax"
local markup_parser = require "liquid.markup"
local values = require "liquid.values"

local find, match, sub, type = string.find, string.match, string.sub, type
local equal, order, contains = comparison.equal, comparison.order, comparison.contains
local materialize, render = values.materialize, bodies.render

local branching = {}

-- {====== Comparisons ======

-- The words empty and blank: a comparison with them tests the other operand.
local special_operands = {
  empty = { test = comparison.is_empty, evaluate = expressions.literal("") },
  blank = { test = comparison.is_blank, evaluate = expressions.literal("") },
}

---An operand of a comparison.
---@class liquid.operand
---@field evaluate fun(ctx: liquid.context): any, table?
---@field test? fun(value: any): boolean of empty and blank: the test of the other operand

---@param evaluate fun(ctx: liquid.context): any, table?
---@return liquid.operand
local function new_operand(evaluate)
  return { evaluate = evaluate }
end

---Parses an operand, which may be empty or blank.
---@param tokens liquid.reader
---@return liquid.operand
local function read_operand(tokens)
  local special = tokens:look("id") and special_operands[tokens.words[tokens.at]]
  if special and not tokens:look("dot", 1) and not tokens:look("open_square", 1) then
    tokens.at = tokens.at + 1
    return special
  end
  return { evaluate = (tokens:expression()) }
end

---@param text string
---@return liquid.operand
local function lax_operand(text)
  return special_operands[text] or { evaluate = (lax.expression(text)) }
end

-- A test of the values of both operands.
local function both(left, right, test)
  left, right = left.evaluate, right.evaluate
  return function(ctx)
    local a, err = left(ctx)
    if err then return nil, err end
    local b
    b, err = right(ctx)
    if err then return nil, err end
    if type(a) == "table" then a, err = materialize(a, ctx) end
    if err then return nil, err end
    if type(b) == "table" then b, err = materialize(b, ctx) end
    if err then return nil, err end
    return test(a, b, ctx)
  end
end

local function special_test(special, operand)
  local test, evaluate = special.test, operand.evaluate
  return function(ctx)
    local value, err = evaluate(ctx)
    if err then return nil, err end
    value, err = materialize(value, ctx)
    if err then return nil, err end
    return test(value)
  end
end

local function never() return false end

local function same(a, b)
  if type(a) == "table" or type(b) == "table" then return equal(a, b) end
  return a == b
end

local function is_equal(left, right)
  -- empty and blank are equal to nothing, not even to themselves.
  if left.test and right.test then return never end
  if left.test then return special_test(left, right) end
  if right.test then return special_test(right, left) end
  return both(left, right, same)
end

local function negated(test)
  return function(ctx)
    local result, err = test(ctx)
    if err then return nil, err end
    return not result
  end
end

local function neither() return false end

local function ordered(accept)
  local function test(a, b)
    local result, err = order(a, b)
    if err then return nil, err end
    return result ~= nil and accept(result)
  end
  return function(left, right)
    return both(left, right, (left.test or right.test) and neither or test)
  end
end

-- A text contains empty and blank, because as text they are empty.
local function text_only(a, b, ctx) return type(a) == "string" and contains(a, b, ctx) end

local known = {
  ["=="] = is_equal,
  ["!="] = function(left, right) return negated(is_equal(left, right)) end,
  ["<"] = ordered(function(result) return result < 0 end),
  [">"] = ordered(function(result) return result > 0 end),
  ["<="] = ordered(function(result) return result <= 0 end),
  [">="] = ordered(function(result) return result >= 0 end),
  contains = function(left, right)
    return both(left, right, left.test and neither or right.test and text_only or contains)
  end,
}
known["<>"] = known["!="]

local function always() return true end

---A test of one value, which is true unless it is nil or false.
---@param evaluate fun(ctx: liquid.context): any, table?
---@return fun(ctx: liquid.context): boolean?, table?
local function truth(evaluate)
  return function(ctx)
    local value, err = evaluate(ctx)
    if value == nil then
      if err then return nil, err end
      return false
    end
    if type(value) ~= "table" then return value ~= false end
    value, err = materialize(value, ctx)
    if err then return nil, err end
    return value ~= nil and value ~= false
  end
end

local function unknown_operator(operator)
  return function() return errors.argument("Unknown operator " .. operator) end
end

local nothing = { evaluate = expressions.literal(nil) }

---@param operator? string
---@return boolean
local function is_known(operator)
  return known[operator] ~= nil
end

---A test of two operands, or of one.
---@param left liquid.operand
---@param operator? string
---@param right? liquid.operand
---@return fun(ctx: liquid.context): boolean?, table?
local function new_comparison(left, operator, right)
  -- The words empty and blank alone are true.
  if not operator then return left.test and always or truth(left.evaluate) end
  local make = known[operator]
  if make then return make(left, right or nothing) end
  return both(left, right or nothing, unknown_operator(operator))
end

-- }======

-- {====== Conditions ======

local caches = markup_parser.new_caches()

local function joined(word, first, rest)
  local stop = word == "or"
  return function(ctx)
    local result, err = first(ctx)
    if err then return nil, err end
    if (result and true or false) == stop then return result end
    return rest(ctx)
  end
end

local function read_comparison(tokens)
  local left = read_operand(tokens)
  local operator = tokens:take("comparison")
  if not operator then return new_comparison(left) end
  return new_comparison(left, operator, read_operand(tokens))
end

-- Joins tests from the last to the first: a and (b or c).
local function join(tests, words)
  local result = tests[#tests]
  for i = #tests - 1, 1, -1 do result = joined(words[i], tests[i], result) end
  return result
end

local function parse_strict(state, markup, position)
  local tokens = state.reader:open(state, markup, position)
  local tests, words = { read_comparison(tokens) }, {}
  while true do
    local word = tokens:word("and") or tokens:word("or")
    if not word then break end
    words[#words + 1] = word
    tests[#tests + 1] = read_comparison(tokens)
  end
  tokens:finish()
  return join(tests, words)
end

local function invalid(state, position)
  errors.syntax(state, "Syntax Error in tag 'if' - Valid syntax: if [expression]", position)
end

-- A comparison in lax markup: a fragment, and optionally an operator and another fragment.
local function lax_comparison(state, text, position)
  local first, last = lax.fragment(text)
  if not first then return invalid(state, position) end
  local operator, after = match(text, "^%s*([=!<>a-z_]+)%s*()", last + 1)
  local left = lax_operand(sub(text, first, last))
  if not operator then return new_comparison(left) end
  local stop = lax.fragment_at(text, after)
  return new_comparison(left, operator, stop and lax_operand(sub(text, after, stop)))
end

-- Splits lax markup at the words `and` and `or` outside of quotes. Returns the parts and the words in their order.
local function lax_items(markup)
  local items, from, at = {}, 1, 1
  local function add(text)
    if find(text, "%S") then items[#items + 1] = text end
  end
  while true do
    local first, last = lax.fragment(markup, at)
    if not first then break end
    local word = sub(markup, first, last)
    if word == "and" or word == "or" then
      add(sub(markup, from, first - 1))
      add(word)
      from = last + 1
    end
    at = last + 1
  end
  add(sub(markup, from))
  return items
end

-- Parses from the last item to the first. Every second item is a comparison, even if it is the word `and` or `or`.
local function parse_lax(state, markup, position)
  local items = lax_items(markup)
  if #items % 2 == 0 then return invalid(state, position) end
  local result = lax_comparison(state, items[#items], position)
  for i = #items - 1, 2, -2 do
    local word = items[i]
    local test = lax_comparison(state, items[i - 1], position)
    if word ~= "and" and word ~= "or" then return invalid(state, position) end
    result = joined(word, test, result)
  end
  return result
end

-- A path, or a comparison of a path with a path or a literal; nil for other markup.
local function parse_simple(markup)
  local evaluate, at = markup_parser.simple_path(markup, 1)
  if not evaluate then return nil end
  if at > #markup then return truth(evaluate) end
  local operator, after = match(markup, "^([=!<>][=>]?)%s*()", at)
  if not is_known(operator) then return nil end
  local other
  other, after = markup_parser.simple_operand(markup, after)
  if not other or after <= #markup then return nil end
  return new_comparison(new_operand(evaluate), operator, new_operand(other))
end

local function parse_uncached(state, markup, position)
  if state.mode == "lax" then return parse_lax(state, markup, position) end
  return parse_simple(markup) or parse_strict(state, markup, position)
end

---Compiles the condition of if, elsif and unless.
---@param state liquid.parse_state
---@param markup string
---@param position integer
---@return fun(ctx: liquid.context): boolean?, table?
local function parse_condition(state, markup, position)
  local cache = caches[state.mode]
  return cache.new[markup] or cache.old[markup] and cache:update_manifest(markup)
    or cache:keep(markup, parse_uncached(state, markup, position))
end

-- }======

-- {====== if and unless ======

local branch_tags = { ["elsif"] = true, ["else"] = true }

-- The test of an elsif. Unless parsing is lax, its errors have the line of the begin of the block.
local function parse_elsif(state, markup, position, start)
  return parse_condition(state, markup, state.mode == "lax" and position or start)
end

-- The bodies of a block and their tests; the test of else is false.
local function parse_branches(state, name, start, first_test, first_body, tag, markup, position)
  local tests, list = { first_test }, { first_body }
  while tag do
    local body = block.new(state)
    local i = #list + 1
    tests[i], list[i] = tag == "elsif" and parse_elsif(state, markup, position, start), body
    tag, markup, position = block.section(state, name, body, branch_tags)
  end
  return tests, list
end

local function seal_all(list)
  local blank, interrupts = true, false
  for _, body in ipairs(list) do
    blank = blank and body.blank
    interrupts = interrupts or body.interrupts
  end
  if blank then
    for _, body in ipairs(list) do bodies.remove_texts(body) end
  end
  return blank, interrupts
end

local function if_alone(test, body)
  return function(ctx, out, n)
    local result, err = test(ctx)
    if result then return render(body, ctx, out, n) end
    return n, err
  end
end

local function unless_alone(test, body)
  return function(ctx, out, n)
    local result, err = test(ctx)
    if result or err then return n, err end
    return render(body, ctx, out, n)
  end
end

local function either(test, body, otherwise)
  return function(ctx, out, n)
    local result, err = test(ctx)
    if err then return n, err end
    return render(result and body or otherwise, ctx, out, n)
  end
end

local function first_that_holds(tests, list, expected)
  return function(ctx, out, n)
    for i = 1, #list do
      local test = tests[i]
      if not test then return render(list[i], ctx, out, n) end
      local result, err = test(ctx)
      if err then return n, err end
      -- Only the first test of unless is negated.
      if (result and true or false) == (i > 1 or expected) then return render(list[i], ctx, out, n) end
    end
    return n
  end
end

local function many(tests, list, expected)
  if #list > 2 or tests[2] then return first_that_holds(tests, list, expected) end
  if expected then return either(tests[1], list[1], list[2]) end
  return either(tests[1], list[2], list[1])
end

local function branch_parser(name, expected, alone)
  return function(state, markup, position)
    local test, body = parse_condition(state, markup, position), block.new(state)
    local tag, tag_markup, tag_position = block.section(state, name, body, branch_tags)
    if not tag then
      if body.blank then bodies.remove_texts(body) end
      return alone(test, body), body.blank, body.interrupts
    end
    local tests, list = parse_branches(state, name, position, test, body, tag, tag_markup, tag_position)
    return many(tests, list, expected), seal_all(list)
  end
end

branching["if"] = branch_parser("if", true, if_alone)
branching.unless = branch_parser("unless", false, unless_alone)

-- }======

-- {====== case ======

local function parse_subject(state, markup, position)
  if state.mode == "strict2" then
    local evaluate, after = markup_parser.simple_path(markup, 1)
    if evaluate and after > #markup then return evaluate end
    local tokens = state.reader:open(state, markup, position)
    evaluate = tokens:expression()
    tokens:finish()
    return evaluate
  end
  local first, last = lax.fragment(markup)
  if not first then
    errors.syntax(state, "Syntax Error in 'case' - Valid syntax: case [condition]", position)
  end
  return (lax.expression(sub(markup, first, last)))
end

local function strict_operands(state, markup, position)
  local tokens = state.reader:open(state, markup, position, "nothing")
  local operands = {}
  repeat
    operands[#operands + 1] = read_operand(tokens)
  until not (tokens:word("or") or tokens:take("comma"))
  tokens:finish()
  return operands
end

-- Literals separated by `or` or commas; nil for other markup.
local function simple_literals(markup)
  local operands, at = {}, 1
  repeat
    local found, value, after = markup_parser.simple_literal(markup, at)
    if not found then return nil end
    operands[#operands + 1] = new_operand(expressions.literal(value))
    if after > #markup then return operands end
    at = match(markup, "^or%s+()", after) or match(markup, "^,%s*()", after)
  until not at
end

local function lax_operands(state, markup, position)
  local operands, rest = {}, markup
  while rest do
    local first, last = lax.fragment(rest)
    if not first then
      errors.syntax(state, "Syntax Error in tag 'case' - "
        .. "Valid when condition: {% when [condition] [or condition2...] %}", position)
    end
    operands[#operands + 1] = lax_operand(sub(rest, first, last))
    local after = match(rest, "^%s+or%s+()", last + 1) or match(rest, "^%s*,%s*()", last + 1)
    rest = after and lax.fragment_at(rest, after) and sub(rest, after) or nil
  end
  return operands
end

local function parse_operands(state, markup, position)
  if state.mode ~= "strict2" then return lax_operands(state, markup, position) end
  return simple_literals(markup) or strict_operands(state, markup, position)
end

local function new_when(state, markup, position, subject)
  local tests = parse_operands(state, markup, position)
  for i, operand in ipairs(tests) do tests[i] = new_comparison(subject, "==", operand) end
  return { tests = tests, body = block.new(state) }
end

local function new_else(state, markup, position)
  if markup:find("%S") then
    errors.syntax(state, "Syntax Error in tag 'case' - Valid else condition: {% else %} (no parameters) ", position)
  end
  return { body = block.new(state) }
end

local branch_parsers = { when = new_when, ["else"] = new_else }

local function parse_case_branches(state, subject)
  local branches, before = {}, block.new(state)
  local tag, markup, position = block.section(state, "case", before, branch_parsers)
  while tag do
    local branch = branch_parsers[tag](state, markup, position, subject)
    branches[#branches + 1] = branch
    tag, markup, position = block.section(state, "case", branch.body, branch_parsers)
  end
  return branches, before.blank
end

-- Whether a case is blank, and whether it can cause a break or continue. The body before the first when is never
-- rendered, but makes the tag not blank.
local function properties(branches, blank)
  local interrupts = false
  for _, branch in ipairs(branches) do
    blank = blank and branch.body.blank
    interrupts = interrupts or branch.body.interrupts
  end
  return blank, interrupts
end

-- Renders the body of a when once for each of its conditions that is true. Every matching when is rendered, not only
-- the first.
local function render_when(branch, ctx, out, n)
  local matched = false
  for _, test in ipairs(branch.tests) do
    local result, err = test(ctx)
    if err then return n, err, matched end
    if result then
      matched = true
      n = render(branch.body, ctx, out, n)
    end
  end
  return n, nil, matched
end

function branching.case(state, markup, position)
  local subject = new_operand((errors.within_tag(state, markup, position, parse_subject)))
  local branches, before_is_blank = parse_case_branches(state, subject)
  local blank, interrupts = properties(branches, before_is_blank)
  if blank then
    for _, branch in ipairs(branches) do bodies.remove_texts(branch.body) end
  end
  return function(ctx, out, n)
    local any = false
    for i = 1, #branches do
      local branch = branches[i]
      if branch.tests then
        local err, matched
        n, err, matched = render_when(branch, ctx, out, n)
        if err then return n, err end
        any = any or matched
      elseif not any then
        n = render(branch.body, ctx, out, n)
      end
    end
    return n
  end, blank, interrupts
end

-- }======

return branching
