-- Keywords that apply other schemas to the same value.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"

local failures = lazy "pintle.schema.failures"

local fail, gather, pay, quietly, site_of = run.fail, run.gather, run.pay, run.quietly, run.site

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local applicators = {}

-- A branch that may fail tells what it has seen only if it does not.
local function try(check, value, state, seen, site)
  if not seen then return check(value, state) end
  local branch = {}
  if not check(value, state, branch) then return false end
  gather(state, site, seen, branch)
  return true
end

function applicators.allOf(node, context)
  local checks = context.all(node, node.children.allOf)
  local site = site_of("allOf", node.path)
  return function(value, state, seen)
    pay(state, site, #checks)
    for i = 1, #checks do
      if not checks[i](value, state, seen) then return false end
    end
    return true
  end
end

-- Why branches do not fit; the first few of them will do.
local function note(state, reasons)
  if #reasons < 3 then reasons[#reasons + 1] = failures.reason(state.failure) else reasons[4] = "..." end
  state.failure = nil
end

-- Tries branches until `enough` of them fit. Returns the first two that do, and reasons of those that do not where
-- reasons are looked for.
local function search(checks, value, state, seen, enough, site)
  local first, second
  local reasons = state.explain and {}
  for i = 1, #checks do
    if try(checks[i], value, state, seen, site) then
      if first then second = i end
      first = first or i
      if enough == 1 and not seen or enough == 2 and second then break end
    elseif reasons then
      note(state, reasons)
    end
  end
  return first, second, reasons
end

local function none_of(checks, keyword)
  local words = #checks == 1 and "it does not fit the schema" or ("it fits none of the %d schemas"):format(#checks)
  return function(reasons) return ("%s in %s: %s"):format(words, keyword, table.concat(reasons, "; ")) end
end

function applicators.anyOf(node, context)
  local checks = context.all(node, node.children.anyOf)
  local none = site_of("anyOf", node.path, none_of(checks, "anyOf"))
  return function(value, state, seen)
    pay(state, none, #checks)
    local first, _, reasons = search(checks, value, state, seen, 1, none)
    return first ~= nil or fail(state, none, reasons)
  end
end

function applicators.oneOf(node, context)
  local checks = context.all(node, node.children.oneOf)
  local none = site_of("oneOf", node.path, none_of(checks, "oneOf"))
  local several = site_of("oneOf", node.path, function(pair)
    return ("it fits schemas %d and %d in oneOf, and only one may fit"):format(pair[1] - 1, pair[2] - 1)
  end)
  return function(value, state, seen)
    pay(state, none, #checks)
    local first, second, reasons = search(checks, value, state, seen, 2, none)
    if not first then return fail(state, none, reasons) end
    return not second or fail(state, several, state.explain and { first, second })
  end
end

applicators["not"] = function(node, context)
  local check = context.one(node, node.children["not"])
  local site = site_of("not", node.path, function() return 'it fits the schema in "not"' end)
  return function(value, state)
    pay(state, site, 1)
    return not quietly(state, check, value) or fail(state, site, value)
  end
end

local function always() return true end

applicators["if"] = function(node, context)
  local children = node.children
  local check = context.one(node, children["if"])
  local fits_then = children["then"] and context.one(node, children["then"]) or always
  local fits_else = children["else"] and context.one(node, children["else"]) or always
  local site = site_of("if", node.path)
  local function condition(value, state, seen) return try(check, value, state, seen, site) end
  return function(value, state, seen)
    pay(state, site, 2)
    if quietly(state, condition, value, seen) then return fits_then(value, state, seen) end
    return fits_else(value, state, seen)
  end
end

return applicators
