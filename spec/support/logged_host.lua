-- Hosts that keep their log for a spec.
local hosts = require "pintle.host"

local logged_host = {}

-- A host with these options, and the list to which its log entries are appended.
function logged_host.open(options)
  local entries = {}
  local given = { verbosity = "debug", log = function(entry) entries[#entries + 1] = entry end }
  for name, value in pairs(options or {}) do given[name] = value end
  return hosts(given), entries
end

-- The first entry whose text has this pattern.
function logged_host.find(entries, pattern)
  for _, entry in ipairs(entries) do
    if tostring(entry):find(pattern) then return entry end
  end
end

-- Starts a plugin before the specs of a file or block: the first start opens what stays, such as the watch on signals.
-- To be called outside of specs.
function logged_host.start_first()
  require("busted").setup(function()
    local first <close> = hosts { log = false }
    assert(first:start { command = { "lua5.4", "examples/greeter/plugin.lua" } })
  end)
end

return logged_host
