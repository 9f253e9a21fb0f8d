-- Hosts that work for a long time: torture/soak_host.lua looks whether their memory or descriptors grow.

local runs = require "torture.runs"

local MODES = { "calls", "starts", "restarts", "upgrades" }
local PLUGINS_FROM = 60 -- seconds for a mode, from which on a thousand plugins are started, too

local soak = { name = "soak", workers = 1 }

---@param budget number seconds for all of them
function soak.list(budget)
  local modes, items = table.move(MODES, 1, #MODES, 1, {}), {}
  if budget / (#modes + 1) >= PLUGINS_FROM then modes[#modes + 1] = "plugins" end
  for i, mode in ipairs(modes) do items[i] = { mode = mode, seconds = budget / #modes } end
  return items
end

function soak.try(item)
  local command = { "lua5.4", "torture/soak_host.lua", item.mode, ("%.1f"):format(item.seconds) }
  local result = runs.run(command, {}, item.seconds * 3 + 300)
  if result.status == 0 and not result.problem then
    io.write(result.text)
    return nil
  end
  return ("%s: %s\n%s"):format(item.mode, result.problem or result.signal or result.status, result.text)
end

return soak
