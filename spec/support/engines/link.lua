-- A TCP connection that a spec can stop and cut: socat between a client and a server.
local core = require "pintle.core"
local kept = require "spec.support.engines.kept"

---@class spec.link
---@field port integer the client connects to this port of 127.0.0.1
local methods = {}
local metatable = { __index = methods, __name = "spec.link" }

local link = {}

-- The numbers of the processes whose parent this is.
function link.children(pid)
  local list = {}
  local file <close> = io.open(("/proc/%d/task/%d/children"):format(pid, pid))
  for child in (file and file:read "a" or ""):gmatch "%d+" do list[#list + 1] = math.tointeger(child) end
  return list
end

function link.signal(signal, pids)
  if pids[1] then os.execute(("kill -%s %s 2> /dev/null"):format(signal, table.concat(pids, " "))) end
end

function link.name(pid)
  local file <close> = io.open(("/proc/%d/comm"):format(pid))
  return file and file:read "l"
end

-- Kills them, and waits until they are gone.
function link.kill(pids)
  link.signal("KILL", pids)
  return kept.wait_for(function()
    for _, pid in ipairs(pids) do if core.alive(pid) then return false end end
    return true
  end)
end

-- linger=0: when a process of socat is killed, both of its connections are reset.
function link.new(target)
  local missing = kept.lack "socat"
  if missing then return nil, missing end
  local self = setmetatable({ kept = kept.new() }, metatable)
  local started, reason = self.kept:start({
    "socat", "-dd", "TCP-LISTEN:0,bind=127.0.0.1,fork,linger=0", ("TCP:127.0.0.1:%d,linger=0"):format(target),
  }, function()
    local pid, port = (self.kept:read "log" or ""):match "socat%[(%d+)%][^\n]* listening on [^\n]*:(%d+)\n"
    self.pid, self.port = math.tointeger(pid), math.tointeger(port)
    return self.port
  end)
  if not started then return nil, reason end
  return self
end

function methods:processes() return { self.pid, table.unpack(link.children(self.pid)) } end

-- Forwards nothing any more, in no direction, and closes nothing. New connections get no answer.
function methods:stop() link.signal("STOP", self:processes()) end

function methods:continue() link.signal("CONT", self:processes()) end

-- Resets the connections. New ones are possible.
function methods:cut() link.kill(link.children(self.pid)) end

-- Refuses new connections, too.
function methods:close() self.kept:close() end

metatable.__close = methods.close

return link
