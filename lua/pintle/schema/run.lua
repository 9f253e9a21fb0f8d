-- One validation under way: what it may still spend, and what has failed.
--
-- A check is a function (value, run, seen) -> boolean. It is asked twice where the answer is no: first silently, so
-- that alternatives which do not fit cost nothing, then with `run.explain` set, to learn why. `seen` gathers what has
-- been evaluated, where an unevaluatedItems or unevaluatedProperties further out wants to know: names, items counted
-- from 1, and 0 for all.

local lazy = require "pintle.lazy"

local failures = lazy "pintle.schema.failures"
local words = lazy "pintle.schema.words"

---@class pintle.schema.run
---@field steps integer left to spend until `stop` is asked again
---@field reserve integer left to spend after those
---@field stop? pintle.schema.stop
---@field depth integer how deep schemas are in one another
---@field explain boolean
---@field failure? pintle.schema.failure only while a failure is on its way out
---@field scope table[] the resources that were entered and not left, the outermost first; without repetition
---@field inside table<table, true> the same as a set
local run = {}

local STRETCH = 20000 -- steps from one question to the next: about 10 ms

---Asked now and then whether the work has to end: a table with a `message` that says why, or nil to go on.
---@alias pintle.schema.stop fun(): { message: string }?

---@alias pintle.schema.check fun(value: any, run: pintle.schema.run, seen: table?): boolean

---A keyword in its place.
---@class pintle.schema.site
---@field keyword string
---@field path string
---@field reason fun(value: any): string why it fails

---Ends the whole validation: what cannot be decided must not become a yes inside of `not`.
---@param site pintle.schema.site
---@param message string
function run.abort(site, message) error(failures.new(site, message, ""), 0) end

local function draw_on_reserve(self, site)
  local drawn = math.min(self.reserve, STRETCH - self.steps)
  self.reserve, self.steps = self.reserve - drawn, self.steps + drawn
  if self.steps < 0 then run.abort(site, "it takes more steps than the limit allows") end
  local why = self.stop and self.stop()
  if why then run.abort(site, why.message) end
end

---@param site pintle.schema.site
---@param steps integer
function run:pay(site, steps)
  local left = self.steps - steps
  self.steps = left
  if left < 0 then draw_on_reserve(self, site) end
end

---Tells further out what a part has seen.
---@param site pintle.schema.site
---@param seen table
---@param more table
function run:gather(site, seen, more)
  local count = 0
  for key in next, more do
    seen[key], count = true, count + 1
  end
  self:pay(site, count)
end

---@param site pintle.schema.site
---@param value any
---@return false
function run:fail(site, value)
  if self.explain then self.failure = { site = site, message = site.reason(value) } end
  return false
end

---Puts a step in front of the path of the failure on its way out.
---@param token string|integer
---@return false
function run:within(token)
  local failure = self.failure
  if failure then failure[#failure + 1] = token end
  return false
end

---A check whose failure is no failure.
---@param check pintle.schema.check
---@param value any
---@param seen? table
---@return boolean
function run:quietly(check, value, seen)
  local explain = self.explain
  self.explain = false
  local fits = check(value, self, seen)
  self.explain = explain
  return fits
end

local function reset(self, limits, explain)
  self.steps = math.min(limits.steps, STRETCH)
  self.reserve = limits.steps - self.steps
  self.depth, self.explain, self.failure = 0, explain, nil
  for i = #self.scope, 1, -1 do
    self.inside[self.scope[i]] = nil
    self.scope[i] = nil
  end
end

local function attempt(self, limits, explain, work, ...)
  reset(self, limits, explain)
  local ok, result = pcall(work, ...)
  if ok then return result end
  if failures.is(result) then return nil, result end
  error(result, 0)
end

---Work other than a validation, within the same bounds.
---@generic T
---@param limits pintle.schema.limits
---@param work fun(value: any): T
---@param value any
---@param stop? pintle.schema.stop
---@return T?, pintle.schema.error?
function run:spend(limits, work, value, stop)
  self.stop = stop
  return attempt(self, limits, false, work, value)
end

---@param check pintle.schema.check
---@param value any
---@param limits pintle.schema.limits
---@param stop? pintle.schema.stop
---@return true?, pintle.schema.error?
function run:validate(check, value, limits, stop)
  self.stop = stop
  local fits, err = attempt(self, limits, false, check, value, self)
  if fits then return true end
  if not err then err = select(2, attempt(self, limits, true, check, value, self)) end
  if err then return nil, err end
  local failure = assert(self.failure, "a check has failed without a reason")
  self.failure = nil
  return nil, failures.tell(failure)
end

local run_mt = { __index = run }

---@return pintle.schema.run
function run.new() return setmetatable({ scope = {}, inside = {} }, run_mt) end

---@param keyword string
---@param path string of the schema that has it
---@param reason fun(value: any): string
---@return pintle.schema.site
function run.site(keyword, path, reason)
  return { keyword = keyword, path = path .. "/" .. keyword, reason = reason }
end

---@param expected string|fun(): string
---@return fun(value: any): string reason
function run.expected(expected)
  return function(value)
    local phrase = type(expected) == "function" and expected() or expected
    return ("expected %s, got %s"):format(phrase, words.describe(value))
  end
end

return run
