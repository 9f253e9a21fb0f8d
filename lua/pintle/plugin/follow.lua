-- Ending with a process: whoever a plugin serves may be gone while somebody else still holds its pipes.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"

local LOOK_AGAIN = 0.5 -- seconds, where the system does not tell of the end of others' children

---@class pintle.following
---@field pid integer
---@field gone fun() told once, from the loop
---@field descriptor? pintle.fd
---@field timer? pintle.timer
---@field peer? pintle.peer
local methods = {}

local metatable = { __name = "pintle.following", __index = methods }

local follow = {}

local function conclude(self)
  if self.is_over then return end
  self.is_over = true
  self:close()
  self.gone()
end

local function look_on(self)
  if core.alive(self.pid) then self.timer = loop.after(LOOK_AGAIN, look_on, self) else conclude(self) end
end

local function observe(self)
  local message, kind
  self.descriptor, message, kind = core.observe(self.pid)
  if not self.descriptor then return nil, message, kind end
  return loop.watch(self.descriptor:fileno(), "r", self)
end

---@private called by the loop
function methods:on_ready() conclude(self) end

---Who computes does not let the loop turn, but messages are listened to meanwhile; then this is looked at, too.
---@param peer pintle.peer
function methods:attend(peer)
  local listen_in = peer.listen_in
  self.peer = peer
  function peer.listen_in()
    listen_in(peer)
    if not core.alive(self.pid) then conclude(self) end
  end
end

---Lets go of it. Twice is fine.
function methods:close()
  if self.timer then loop.forget(self.timer) end
  if self.peer then self.peer.listen_in = nil end
  if self.descriptor then
    loop.unwatch(self.descriptor:fileno(), self)
    self.descriptor:close()
  end
  self.timer, self.peer, self.descriptor = nil, nil, nil
end

metatable.__close = methods.close

---Watches a process that need not be a child.
---@param pid any what somebody says is a process id
---@param gone fun() told once when it has ended, in the next turn of the loop if it has already
---@return pintle.following?, pintle.error?
function follow.process(pid, gone)
  if math.type(pid) ~= "integer" or pid <= 0 or pid > 0x7FFFFFFF then
    return nil, errors.new("invalid", "a process id expected, got " .. tostring(pid))
  end
  local self = setmetatable({ pid = pid, gone = gone }, metatable)
  local is_observed, _, kind = observe(self)
  if kind == "closed" then
    self.timer = loop.after(0, conclude, self)
  elseif not is_observed then
    self:close()
    self.timer = loop.after(0, look_on, self)
  end
  return self
end

return follow
