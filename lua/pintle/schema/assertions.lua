-- Keywords that look at a value alone: its type, and what it equals.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"
local values = require "pintle.schema.values"

local equality = lazy "pintle.schema.equality"
local words = lazy "pintle.schema.words"

local type = type
local fail, pay, site_of, expected = run.fail, run.pay, run.site, run.expected
local null = values.null

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local assertions = {}

local TESTS = {
  string = function(value) return type(value) == "string" end,
  number = function(value) return type(value) == "number" end,
  boolean = function(value) return type(value) == "boolean" end,
  integer = values.is_integer,
  null = function(value) return value == null end,
}

local function test_of(node, name)
  if name == "array" then return node.is_array end
  if name == "object" then return node.is_object end
  return TESTS[name]
end

local function any_of(tests)
  return function(value)
    for i = 1, #tests do
      if tests[i](value) then return true end
    end
    return false
  end
end

local function includes(names, wanted)
  for _, name in ipairs(names) do
    if name == wanted then return true end
  end
  return false
end

-- A table without items and mark is what a Lua program may have meant for an array.
local function type_reason(names)
  local describe = expected(function() return words.enumerate(names, "or") end)
  return function(value)
    local reason = describe(value)
    if includes(names, "array") and words.kind(value) == "object" and next(value) == nil then
      return reason .. ", for an empty table is one unless it is marked as an array"
    end
    return reason
  end
end

function assertions.type(node)
  local names = type(node.schema.type) == "table" and node.schema.type or { node.schema.type }
  local tests = {}
  for i, name in ipairs(names) do tests[i] = test_of(node, name) end
  local test = #tests == 1 and tests[1] or any_of(tests)
  local site = site_of("type", node.path, type_reason(names))
  return function(value, state) return test(value) or fail(state, site, value) end
end

local function sorted_out(options)
  local scalars, tables = {}, {}
  for _, option in ipairs(options) do
    if type(option) == "table" then tables[#tables + 1] = option elseif option == option then scalars[option] = true end
  end
  return scalars, tables
end

local function is_one_of(tables, value)
  for i = 1, #tables do
    if equality.equal(value, tables[i]) then return true end
  end
  return false
end

local function equals(node, keyword, options, describe)
  local scalars, tables = sorted_out(options)
  local cost = 0
  for _, option in ipairs(tables) do equality.canonical(option, function() cost = cost + 1 end) end
  local site = site_of(keyword, node.path, expected(describe))
  return function(value, state)
    if type(value) ~= "table" then return value ~= nil and scalars[value] or fail(state, site, value) end
    pay(state, site, cost)
    return is_one_of(tables, value) or fail(state, site, value)
  end
end

function assertions.const(node)
  local const = node.schema.const
  return equals(node, "const", { const }, function() return words.brief(const) end)
end

local function one_of(options)
  local briefs = {}
  for i = 1, math.min(#options, 8) do briefs[i] = words.brief(options[i]) end
  if #options > 8 then briefs[9] = ("%d more"):format(#options - 8) end
  return #briefs == 1 and briefs[1] or "one of " .. words.enumerate(briefs, "or")
end

function assertions.enum(node)
  local enum = node.schema.enum
  return equals(node, "enum", enum, function() return one_of(enum) end)
end

return assertions
