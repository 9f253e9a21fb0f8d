-- A plugin as its author writes it: declares operations and methods, and serves them in the dialect of the host.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local manifests = require "pintle.manifest"
local option_checks = require "pintle.options"
local servers = require "pintle.plugin.server"

local command = lazy "pintle.plugin.command"
local folding = lazy "pintle.plugin.folding"

local FAILED, MISUSED = 1, 2 -- exit statuses

---@alias pintle.plugin.operation fun(args: table, ctx: pintle.plugin.context): any, any
---@alias pintle.plugin.method fun(params: any, ctx: pintle.plugin.context): any, any

---@class pintle.plugin: pintle.mcp.plugin
---@field manifest pintle.manifest
---@field arguments string[] those of the command line that are not pintle's own; set by `serve`
---@field methods table<string, pintle.plugin.method>
---@field initializers function[]
---@field finalizers function[]
---@field servers table<pintle.server, true> those that serve it now
---@field is_ordered? boolean whether received objects keep the order of their members, in every dialect
local methods = setmetatable({}, { __index = function(_, name) return dialects.plugin_method(name) end })

local metatable = { __name = "pintle.plugin", __index = methods }

---@class pintle.plugin.module
---@field methods pintle.plugin the methods of all plugins
local plugins = { methods = methods }

