-- Plugins at the far end of a way, for specs: ways to the engines, a plugin that runs anywhere, and what is left of it.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local processes = require "spec.support.processes"

local far_plugins = {}

-- The options of a way through an engine; without an engine, to this machine.
function far_plugins.way(name, engine)
  if not engine then return {} end
  local fields = {
    sshd = { ssh = { host = "node", config = engine.config } }, slurm = { slurm = { partition = "main" } },
    docker = { docker = "node" }, podman = { podman = "node" },
    kubectl = { kubernetes = { pod = "node", container = "side" } },
  }
  local way = fields[name]
  way.env = engine.env
  return way
end

-- The command of a plugin that needs nothing but Lua: its source is in the command.
function far_plugins.plain()
  return { "lua5.4", "-e", " " .. files.read "spec/support/plugins/plain.lua", "/dev/null" }
end

-- The command of a plugin made with pintle, where the file system is that of this machine.
function far_plugins.shared(path)
  local root = assert(core.realpath ".")
  return { root .. "/script/lua", root .. "/" .. path }
end

-- A variable for the environment of plugins that is in no other environment.
local count = 0
function far_plugins.marker()
  count = count + 1
  return { PINTLE_FAR_PLUGIN = ("%d-%d"):format(children.own_pid, count) }
end

local function find_running(marker)
  return processes.marked("PINTLE_FAR_PLUGIN=" .. marker.PINTLE_FAR_PLUGIN .. "\0")
end

-- Waits until no such process is left.
function far_plugins.await_end(marker)
  local deadline = core.now() + children.patience
  while find_running(marker)[1] do
    if core.now() > deadline then error("left at the far end: " .. table.concat(find_running(marker), " ")) end
    core.poll(0.02)
  end
end

function far_plugins.is_running(marker) return find_running(marker)[1] ~= nil end

return far_plugins
