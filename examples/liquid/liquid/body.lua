-- Bodies: the texts, outputs and tags of a template or a block, and how they are rendered.
--
-- Each part of a body takes four items of one table: a text or false; the function of the output or tag after the text,
-- or false; its position in the source; and its kind: false for an output, TAG or BLANK_TAG for a tag.

local errors = require "liquid.errors"
local texts = require "liquid.text"

local body = {}

local type, rstrip, write = type, texts.rstrip, texts.write

---Kinds of a tag. A blank tag writes nothing but whitespace; its errors are not shown either.
body.TAG, body.BLANK_TAG = 1, 2

---@class liquid.body
---@field template liquid.template
---@field parts any[]
---@field last integer the index of the last part; -3 if there is none
---@field count integer the number of texts, outputs and tags
---@field length integer the number of bytes in its texts
---@field blank boolean whether it writes nothing but whitespace
---@field interrupts boolean whether it can cause a break or continue

---@param template liquid.template
---@return liquid.body
function body.new(template)
  return {
    template = template, last = -3, count = 0, length = 0, blank = true, interrupts = false,
    -- Space for two parts, which is enough for most bodies.
    parts = { nil, nil, nil, nil, nil, nil, nil, nil },
  }
end

---Adds a text, the function of an output or tag, or both.
---@param self liquid.body
---@param text string|false
---@param call function|false
---@param position? integer
---@param kind? integer|false
function body.add(self, text, call, position, kind)
  local parts, last = self.parts, self.last + 4
  self.last = last
  -- Separate statements, because a multiple assignment stores the last value first, which makes tables grow badly.
  parts[last] = text
  parts[last + 1] = call
  parts[last + 2] = position or false
  parts[last + 3] = kind or false
  if text then
    self.length = self.length + #text
    if call then self.count = self.count + 2 return end
  end
  self.count = self.count + 1
end

---Removes trailing whitespace of the last part, if that is a text.
---@param self liquid.body
function body.trim(self)
  local parts, last = self.parts, self.last
  local text = last > 0 and not parts[last + 1] and parts[last]
  if not text then return end
  parts[last] = rstrip(text)
  self.length = self.length - #text + #parts[last]
end

---Removes the texts of a body in a blank block: whitespace between its tags is not written.
---@param self liquid.body
function body.remove_texts(self)
  local parts, count = self.parts, 0
  for i = 1, self.last, 4 do
    parts[i] = false
    if parts[i + 1] then count = count + 1 end
  end
  self.count, self.length = count, 0
end

local BLANK_TAG = body.BLANK_TAG

-- Renders one part: a text, and the output or tag after it.
local function render_part(self, i, ctx, out, n)
  local parts = self.parts
  local piece, call, kind = parts[i], parts[i + 1], parts[i + 3]
  if piece then n, out[n + 1] = n + 1, piece end
  if not call then return n end
  local err
  if kind then
    n, err = call(ctx, out, n)
  else
    local value, after
    value, err = call(ctx)
    if value ~= nil then after, err = write(value, ctx, out, n) end
    n = after or n
  end
  return err and ctx:fail(err, self.template, parts[i + 2], out, n, kind == BLANK_TAG) or n
end

-- The maximum nesting depth of guards: each is a C call, and Lua allows 200 of them.
local MAX_GUARDS = 100

-- Whether a raised error has to pass through all guards.
local function ends_render(raised, ctx)
  if errors.is(raised) then return raised.type == "memory_error" or ctx.strict_errors and raised.placed end
  return errors.is_interruption(raised)
end

-- Renders a part in a guard: a raised error becomes the error of that part, and the render continues after it.
local function render_guarded_part(self, i, ctx, out, n)
  local guards, usage = ctx.guards, ctx.usage
  if guards >= MAX_GUARDS then return render_part(self, i, ctx, out, n) end
  local scope, scopes, loop, writing, length_limit = ctx.scope, ctx.scopes, ctx.loop, ctx.writing, usage.length_limit
  ctx.guards = guards + 1
  local ok, result = pcall(render_part, self, i, ctx, out, n)
  ctx.guards = guards
  if ok then return result end
  if ends_render(result, ctx) then error(result, 0) end
  ctx.scope, ctx.scopes, ctx.loop, ctx.writing, usage.length_limit = scope, scopes, loop, writing, length_limit
  local parts = self.parts
  local err = errors.is(result) and result or errors.internal(result)
  if parts[i] then n = n + 1 end
  return ctx:fail(err, self.template, parts[i + 2], out, n, parts[i + 3] == BLANK_TAG)
end

-- Renders with a guard around every part, after an attempt without guards raised an error.
local function render_guarded(self, ctx, out, n)
  for i = 1, self.last, 4 do
    n = render_guarded_part(self, i, ctx, out, n)
    if self.parts[i + 1] and ctx.interrupt then return n end
  end
  return n
end

-- Renders with a break or continue that an earlier body left. It ends this body after the first output or tag, unless
-- that is a loop, which ends instead.
local function render_interrupted(self, ctx, out, n)
  for i = 1, self.last, 4 do
    n = render_part(self, i, ctx, out, n)
    if self.parts[i + 1] and ctx.interrupt then return n end
  end
  return n
end

---Renders a body. Its parts and the bytes of its texts are counted first: this is where a render that takes too long or
---writes too much ends. Errors of outputs and tags are reported here, where their positions are known.
---@param self liquid.body
---@param ctx liquid.context
---@param out string[]
---@param n integer the number of strings in the output
---@return integer n the new number of strings
function body.render(self, ctx, out, n)
  local usage = ctx.usage
  local score, total = usage.score + self.count, usage.length + self.length
  usage.score, usage.length = score, total
  if score > usage.score_limit or total > usage.length_limit then ctx.exceed_limits() end
  if ctx.guards then return render_guarded(self, ctx, out, n) end
  if ctx.interrupt then return render_interrupted(self, ctx, out, n) end
  local parts, interrupts = self.parts, self.interrupts
  for i = 1, self.last, 4 do
    local piece, call = parts[i], parts[i + 1]
    if piece then
      n = n + 1
      out[n] = piece
    end
    if call then
      local kind, err = parts[i + 3]
      if kind then
        n, err = call(ctx, out, n)
        if err then n = ctx:fail(err, self.template, parts[i + 2], out, n, kind == BLANK_TAG) end
        -- A break or continue ends every body up to that of its loop.
        if interrupts and ctx.interrupt then return n end
      else
        local value
        value, err = call(ctx)
        if type(value) == "string" then
          usage.length = usage.length + #value
          n = n + 1
          out[n] = value
        elseif value ~= nil then
          local after
          after, err = write(value, ctx, out, n)
          n = after or n
        end
        if err then n = ctx:fail(err, self.template, parts[i + 2], out, n) end
      end
    end
  end
  return n
end

return body
