-- if and unless.

local block = require "liquid.block"
local conditions = require "liquid.conditions"
local render_body = require "liquid.render_body"

local branching = {}

-- The bodies of a block and what has to hold for each; the one of else has no test.
local function parse_branches(state, name, markup, position)
  local branches = { { test = conditions.parse(state, markup, position), body = block.new() } }
  block.parse_until_end(state, name, branches[1].body, function(tag, tag_markup, tag_position)
    if tag ~= "elsif" and tag ~= "else" then return nil end
    local test = tag == "elsif" and conditions.parse(state, tag_markup, tag_position) or nil
    local branch = { test = test, body = block.new() }
    branches[#branches + 1] = branch
    return branch.body
  end)
  return branches
end

local function properties(branches)
  local blank, interrupts = true, false
  for _, branch in ipairs(branches) do
    blank = blank and branch.body.blank
    interrupts = interrupts or branch.body.interrupts
  end
  return blank, interrupts
end

local function one_branch(state, position, test, render, expected, blank)
  local template = state.template
  return function(ctx, out, n)
    local result, err = test(ctx)
    if err then return ctx:fail(err, template, position, out, n, blank) end
    if (result and true or false) == expected then return render(ctx, out, n) end
    return n
  end
end

local function two_branches(state, position, test, render, otherwise, expected, blank)
  local template = state.template
  return function(ctx, out, n)
    local result, err = test(ctx)
    if err then return ctx:fail(err, template, position, out, n, blank) end
    if (result and true or false) == expected then return render(ctx, out, n) end
    return otherwise(ctx, out, n)
  end
end

local function many_branches(state, position, tests, renders, expected, blank)
  local template, count = state.template, #renders
  return function(ctx, out, n)
    for i = 1, count do
      local test = tests[i]
      if not test then return renders[i](ctx, out, n) end
      local result, err = test(ctx)
      if err then return ctx:fail(err, template, position, out, n, blank) end
      -- Only the first test of unless is turned around.
      if (result and true or false) == (i > 1 or expected) then return renders[i](ctx, out, n) end
    end
    return n
  end
end

local function parse(name, expected)
  return function(state, markup, position)
    local branches = parse_branches(state, name, markup, position)
    local blank, interrupts = properties(branches)
    local tests, renders = {}, {}
    for i, branch in ipairs(branches) do
      tests[i], renders[i] = branch.test or false, render_body.compile(branch.body, blank)
    end
    local node
    if #branches == 1 then
      node = one_branch(state, position, tests[1], renders[1], expected, blank)
    elseif #branches == 2 and not tests[2] then
      node = two_branches(state, position, tests[1], renders[1], renders[2], expected, blank)
    else
      node = many_branches(state, position, tests, renders, expected, blank)
    end
    return node, blank, interrupts
  end
end

branching["if"] = parse("if", true)
branching.unless = parse("unless", false)

return branching
