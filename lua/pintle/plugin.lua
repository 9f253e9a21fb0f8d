-- A plugin as its author writes it: operations and methods are declared, and served in whatever dialect a host speaks.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local manifests = require "pintle.manifest"
local servers = require "pintle.plugin.server"
local stdout = require "pintle.plugin.stdout"

local command = lazy "pintle.plugin.command"

local FAILED, MISUSED = 1, 2 -- what the process ends with

---@alias pintle.plugin.operation fun(args: table, ctx: pintle.plugin.context): any, any
---@alias pintle.plugin.method fun(params: any, ctx: pintle.plugin.context): any, any

---@class pintle.plugin
---@field manifest pintle.manifest
---@field arguments string[] what the command line has besides pintle's own, once it serves
---@field functions table<string, pintle.plugin.operation>
---@field without_context table<string, boolean> operations whose function takes nothing but its arguments
---@field methods table<string, pintle.plugin.method>
---@field initializers function[]
---@field finalizers function[]
---@field is_ordered? boolean whether objects that it receives keep the order of their members in every dialect
local methods = {}

local metatable = { __name = "pintle.plugin", __index = methods }

---@class pintle.plugin.module
local plugins = {}

-- {====== Declaring ======

local function check_function(where, fn)
  if type(fn) ~= "function" then error(("%s: a function expected, got %s"):format(where, type(fn)), 3) end
end

---Declares an operation. What its function may return is told in docs/plugins.md; in short: a message; a table with
---`message` and `outputs`; nil and what is wrong.
---@param name string
---@param spec pintle.operation.declaration
---@param fn pintle.plugin.operation
function methods:operation(name, spec, fn)
  check_function(("operation %q"):format(tostring(name)), fn)
  self.manifest:add(name, spec, 2)
  local info = debug.getinfo(fn, "u")
  self.functions[name], self.without_context[name] = fn, info.nparams < 2 and not info.isvararg
end

---Handles a method of the protocol itself, for what is no operation. The methods that a dialect handles by itself never
---come here. The function returns a result, or nil and an error, as the handlers of a peer do.
---@param name string
---@param fn pintle.plugin.method
function methods:method(name, fn)
  if type(name) ~= "string" or name == "" then error("method: a name expected", 2) end
  check_function(("method %q"):format(name), fn)
  if self.methods[name] then error(("method %q is there already"):format(name), 2) end
  self.methods[name] = fn
end

---Calls `fn` before the first operation or method, with what the plugin is configured with, a table in any case. If it
---raises, or returns nil and an error, the host is told, and nothing runs.
---@param fn fun(config: table, server: pintle.server): any, any
function methods:on_initialize(fn)
  check_function("on_initialize", fn)
  self.initializers[#self.initializers + 1] = fn
end

---Calls `fn` before the plugin ends, whether the host asks for it or is gone, if it has begun at all.
---@param fn fun(server: pintle.server)
function methods:on_shutdown(fn)
  check_function("on_shutdown", fn)
  self.finalizers[#self.finalizers + 1] = fn
end

-- }======

-- {====== Serving ======

---@class pintle.serve.options
---@field arguments? string[] those of the command line unless told; none where descriptors are given
---@field read? pintle.descriptor stdin unless told
---@field write? pintle.descriptor stdout unless told
---@field dialect? string
---@field config? table
---@field drain? number seconds for what is being handled when input ends: 600
---@field limits? pintle.peer.limits
---@field exit? boolean false returns the status instead of ending the process

local OPTIONS = {
  arguments = "table", read = true, write = true, dialect = "string", config = "table", drain = "number",
  limits = "table", exit = "boolean",
}

local function check_options(options)
  for name, value in pairs(options) do
    local expected = OPTIONS[name]
    if not expected then error(("serve: there is no option %q"):format(tostring(name)), 3) end
    if expected ~= true and type(value) ~= expected then
      error(("serve: %s: a %s expected, got %s"):format(name, expected, type(value)), 3)
    end
  end
  if (options.read == nil) ~= (options.write == nil) then error("serve: read and write go together", 3) end
  local dialect, message = nil, nil
  if options.dialect then dialect, message = dialects.get(options.dialect) end
  if message then error("serve: " .. message, 3) end
  return dialect
end

local function command_name()
  local script = arg and arg[0]
  return script and (script:match "[^/]+$") or "plugin"
end

local function complain(self, message)
  io.stderr:write(("%s: %s\n"):format(self.manifest.name, message))
end

local TEXTS = {
  help = function(self) return command.help(self, command_name()) end,
  version = function(self) return ("%s %s\n"):format(self.manifest.name, self.manifest.version) end,
  manifest = function(self, parsed)
    return command.manifest(self, parsed.dialect or dialects.get(dialects.DEFAULT), complain)
  end,
}

local function show(self, parsed, output)
  local text, message, is_misuse = TEXTS[parsed.action](self, parsed)
  if not text then
    complain(self, message)
    return is_misuse and MISUSED or FAILED
  end
  stdout.write(output, text)
  return 0
end

local function serve(self, options, parsed, read, write)
  local status, err = servers.run(self, {
    read = read, write = write, dialect = parsed.dialect, config = parsed.config, drain = options.drain,
    limits = options.limits,
  })
  if not status then complain(self, tostring(err)) end
  return status or FAILED
end

-- What the command line asks for, with the descriptors that are to be used.
local function act(self, options, parsed, read, write)
  if parsed.action ~= "serve" then return show(self, parsed, write) end
  if parsed.is_by_hand and not parsed.is_forced then
    io.stderr:write(command.greeting(self, command_name()))
    return 0
  end
  return serve(self, options, parsed, read, write)
end

-- Most hosts say nothing on the command line.
local function parse(given)
  if given[1] ~= nil or os.getenv "PINTLE_DIALECT" then return command.parse(given) end
  return { action = "serve", others = {}, is_forced = false }
end

local function start(self, options, dialect)
  local is_by_hand = not options.read and core.isatty(0)
  local read, write = options.read, options.write
  if not read then read, write = stdout.claim() end
  if not read then
    complain(self, write)
    return FAILED
  end
  local parsed, message = parse(options.arguments or not options.read and arg or {})
  if not parsed then
    complain(self, message)
    return MISUSED
  end
  self.arguments, parsed.is_by_hand = parsed.others, is_by_hand
  parsed.dialect, parsed.config = dialect or parsed.dialect, options.config or parsed.config
  return act(self, options, parsed, read, write)
end

---Serves a host until that has enough, and ends the process: with status 0 when the host said so or closed its end, 1
---when the connection broke, 2 when the command line is wrong. `--help` tells what that may be.
---@param options? pintle.serve.options
---@return integer status only with `exit = false`
function methods:serve(options)
  options = options or {}
  local dialect = check_options(options)
  local status = start(self, options, dialect)
  if options.exit == false then return status end
  os.exit(status, true)
end

-- }======

-- What is declared for one dialect alone may mean something to the others, too.
local function declare_to_dialects(self, level)
  for name, own in pairs(self.manifest.dialects) do
    local dialect = dialects.get(name)
    local problem = dialect and dialect.declare and dialect.declare(self, own)
    if problem then error(("plugin: dialects.%s: %s"):format(name, problem), level + 1) end
  end
end

---Declares a plugin. Raises, with the author's line, if anything is wrong with it.
---@param given pintle.declaration
---@return pintle.plugin
function plugins.new(given)
  local manifest = manifests.new(given, 2)
  stdout.hold(2)
  local self = setmetatable({
    manifest = manifest,
    arguments = {}, functions = {}, without_context = {}, methods = {}, initializers = {}, finalizers = {},
  }, metatable)
  declare_to_dialects(self, 2)
  return self
end

return plugins
