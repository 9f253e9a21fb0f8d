-- How a plugin begins: what its author does before anything else, once.

local errors = require "pintle.error"
local jsonrpc = require "pintle.jsonrpc"
local loop = require "pintle.loop"

require("pintle.core").protect()

local beginning = {}

---Tells of what went wrong, on stderr.
---@param self pintle.server
---@param traceback string
function beginning.report(self, traceback)
  io.stderr:write(("%s: %s\n"):format(self.plugin.manifest.name, traceback))
end

---Calls a function of the author's. What it raises must not leave a plugin half begun or half ended.
---@return any result, pintle.error|table|string? err
function beginning.guarded(self, fn, ...)
  local ok, result, err = xpcall(fn, function(raised)
    beginning.report(self, debug.traceback(tostring(raised), 2))
    return raised
  end, ...)
  if ok then return result, err end
  if type(result) == "table" and result.message then return nil, result end
  return nil, errors.new("invalid", "Internal error: " .. tostring(result), { code = jsonrpc.INTERNAL_ERROR })
end

local function run_initializers(self)
  for _, fn in ipairs(self.plugin.initializers) do
    local result, err = beginning.guarded(self, fn, self.config, self)
    if not result and err ~= nil then return nil, err end
  end
  return true
end

---Begins, once, with what the host says the plugin is configured with.
---@param self pintle.server
---@param config table? what the command line says unless told
---@return true?, pintle.error|table|string? err
function beginning.initialize(self, config)
  if self.phase ~= "new" then
    local message = "Invalid Request: the plugin is initialized already"
    return nil, errors.new("invalid", message, { code = jsonrpc.INVALID_REQUEST })
  end
  local before = self.config
  self.phase, self.config = "beginning", config or before
  local ok, err = run_initializers(self)
  self.phase = ok and "ready" or "new"
  if not ok then self.config = before end
  for event in pairs(self.waiting) do event:set() end
  self.waiting = {}
  return ok, err
end

---Without a handshake the first operation is the beginning; all others wait for it.
---@param self pintle.server
---@return true?, pintle.error|table|string? err
function beginning.begin(self)
  while self.phase == "beginning" do
    local event = loop.event()
    self.waiting[event] = true
    local _, err = event:wait()
    self.waiting[event] = nil
    if err then return nil, err end
  end
  if self.phase == "new" then return beginning.initialize(self) end
  return true
end

return beginning
