-- Keywords that check a value by itself: its type, its size, and equality (`enum`, `const`, `uniqueItems`).

local lazy = require "pintle.lazy"
local validation = require "pintle.schema.validation"
local values = require "pintle.schema.values"

local errors = lazy "pintle.schema.errors"
local formats = lazy "pintle.schema.formats"
local patterns = lazy "pintle.schema.pattern"

local type, next = type, next
local fail_keyword, pay_steps = validation.fail_keyword, validation.pay_steps
local new_site, expectation_reason = validation.new_site, validation.expectation_reason

---@type table<string, fun(node: pintle.schema.node, context: pintle.schema.context): pintle.schema.check>
local assertions = {}

local function describe_count(count, one, many)
  return ("%s %s"):format(count, count == 1 and one or many or one .. "s")
end

-- {====== The keyword `type` ======

local TESTS = {
  string = function(value) return type(value) == "string" end,
  number = function(value) return type(value) == "number" end,
  boolean = function(value) return type(value) == "boolean" end,
  integer = values.is_integer,
  null = function(value) return value == values.null end,
}

local function type_test(node, name)
  if name == "array" then return node.is_array end
  if name == "object" then return node.is_object end
  return TESTS[name]
end

local function any_type_test(tests)
  return function(value)
    for i = 1, #tests do
      if tests[i](value) then return true end
    end
    return false
  end
end

-- A Lua program may have meant an unmarked empty table as an array.
local function type_reason(schema, names)
  local describe = expectation_reason(function() return errors.enumerate(names, "or") end)
  return function(value)
    local reason = describe(value)
    if values.allows_type(schema, "array") and errors.type_name(value) == "object" and next(value) == nil then
      return reason .. " (an empty table is an object unless it is marked as an array)"
    end
    return reason
  end
end

function assertions.type(node)
  local names = type(node.schema.type) == "table" and node.schema.type or { node.schema.type }
  local tests = {}
  for i, name in ipairs(names) do tests[i] = type_test(node, name) end
  local test = #tests == 1 and tests[1] or any_type_test(tests)
  local site = new_site("type", node.path, type_reason(node.schema, names))
  return function(value, state) return test(value) or fail_keyword(state, site, value) end
end

-- }======

-- {====== Numbers ======

-- Multiples are computed by decimals: 0.3 is a multiple of 0.1, although the binary fractions are not.

-- The shortest decimal text that reads as the same float.
local function shortest_text(number)
  for digits = 15, 17 do
    local text = ("%%.%de"):format(digits - 1):format(number)
    if tonumber(text) == number then return text end
  end
end

-- The absolute value of a number is mantissa * 10^exponent. The mantissa is an integer that does not end in 0.
local function split_decimal_number(number)
  if math.type(number) == "integer" then
    local digits, zeros = tostring(number):match "^-?(%d-)(0*)$"
    return tonumber(digits), #zeros
  end
  local whole, fraction, exponent = shortest_text(number):match "^-?(%d)%p(%d+)e([-+]%d+)$"
  fraction = fraction:gsub("0+$", "")
  return tonumber(whole .. fraction), tonumber(exponent) - #fraction
end

-- (a + b) % modulus, where a + b may overflow
local function add_modulo(a, b, modulus)
  local room = modulus - b
  return a >= room and a - room or a + b
end

local function times_ten_modulo(number, modulus)
  local two = add_modulo(number, number, modulus)
  local four = add_modulo(two, two, modulus)
  return add_modulo(add_modulo(four, four, modulus), two, modulus)
end

local function is_divisible_decimal(mantissa, exponent, number)
  if number == 0 then return true end
  local digits, power = split_decimal_number(number)
  if power < exponent then return false end
  local rest = digits % mantissa
  for _ = 1, power - exponent do
    if rest == 0 then return true end
    rest = times_ten_modulo(rest, mantissa)
  end
  return rest == 0
end

local function multiple_test(divisor)
  local integer = math.tointeger(divisor)
  local mantissa, exponent = split_decimal_number(divisor)
  return function(number)
    local whole = integer and math.tointeger(number)
    if whole then return whole % integer == 0 end
    if number - number ~= 0 then return false end
    if number == math.mininteger then number = number + 0.0 end
    return is_divisible_decimal(mantissa, exponent, number)
  end
end

-- By keyword: the expectation in the message, and the test.
local BOUNDS = {
  minimum = { "at least %s", function(bound, value) return value >= bound end },
  maximum = { "at most %s", function(bound, value) return value <= bound end },
  exclusiveMinimum = { "more than %s", function(bound, value) return value > bound end },
  exclusiveMaximum = { "less than %s", function(bound, value) return value < bound end },
}

for keyword, rule in pairs(BOUNDS) do
  local phrase, test = rule[1], rule[2]
  assertions[keyword] = function(node)
    local bound = node.schema[keyword]
    local site = new_site(keyword, node.path, expectation_reason(phrase:format(bound)))
    return function(value, state)
      return type(value) ~= "number" or test(bound, value) or fail_keyword(state, site, value)
    end
  end
end

function assertions.multipleOf(node)
  local divisor = node.schema.multipleOf
  local is_multiple = multiple_test(divisor)
  local site = new_site("multipleOf", node.path, expectation_reason(("a multiple of %s"):format(divisor)))
  return function(value, state)
    return type(value) ~= "number" or is_multiple(value) or fail_keyword(state, site, value)
  end
end

-- }======

