-- How a plugin ends: the host asks for it, its input ends, or the process that it serves is gone.

local core = require "pintle.core"
local errors = require "pintle.error"
local lazy = require "pintle.lazy"
local loop = require "pintle.loop"

local tasks = lazy "pintle.task"

core.protect()

local STOPPING = 1 -- seconds for what is being handled to answer that it was stopped
local LOOK_AGAIN = 0.5 -- seconds, where the system does not tell of the end of others' children
local LAST_WORDS = 10 -- seconds for an on_shutdown, and for the last answers to be taken
local SHUTTING_DOWN = "the plugin is shutting down"

local ending = {}

-- Every request but the one that asks for it is stopped.
local function stop_requests(self, message, asking)
  local err = errors.new("closed", message)
  for _, request in ipairs(self.peer:requests()) do
    if request ~= asking then request:stop(err) end
  end
end

local function run_finalizers(self)
  for _, fn in ipairs(self.plugin.finalizers) do
    local _, err = tasks.start(self.guarded, self, fn, self):await(LAST_WORDS)
    if err ~= nil then self:report("on_shutdown: " .. tostring(err)) end
  end
end

---Ends all work, once: requests are stopped and refused, and the functions of `on_shutdown` run. The process goes on
---until `exit`.
---@param self pintle.server
---@param request? pintle.request the one that asks for it
function ending.shutdown(self, request)
  if self.is_shut then return end
  self.is_shut, self.phase = true, "over"
  stop_requests(self, SHUTTING_DOWN, request)
  self.peer:idle(STOPPING, request)
  if self.has_begun then run_finalizers(self) end
end

local function wake(self, how)
  self.ending = self.ending or how
  self.ended:set(true)
end

---Ends the process as soon as the answers that are due are out.
---@param self pintle.server
---@param status? integer 0 unless told
function ending.exit(self, status)
  self.phase = "over"
  self.peer:remove_handlers()
  self.peer:otherwise(function() return self:begin() end) -- which refuses
  wake(self, { status = status or 0 })
end

-- {====== Ending with a process ======

-- The host may be gone while another process still holds its pipes. `self.following` is a table with the server, the
-- `pid`, and the descriptor or timer by which the end is noticed.

local function stop_following(self)
  local following = self.following
  if not following then return end
  self.following, self.peer.listen_in = nil, nil
  if following.timer then loop.forget(following.timer) end
  if following.descriptor then
    loop.unwatch(following.descriptor:fileno(), following)
    following.descriptor:close()
  end
end

local function be_deserted(following)
  local self = following.server
  if self.following ~= following then return end
  stop_following(self)
  self:note("warn", ("process %d, which it serves, is gone"):format(following.pid))
  wake(self, { status = 1 })
  self.ending.is_deserted = true
  stop_requests(self, "nobody is there any more to be answered")
end

local function look_on(following)
  if not core.alive(following.pid) then return be_deserted(following) end
  following.timer = loop.after(LOOK_AGAIN, look_on, following)
end

-- A process that is gone already is noticed in the next turn of the loop, as every other.
local function observe(following)
  local descriptor = core.pidfd(following.pid)
  if descriptor and loop.watch(descriptor:fileno(), "r", following) then
    following.descriptor = descriptor
    return
  end
  if descriptor then descriptor:close() end
  following.timer = loop.after(0, look_on, following)
end

-- A handler that computes does not let the loop turn, but messages are read meanwhile; then this is looked at, too.
local function look_while_computing(following, peer)
  local listen_in = peer.listen_in
  function peer.listen_in()
    listen_in(peer)
    if not core.alive(following.pid) then be_deserted(following) end
  end
end

---Ends with a process, usually the host's: once that is gone, requests are stopped, the functions of `on_shutdown` run,
---and the status is 1. Where the system cannot tell of the end of other processes, it is looked for every half second.
---Only the process that is followed last is followed.
---@param self pintle.server
---@param pid any what the host says is its id
---@return true?, pintle.error? err of the kind "invalid" if that is none
function ending.follow(self, pid)
  if math.type(pid) ~= "integer" or pid <= 0 or pid > 0x7FFFFFFF then
    return nil, errors.new("invalid", "a process id expected, got " .. tostring(pid))
  end
  stop_following(self)
  self.following = { server = self, pid = pid, on_ready = be_deserted }
  observe(self.following)
  look_while_computing(self.following, self.peer)
  return true
end

-- }======

-- {====== The end ======

-- Whether nobody reads what is sent.
local function is_cut_off(self)
  local _, output = self.peer.stream:fds()
  return output == nil
end

-- The same, before anything is sent: a broken descriptor that can only be written to is readable.
local function is_deserted(self)
  local _, output = self.peer.stream:fds()
  return output ~= nil and core.poll(0, output, "w") == "rw"
end

-- When requests that still run are stopped: counted from the end of input.
local function time_to_give_up(self)
  if self.give_up then return self.give_up end
  local longest = self.drain
  for _, request in ipairs(self.peer:requests()) do
    local left = request:deadline()
    if left then longest = math.max(longest, left + STOPPING) end
  end
  self.give_up = loop.now() + longest
  return self.give_up
end

-- Input has ended, but requests that came before are answered. That nobody reads the answers may show meanwhile.
local function finish_work(self)
  local give_up = time_to_give_up(self)
  repeat
    local is_done = self.peer:idle(math.min(1, give_up - loop.now()))
    if not is_done and is_deserted(self) then self.ending.is_deserted = true end
  until is_done or is_cut_off(self) or self.ending.is_deserted or loop.now() >= give_up
end

local function close(self)
  local peer, status = self.peer, self.ending.status
  peer:idle(STOPPING)
  local is_sent = not self.ending.is_deserted and peer:drain(self.ending.is_input and self.drain or LAST_WORDS)
  if is_cut_off(self) or not is_sent then status = 1 end
  peer:finish(errors.new("closed", "the plugin has ended"))
  return status
end

---Input has ended, or cannot be read any more.
---@param self pintle.server
---@param peer pintle.peer
---@param err pintle.error
function ending.of_input(self, peer, err)
  peer:deafen(err)
  wake(self, { status = err.kind == "closed" and 0 or 1, is_input = true })
end

---Input has ended while a handler computes, which does not let the loop turn. It has as much time as one that waits.
---@param self pintle.server
function ending.of_patience(self)
  if loop.now() >= time_to_give_up(self) then stop_requests(self, SHUTTING_DOWN) end
end

---Ends: requests are answered, and the functions of `on_shutdown` run.
---@param self pintle.server
---@return integer status of the process
function ending.finish(self)
  if self.ending.is_input then finish_work(self) end
  stop_following(self)
  ending.shutdown(self)
  return close(self)
end

-- }======

return ending
