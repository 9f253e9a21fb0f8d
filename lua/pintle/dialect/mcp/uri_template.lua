-- URI templates of RFC 6570, levels 1 to 3 and {/name*}: not to make URIs of them, but to find the values in a URI.
--
-- What a match costs is bounded, whatever the URI is: each place of it is tried once for each part of the template.

---@class pintle.mcp.template
---@field names string[] of its variables
---@field parts table[]
local methods = {}

local metatable = { __name = "pintle.mcp.template", __index = methods }

local templates = {}

local MOST_BYTES = 4096 -- of a URI
local MOST_PARTS = 64

-- {====== Reading a template ======

-- What a value may have, as it stands in the URI, by the operator of its expression.
local VALUES = {
  [""] = "[^/?#]", ["+"] = ".", ["#"] = ".", ["/"] = "[^/?#]", ["."] = "[^/?#.]", ["?"] = "[^#]", ["&"] = "[^#]",
}

local function template_fault(format, ...) return nil, format:format(...) end

local function read_template_expression(text)
  local operator, list = text:match "^([+#/.?&]?)(.*)$"
  local is_query = operator == "?" or operator == "&"
  local part = { operator = operator, value = VALUES[operator], is_query = is_query, names = {} }
  for name in (list .. ","):gmatch "([^,]*)," do
    if operator == "/" and name:sub(-1) == "*" then
      part.is_list, part.value, name = true, "[^?#]", name:sub(1, -2)
    end
    if not name:find "^[%w_][%w_.]*$" then
      return template_fault("{%s}: names of letters, digits and _ expected, with one of +#/.?& before them", text)
    end
    part.names[#part.names + 1] = name
  end
  if #part.names > 1 and not is_query then
    return template_fault("{%s}: several names are supported with ? and & only", text)
  end
  return part
end

local function add_template_literal(parts, text)
  if text ~= "" then parts[#parts + 1] = { literal = text } end
end

local function read_template_parts(template)
  local parts, at = {}, 1
  while at <= #template do
    local first, last, expression = template:find("{([^{}]*)}", at)
    local literal = template:sub(at, (first or #template + 1) - 1)
    if literal:find "[{}]" then return template_fault("%q has a brace without its other one", template) end
    add_template_literal(parts, literal)
    if not first then break end
    local part, message = read_template_expression(expression)
    if not part then return nil, message end
    parts[#parts + 1], at = part, last + 1
  end
  if #parts > MOST_PARTS then return template_fault("%q has more than %d parts", template, MOST_PARTS) end
  return parts
end

---@param template string
---@return pintle.mcp.template?, string? message
function templates.read(template)
  local parts, message = read_template_parts(template)
  if not parts then return nil, message end
  local names, is_known = {}, {}
  for _, part in ipairs(parts) do
    for _, name in ipairs(part.names or {}) do
      if is_known[name] then return template_fault("%q has the variable %s twice", template, name) end
      is_known[name], names[#names + 1] = true, name
    end
  end
  if #names == 0 then return template_fault("%q has no variable such as {name}", template) end
  return setmetatable({ names = names, parts = parts }, metatable)
end

-- }======

-- {====== Matching a URI ======

local function decode_template_text(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- A value from `first` on may end before any place up to the one that is returned.
local function template_value_end(part, uri, first)
  local _, last = uri:find("^" .. part.value .. "*", first)
  return last + 1
end

local function template_uri_segments(text)
  local list = {}
  for segment in text:gmatch "[^/]+" do list[#list + 1] = decode_template_text(segment) end
  return list
end

-- Members of the query that the template does not name are ignored.
local function read_template_query(part, text, values)
  local is_known = {}
  for _, name in ipairs(part.names) do is_known[name] = true end
  for name, value in text:gmatch "([^&=]+)=?([^&]*)" do
    name = decode_template_text(name)
    if is_known[name] then values[name] = decode_template_text((value:gsub("%+", " "))) end
  end
end

local function set_template_variables(part, text, values)
  if part.is_query then return read_template_query(part, text, values) end
  values[part.names[1]] = part.is_list and template_uri_segments(text) or decode_template_text(text)
end

local match_template_part

-- Tries the ends of a value, the nearest first. If a value that begins at one place of a run cannot end anywhere in it,
-- neither can one that begins later: so each run is searched once.
local function match_template_variable(state, i, first)
  local part, uri = state.parts[i], state.uri
  local stop = template_value_end(part, uri, first)
  local failed = state.failed[i]
  if failed[stop] and first >= failed[stop] then return false end
  local following = state.parts[i + 1]
  local literal = following and following.literal
  local at = first + 1
  while at <= stop do
    if literal then at = uri:find(literal, at, true) end
    if not at or at > stop then break end
    if match_template_part(state, i + 1, at) then
      set_template_variables(part, uri:sub(first, at - 1), state.values)
      return true
    end
    at = at + 1
  end
  failed[stop] = math.min(failed[stop] or first, first)
  return false
end

-- An expression with an operator other than + begins with it, and may be absent.
local function match_template_expression(state, i, at)
  local part = state.parts[i]
  local operator = part.operator
  if operator == "" or operator == "+" then return match_template_variable(state, i, at) end
  if state.uri:sub(at, at) == operator then
    if part.is_query then
      local stop = template_value_end(part, state.uri, at + 1)
      if not match_template_part(state, i + 1, stop) then return false end
      set_template_variables(part, state.uri:sub(at + 1, stop - 1), state.values)
      return true
    end
    if match_template_variable(state, i, at + 1) then return true end
  end
  return match_template_part(state, i + 1, at)
end

function match_template_part(state, i, at)
  local part = state.parts[i]
  if not part then return at == #state.uri + 1 end
  if not part.literal then return match_template_expression(state, i, at) end
  if state.uri:sub(at, at + #part.literal - 1) ~= part.literal then return false end
  return match_template_part(state, i + 1, at + #part.literal)
end

---The values of the variables in a URI, percent-decoded; of {/name*} a list. A variable that is absent has no value.
---@param uri string
---@return table<string, string|string[]>? values nil if the URI does not match
function methods:match(uri)
  if #uri > MOST_BYTES then return nil end
  local state = { parts = self.parts, uri = uri, values = {}, failed = {} }
  for i in ipairs(self.parts) do state.failed[i] = {} end
  if match_template_part(state, 1, 1) then return state.values end
end

-- }======

return templates
