-- The template language Liquid.
--
--   local liquid = require "liquid"
--   local template = assert(liquid.compile("Hello {{ name | upcase }}!"))
--   print(template:render { name = "World" })

local block = require "liquid.block"
local bodies = require "liquid.body"
local errors = require "liquid.errors"
local filters = require "liquid.filters"
local markup_parser = require "liquid.markup"
local template = require "liquid.template"
local text = require "liquid.text"
local values = require "liquid.values"

local liquid = {}

---The version of Shopify's Liquid, the reference implementation in Ruby, that this engine implements.
liquid.version = "5.13.0"
liquid.null = values.null
liquid.array = values.array
liquid.ordered = values.ordered

---Makes all tables with a metatable drops: their methods `get(name)` and `iterate()` are called for members and items.
---@param metatable table
function liquid.register_drop(metatable) require("liquid.drops").adopt(metatable) end

---A set of filters and tags, and a cache of the outputs that were parsed with them.
---@class liquid.engine
---@field filters table<string, liquid.filter>
---@field parsers table<string, liquid.parser|false>
---@field outputs table<string, liquid.cache> by error mode
local methods = {}
local metatable = { __name = "liquid.engine", __index = methods }

---Creates an engine with the standard filters and tags, to which others can be added.
---@return liquid.engine
function liquid.new()
  return setmetatable({
    filters = setmetatable({}, { __index = filters.standard }),
    parsers = setmetatable({}, { __index = block.parsers }),
    outputs = markup_parser.new_caches(),
  }, metatable)
end

-- The engine of `liquid.compile`, without an indirection to the standard filters and tags.
local standard = setmetatable({
  filters = filters.standard, parsers = block.parsers, outputs = markup_parser.new_caches(),
}, metatable)

local modes = { strict2 = true, strict = true, lax = true }

local function check_compile(source, options)
  if type(source) ~= "string" then error("a template must be a string, not a " .. type(source), 3) end
  local mode = options and options.error_mode or "strict2"
  if not modes[mode] then error("error_mode must be strict2, strict or lax, not " .. tostring(mode), 3) end
end

---Compiles a template, which can be rendered any number of times.
---@param source string
---@param options? liquid.compile_options
---@return liquid.template? template, liquid.error? err
function methods:compile(source, options)
  check_compile(source, options)
  return template.compile(self, source, options or {})
end

---Compiles a template with the standard filters and tags.
---@param source string
---@param options? liquid.compile_options
---@return liquid.template? template, liquid.error? err
function liquid.compile(source, options)
  check_compile(source, options)
  return template.compile(standard, source, options or {})
end

local function check_name(name, what)
  if type(name) ~= "string" or not name:find("^[%a_][%w_]*$") then
    error(("the name of a %s must be letters, digits and underscores, not %s"):format(what, tostring(name)), 3)
  end
end

---Adds a filter, or replaces one, for templates that are compiled afterwards. `call` gets the input and the arguments;
---named arguments are a table after the others. It returns a value, or nil and a message, which is an error in the
---template.
---@param name string
---@param call fun(input: any, ...): any, string?
function methods:register_filter(name, call)
  check_name(name, "filter")
  if type(call) ~= "function" then error("a filter must be a function, not a " .. type(call), 2) end
  self.filters[name] = filters.custom(call)
  self.outputs = markup_parser.new_caches()
end

-- {====== Tags ======

---@class liquid.tag
---@field block? boolean whether the tag has a body, which ends with `end` and its name
---@field parse? fun(markup: string, expression: fun(source: string): liquid.expression): any, string? called when a
---template is compiled. It returns the second argument of `render`, or nil and a message, which is a syntax error.
---Default: the markup
---@field render fun(context: liquid.context, parsed: any, body?: fun(): string): any, string? returns the output, or
---nil and a message, which is an error in the template. `body` renders the body of a block

---A compiled expression with its filters.
---@alias liquid.expression fun(context: liquid.context): any, liquid.error?

-- Names that the parser of blocks needs.
local reserved = { ["else"] = true, ["elsif"] = true, ["when"] = true, liquid = true }

local function check_tag(name, tag)
  check_name(name, "tag")
  if reserved[name] or name:find("^end") then error(name .. " cannot be the name of a tag", 3) end
  if type(tag) ~= "table" or type(tag.render) ~= "function" then error("a tag must have a function render", 3) end
  if tag.parse ~= nil and type(tag.parse) ~= "function" then error("parse must be a function", 3) end
end

-- The result of the tag's `parse`. An expression in the markup is parsed as that of an output is.
local function parse_markup(tag, state, markup, position)
  if not tag.parse then return markup end
  local parsed, failure = tag.parse(markup, function(source) return markup_parser.output(state, source, position) end)
  if parsed == nil and failure ~= nil then
    errors.syntax(state, tostring(failure), position, errors.shown_markup(markup))
  end
  return parsed
end

-- The text of a body. It counts as output only when the tag returns it.
local function render_body(body, ctx)
  local pieces, usage = {}, ctx.usage
  local length = usage.length
  local count = bodies.render(body, ctx, pieces, 0)
  usage.length = length
  return table.concat(pieces, "", 1, count)
end

local function new_node(tag, parsed, body)
  local render = tag.render
  return function(ctx, out, n)
    local value, failure = render(ctx, parsed, body and function() return render_body(body, ctx) end)
    if value == nil then
      if failure == nil then return n end
      return n, errors.of_object(failure)
    end
    local after, err = text.write(value, ctx, out, n)
    return after or n, err
  end
end

---Adds a tag, or replaces one, for templates that are compiled afterwards.
---@param name string
---@param tag liquid.tag
function methods:register_tag(name, tag)
  check_tag(name, tag)
  self.parsers[name] = function(state, markup, position)
    local parsed = parse_markup(tag, state, markup, position)
    local body
    if tag.block then
      body = bodies.new(state.template)
      block.section(state, name, body)
    end
    return new_node(tag, parsed, body), false, body and body.interrupts or false
  end
end

-- }======

return liquid
