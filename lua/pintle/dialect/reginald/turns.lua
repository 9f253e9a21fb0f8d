-- One at a time: what somebody has set up must not be set up anew before it has run.

local errors = require "pintle.error"
local loop = require "pintle.loop"

local turns = {}

local function leave(queue, waiter)
  for i, other in ipairs(queue) do
    if other == waiter then return table.remove(queue, i) end
  end
end

local function pass_on(turn)
  local waiter = table.remove(turn.queue, 1)
  if waiter then return waiter:set(true) end
  turn.queues[turn.name] = nil
end

local metatable = { __close = pass_on }

---Waits until it is one's turn; closing what is returned ends that.
---@param queues table<string, table> those that wait, by what for
---@param name string
---@param seconds number|false|nil
---@return table? turn, pintle.error?
function turns.take(queues, name, seconds)
  local queue = queues[name]
  if queue then
    local waiter = loop.event()
    queue[#queue + 1] = waiter
    local late = seconds and errors.new("timeout", ("%q has been running for %gs already"):format(name, seconds))
    local ok, err = waiter:wait(seconds or nil, late)
    if not ok then
      leave(queue, waiter)
      return nil, err
    end
  else
    queues[name] = {}
  end
  return setmetatable({ queues = queues, name = name, queue = queues[name] }, metatable)
end

return turns
