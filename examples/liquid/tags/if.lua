-- if and unless.

local block = require "liquid.block"
local bodies = require "liquid.body"
local conditions = require "liquid.conditions"
local render = require "liquid.render_body"

local branching = {}

local begins = { ["elsif"] = true, ["else"] = true }

-- The test of an elsif. Unless parsing is lax, what is wrong with it is told on the line that the block begins on.
local function parse_elsif(state, markup, position, start)
  return conditions.parse(state, markup, state.mode == "lax" and position or start)
end

-- The bodies of a block, and what has to hold for each; the one of else has no test.
local function parse_branches(state, name, start, first_test, first_body, tag, markup, position)
  local tests, list = { first_test }, { first_body }
  while tag do
    local body = block.new(state)
    local i = #list + 1
    tests[i], list[i] = tag == "elsif" and parse_elsif(state, markup, position, start), body
    tag, markup, position = block.section(state, name, body, begins)
  end
  return tests, list
end

local function seal_all(list)
  local blank, interrupts = true, false
  for _, body in ipairs(list) do
    blank = blank and body.blank
    interrupts = interrupts or body.interrupts
  end
  for _, body in ipairs(list) do bodies.seal(body, blank) end
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
      -- Only the first test of unless is turned around.
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

local function parse(name, expected, alone)
  return function(state, markup, position)
    local test, body = conditions.parse(state, markup, position), block.new(state)
    local tag, tag_markup, tag_position = block.section(state, name, body, begins)
    if not tag then
      bodies.seal(body, body.blank)
      return alone(test, body), body.blank, body.interrupts
    end
    local tests, list = parse_branches(state, name, position, test, body, tag, tag_markup, tag_position)
    return many(tests, list, expected), seal_all(list)
  end
end

branching["if"] = parse("if", true, if_alone)
branching.unless = parse("unless", false, unless_alone)

return branching
