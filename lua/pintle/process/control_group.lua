-- Control groups of Linux: one for each child whose processes are limited together. A system gives them to root, and to
-- users by systemd's delegation.

local core = require "pintle.core"
local lfs = require "lfs"

core.protect()

local ROOTS = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" } -- where version 2 may be
local FIRST_VERSION = "/sys/fs/cgroup/pids" -- where version 1 counts processes

---@class pintle.control_group
---@field files string[] what a process writes itself into
---@field has_processes boolean it limits the number of processes
---@field directory string
local methods = {}

local metatable = { __name = "pintle.control_group", __index = methods }

local groups = {}

local function read_file(path)
  local file <close> = io.open(path)
  return file and file:read "a" or nil
end

local function write_file(path, text)
  local file <close> = io.open(path, "w")
  return file ~= nil and file:write(text) ~= nil and file:flush() ~= nil
end

-- The group of this process, by the name of a controller; "" is version 2.
local function own_group_path(controller)
  for names, path in (read_file "/proc/self/cgroup" or ""):gmatch "%d+:([^\n:]*):([^\n]*)" do
    if ("," .. names .. ","):find("," .. controller .. ",", 1, true) then return path end
  end
end

-- A group of version 2 is made beside that of this process, since a group with processes cannot have limited children.
local function find_version_2_parent(needed)
  local own = own_group_path ""
  local parent = own and own:match "^(.*)/[^/]*$"
  for _, root in ipairs(parent and ROOTS or {}) do
    local enabled = read_file(root .. parent .. "/cgroup.subtree_control")
    local has_all = enabled ~= nil
    for _, name in ipairs(needed) do has_all = has_all and enabled:find(name, 1, true) ~= nil end
    if has_all then return root .. parent end
  end
end

local function find_version_1_parent()
  local own = own_group_path "pids"
  return own and FIRST_VERSION .. own:gsub("/$", "")
end

-- {====== Names: pintle, the process that made it, a number ======

local count, swept = 0, {}

-- Removes the groups of programs that could not do so themselves. A group with processes stays.
local function remove_stale_groups(parent)
  if swept[parent] then return end
  swept[parent] = true
  for name in lfs.dir(parent) do
    local pid = math.tointeger(tonumber(name:match "^pintle%-(%d+)%-%d+$"))
    if pid and not core.alive(pid) then lfs.rmdir(parent .. "/" .. name) end
  end
end

local function make_group(parent)
  count = count + 1
  local directory = ("%s/pintle-%d-%d"):format(parent, core.getpid(), count)
  local ok, message = lfs.mkdir(directory)
  if not ok then return nil, message end
  pcall(remove_stale_groups, parent)
  return setmetatable({ directory = directory, files = { directory .. "/cgroup.procs" }, has_processes = false },
    metatable)
end

-- }======

-- Swap would be a way around the limit on memory; not every kernel counts it.
local function set_group_limits(group, processes, memory)
  local directory, ok = group.directory, true
  if processes then ok = write_file(directory .. "/pids.max", tostring(processes)) end
  if ok and memory then
    ok = write_file(directory .. "/memory.max", tostring(memory))
    write_file(directory .. "/memory.swap.max", "0")
  end
  group.has_processes = ok and processes ~= nil
  return ok
end

local function make_limited_group(parent, processes, memory)
  if not parent then return nil, "no control group has the controllers" end
  local group, message = make_group(parent)
  if not group then return nil, message end
  if set_group_limits(group, processes, memory) then return group end
  group:close()
  return nil, "cannot set the limits of " .. group.directory
end

---Makes a group with these limits. Without control over memory, one that only limits processes.
---@param processes? integer
---@param memory? integer bytes
---@return pintle.control_group?, string? message
function groups.create(processes, memory)
  if not processes and not memory then return nil end
  local needed = {}
  if processes then needed[1] = "pids" end
  if memory then needed[#needed + 1] = "memory" end
  local group, message = make_limited_group(find_version_2_parent(needed), processes, memory)
  if group or not processes then return group, message end
  group = memory and make_limited_group(find_version_2_parent { "pids" }, processes) or nil
  if group then return group end
  return make_limited_group(find_version_1_parent(), processes)
end

---Removes it, which opens nothing. It must have no processes; one that is just ending may keep it a moment longer.
function methods:close() return lfs.rmdir(self.directory) end

return groups
