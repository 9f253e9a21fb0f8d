-- A plugin as its author writes it: operations and methods are declared, and served in the dialect of the host.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local manifests = require "pintle.manifest"
local option_checks = require "pintle.options"
local servers = require "pintle.plugin.server"
local stdout = require "pintle.plugin.stdout"

local command = lazy "pintle.plugin.command"

local FAILED, MISUSED = 1, 2 -- exit statuses

---@alias pintle.plugin.operation fun(args: table, ctx: pintle.plugin.context): any, any
---@alias pintle.plugin.method fun(params: any, ctx: pintle.plugin.context): any, any

---@class pintle.plugin
---@field manifest pintle.manifest
---@field arguments string[] what the command line has besides pintle's own, once it serves
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
  local operation, info = self.manifest.operations[name], debug.getinfo(fn, "u")
  operation.fn, operation.takes_context = fn, info.nparams > 1 or info.isvararg
  if #operation.requires > 0 then self.has_requirements = true end
end

---Handles a method of the protocol itself, for what is no operation. The methods that a dialect handles by itself never
---come here. The function returns a result, or nil and an error, as the handlers of a peer do.
---@param name string
---@param fn pintle.plugin.method
function methods:method(name, fn)
  if type(name) ~= "string" or name == "" then error("method: a name expected", 2) end
  check_function(("method %q"):format(name), fn)
  if self.methods[name] then error(("method %q is already declared"):format(name), 2) end
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
---@field arguments? string[] default: those of the command line; none where descriptors are given
---@field read? pintle.descriptor default: stdin
---@field write? pintle.descriptor default: stdout
---@field dialect? string
---@field config? table
---@field drain? number seconds for what is being handled when input ends: 600
---@field limits? pintle.peer.limits
---@field exit? boolean false returns the status instead of ending the process

local OPTIONS = {
  arguments = "table", read = true, write = true, dialect = "string", config = "table", drain = "number",
  limits = "table", exit = "boolean",
}

-- The dialect that is asked for, if there is one.
local function check_options(options)
  option_checks.check_types("serve", options, OPTIONS, 3)
  if (options.read == nil) ~= (options.write == nil) then error("serve: read and write go together", 3) end
  if not options.dialect then return nil end
  local dialect, message = dialects.get(options.dialect)
  return dialect or error("serve: " .. message, 3)
end

-- Returns the status of the process.
local function complain(self, message, status)
  io.stderr:write(("%s: %s\n"):format(self.manifest.name, message))
  return status
end

-- Most hosts start plugins without arguments.
local function parse(given)
  if given[1] ~= nil or os.getenv "PINTLE_DIALECT" then return command.parse(given) end
  return { action = "serve", others = {}, is_forced = false }
end

local function start(self, options, dialect)
  local read, write, is_by_hand = options.read, options.write, false
  if not read then
    is_by_hand = core.isatty(0)
    read, write = stdout.claim()
    if not read then return complain(self, write, FAILED) end
  end
  local parsed, message = parse(options.arguments or not options.read and arg or {})
  if not parsed then return complain(self, message, MISUSED) end
  self.arguments, parsed.dialect = parsed.others, dialect or parsed.dialect
  if is_by_hand and not parsed.is_forced and parsed.action == "serve" then parsed.action = "greeting" end
  if parsed.action ~= "serve" then return command.show(self, parsed, write) end
  local status, err = servers.run(self, {
    read = read, write = write, dialect = parsed.dialect, config = options.config or parsed.config,
    drain = options.drain, limits = options.limits,
  })
  return status or complain(self, tostring(err), FAILED)
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
    manifest = manifest, arguments = {}, methods = {}, initializers = {}, finalizers = {},
    has_requirements = #manifest.requires > 0,
  }, metatable)
  declare_to_dialects(self, 2)
  return self
end

return plugins
