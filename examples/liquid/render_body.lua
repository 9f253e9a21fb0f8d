-- Turns a parsed body into one function.
--
-- Before its nodes a body counts them, and the bytes of its texts: that is where a render that goes on for too long, or
-- puts out too much, is stopped.

local render_body = {}

---What a body that has nothing in it does.
function render_body.nothing(_, _, n) return n end

local function single_text(text)
  local length = #text
  return function(ctx, out, n)
    local usage = ctx.usage
    local score, total = usage.score + 1, usage.length + length
    usage.score, usage.length = score, total
    if score > usage.score_limit or total > usage.length_limit then ctx.exhausted() end
    out[n + 1] = text
    return n + 1
  end
end

local function straight(texts, nodes, count, length)
  return function(ctx, out, n)
    local usage = ctx.usage
    local score, total = usage.score + count, usage.length + length
    usage.score, usage.length = score, total
    if score > usage.score_limit or total > usage.length_limit then ctx.exhausted() end
    for i = 1, count do
      local text = texts[i]
      if text then
        n = n + 1
        out[n] = text
      else
        n = nodes[i](ctx, out, n)
      end
    end
    return n
  end
end

-- A break or continue leaves every body up to its loop.
local function interruptible(texts, nodes, count, length)
  return function(ctx, out, n)
    local usage = ctx.usage
    local score, total = usage.score + count, usage.length + length
    usage.score, usage.length = score, total
    if score > usage.score_limit or total > usage.length_limit then ctx.exhausted() end
    for i = 1, count do
      local text = texts[i]
      if text then
        n = n + 1
        out[n] = text
      else
        n = nodes[i](ctx, out, n)
        if ctx.interrupt then return n end
      end
    end
    return n
  end
end

-- In a block that puts out nothing the space between its tags is not put out either.
local function without_texts(body)
  local nodes, texts, count = {}, {}, 0
  for i = 1, body.count do
    if body.nodes[i] then
      count = count + 1
      nodes[count], texts[count] = body.nodes[i], false
    end
  end
  return texts, nodes, count
end

local function length_of(texts, count)
  local length = 0
  for i = 1, count do
    local text = texts[i]
    if text then length = length + #text end
  end
  return length
end

---@param body liquid.body
---@param blank? boolean whether the block it belongs to puts out nothing
---@return fun(ctx: liquid.context, out: string[], n: integer): integer
function render_body.compile(body, blank)
  local texts, nodes, count = body.texts, body.nodes, body.count
  if blank then texts, nodes, count = without_texts(body) end
  if count == 0 then return render_body.nothing end
  if count == 1 and texts[1] then return single_text(texts[1]) end
  return (body.interrupts and interruptible or straight)(texts, nodes, count, length_of(texts, count))
end

return render_body
