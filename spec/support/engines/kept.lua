-- A real program that specs need beside them, such as a server, with a folder for its files. It is no child of the
-- spec's process, so the checks for children that were left behind ignore it. Nothing of it is left after `close`, or
-- after the end of the spec's process.
local children = require "spec.support.children"
local core = require "pintle.core"
local lfs = require "lfs"

local kept = {}

---@class spec.kept
---@field path string the folder
local methods = {}
local metatable = { __index = methods, __name = "spec.kept" }

-- Prepares a folder. Nothing runs until `start`.
function kept.new()
  local path = os.tmpname()
  os.remove(path)
  assert(lfs.mkdir(path))
  assert(lfs.mkdir(path .. "/home"))
  return setmetatable({ path = path }, metatable)
end

-- Daemons are outside the PATH of an ordinary user.
local PATH = os.getenv "PATH" .. ":/usr/sbin:/sbin"

-- The names of the programs that are not here, as a reason to skip a spec; nil if all are here.
function kept.lack(...)
  local missing = {}
  for _, name in ipairs { ... } do
    if not core.which(name, PATH) then missing[#missing + 1] = name end
  end
  if not missing[1] then return nil end
  return table.concat(missing, ", ") .. (missing[2] and " are" or " is") .. " not installed"
end

function kept.program(name) return core.which(name, PATH) end

-- Runs a program to its end. Returns whether it succeeded, and its output.
function kept.run(command, options)
  local settings = { command = { "sh", "-c", 'exec "$@" 2>&1', "sh", table.unpack(command) }, stdin = "null" }
  for name, value in pairs(options or {}) do settings[name] = value end
  local output, status = children.run(settings)
  return status == 0, output
end

-- A port of this machine that was free a moment ago.
function kept.free_port()
  local listener = assert(core.listen { port = 0 })
  local port = core.address(listener).port
  listener:close()
  return port
end

-- Waits until `is_true` returns something; nil after `seconds`.
function kept.wait_for(is_true, seconds)
  local deadline = core.now() + (seconds or children.patience)
  repeat
    local value = is_true()
    if value then return value end
    core.poll(0.002)
  until core.now() > deadline
end

function methods:write(name, text, mode)
  local file <close> = assert(io.open(self.path .. "/" .. name, "w"))
  assert(file:write(text))
  file:close()
  if mode then assert(os.execute(("chmod %s '%s/%s'"):format(mode, self.path, name))) end
  return self.path .. "/" .. name
end

function methods:read(name)
  local file <close> = io.open(self.path .. "/" .. name)
  return file and file:read "a"
end

local ORPHAN = 'exec 3<&0; "$0" "$@" <&3 3<&- &'

-- Runs the command until `close`. Waits until `is_ready` returns something, and returns that; nil and the output of the
-- command if it is not ready in time.
function methods:start(command, is_ready, seconds)
  self.keeper = assert(core.spawn {
    command = { "sh", "-c", ORPHAN, "spec/support/engines/keeper.sh", self.path, table.unpack(command) },
    env = { PATH = PATH }, group = "session",
  })
  assert(self.keeper:wait(children.patience) == 0, "no keeper")
  local value = kept.wait_for(is_ready, seconds)
  if value then return value end
  return nil, "it does not start: " .. (self:read "log" or "")
end

-- Stops what runs, and removes the folder. Closing twice is fine.
function methods:close()
  if self.keeper then
    self.keeper.stdin:close()
    children.read(self.keeper.stdout) -- ends when the keeper has ended
    self.keeper:close()
  elseif lfs.attributes(self.path, "mode") then
    os.execute(("rm -rf '%s'"):format(self.path))
  end
  self.keeper = nil
end

metatable.__close, metatable.__gc = methods.close, methods.close

return kept
