-- What stands between tags, in the order in which it is put out.
--
-- The parts of a body come in fours: a text or false; a function or false; where that stands in the source; and what it
-- is: false for the expression of an output, else a tag. So there is one table for all of them, and a text shares its
-- four with what follows it.

local errors = require "liquid.errors"
local texts = require "liquid.text"

local body = {}

local type, rstrip, write = type, texts.rstrip, texts.write

---What a function in a body is, if it is no output: a tag, or a tag that shows nothing, not even its errors.
body.TAG, body.BLANK_TAG = 1, 2

---@class liquid.body
---@field template liquid.template
---@field parts any[]
---@field last integer where the last four begin; -3 if there are none
---@field count integer of texts, outputs and tags
---@field length integer the bytes of its texts
---@field blank boolean whether it can put out nothing but space
---@field interrupts boolean whether a break or continue may come out of it

---@param template liquid.template
---@return liquid.body
function body.new(template)
  return {
    template = template, last = -3, count = 0, length = 0, blank = true, interrupts = false,
    -- Room for two fours, which is what most bodies need.
    parts = { nil, nil, nil, nil, nil, nil, nil, nil },
  }
end

---Adds a text, a function, or both.
---@param self liquid.body
---@param text string|false
---@param call function|false
---@param position? integer
---@param kind? integer|false
function body.add(self, text, call, position, kind)
  local parts, last = self.parts, self.last + 4
  self.last = last
  -- One after the other: Lua would fill them from behind, and tables do not grow well that way.
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

---Takes the space off the end of what was added last, if that is a text.
---@param self liquid.body
function body.trim(self)
  local parts, last = self.parts, self.last
  local text = last > 0 and not parts[last + 1] and parts[last]
  if not text then return end
  parts[last] = rstrip(text)
  self.length = self.length - #text + #parts[last]
end

-- In a block that puts out nothing the space between its tags is not put out either.
local function drop_texts(self)
  local parts, count = self.parts, 0
  for i = 1, self.last, 4 do
    parts[i] = false
    if parts[i + 1] then count = count + 1 end
  end
  self.count, self.length = count, 0
end

---The body is complete.
---@param self liquid.body
---@param blank? boolean whether the block it belongs to puts out nothing
function body.seal(self, blank)
  if blank then drop_texts(self) end
end

local BLANK_TAG = body.BLANK_TAG

-- One text, and the output or tag behind it.
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
local MOST_GUARDS = 100

-- Whether a raised error has to pass through all guards.
local function ends_render(raised, ctx)
  if errors.is(raised) then return raised.type == "memory_error" or ctx.strict_errors and raised.placed end
  return errors.is_interruption(raised)
end

-- Renders a part in a guard: a raised error becomes the error of that part, and the render continues after it.
local function render_guarded_part(self, i, ctx, out, n)
  local guards, usage = ctx.guards, ctx.usage
  if guards >= MOST_GUARDS then return render_part(self, i, ctx, out, n) end
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

-- A break or continue from before is noticed behind an output or tag, unless that was a loop, which sees it first.
local function render_interrupted(self, ctx, out, n)
  for i = 1, self.last, 4 do
    n = render_part(self, i, ctx, out, n)
    if self.parts[i + 1] and ctx.interrupt then return n end
  end
  return n
end

---@param self liquid.body
---@param ctx liquid.context
---@param out string[]
---@param n integer how many pieces are in the output
---@return integer n how many there are then
function body.render(self, ctx, out, n)
  local usage = ctx.usage
  local score, total = usage.score + self.count, usage.length + self.length
  usage.score, usage.length = score, total
  if score > usage.score_limit or total > usage.length_limit then ctx.exhausted() end
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
        -- A break or continue leaves every body up to its loop.
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
