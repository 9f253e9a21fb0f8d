-- What is done before os.exit ends the program, whoever calls it: os.exit is wrapped for that, once.

local core = require "pintle.core"

local LAST_WORDS = 1 -- seconds for what is queued to be taken

local exits = {}

local actions = {} ---@type function[]
local speaking = setmetatable({}, { __mode = "k" }) ---@type table<pintle.peer, integer> and whose it is
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

---Has `action()` called first. It may wait.
---@param action fun()
function exits.before(action)
  if #actions == 0 then wrap() end
  actions[#actions + 1] = action
end

local function send_rest()
  for peer, process in pairs(speaking) do
    if not peer.ended and process == core.getpid() then peer:drain(LAST_WORDS) end
  end
end

---Has what a peer has queued sent first: who logs why it gives up, and exits, is heard.
---@param peer pintle.peer
function exits.after_sending(peer)
  if not is_sending then exits.before(send_rest) end
  is_sending = true
  speaking[peer] = core.getpid()
end

return exits
