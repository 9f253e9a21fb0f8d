-- The programs that run plugins on other machines, started on this one. Each function returns an engine, or nil and the
-- reason why it cannot be had here. An engine has `prefix`, the words before a command, `env`, variables for the
-- client, and `command`, which returns the words that run a command there. `close` leaves no process, file or mount.
local busted = require "busted"

-- Skips the spec that runs, as `pending` does within a spec.
local skip = require "busted.core"().pending

local engines = {}

function engines.sshd(options) return require("spec.support.engines.sshd").new(options) end

function engines.slurm() return require("spec.support.engines.slurm").new() end

function engines.docker() return require("spec.support.engines.containers").new "docker" end

function engines.podman() return require("spec.support.engines.containers").new "podman" end

function engines.kubectl() return require("spec.support.engines.kubectl").new() end

-- Starts an engine for the specs of a block, and stops it after them. Returns a function that returns the engine; it
-- skips the spec that calls it if there is no engine.
function engines.shared(name, options)
  local engine, reason
  busted.setup(function() engine, reason = engines[name](options) end)
  busted.teardown(function()
    if engine then engine:close() end
    engine = nil
  end)
  return function()
    if not engine then skip(("no %s here: %s"):format(name, reason)) end
    return engine
  end
end

return engines
