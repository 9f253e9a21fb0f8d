-- The conformance cases of liquid-spec: reading them, running them in this process, and checking the results.

local errors = require "liquid.errors"
local json = require("pintle.core").json
local liquid = require "liquid"
local replace_markers = require("liquid.drops").replace_markers

local conformance = {}

local function features_of(case)
  local set = {}
  if type(case.features) == "table" then
    for _, feature in ipairs(case.features) do set[feature] = true end
  end
  return set
end

---The compile options of a case, which its features and the begin of its name tell, never its expected result.
---
--- * `shopify_error_format`: the template has a name, that of the recorded results.
--- * `template_factory`: partials have the path of the factory.
--- * cases whose name begins with `fs_` are compiled without line numbers.
---@param case table
---@return { error_mode?: string, line_numbers: boolean, template_name?: string, partial_path?: string }
function conformance.compile_options(case)
  local features = features_of(case)
  return {
    error_mode = type(case.error_mode) == "string" and case.error_mode or nil,
    line_numbers = not tostring(case.name):find("^fs_"),
    template_name = features.shopify_error_format and "templates/test" or nil,
    partial_path = features.template_factory and "some/path" or nil,
  }
end

-- Converts a simple regular expression to a Lua pattern, for use without PCRE2.
local function as_pattern(regexp)
  local pattern = regexp:gsub("^%(%?m%)", ""):gsub("%-", "%%-"):gsub("\\([dsw])", "%%%1")
  pattern = pattern:gsub("(%%?[%w%]])(%b{})", function(item, count) return item:rep(tonumber(count:sub(2, -2))) end)
  return (pattern:gsub("%[([^%]]*)%%%-([^%]]*)%]", "[%1-%2]"))
end

-- In the regular expressions of Ruby ^ and $ match at lines, and (?m) makes a dot match a newline.
local function matches(text, regexp)
  local has_rex, rex = pcall(require, "rex_pcre2")
  if not has_rex then return text:find(as_pattern(regexp)) ~= nil end
  return rex.find(text, "(?m)" .. regexp:gsub("^%(%?(%l*)m", "(?%1s")) ~= nil
end

local function has_all(text, patterns)
  text = text:lower()
  if type(patterns) == "string" then patterns = { patterns } end
  for _, pattern in ipairs(patterns) do
    if not text:find(pattern:lower(), 1, true) then return false end
  end
  return true
end

local function fault(result, kind)
  local err = result[kind]
  if not err then return nil end
  return (err.class or "") .. " " .. err.message
end

local function meets_error(expected, result)
  for kind, patterns in pairs(expected) do
    if kind == "output" then
      if not result.output or not has_all(result.output, patterns) then return false end
    elseif kind ~= "line" then
      local text = fault(result, kind)
      if not text or not has_all(text, patterns) then return false end
      if expected.line and result[kind].line ~= expected.line then return false end
    end
  end
  return true
end

---@param case table
---@param result table `output`, or `parse_error` or `render_error` with `message`, `class` and `line`
---@return boolean
function conformance.passes(case, result)
  if case.errors then return meets_error(case.errors, result) end
  if case.expected then return result.output == case.expected end
  if type(case.expected_pattern) ~= "string" or not result.output then return false end
  return matches(result.output, case.expected_pattern)
end

-- The current time in all cases: 2024-01-01T00:01:58Z.
conformance.NOW = 1704067318

---@param path string
---@return table[]? cases nil if the file does not exist
function conformance.read(path)
  local file = io.open(path)
  if not file then return nil end
  local list = {}
  for line in file:lines() do list[#list + 1] = assert(json.decode(line, nil, true, true)) end
  file:close()
  return list
end

local function error_fields(err)
  return { message = errors.sentence(err), class = errors.class_name(err), line = err.line }
end

---@param case table
---@return table result
function conformance.run(case)
  local options = conformance.compile_options(case)
  options.filesystem = case.filesystem
  local template, err = liquid.compile(case.template, options)
  if not template then return { parse_error = error_fields(err) } end
  local output, failure = template:render(replace_markers(case.environment), {
    strict_errors = not case.render_errors, now = conformance.NOW, resource_limits = case.resource_limits,
  })
  if not output then return { render_error = error_fields(failure) } end
  return { output = output, failures = failure }
end

return conformance
