-- Templates: compiling a source and its partials, and rendering.

local block = require "liquid.block"
local bodies = require "liquid.body"
local context = require "liquid.context"
local errors = require "liquid.errors"
local reader = require "liquid.reader"

local template = {}

-- {====== Partials ======

---The partials of a template, compiled when they are first used.
---@class liquid.partials
---@field files table<string, string>|fun(name: string): string?
---@field compile fun(source: string, name: string): liquid.template?, liquid.error?
---@field compiled table<string, liquid.template>
local partial_methods = {}
local partials_metatable = { __name = "liquid.partials", __index = partial_methods }

local function with_lower_case_names(files)
  local lowered = {}
  for name, source in next, files do
    if type(name) == "string" then lowered[name:lower()] = source end
  end
  return lowered
end

-- The source of a partial. Names in a table are not case-sensitive.
local function read_partial(self, name)
  local files = self.files
  if type(files) == "function" then return files(name) end
  local source = files[name] or files[name .. ".liquid"]
  if source then return source end
  self.lowered = self.lowered or with_lower_case_names(files)
  name = name:lower()
  return self.lowered[name] or self.lowered[name .. ".liquid"]
end

---@param name string
---@return liquid.template? template, liquid.error? err
function partial_methods:load(name)
  local known = self.compiled[name]
  if known then return known end
  local source = read_partial(self, name)
  if type(source) ~= "string" then
    return nil, errors.new("file_system_error", "Could not find asset " .. name)
  end
  local partial, err = self.compile(source, name)
  if not partial then return nil, err end
  self.compiled[name] = partial
  return partial
end

-- }======

-- {====== Compiling ======

---@class liquid.template
---@field source string
---@field name? string the name in error messages: that of a partial, or the option `template_name`
---@field is_partial boolean
---@field line_numbers boolean
---@field partials liquid.partials
---@field shifted_lines? liquid.shifted_lines[] parts of the source whose line in error messages is not their real one
---@field body liquid.body
local methods = {}
local metatable = { __name = "liquid.template", __index = methods }

---The state of the parser.
---@class liquid.parse_state
---@field source string
---@field pos integer the position of the next token
---@field limit? integer inside of a {% liquid %} tag: the last byte of its lines
---@field mode "strict2"|"strict"|"lax"
---@field depth integer the nesting depth of tags
---@field trim boolean whether leading whitespace of the next text is removed
---@field tag_markup? string the markup of the current tag, if errors in it show all of it
---@field template liquid.template
---@field reader liquid.reader
---@field filters table<string, liquid.filter>
---@field parsers table<string, liquid.parser|false>
---@field outputs liquid.cache

-- Parsing never yields, so all templates share one reader.
local shared_reader = reader.new()

local function new_state(self, engine, options)
  local mode = options.error_mode or "strict2"
  return {
    source = self.source, pos = 1, mode = mode, depth = 0, trim = false, template = self, reader = shared_reader,
    filters = engine.filters, parsers = engine.parsers, outputs = engine.outputs[mode],
  }
end

local function unexpected_tag(state, tag, position)
  if tag == "else" or tag == "end" then
    errors.syntax(state, "Unexpected outer '" .. tag .. "' tag", position)
  end
  errors.syntax(state, "Unknown tag '" .. tag .. "'", position)
end

local function parse(self, state)
  local body = bodies.new(self)
  local tag, _, position = block.parse(state, body)
  if tag then unexpected_tag(state, tag, position) end
  self.body = body
  return self
end

local function compile(engine, source, name, options, files)
  local self = setmetatable({
    source = source, name = name or options.template_name, is_partial = name ~= nil,
    line_numbers = options.line_numbers ~= false, partials = files,
  }, metatable)
  local state = new_state(self, engine, options)
  local ok, result = pcall(parse, self, state)
  if ok then return result end
  if errors.is_interruption(result) then error(result, 0) end
  if not errors.is(result) then result = errors.internal(result) end
  if result.type == "syntax_error" or result.type == "internal_error" then errors.place(result, state) end
  if result.type == "internal_error" then result.markup = nil end
  return nil, result
end

---@class liquid.compile_options
---@field error_mode? "strict2"|"strict"|"lax" default: strict2
---@field line_numbers? boolean whether error messages have the line; default: true
---@field filesystem? table<string, string>|fun(name: string): string? the sources of partials
---@field template_name? string the name of the template in error messages; default: none
---@field partial_path? string a folder before the names of partials in error messages

---Compiles a template.
---@param engine liquid.engine
---@param source string
---@param options liquid.compile_options
---@return liquid.template? template, liquid.error? err
function template.compile(engine, source, options)
  local folder = options.partial_path and options.partial_path .. "/" or ""
  local files = setmetatable({ files = options.filesystem or {}, compiled = {} }, partials_metatable)
  function files.compile(text, partial) return compile(engine, text, folder .. partial, options, files) end
  return compile(engine, source, nil, options, files)
end

-- }======

-- {====== Rendering ======

---@class liquid.render_options
---@field strict_variables? boolean whether an undefined variable is an error
---@field strict_filters? boolean whether an unknown filter is an error
---@field strict_errors? boolean whether the first error ends the render; default: errors are shown in the output
---@field now? number the current time in seconds since 1970
---@field current_time? string the current time as text, whose UTC offset is kept
---@field resource_limits? table<string, integer>

local function render(self, ctx)
  local out = {}
  local n = bodies.render(self.body, ctx, out, 0)
  return table.concat(out, "", 1, n)
end

local function attempt(self, environment, options, is_guarded)
  local ctx = context.new(environment, options, self)
  if is_guarded then ctx.guards = 0 end
  local ok, result = pcall(render, self, ctx)
  if not ok and errors.is_interruption(result) then error(result, 0) end
  return ok, result, ctx
end

-- Whether the engine raised an error to end the render. Any other error was raised by a filter, a tag or an object.
local function ends_render(err)
  return errors.is(err) and (err.placed or err.type == "memory_error")
end

---Renders the template.
---@param environment? table<string, any> the variables
---@param options? liquid.render_options
---@return string? output nil if an error ended the render
---@return liquid.error[]|liquid.error errors the errors in the output, or the error that ended the render
function methods:render(environment, options)
  environment, options = environment or {}, options or {}
  local ok, result, ctx = attempt(self, environment, options)
  -- Guards are slow, so the first attempt has none.
  if not ok and not ends_render(result) then ok, result, ctx = attempt(self, environment, options, true) end
  if ok then return result, ctx.errors end
  if not errors.is(result) then result = errors.internal(result) end
  if ctx.strict_errors then return nil, result end
  ctx.errors[#ctx.errors + 1] = result
  return errors.sentence(result), ctx.errors
end

-- }======

return template
