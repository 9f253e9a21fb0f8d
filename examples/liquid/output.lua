-- Outputs: an expression and the filters it goes through. Also what echo prints and assign keeps.

local filters = require "liquid.filters"
local glance = require "liquid.glance"
local lax = require "liquid.lax"
local memory = require "liquid.memory"
local text = require "liquid.text"

local output = {}

local write = text.write

local memories = memory.by_mode()

local none = {}

local function argument(tokens, positional, named)
  if tokens:look("id") and tokens:look("colon", 1) then
    local name = tokens:consume("id")
    tokens:consume("colon")
    named[#named + 1] = { name, (tokens:expression()) }
    return
  end
  positional[#positional + 1] = (tokens:expression())
end

local function at_end(tokens) return tokens:look("pipe") or tokens:look("end_of_string") end

-- In strict2 there may be no argument behind the colon, and a comma behind the last.
local function arguments(tokens)
  local positional, named = {}, {}
  local strict2 = tokens.state.mode == "strict2"
  if not (strict2 and at_end(tokens)) then argument(tokens, positional, named) end
  while tokens:take("comma") do
    if strict2 and at_end(tokens) then break end
    argument(tokens, positional, named)
  end
  return positional, named
end

---Reads an expression with filters, up to the end of the markup.
---@param tokens liquid.reader
---@return fun(ctx: liquid.context): any, table?
function output.filtered(tokens)
  local evaluate = tokens:expression()
  while tokens:take("pipe") do
    local name = tokens:consume("id")
    local positional, named = none, none
    if tokens:take("colon") then positional, named = arguments(tokens) end
    evaluate = filters.apply(evaluate, name, positional, named)
  end
  tokens:finish()
  return evaluate
end

local function nothing() return nil end

local function strictly(state, markup, position)
  local tokens = state.reader:open(state, markup, position, "output")
  if tokens:look("end_of_string") then return nothing end
  return output.filtered(tokens)
end

local function read(state, markup, position)
  local evaluate = glance.output(markup)
  if evaluate then return evaluate end
  if state.mode ~= "lax" then return strictly(state, markup, position) end
  -- What is right is read as it is; only the rest is guessed at.
  local ok, result = pcall(strictly, state, markup, position)
  return ok and result or lax.output(state, markup)
end

---A function for a markup with filters.
---@param state liquid.parse_state
---@param markup string
---@param position integer
---@return fun(ctx: liquid.context): any, table?
function output.parse(state, markup, position)
  local known = memories[state.mode]
  return known.new[markup] or known.old[markup] and known:renew(markup)
    or known:keep(markup, read(state, markup, position))
end

---The node of an output that is a tag.
---@param state liquid.parse_state
---@param markup string
---@param position integer
---@return fun(ctx: liquid.context, out: string[], n: integer): integer, table?
function output.node(state, markup, position)
  local evaluate = output.parse(state, markup, position)
  return function(ctx, out, n)
    local value, err = evaluate(ctx)
    if value == nil then return n, err end
    local after
    after, err = write(value, ctx, out, n)
    return after or n, err
  end
end

return output
