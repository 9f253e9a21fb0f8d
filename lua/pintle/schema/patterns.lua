-- Matching texts against patterns, through PCRE2, with a bound on what one match may cost.

local ecma = require "pintle.schema.ecma"
local refusal = require "pintle.schema.refusal"
local run = require "pintle.schema.run"
local words = require "pintle.schema.words"

local patterns = {}

-- How much backtracking is allowed at first; a match that needs more is tried again with the next bound. The first
-- try has a price. What the others take is measured, and paid at the rate at which other steps are taken.
local BOUNDS = { 100, 2000, 20000, 200000 }
local STEPS_A_SECOND = 4000000

-- Backtracking over a long text takes longer, and is bounded the more: this is about two seconds.
local MOST_WORK = 2000000000

local HEAP_KIB = 20000

local function load_rex()
  local ok, rex = pcall(require, "rex_pcre2")
  return ok and rex or nil
end

local function flags_of(rex)
  local flags = rex.flags()
  return flags.UTF | flags.DOLLAR_ENDONLY | flags.MATCH_UNSET_BACKREF
end

-- Scripts as such can be asked for since PCRE2 10.40; before, the short form meant them.
local function new_regex(rex, source)
  local ok, regex = pcall(rex.new, source, flags_of(rex))
  if not ok and source:find("{sc:", 1, true) then
    ok, regex = pcall(rex.new, (source:gsub("{sc:", "{")), flags_of(rex))
  end
  if ok then return regex end
  return nil, (tostring(regex):gsub("%s*%(pattern offset: %d+%)$", ""))
end

local function source_with(bound, source)
  return ("(*LIMIT_MATCH=%d)(*LIMIT_DEPTH=%d)(*LIMIT_HEAP=%d)%s"):format(bound, bound, HEAP_KIB, source)
end

-- PCRE2 begins to count anew at every place in the text where a match may begin, so looking for that place is made a
-- part of the pattern.
local function searching(rex, translated)
  local regex, message = new_regex(rex, translated)
  if not regex then return nil, message end
  local is_anchored = regex:fullinfo().ALLOPTIONS & rex.flags().ANCHORED ~= 0
  return is_anchored and translated or "^(?s:.)*?(?:" .. translated .. ")"
end

---A pattern, compiled for each bound once that is needed.
---@class pintle.schema.regex
---@field rex table
---@field source string
---@field bounds integer[]
---@field compiled table[]

local function compiled_for(regex, i)
  if not regex.compiled[i] then
    regex.compiled[i] = assert(new_regex(regex.rex, source_with(regex.bounds[i], regex.source)))
  end
  return regex.compiled[i]
end

-- true or false, or nil where the bound was too low
local function try(regex, i, text, site)
  local compiled = compiled_for(regex, i)
  local ok, found = pcall(compiled.find, compiled, text)
  if ok then return found ~= nil end
  if tostring(found):find("UTF", 1, true) then run.abort(site, "a string is not valid UTF-8") end
end

local function measured_try(regex, i, text, state, site)
  local before = os.clock()
  local found = try(regex, i, text, site)
  run.pay(state, site, math.floor((os.clock() - before) * STEPS_A_SECOND))
  return found
end

local function match(regex, text, state, site)
  run.pay(state, site, 2 + #text // 8)
  local found = try(regex, 1, text, site)
  local i = 2
  while found == nil do
    local bound = regex.bounds[i]
    if not bound or bound * #text > MOST_WORK then
      run.abort(site, "a pattern takes more steps to match than the limit allows")
    end
    found, i = measured_try(regex, i, text, state, site), i + 1
  end
  return found
end

local function bounds_up_to(most)
  local bounds = {}
  for _, bound in ipairs(BOUNDS) do
    if bound < most then bounds[#bounds + 1] = bound end
  end
  bounds[#bounds + 1] = most
  return bounds
end

local function new_entry(pattern, limits)
  local translated, reason = ecma.translate(pattern)
  if not translated then return nil, reason end
  local rex = load_rex()
  if not rex then return nil, "patterns need the rock lrexlib-pcre2, which is not installed", true end
  local source, message = searching(rex, translated)
  if not source then return nil, message end
  return { rex = rex, source = source, bounds = bounds_up_to(limits.match), compiled = {} }
end

local function entry_of(pattern, context, path)
  local cache, limits = context.patterns, context.limits
  if cache[pattern] then return cache[pattern] end
  if #pattern > limits.pattern then
    refusal.raise(path, ("the pattern is longer than %d bytes"):format(limits.pattern))
  end
  local entry, reason, is_missing = new_entry(pattern, limits)
  if not entry then
    refusal.raise(path, is_missing and reason or ("the pattern %s is wrong: %s"):format(words.quote(pattern), reason))
  end
  cache[pattern] = entry
  return entry
end

---@param context pintle.schema.context
---@param pattern string
---@param site pintle.schema.site
---@return fun(text: any, state: pintle.schema.run): boolean matches
function patterns.matcher(context, pattern, site)
  local regex = entry_of(pattern, context, site.path)
  return function(text, state) return type(text) == "string" and match(regex, text, state, site) end
end

---@return boolean
function patterns.are_available() return load_rex() ~= nil end

---Whether ECMA-262 takes it. That looks behind as far as it likes, which PCRE2 cannot do and finds out last.
---@param pattern string
---@return boolean
function patterns.is_valid(pattern)
  local entry, reason = new_entry(pattern, { match = BOUNDS[1] })
  return entry ~= nil or reason:find("lookbehind", 1, true) ~= nil
end

return patterns
