-- For specs that start real processes: their output, and a check that no process or descriptor is left.
local core = require "pintle.core"
local lfs = require "lfs"

local children = {}

-- Seconds after which a wait fails. No wait that succeeds takes that long.
children.patience = 30

local function slurp(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

children.own_pid = slurp("/proc/self/stat") and math.tointeger(slurp("/proc/self/stat"):match("^%d+"))

-- The command that runs `code` in a new Lua process with these arguments.
function children.lua(code, ...)
  return { "lua5.4", "-e", code, "/dev/null", ... }
end

function children.sh(code, ...)
  return { "sh", "-c", code, "sh", ... }
end

-- Waits until the descriptor is readable.
function children.await(descriptor)
  assert(core.poll(children.patience, descriptor, "r"), "nothing to read in time")
end

-- Reads to the end of the input, or until the text ends in `ending`.
function children.read(fd, ending)
  local text = ""
  while not ending or text:sub(-#ending) ~= ending do
    local data, message = fd:read()
    if data == nil then error(message) end
    if data == "" then break end
    if data then text = text .. data else children.await(fd) end
  end
  return text
end

-- Starts a child that waits for the end of its input, and then ends by itself.
function children.wait_for_end(options)
  options = options or {}
  options.command = { "cat" }
  return assert(core.spawn(options))
end

-- Runs a program to its end. Returns its stdout and how it ended.
function children.run(options)
  local process <close> = assert(core.spawn(options))
  if process.stdin then process.stdin:close() end
  local text = children.read(process.stdout)
  return text, process:wait(children.patience)
end

-- The signals that this process (or `pid`) blocks, ignores and catches, as the system reports them.
function children.signals(pid)
  local status = slurp(("/proc/%s/status"):format(pid or "self"))
  return status:match("SigBlk:%s*(%x+)"), status:match("SigIgn:%s*(%x+)"), status:match("SigCgt:%s*(%x+)")
end

local DESCRIPTORS = "/proc/self/fd"

-- The open descriptors and their files; "" where the system does not list them.
local function descriptors()
  local numbers, list = {}, {}
  if not lfs.attributes(DESCRIPTORS, "mode") then return "" end
  for name in lfs.dir(DESCRIPTORS) do numbers[#numbers + 1] = math.tointeger(tonumber(name)) end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    local info = slurp("/proc/self/fdinfo/" .. number) -- none for the one that looked
    if info then list[#list + 1] = number .. " " .. info:gsub("pos:%s*%d+\n", "") end
  end
  return table.concat(list)
end

-- The process ids of the children; none where the system does not list them.
function children.pids()
  local pids = {}
  for pid in (slurp "/proc/thread-self/children" or ""):gmatch "%d+" do pids[#pids + 1] = math.tointeger(pid) end
  return pids
end

local function has_children() return children.pids()[1] ~= nil end

-- Kills a process as another program would.
function children.kill(pid) assert(os.execute("kill -KILL " .. pid)) end

-- How many descriptors are open.
function children.count_descriptors()
  local count = 0
  for _ in lfs.dir(DESCRIPTORS) do count = count + 1 end
  return count
end

local last_stock

-- Returns a function that raises if descriptors or children are left that were not there before. Garbage may hold some;
-- it is collected only if something is left, because collecting takes longer than most specs.
function children.stock()
  local before = descriptors()
  if before ~= last_stock then
    collectgarbage()
    before = descriptors()
  end
  return function()
    local after = descriptors()
    if after ~= before or has_children() then
      collectgarbage()
      after = descriptors()
    end
    if after ~= before then error("descriptors before:\n" .. before .. "and after:\n" .. after) end
    assert(not has_children(), "children were left behind")
    last_stock = after
  end
end

-- Fails each spec of a file or block that leaves descriptors or children. To be called outside of specs.
function children.leave_nothing()
  local busted, nothing_left = require "busted", nil
  busted.before_each(function() nothing_left = children.stock() end)
  busted.after_each(function() nothing_left() end)
end

return children
