-- The state of one validation: the steps that are left, and the failure.
--
-- A check is a function (value, run, seen) -> boolean. If the check of the root returns false, it is called again with
-- `run.explain` set, to get the reason. So no messages are made for alternatives that do not fit. If an outer
-- unevaluatedItems or unevaluatedProperties needs it, `seen` is a set of what has been evaluated: names, indices of
-- items from 1, and 0 for all.

local lazy = require "pintle.lazy"

local errors = lazy "pintle.schema.errors"

---@class pintle.schema.run
---@field steps integer steps left until `stop` is called again
---@field reserve integer steps left after those
---@field stop? pintle.schema.stop
---@field depth integer nesting of the schemas being applied
---@field explain boolean
---@field failure? pintle.schema.failure set while a failure is returned through the checks
---@field scope table[] the resources that are entered, the outermost first; without repetition
---@field inside table<table, true> the same as a set
local run = {}

local STOP_INTERVAL = 20000 -- steps between two calls of `stop`: about 10 ms

---Called every few milliseconds. Returns nil to go on, or a table with a `message`, the reason to stop.
---@alias pintle.schema.stop fun(): { message: string }?

---@alias pintle.schema.check fun(value: any, run: pintle.schema.run, seen: table?): boolean

---A keyword in its place.
---@class pintle.schema.site
---@field keyword string
---@field path string
---@field reason fun(value: any): string returns the message of a failure

---Ends the whole validation with an error. A mere failure of the check would be a success inside of `not`.
---@param site pintle.schema.site
---@param message string
function run.abort(site, message) error(errors.new(site, message, ""), 0) end

local function use_reserve(self, site)
  local more = math.min(self.reserve, STOP_INTERVAL - self.steps)
  self.reserve, self.steps = self.reserve - more, self.steps + more
  if self.steps < 0 then run.abort(site, "it takes more steps than the limit allows") end
  local why = self.stop and self.stop()
  if why then run.abort(site, why.message) end
end

---Counts steps.
---@param site pintle.schema.site
---@param steps integer
function run:pay(site, steps)
  local left = self.steps - steps
  self.steps = left
  if left < 0 then use_reserve(self, site) end
end

---Adds what a part has evaluated to what an outer schema has.
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

---Extends the path of the failure by one token in front.
---@param token string|integer
---@return false
function run:within(token)
  local failure = self.failure
  if failure then failure[#failure + 1] = token end
  return false
end

---Runs a check whose failure is not reported.
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

local function reset_run(self, limits, explain)
  self.steps = math.min(limits.steps, STOP_INTERVAL)
  self.reserve = limits.steps - self.steps
  self.depth, self.explain, self.failure = 0, explain, nil
  for i = #self.scope, 1, -1 do
    self.inside[self.scope[i]] = nil
    self.scope[i] = nil
  end
end

local function run_within_limits(self, limits, explain, work, ...)
  reset_run(self, limits, explain)
  local ok, result = pcall(work, ...)
  if ok then return result end
  if errors.is_error(result) then return nil, result end
  error(result, 0)
end

---Runs other work than a validation within the same limits.
---@generic T
---@param limits pintle.schema.limits
---@param work fun(value: any): T
---@param value any
---@param stop? pintle.schema.stop
---@return T?, pintle.schema.error?
function run:spend(limits, work, value, stop)
  self.stop = stop
  return run_within_limits(self, limits, false, work, value)
end

---@param check pintle.schema.check
---@param value any
---@param limits pintle.schema.limits
---@param stop? pintle.schema.stop
---@return true?, pintle.schema.error?
function run:validate(check, value, limits, stop)
  self.stop = stop
  local fits, err = run_within_limits(self, limits, false, check, value, self)
  if fits then return true end
  if not err then err = select(2, run_within_limits(self, limits, true, check, value, self)) end
  if err then return nil, err end
  local failure = assert(self.failure, "a check has failed without a reason")
  self.failure = nil
  return nil, errors.from_failure(failure)
end

local run_mt = { __index = run }

---@return pintle.schema.run
function run.new() return setmetatable({ scope = {}, inside = {} }, run_mt) end

---@param keyword string
---@param path string of the schema that has the keyword
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
    return ("expected %s, got %s"):format(phrase, errors.describe(value))
  end
end

return run
