-- Liquid, the template language, in plain Lua.
--
--   local liquid = require "liquid"
--   local template = assert(liquid.compile("Hello {{ name | upcase }}!"))
--   print(template:render { name = "World" })

local block = require "liquid.block"
local bodies = require "liquid.body"
local context = require "liquid.context"
local errors = require "liquid.errors"
local partials = require "liquid.partials"
local reader = require "liquid.reader"
local render_body = require "liquid.render_body"
local values = require "liquid.values"

local liquid = {}

---The version of Shopify's Liquid, the reference implementation in Ruby, that the engine follows.
liquid.version = "5.13.0"
liquid.null = values.null
liquid.array = values.array
liquid.ordered = values.ordered

---@class liquid.template
---@field source string
---@field name? string what errors call it: a partial by its name, the outermost template only if it was given one
---@field is_partial boolean
---@field line_numbers boolean
---@field strays? liquid.stray[] what is told to be on another line than it is
---@field body liquid.body
local methods = {}
local metatable = { __name = "liquid.template", __index = methods }

---What is known while a template is parsed.
---@class liquid.parse_state
---@field source string
---@field pos integer
---@field limit? integer the last byte of the lines that are being read
---@field mode string "strict2", "strict" or "lax"
---@field depth integer
---@field trim boolean whether the next text loses its leading space
---@field tag_markup? string the markup of the tag that is being read, if errors in it show all of it
---@field template liquid.template

-- Nothing yields while a template is parsed, so one reader does for all.
local shared_reader = reader.new()

local function new_state(template, options)
  return {
    source = template.source, pos = 1, mode = options.error_mode or "strict2", depth = 0, trim = false,
    template = template, reader = shared_reader,
  }
end

local function unexpected(state, tag, position)
  if tag == "else" or tag == "end" then
    errors.syntax(state, "Unexpected outer '" .. tag .. "' tag", position)
  end
  errors.syntax(state, "Unknown tag '" .. tag .. "'", position)
end

local function parse(template, state)
  local body = bodies.new(template)
  local tag, _, position = block.parse(state, body)
  if tag then unexpected(state, tag, position) end
  template.body = body
  return template
end

local function compile(source, name, options, files)
  local template = setmetatable({
    source = source, name = name or options.template_name, is_partial = name ~= nil,
    line_numbers = options.line_numbers ~= false, partials = files,
  }, metatable)
  local state = new_state(template, options)
  local ok, result = pcall(parse, template, state)
  if ok then return result end
  if errors.is_interruption(result) then error(result, 0) end
  if not errors.is(result) then result = errors.internal(result) end
  if result.type == "syntax_error" or result.type == "internal_error" then errors.place(result, state) end
  if result.type == "internal_error" then result.markup = nil end
  return nil, result
end

local modes = { strict2 = true, strict = true, lax = true }

---@class liquid.compile_options
---@field error_mode? "strict2"|"strict"|"lax" strict2 unless told
---@field line_numbers? boolean whether errors tell their line; true unless told
---@field filesystem? table<string, string>|fun(name: string): string? the texts of partials
---@field template_name? string what errors call the template; nothing unless told
---@field partial_path? string a folder that errors put before the names of partials

---Compiles a template. It can be rendered any number of times.
---@param source string
---@param options? liquid.compile_options
---@return liquid.template? template, liquid.error? err
function liquid.compile(source, options)
  if type(source) ~= "string" then
    error("a template is a string, not a " .. type(source), 2)
  end
  options = options or {}
  if not modes[options.error_mode or "strict2"] then
    error("error_mode is strict2, strict or lax, not " .. tostring(options.error_mode), 2)
  end
  local folder = options.partial_path and options.partial_path .. "/" or ""
  local files
  files = partials.new(options.filesystem, function(text, partial)
    return compile(text, folder .. partial, options, files)
  end)
  return compile(source, nil, options, files)
end

---@class liquid.render_options
---@field strict_variables? boolean a variable that is not there is an error
---@field strict_filters? boolean a filter that is not there is an error
---@field strict_errors? boolean an error ends the render; unless told it is shown in the output
---@field now? number seconds since 1970, for the word "now"
---@field current_time? string the same as text, whose offset is kept
---@field resource_limits? table<string, integer>

local function run(template, ctx)
  local out = {}
  local n = render_body(template.body, ctx, out, 0)
  return table.concat(out, "", 1, n)
end

local function attempt(template, environment, options, is_guarded)
  local ctx = context.new(environment, options, template)
  if is_guarded then ctx.guards = 0 end
  local ok, result = pcall(run, template, ctx)
  if not ok and errors.is_interruption(result) then error(result, 0) end
  return ok, result, ctx
end

-- Whether an error ended the render on purpose. Any other error was raised by a filter, a tag or an object.
local function is_deliberate(err)
  return errors.is(err) and (err.placed or err.type == "memory_error")
end

---Renders the template.
---@param environment? table<string, any>
---@param options? liquid.render_options
---@return string? output nil if an error ended the render
---@return liquid.error[]|liquid.error errors a list, or the one that ended it
function methods:render(environment, options)
  environment, options = environment or {}, options or {}
  local ok, result, ctx = attempt(self, environment, options)
  -- Guards are slow, so the first attempt has none.
  if not ok and not is_deliberate(result) then ok, result, ctx = attempt(self, environment, options, true) end
  if ok then return result, ctx.errors end
  if not errors.is(result) then result = errors.internal(result) end
  if ctx.strict_errors then return nil, result end
  ctx.errors[#ctx.errors + 1] = result
  return errors.sentence(result), ctx.errors
end

return liquid
