-- increment and decrement: counters beside the variables.

local function parse_name(state, markup, position)
  if state.mode ~= "strict2" then return markup:match("^%s*(.-)%s*$") end
  local tokens = state.reader:open(state, markup, position)
  local name = tokens:consume("id")
  tokens:finish()
  return name
end

local counters = {}

---Shows the counter, then adds one.
---@param state liquid.parse_state
---@param markup string
---@param position integer
function counters.increment(state, markup, position)
  local name = parse_name(state, markup, position)
  return function(ctx, out, n)
    local value = rawget(ctx.counters, name) or 0
    ctx.counters[name] = value + 1
    out[n + 1] = value
    return n + 1
  end
end

---Takes one away, then shows the counter.
---@param state liquid.parse_state
---@param markup string
---@param position integer
function counters.decrement(state, markup, position)
  local name = parse_name(state, markup, position)
  return function(ctx, out, n)
    local value = (rawget(ctx.counters, name) or 0) - 1
    ctx.counters[name] = value
    out[n + 1] = value
    return n + 1
  end
end

return counters
