-- Conditions: comparisons, joined by and and or. They bind from the right: a and (b or c).

local errors = require "liquid.errors"
local glance = require "liquid.glance"
local lax = require "liquid.lax"
local memory = require "liquid.memory"
local operators = require "liquid.operators"

local conditions = {}

local find, match, sub = string.find, string.match, string.sub

local memories = memory.by_mode()

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
  local left = operators.read_operand(tokens)
  local operator = tokens:take("comparison")
  if not operator then return operators.comparison(left) end
  return operators.comparison(left, operator, operators.read_operand(tokens))
end

-- Tests joined from the last to the first.
local function join(tests, words)
  local result = tests[#tests]
  for i = #tests - 1, 1, -1 do result = joined(words[i], tests[i], result) end
  return result
end

local function strictly(state, markup, position)
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

-- One comparison of lax markup: a fragment, perhaps an operator and another.
local function lax_comparison(state, text, position)
  local first, last = lax.fragment(text)
  if not first then return invalid(state, position) end
  local operator, after = match(text, "^%s*([=!<>a-z_]+)%s*()", last + 1)
  local left = operators.lax_operand(sub(text, first, last))
  if not operator then return operators.comparison(left) end
  local stop = lax.fragment_at(text, after)
  return operators.comparison(left, operator, stop and operators.lax_operand(sub(text, after, stop)))
end

-- What stands between the words and and or, outside of quotes, and those words, in the order of the markup.
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

-- From the last to the first: what is where a comparison should be is one, whatever word it is.
local function laxly(state, markup, position)
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

-- A path alone, or compared to another or a literal; nil if it takes a closer look.
local function at_a_glance(markup)
  local evaluate, at = glance.path(markup, 1)
  if not evaluate then return nil end
  if at > #markup then return operators.truth(evaluate) end
  local operator, after = match(markup, "^([=!<>][=>]?)%s*()", at)
  if not operators.is_known(operator) then return nil end
  local other
  other, after = glance.operand(markup, after)
  if not other or after <= #markup then return nil end
  return operators.comparison(operators.operand(evaluate), operator, operators.operand(other))
end

local function read(state, markup, position)
  if state.mode == "lax" then return laxly(state, markup, position) end
  return at_a_glance(markup) or strictly(state, markup, position)
end

---A test for the markup of if, elsif and unless.
---@param state liquid.parse_state
---@param markup string
---@param position integer
---@return fun(ctx: liquid.context): boolean?, table?
function conditions.parse(state, markup, position)
  local known = memories[state.mode]
  return known.new[markup] or known.old[markup] and known:renew(markup)
    or known:keep(markup, read(state, markup, position))
end

return conditions
