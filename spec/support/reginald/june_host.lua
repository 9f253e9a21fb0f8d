-- A host like june. It ends at the fifth mistake of a plugin; an unknown member, also in a log message, is a mistake.
local fake_host = require "spec.support.reginald.fake_host"
local strict = require "spec.support.reginald.strict"

local entry = strict.entry(strict.JUNE_TYPES, strict.DESCRIBED)

local MOST = 5

local june = {
  log_rule = {
    level = strict.matching "^%a+[+-]?%d*$", msg = "string", ["fields?"] = "object",
  },
  results = {
    handshake = {
      protocol = strict.one_of "rpp", protocolVersion = strict.one_of(0), name = "string", version = "string",
      commands = { { name = "string", usage = "string", configs = { entry } } }, tasks = { { type = "string" } },
      configs = { entry },
    },
    initialize = strict.empty, setupCommand = strict.empty, runCommand = strict.empty, validateTask = strict.empty,
    runTask = strict.empty, shutdown = "null",
  },
}

function june.on_mistake(self, mistake)
  self.mistakes, self.last_mistake = self.mistakes + 1, mistake
  if self.mistakes < MOST then return end
  self.process:kill "KILL"
  error("killed by the host: " .. mistake, 0)
end

-- Starts a plugin.
return function(command) return fake_host.start(june, command) end
