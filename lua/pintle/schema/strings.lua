-- Keywords for strings.

local lazy = require "pintle.lazy"
local run = require "pintle.schema.run"

local formats = lazy "pintle.schema.formats"
local patterns = lazy "pintle.schema.patterns"
local words = lazy "pintle.schema.words"

local type = type
local fail, pay, site_of = run.fail, run.pay, run.site

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local strings = {}

local function length(text) return utf8.len(text) or #text end

-- Counting takes as long as the text is.
local function paid_length(text, state, site)
  pay(state, site, #text // 64)
  return length(text)
end

local function plural(count, word) return ("%s %s%s"):format(count, word, count == 1 and "" or "s") end

-- A character has one byte at least, so most texts need no counting.
function strings.maxLength(node)
  local most = node.schema.maxLength
  local site = site_of("maxLength", node.path, function(value)
    return ("expected at most %s, got %d"):format(plural(most, "character"), length(value))
  end)
  return function(value, state)
    return type(value) ~= "string" or #value <= most or paid_length(value, state, site) <= most
      or fail(state, site, value)
  end
end

function strings.minLength(node)
  local least = node.schema.minLength
  local site = site_of("minLength", node.path, function(value)
    return ("expected at least %s, got %d"):format(plural(least, "character"), length(value))
  end)
  return function(value, state)
    return type(value) ~= "string" or #value >= least and paid_length(value, state, site) >= least
      or fail(state, site, value)
  end
end

function strings.pattern(node, context)
  local pattern = node.schema.pattern
  local site = site_of("pattern", node.path, function(value)
    return ("%s does not match the pattern %s"):format(words.describe(value), words.quote(pattern))
  end)
  local matches = patterns.matcher(context, pattern, site)
  return function(value, state)
    return type(value) ~= "string" or matches(value, state) or fail(state, site, value)
  end
end

function strings.format(node, context)
  local name = node.schema.format
  if not context.formats and not node.resource.dialect.formats then return nil end
  local is_valid = formats.find(node, name)
  if not is_valid then return nil end
  local site = site_of("format", node.path, function(value)
    return ("%s is no valid %s"):format(words.describe(value), name)
  end)
  return function(value, state)
    if type(value) ~= "string" then return true end
    pay(state, site, 1 + #value // 64)
    return is_valid(value) or fail(state, site, value)
  end
end

return strings
