-- Checks JSON like the real programs of Reginald: an unknown member or a wrong type is a mistake. A rule is the name of
-- a type, a table of rules by member (with "?" after the name of an optional one), a list of one rule, or a function.
local json = require("pintle.core").json

local strict = {}

local function kind(value)
  if value == nil then return "nothing" end
  if value == json.null then return "null" end
  if type(value) == "table" then return getmetatable(value) == json.array_mt and "array" or "object" end
  return math.type(value) == "integer" and "integer" or type(value)
end
strict.kind = kind

local function refuse(where, format, ...) error({ mistake = ("%s: %s"):format(where, format:format(...)) }, 0) end

local check

local function check_members(value, rules, where)
  if kind(value) ~= "object" then refuse(where, "object expected, got %s", kind(value)) end
  local known = {}
  for name, rule in pairs(rules) do
    local plain, mark = name:match "^([^?]*)(%??)$"
    known[plain] = true
    if value[plain] ~= nil then
      check(value[plain], rule, where .. "." .. plain)
    elseif mark == "" then
      refuse(where, "%s is missing", plain)
    end
  end
  for name in pairs(value) do
    if not known[name] then refuse(where, "unknown member %q", name) end
  end
end

local function check_list(value, rule, where)
  if kind(value) ~= "array" then refuse(where, "array expected, got %s", kind(value)) end
  for i, item in ipairs(value) do check(item, rule, ("%s[%d]"):format(where, i)) end
end

function check(value, rule, where)
  if type(rule) == "function" then return rule(value, where) end
  if type(rule) == "table" and rule[1] ~= nil then return check_list(value, rule[1], where) end
  if type(rule) == "table" then return check_members(value, rule, where) end
  if rule ~= "any" and kind(value) ~= rule then refuse(where, "%s expected, got %s", rule, kind(value)) end
end

-- True, or nil and the mistake.
function strict.check(value, rule, where)
  local ok, problem = pcall(check, value, rule, where)
  if ok then return true end
  return nil, type(problem) == "table" and problem.mistake or problem
end

function strict.one_of(...)
  local allowed = {}
  for _, value in ipairs { ... } do allowed[value] = true end
  return function(value, where)
    if not allowed[value] then refuse(where, "unexpected %s", json.encode(value)) end
  end
end

function strict.matching(pattern)
  return function(value, where)
    if type(value) ~= "string" or not value:find(pattern) then refuse(where, "unexpected %s", json.encode(value)) end
  end
end

-- Exactly {}.
function strict.empty(value, where)
  if kind(value) ~= "object" or next(value) ~= nil then refuse(where, "{} expected, got %s", json.encode(value)) end
end

-- A config entry whose value has its type.
local function is_of(type_name, value)
  local item = type_name:match "^(%l+)List$"
  if type_name == "bool" then return type(value) == "boolean" end
  if type_name == "int" then return math.type(value) == "integer" end
  if type_name == "string" or type_name == "path" then return type(value) == "string" end
  if kind(value) ~= "array" then return false end
  for _, member in ipairs(value) do
    if item and not is_of(item, member) then return false end
  end
  return true
end

-- The rule of a config entry with these types; `more` has members other than key, value and type.
function strict.entry(types, more)
  local rules = { key = "string", value = "any", type = strict.one_of(table.unpack(types)) }
  for name, rule in pairs(more or {}) do rules[name] = rule end
  local function entry(value, where)
    check_members(value, rules, where)
    if not is_of(value.type, value.value) then refuse(where, "a value that is no %s", value.type) end
  end
  return entry
end

strict.JUNE_TYPES = { "bool", "int", "string" }
strict.JULY_TYPES = {
  "bool", "int", "string", "path", "stringList", "boolList", "intList", "pathList",
}
strict.DESCRIBED = {
  ["flag?"] = { name = "string", shorthand = "string", usage = "string" }, ["envOverride?"] = "string",
  ["flagOnly?"] = "boolean",
}

return strict
