-- A plugin and its peer in one process.
local children = require "spec.support.children"
local core = require "pintle.core"
local peers = require "pintle.peer"
local tasks = require "pintle.task"

local in_process = {}

local methods = {}
local metatable = { __index = methods }

-- Serves the plugin. `heard` collects its notifications as { method, params }.
function in_process.serve(plugin, options)
  local near, far = core.socketpair()
  local settings = { read = far, write = far, exit = false }
  for name, value in pairs(options or {}) do settings[name] = value end
  local self = setmetatable({ heard = {} }, metatable)
  self.serving = tasks.start(function() return plugin:serve(settings) end)
  self.peer = assert(peers.open { read = near, write = near, framing = "line" })
  self.peer:on_unknown(function(params, request) self.heard[#self.heard + 1] = { request.method, params } end)
  return self
end

function methods:initialize(capabilities, config)
  return assert(self.peer:call("initialize", {
    protocolVersion = "0.0.1", config = config, capabilities = capabilities,
  }))
end

function methods:execute(operation, args, context)
  return self.peer:call("execute", { operation = operation, args = args or {}, context = context or {} })
end

-- The params of the notifications of one method.
function methods:of(method)
  local list = {}
  for _, said in ipairs(self.heard) do
    if said[1] == method then list[#list + 1] = said[2] end
  end
  return list
end

-- Closes the conversation. The plugin must end with status 0.
function methods:finish()
  self.peer:close()
  assert(self.serving:await(children.patience) == 0, "the plugin has not ended well")
end

metatable.__close = methods.finish

return in_process
