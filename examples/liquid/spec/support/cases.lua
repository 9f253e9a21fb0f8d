-- Reads the conformance cases and runs them through the engine in this process.

local support = require "spec.support.engine"

local errors = support.errors
local harness = require "spec.support.harness"
local liquid = support.liquid
local replace_markers = require("liquid.drops").replace_markers
local json = require("pintle.core").json

local cases = {}

-- 2024-01-01T00:01:58Z, when all dates of the cases are rendered.
cases.NOW = 1704067318

---@param path string
---@return table[]? nil if the file is not there
function cases.read(path)
  local file = io.open(path)
  if not file then return nil end
  local list = {}
  for line in file:lines() do list[#list + 1] = assert(json.decode(line, nil, true, true)) end
  file:close()
  return list
end

local function told(err)
  return { message = errors.sentence(err), class = errors.class_name(err), line = err.line }
end

---@param case table
---@return table result
function cases.run(case)
  local options = harness.compile_options(case)
  options.filesystem = case.filesystem
  local template, err = liquid.compile(case.template, options)
  if not template then return { parse_error = told(err) } end
  local output, failure = template:render(replace_markers(case.environment), {
    strict_errors = not case.render_errors, now = cases.NOW, resource_limits = case.resource_limits,
  })
  if not output then return { render_error = told(failure) } end
  return { output = output, failures = failure }
end

return cases
