-- The terminal as a line editor needs it: every key at once, Ctrl-C among them, and nothing shown by itself. `stty` is
-- the portable way there and back.

local core = require "pintle.core"
local errors = require "pintle.error"

local PATIENCE = 5 -- seconds
local RAW = { "-icanon", "-echo", "-isig", "-ixon", "-iexten", "icrnl", "opost", "min", "1", "time", "0" }

-- In the group of this process: one in the background would be stopped.
local function stty(words)
  local process <close>, message, kind = core.spawn {
    command = { "stty", table.unpack(words) }, stdin = "inherit", group = false,
  }
  if not process then return nil, errors.new(kind, message) end
  local code = process:wait(PATIENCE)
  if code ~= 0 then return nil, errors.new("spawn", "stty " .. table.concat(words, " ") .. " did not work") end
  return process.stdout:read()
end

---Begins it; closing what is returned ends it.
---@return table?, pintle.error?
return function()
  local before, err = stty { "-g" }
  if not before then return nil, err end
  local ok
  ok, err = stty(RAW)
  if not ok then return nil, err end
  return setmetatable({}, { __close = function() stty { before:match "%S+" } end })
end
