-- For specs that start real processes: what they say, and that nothing is left of them.
local core = require "pintle.core"
local lfs = require "lfs"

local children = {}

-- No spec waits that long; it is the time after which one fails.
children.patience = 30

local function slurp(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

children.own_pid = slurp("/proc/self/stat") and math.tointeger(slurp("/proc/self/stat"):match("^%d+"))

-- The command that runs `code` in a Lua of its own, with these arguments.
function children.lua(code, ...)
  return { "lua5.4", "-e", code, "/dev/null", ... }
end

function children.sh(code, ...)
  return { "sh", "-c", code, "sh", ... }
end

-- Until the descriptor is readable.
function children.await(descriptor)
  assert(core.poll(children.patience, descriptor, "r"), "nothing to read in time")
end

-- All there is, to the end; or until it ends in `ending`.
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

-- Runs to the end: what it wrote to stdout, and how it ended.
function children.run(options)
  local process <close> = assert(core.spawn(options))
  if process.stdin then process.stdin:close() end
  local text = children.read(process.stdout)
  return text, process:wait(children.patience)
end

-- The signals that this process (or `pid`) has ignored, blocked and caught, as the system says it.
function children.signals(pid)
  local status = slurp(("/proc/%s/status"):format(pid or "self"))
  return status:match("SigBlk:%s*(%x+)"), status:match("SigIgn:%s*(%x+)"), status:match("SigCgt:%s*(%x+)")
end

local DESCRIPTORS = "/proc/self/fd"

-- Those that are open, and what they are on: where the system does not say, none.
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

local function has_children() return (slurp "/proc/thread-self/children" or "") ~= "" end

local last_stock

-- Takes stock; the function it returns raises if descriptors or children have come to stay. What garbage holds has not:
-- but it is collected only if something is held, for that takes longer than most specs.
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

return children
