-- A host as of july. One mistake of a plugin stops its reader, and it hangs.
local fake_host = require "spec.support.reginald.fake_host"
local strict = require "spec.support.reginald.strict"

-- An object in an attribute has members that it does not know.
local function plain(value, where)
  local kind = strict.kind(value)
  if kind == "object" or kind == "array" then error({ mistake = where .. ": unexpected " .. kind }, 0) end
end

local july = {
  log_rule = {
    time = strict.matching "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z$",
    ["source?"] = { ["function"] = "string", file = "string", line = "integer" },
    msg = "string", attrs = { { key = "string", value = plain } }, level = strict.matching "^%u+[+-]?%d*$",
  },
  results = {
    handshake = { name = "string", protocol = strict.one_of "reginald", protocolVersion = strict.one_of(0) },
    runCommand = strict.empty, runTask = strict.empty, shutdown = strict.one_of(true),
  },
}

function july.on_mistake(self, mistake) self.hung = mistake end

-- Starts a plugin.
return function(command) return fake_host.start(july, command) end
