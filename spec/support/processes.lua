-- Processes of this machine, of any parent, as the system lists them; those in containers are among them.
local lfs = require "lfs"

local processes = {}

-- A file of a process in /proc; nil if the process is gone.
function processes.read(pid, name)
  local file <close> = io.open(("/proc/%d/%s"):format(pid, name), "rb")
  return file and file:read "a"
end

-- The numbers of the processes whose environment has the text, but for `except`.
function processes.marked(text, except)
  local found = {}
  for name in lfs.dir "/proc" do
    local pid = name:find "^%d+$" and math.tointeger(tonumber(name))
    local environment = pid and pid ~= except and processes.read(pid, "environ")
    if environment and environment:find(text, 1, true) then found[#found + 1] = pid end
  end
  return found
end

return processes
