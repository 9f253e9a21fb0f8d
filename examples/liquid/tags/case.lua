-- case and its whens. Every when that holds is rendered, not only the first.

local block = require "liquid.block"
local bodies = require "liquid.body"
local errors = require "liquid.errors"
local expressions = require "liquid.expressions"
local glance = require "liquid.glance"
local lax = require "liquid.lax"
local operators = require "liquid.operators"
local render = require "liquid.render_body"

local match, sub = string.match, string.sub

local function parse_subject(state, markup, position)
  if state.mode == "strict2" then
    local evaluate, after = glance.path(markup, 1)
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
    operands[#operands + 1] = operators.read_operand(tokens)
  until not (tokens:word("or") or tokens:take("comma"))
  tokens:finish()
  return operands
end

-- Literals, with or or commas between them; nil if it takes a closer look.
local function literals_at_a_glance(markup)
  local operands, at = {}, 1
  repeat
    local found, value, after = glance.literal(markup, at)
    if not found then return nil end
    operands[#operands + 1] = operators.operand(expressions.literal(value))
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
    operands[#operands + 1] = operators.lax_operand(sub(rest, first, last))
    local after = match(rest, "^%s+or%s+()", last + 1) or match(rest, "^%s*,%s*()", last + 1)
    rest = after and lax.fragment_at(rest, after) and sub(rest, after) or nil
  end
  return operands
end

local function parse_operands(state, markup, position)
  if state.mode ~= "strict2" then return lax_operands(state, markup, position) end
  return literals_at_a_glance(markup) or strict_operands(state, markup, position)
end

local function new_when(state, markup, position, subject)
  local tests = parse_operands(state, markup, position)
  for i, operand in ipairs(tests) do tests[i] = operators.comparison(subject, "==", operand) end
  return { tests = tests, body = block.new(state) }
end

local function new_else(state, markup, position)
  if markup:find("%S") then
    errors.syntax(state, "Syntax Error in tag 'case' - Valid else condition: {% else %} (no parameters) ", position)
  end
  return { body = block.new(state) }
end

local makers = { when = new_when, ["else"] = new_else }

local function parse_branches(state, subject)
  local branches, before = {}, block.new(state)
  local tag, markup, position = block.section(state, "case", before, makers)
  while tag do
    local branch = makers[tag](state, markup, position, subject)
    branches[#branches + 1] = branch
    tag, markup, position = block.section(state, "case", branch.body, makers)
  end
  return branches, before.blank
end

-- What stands before the first when is never rendered, but it counts.
local function properties(branches, blank)
  local interrupts = false
  for _, branch in ipairs(branches) do
    blank = blank and branch.body.blank
    interrupts = interrupts or branch.body.interrupts
  end
  return blank, interrupts
end

-- A body is rendered once for each of its conditions that holds.
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

local function parse(state, markup, position)
  local subject = operators.operand((errors.within_tag(state, markup, position, parse_subject)))
  local branches, before_is_blank = parse_branches(state, subject)
  local blank, interrupts = properties(branches, before_is_blank)
  for _, branch in ipairs(branches) do bodies.seal(branch.body, blank) end
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

return { case = parse }
