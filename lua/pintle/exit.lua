-- Actions to run before os.exit ends the program. os.exit is wrapped for that, once.

local core = require "pintle.core"

local SENDING = 1 -- seconds to send what is queued

local exits = {}

local actions = {} ---@type function[]
local pids = setmetatable({}, { __mode = "k" }) ---@type table<pintle.peer, integer> the process that opened it
local is_sending = false

local function wrap()
  local leave = os.exit
  os.exit = function(...) -- luacheck: ignore 122
    for _, action in ipairs(actions) do
      local ok, err = pcall(action)
      if not ok then io.stderr:write("pintle: ", tostring(err), "\n") end
    end
    return leave(...)
  end
end

---Has `action()` called before the program ends. It may wait.
---@param action fun()
function exits.before(action)
  if #actions == 0 then wrap() end
  actions[#actions + 1] = action
end

local function send_rest()
  for peer, pid in pairs(pids) do
    if not peer.ended and pid == core.getpid() then peer:flush(SENDING) end
  end
end

---Has what a peer has queued sent before the program ends, such as a log entry that says why.
---@param peer pintle.peer
function exits.after_sending(peer)
  if not is_sending then exits.before(send_rest) end
  is_sending = true
  pids[peer] = core.getpid()
end

return exits