-- {====== Strings ======

local function count_code_points(text) return utf8.len(text) or #text end

-- Counting the characters costs steps by the length of the text.
local function count_characters(text, state, site)
  pay_steps(state, site, #text // 64)
  return count_code_points(text)
end

-- A text has no more characters than bytes, so most texts need no counting.
function assertions.maxLength(node)
  local most = node.schema.maxLength
  local site = new_site("maxLength", node.path, function(value)
    return ("expected at most %s, got %d"):format(describe_count(most, "character"), count_code_points(value))
  end)
  return function(value, state)
    return type(value) ~= "string" or #value <= most or count_characters(value, state, site) <= most
      or fail_keyword(state, site, value)
  end
end

function assertions.minLength(node)
  local least = node.schema.minLength
  local site = new_site("minLength", node.path, function(value)
    return ("expected at least %s, got %d"):format(describe_count(least, "character"), count_code_points(value))
  end)
  return function(value, state)
    return type(value) ~= "string" or #value >= least and count_characters(value, state, site) >= least
      or fail_keyword(state, site, value)
  end
end

function assertions.pattern(node, context)
  local pattern = node.schema.pattern
  local site = new_site("pattern", node.path, function(value)
    return ("%s does not match the pattern %s"):format(errors.describe(value), errors.quote(pattern))
  end)
  local matches = patterns.matcher(context, pattern, site)
  return function(value, state)
    return type(value) ~= "string" or matches(value, state) or fail_keyword(state, site, value)
  end
end

function assertions.format(node, context)
  local name = node.schema.format
  if not context.formats and not node.resource.dialect.formats then return nil end
  local is_valid = formats.find(node, name)
  if not is_valid then return nil end
  local site = new_site("format", node.path, function(value)
    return ("%s is not a valid %s"):format(errors.describe(value), name)
  end)
  return function(value, state)
    if type(value) ~= "string" then return true end
    pay_steps(state, site, 1 + #value // 64)
    return is_valid(value) or fail_keyword(state, site, value)
  end
end

-- }======

-- {====== The members of arrays and objects ======

function assertions.maxItems(node)
  local most, is_array = node.schema.maxItems, node.is_array
  local site = new_site("maxItems", node.path, function(value)
    return ("expected at most %s, got %d"):format(describe_count(most, "item"), #value)
  end)
  return function(value, state) return not is_array(value) or #value <= most or fail_keyword(state, site, value) end
end

function assertions.minItems(node)
  local least, is_array = node.schema.minItems, node.is_array
  local site = new_site("minItems", node.path, function(value)
    return ("expected at least %s, got %d"):format(describe_count(least, "item"), #value)
  end)
  return function(value, state) return not is_array(value) or #value >= least or fail_keyword(state, site, value) end
end

local function count_members(object)
  local count = 0
  for _ in next, object do count = count + 1 end
  return count
end

-- Counting costs steps by the number of members.
local function pay_and_count(object, state, site)
  local count = count_members(object)
  pay_steps(state, site, count // 16)
  return count
end

function assertions.maxProperties(node)
  local most = node.schema.maxProperties
  local site = new_site("maxProperties", node.path, function(value)
    local expected = describe_count(most, "property", "properties")
    return ("expected at most %s, got %d"):format(expected, count_members(value))
  end)
  return function(value, state)
    return not values.is_object(value) or pay_and_count(value, state, site) <= most or fail_keyword(state, site, value)
  end
end

function assertions.minProperties(node)
  local least, applies = node.schema.minProperties, node.is_object
  local site = new_site("minProperties", node.path, function(value)
    local expected = describe_count(least, "property", "properties")
    return ("expected at least %s, got %d"):format(expected, count_members(value))
  end)
  return function(value, state)
    return not applies(value) or pay_and_count(value, state, site) >= least or fail_keyword(state, site, value)
  end
end

local function find_missing_property(value, names)
  for i = 1, #names do
    if value[names[i]] == nil then return names[i] end
  end
end

function assertions.required(node)
  local names, applies = node.schema.required, node.is_object
  local site = new_site("required", node.path, function(value)
    return ("property %s is missing"):format(errors.quote(find_missing_property(value, names)))
  end)
  return function(value, state)
    if not applies(value) then return true end
    pay_steps(state, site, #names // 16)
    return not find_missing_property(value, names) or fail_keyword(state, site, value)
  end
end

local function find_unmet_dependency(value, needs)
  for name, names in next, needs do
    local missing = value[name] ~= nil and find_missing_property(value, names)
    if missing then return name, missing end
  end
end

-- `dependencies` of older drafts has the same form for some of its members.
function assertions.dependentRequired(node, _, keyword, needs)
  keyword, needs = keyword or "dependentRequired", needs or node.schema.dependentRequired
  local site = new_site(keyword, node.path, function(value)
    local name, missing = find_unmet_dependency(value, needs)
    return ("property %s needs property %s, which is missing"):format(errors.quote(name), errors.quote(missing))
  end)
  local cost = 0
  for _, names in next, needs do cost = cost + 1 + #names // 16 end
  return function(value, state)
    if not values.is_object(value) then return true end
    pay_steps(state, site, cost)
    return not find_unmet_dependency(value, needs) or fail_keyword(state, site, value)
  end
end

-- }======

-- {====== Equality ======

-- As in JSON Schema: 1 equals 1.0, 1 does not equal true, and the order of the names in an object does not matter.

local are_equal_values

local function are_equal_tables(a, b)
  if values.is_array(a) ~= values.is_array(b) then return false end
  for key, value in next, a do
    if not are_equal_values(value, b[key]) then return false end
  end
  for key in next, b do
    if a[key] == nil then return false end
  end
  return true
end

function are_equal_values(a, b)
  if a == b then return true end
  return type(a) == "table" and type(b) == "table" and are_equal_tables(a, b)
end

local write_canonical

local function write_canonical_array(array, out, count)
  out[#out + 1] = "["
  for i = 1, #array do write_canonical(array[i], out, count) end
  out[#out + 1] = "]"
end

local function write_canonical_object(object, out, count)
  out[#out + 1] = "{"
  for _, name in ipairs(values.sorted_names(object)) do
    write_canonical(name, out, count)
    write_canonical(object[name], out, count)
  end
  out[#out + 1] = "}"
end

-- Strings are written with their length, so that their text cannot be mistaken for the end of a container.
function write_canonical(value, out, count)
  count()
  if type(value) == "table" then
    local write = values.is_array(value) and write_canonical_array or write_canonical_object
    return write(value, out, count)
  end
  if type(value) == "string" then
    out[#out + 1] = "s" .. #value .. ":" .. value
  elseif type(value) == "number" then
    local integer = math.tointeger(value)
    out[#out + 1] = integer and ("i%d;"):format(integer) or ("f%a;"):format(value)
  else
    out[#out + 1] = tostring(value) .. ";"
  end
end

-- A text that is the same for two tables if and only if they are equal. `count` is called for every value in it.
local function canonical_text(value, count)
  local out = {}
  write_canonical(value, out, count)
  return table.concat(out)
end

-- The indices (from 1) of the first two equal items, in linear time. `count` is called for every value in those items
-- that are tables.
local function find_duplicates(array, count)
  local scalars, tables = {}, {}
  for i = 1, #array do
    local item, seen = array[i], scalars
    if type(item) == "table" then item, seen = canonical_text(item, count), tables end
    if seen[item] then return seen[item], i end
    if item == item then seen[item] = i end
  end
end

local function split_enum_options(options)
  local scalars, tables = {}, {}
  for _, option in ipairs(options) do
    if type(option) == "table" then tables[#tables + 1] = option elseif option == option then scalars[option] = true end
  end
  return scalars, tables
end

local function is_one_of_tables(tables, value)
  for i = 1, #tables do
    if are_equal_values(value, tables[i]) then return true end
  end
  return false
end

local function equals_any_check(node, keyword, options, describe)
  local scalars, tables = split_enum_options(options)
  local cost = 0
  for _, option in ipairs(tables) do canonical_text(option, function() cost = cost + 1 end) end
  local site = new_site(keyword, node.path, expectation_reason(describe))
  return function(value, state)
    if type(value) ~= "table" then return value ~= nil and scalars[value] or fail_keyword(state, site, value) end
    pay_steps(state, site, cost)
    return is_one_of_tables(tables, value) or fail_keyword(state, site, value)
  end
end

function assertions.const(node)
  local const = node.schema.const
  return equals_any_check(node, "const", { const }, function() return errors.brief(const) end)
end

local function describe_options(options)
  local briefs = {}
  for i = 1, math.min(#options, 8) do briefs[i] = errors.brief(options[i]) end
  if #options > 8 then briefs[9] = ("%d more"):format(#options - 8) end
  return #briefs == 1 and briefs[1] or "one of " .. errors.enumerate(briefs, "or")
end

function assertions.enum(node)
  local enum = node.schema.enum
  return equals_any_check(node, "enum", enum, function() return describe_options(enum) end)
end

function assertions.uniqueItems(node)
  if not node.schema.uniqueItems then return nil end
  local is_array = node.is_array
  local site = new_site("uniqueItems", node.path, function(value)
    local first, second = find_duplicates(value, function() end)
    return ("items %d and %d are equal"):format(first - 1, second - 1)
  end)
  return function(value, state)
    if not is_array(value) then return true end
    pay_steps(state, site, #value)
    return not find_duplicates(value, function() pay_steps(state, site, 1) end) or fail_keyword(state, site, value)
  end
end

-- }======

return assertions
