-- The engine, and short functions for specs.

local errors = require "liquid.errors"
local liquid = require "liquid"

local support = { liquid = liquid, errors = errors }

---A spec fails if a call to the server takes longer than so many seconds.
support.timeout = 30

---The output of a template, with its errors.
---@param source string
---@param environment? table
---@param options? table for compile and render
---@return string
function support.render(source, environment, options)
  local template = assert(liquid.compile(source, options))
  local output, err = template:render(environment, options)
  return output or errors.sentence(err)
end

---The error of a template that does not compile.
---@param source string
---@param options? table
---@return string
function support.refusal(source, options)
  local template, err = liquid.compile(source, options)
  assert(not template, "it compiles")
  return errors.sentence(err)
end

---Asserts the outputs of templates.
---@param expected table<string, string> outputs by template
---@param environment? table
---@param options? table
function support.all(expected, environment, options)
  local assert = require "luassert"
  for source, output in pairs(expected) do
    assert.equal(output, support.render(source, environment, options), source)
  end
end

---Asserts the outputs of expressions, which are put into {{ braces }}.
---@param expected table<string, string>
---@param environment? table
---@param options? table
function support.outputs(expected, environment, options)
  local templates = {}
  for expression, output in pairs(expected) do templates["{{ " .. expression .. " }}"] = output end
  support.all(templates, environment, options)
end

return support
