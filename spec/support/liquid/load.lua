-- The engine of examples/liquid, which is on nobody's path, and short words for specs.

package.path = "examples/?.lua;examples/?/init.lua;" .. package.path

local errors = require "liquid.errors"
local liquid = require "liquid"

local load = { liquid = liquid, errors = errors }

---What a template renders to. Errors are in it.
---@param source string
---@param environment? table
---@param options? table for compile and render together
---@return string
function load.render(source, environment, options)
  local template = assert(liquid.compile(source, options))
  local output, err = template:render(environment, options)
  return output or errors.sentence(err)
end

---Why a template does not compile.
---@param source string
---@param options? table
---@return string
function load.refusal(source, options)
  local template, err = liquid.compile(source, options)
  assert(not template, "it compiles")
  return errors.sentence(err)
end

---Asserts what templates render to.
---@param expected table<string, string> by template
---@param environment? table
---@param options? table
function load.all(expected, environment, options)
  local assert = require "luassert"
  for source, output in pairs(expected) do
    assert.equal(output, load.render(source, environment, options), source)
  end
end

---Asserts what filters give: expressions that are put into {{ braces }}.
---@param expected table<string, string>
---@param environment? table
---@param options? table
function load.outputs(expected, environment, options)
  local templates = {}
  for expression, output in pairs(expected) do templates["{{ " .. expression .. " }}"] = output end
  load.all(templates, environment, options)
end

return load