-- {====== Declaring ======

local function check_author_function(where, fn)
  if type(fn) ~= "function" then error(("%s: a function expected, got %s"):format(where, type(fn)), 3) end
end

local function check_plugin_operation_options(self, name, operation, level)
  for dialect_name, own in pairs(operation.dialects) do
    local dialect = dialects.get(dialect_name)
    local problem = dialect and dialect.check_operation and dialect.check_operation(own)
    if problem then
      self.manifest:remove(name)
      error(("operation %q: dialects.%s: %s"):format(name, dialect_name, problem), level + 1)
    end
  end
end

-- Only some protocols let a plugin change its operations while it serves.
local function announce_operation_change(self)
  for server in pairs(self.servers) do server:operations_changed() end
end

---Declares an operation. Its function returns a message; or a table with `message` and `outputs`; or nil and an error
---(docs/plugins.md).
---@param name string
---@param spec pintle.operation.declaration
---@param fn pintle.plugin.operation
function methods:operation(name, spec, fn)
  check_author_function(("operation %q"):format(tostring(name)), fn)
  self.manifest:add(name, spec, 2)
  local operation, info = self.manifest.operations[name], debug.getinfo(fn, "u")
  check_plugin_operation_options(self, name, operation, 2)
  operation.fn, operation.takes_context = fn, info.nparams > 1 or info.isvararg
  if #operation.requires > 0 then self.has_requirements = true end
  announce_operation_change(self)
end

---Removes an operation, also while the plugin serves. Calls that run go on. Hosts whose protocol has a fixed manifest
---(all but MCP) get an error for an unknown operation from then on, and do not see operations declared while it serves.
---@param name string
function methods:remove_operation(name)
  if not self.manifest.operations[name] then
    error(("remove_operation: there is no operation %q"):format(tostring(name)), 2)
  end
  self.manifest:remove(name)
  announce_operation_change(self)
end

---Handles a method of the protocol that is no operation and that the dialect does not handle. The function returns a
---result, or nil and an error, as handlers of a peer do.
---@param name string
---@param fn pintle.plugin.method
function methods:method(name, fn)
  if type(name) ~= "string" or name == "" then error("method: a name expected", 2) end
  check_author_function(("method %q"):format(name), fn)
  if self.methods[name] then error(("method %q is already declared"):format(name), 2) end
  self.methods[name] = fn
end

---Calls `fn` before the first operation or method, with the configuration of the plugin, which may be empty. If it
---raises, or returns nil and an error, the host receives an error, and no operation runs.
---@param fn fun(config: table, server: pintle.server): any, any
function methods:on_initialize(fn)
  check_author_function("on_initialize", fn)
  self.initializers[#self.initializers + 1] = fn
end

---Calls `fn` before the plugin ends, whether the host asks for it or has ended, if the plugin was initialized.
---@param fn fun(server: pintle.server)
function methods:on_shutdown(fn)
  check_author_function("on_shutdown", fn)
  self.finalizers[#self.finalizers + 1] = fn
end

-- }======

-- {====== Standard output ======

-- stdout belongs to the program until it serves a plugin, and then to the protocol. Text that a plugin prints while it
-- is loaded would break the protocol; but a program may also declare a plugin, print, and never serve it. So after the
-- declaration, `print` does not flush. If the plugin is served, the text goes to stderr; if not, to stdout as usual.

local lua_print = print

local function print_unflushed(...)
  for i = 1, select("#", ...) do
    if i > 1 then io.stdout:write "\t" end
    io.stdout:write(tostring((select(i, ...))))
  end
  io.stdout:write "\n"
end

-- Only if the main script declares the plugin, and stdout is no terminal. `level` of the script is as for `error`.
local function hold_printed_output(level)
  local caller = debug.getinfo(level + 1, "S")
  local is_main_script = arg ~= nil and caller ~= nil and caller.source == "@" .. tostring(arg[0])
  if print == lua_print and is_main_script and not core.isatty(1) then _G.print = print_unflushed end
end

-- Takes stdin and stdout for the protocol. Printed text, and text that was held back, goes to stderr from now on.
local function claim_protocol_stdio()
  if print == print_unflushed then _G.print = lua_print end
  local input, output = core.claim_stdio()
  if not input then return nil, output end
  io.stdout:flush()
  io.stdout:setvbuf "line"
  return input, output
end

local function fold_stderr_lines(limit) folding.start(limit, lua_print) end

-- }======

-- {====== Serving ======

---@class pintle.serve.options
---@field arguments? string[] default: those of the command line; none if descriptors are given
---@field read? pintle.descriptor default: stdin
---@field write? pintle.descriptor default: stdout
---@field dialect? string
---@field config? table
---@field drain? number seconds for pending requests after input has ended; default: 600
---@field limits? pintle.peer.limits
---@field exit? boolean whether to end the process; false returns the status instead; default: true

local OPTIONS = {
  arguments = "table", read = true, write = true, dialect = "string", config = "table", drain = "number",
  limits = "table", exit = "boolean",
}

-- Returns the dialect, if there is one in the options.
local function check_plugin_serve_options(options)
  option_checks.check_types("serve", options, OPTIONS, 3)
  if (options.read == nil) ~= (options.write == nil) then
    error("serve: read and write have to be given together", 3)
  end
  if not options.dialect then return nil end
  local dialect, message = dialects.get(options.dialect)
  return dialect or error("serve: " .. message, 3)
end

-- Returns the exit status.
local function print_plugin_complaint(self, message, status)
  io.stderr:write(("%s: %s\n"):format(self.manifest.name, message))
  return status
end

-- Most hosts start plugins without arguments.
local function parse_plugin_command_line(given)
  if given[1] ~= nil or os.getenv "PINTLE_DIALECT" then return command.parse(given) end
  return { action = "serve", others = {}, is_forced = false }
end

local function start_serving_plugin(self, options, dialect)
  local read, write, is_terminal = options.read, options.write, false
  if not read then
    is_terminal = core.isatty(0)
    read, write = claim_protocol_stdio()
    if not read then return print_plugin_complaint(self, write, FAILED) end
  end
  local parsed, message = parse_plugin_command_line(options.arguments or not options.read and arg or {})
  if not parsed then return print_plugin_complaint(self, message, MISUSED) end
  self.arguments, parsed.dialect = parsed.others, dialect or parsed.dialect
  if is_terminal and not parsed.is_forced and parsed.action == "serve" then parsed.action = "greeting" end
  local status, err
  if parsed.action ~= "serve" then
    status, err = command.show(self, parsed, write)
    return err and print_plugin_complaint(self, err, status) or status
  end
  status, err = servers.run(self, {
    read = read, write = write, dialect = parsed.dialect, config = options.config or parsed.config,
    drain = options.drain, limits = options.limits, fold_lines = not options.read and fold_stderr_lines or nil,
  })
  return status or print_plugin_complaint(self, tostring(err), FAILED)
end

---Serves a host until it asks the plugin to end or closes the connection, and ends the process. The status is 0, or 1
---if the connection broke, or 2 if the command line is wrong. `--help` lists the options of the command line.
---@param options? pintle.serve.options
---@return integer status only with `exit = false`
function methods:serve(options)
  options = options or {}
  local dialect = check_plugin_serve_options(options)
  local status = start_serving_plugin(self, options, dialect)
  if options.exit == false then return status end
  os.exit(status, true)
end

-- }======

-- The options of a dialect may also change what other dialects do.
local function declare_plugin_to_dialects(self, level)
  for name, own in pairs(self.manifest.dialects) do
    local dialect = dialects.get(name)
    local problem = dialect and dialect.declare and dialect.declare(self, own)
    if problem then error(("plugin: dialects.%s: %s"):format(name, problem), level + 1) end
  end
end

---Declares a plugin. Raises, at the caller's line, if anything is wrong with it.
---@param given pintle.declaration
---@return pintle.plugin
function plugins.new(given)
  local manifest = manifests.new(given, 2)
  hold_printed_output(2)
  local self = setmetatable({
    manifest = manifest, arguments = {}, methods = {}, initializers = {}, finalizers = {},
    servers = {},
    has_requirements = #manifest.requires > 0,
  }, metatable)
  declare_plugin_to_dialects(self, 2)
  return self
end

return plugins
