-- Every system call that the core makes fails once in every way it can, in each scenario of torture/scenarios.lua.
-- torture/faults.c makes them fail. After each: the program has ended in time, with status 0 or with an error in one
-- line, with no wrong result, and no process is left of it. A function that the core calls and that is not listed here
-- is an error.

local runs = require "torture.runs"

local LIMIT = 300 -- seconds for one program; a wait in a scenario takes 5

-- In which ways a call can fail. A name with "+" fails from then on: the resource is gone for good.
local ERRORS = {
  read = "EINTR EAGAIN EIO short", write = "EINTR EAGAIN EIO ENOSPC EPIPE short",
  preadv2 = "EINTR EAGAIN EIO EOPNOTSUPP ENOSYS+", recv = "EINTR EAGAIN ECONNRESET ENOMEM short",
  send = "EINTR EAGAIN ECONNRESET EPIPE ENOMEM short", poll = "EINTR ENOMEM",
  epoll_create1 = "EMFILE ENFILE ENOMEM EMFILE+", epoll_ctl = "ENOMEM ENOSPC ENOSPC+", epoll_wait = "EINTR",
  pipe2 = "EMFILE ENFILE ENOMEM EMFILE+", dup = "EMFILE EMFILE+", pipe_size = "EPERM ENOMEM",
  open = "EMFILE ENFILE ENOMEM EACCES EMFILE+", socketpair = "EMFILE ENOMEM", socket = "EMFILE ENFILE ENOMEM EACCES",
  connect = "EINTR ECONNREFUSED EACCES ENOENT", accept4 = "EINTR EMFILE ECONNABORTED ENOMEM EMFILE+ EAGAIN",
  bind = "EADDRINUSE EACCES ENOMEM", listen = "EADDRINUSE", chdir = "ENOENT EACCES EIO ENOMEM",
  execve = "E2BIG EACCES EIO ENOMEM ENOENT EMFILE", setpgid = "EPERM EACCES", setsid = "EPERM",
  setrlimit = "EPERM EINVAL", prctl = "EINVAL", vfork = "ENOMEM ENOMEM+", waitid = "ECHILD",
  waitpid = "ECHILD", kill = "EPERM ESRCH", pidfd_open = "ENOSYS+ EMFILE ENOMEM", close = "EINTR EIO ENOSPC",
  close_range = "ENOSYS+ ENOMEM", stat = "EACCES EIO ENOENT ENOMEM", lstat = "EACCES EIO ENOENT",
  fstat = "EIO ENOMEM", faccessat = "EACCES EIO ENOENT", getcwd = "ENOENT ENOMEM EACCES", dup2 = "EMFILE",
  chmod = "EACCES EPERM EIO ENOENT", unlink = "EACCES EPERM ENOENT EIO", realpath = "EACCES ENOENT ENOMEM ELOOP",
  openat = "EMFILE ENFILE ENOMEM EACCES ENOENT", pread = "EINTR EIO short", shutdown = "ENOTCONN",
  getaddrinfo = "EAI_AGAIN EAI_NONAME EAI_MEMORY EAI_FAIL", getnameinfo = "EAI_AGAIN EAI_MEMORY",
  getsockname = "ENOBUFS", getpeername = "ENOTCONN ENOBUFS", getsockopt = "ENOBUFS", setsockopt = "ENOMEM EINVAL",
  getrlimit = "EINVAL", getsid = "ESRCH EPERM", nanosleep = "EINTR", unshare = "EPERM ENOMEM ENOSPC",
  sigaction = "EINVAL", landlock_create_ruleset = "ENOSYS+ EOPNOTSUPP ENOMEM EMFILE ENFILE",
  landlock_add_rule = "ENOMEM EINVAL", landlock_restrict_self = "EPERM E2BIG ENOMEM",
  statx = "EACCES EIO ENOENT ENOMEM ENOSYS+", capset = "EPERM", execveat = "E2BIG EACCES EIO ENOMEM ENOENT ETXTBSY",
  getdents64 = "EIO ENOENT ENOMEM", timer_create = "EAGAIN ENOMEM", timer_settime = "EINVAL",
}

-- What else the core calls: what cannot fail in the way it is used, and what makes no system call. fcntl fails as dup
-- and pipe_size.
local INFALLIBLE = [[
  _exit clock_gettime fcntl getegid getenv geteuid getpid getppid gettid ioctl isatty lseek raise
  sched_yield sigprocmask syscall timer_delete
  bcmp ceil environ floor fmax fmin freeaddrinfo gai_strerror sigaddset sigemptyset sigfillset sigismember
  snprintf trunc
]]

-- Without one of these there is no sandbox, so nothing may run.
local CONFINING = {
  landlock_create_ruleset = true, landlock_add_rule = true, landlock_restrict_self = true, capset = true,
  unshare = true, prctl = true,
}

-- A program must not notice these: its output is that without a fault.
local HARMLESS = { EINTR = true, EAGAIN = true, short = true, ECONNABORTED = true }

-- The pipe on which a child reports that exec failed takes the report at once and whole, as /proc does. A regular file
-- is never busy.
local function is_harmless(scenario, way)
  return HARMLESS[way] and (not scenario.has_whole_transfers or way ~= "EAGAIN" and way ~= "short")
end

local SCENARIOS = {
  { "host", "gevals" }, { "host", "mcp" }, { "host", "lsp" }, { "socket" }, { "tcp" }, { "process" },
  { "failing", has_whole_transfers = true },
  { "watchdog", in_plugin = true }, { "host", "gevals", in_plugin = true }, { "host", "lsp", in_plugin = true },
}

-- Those that need what not every system allows.
local function add_sandboxes(scenarios)
  local processes = require "pintle.process"
  for name, sandbox in pairs { shared = "strict", namespaces = { namespaces = true } } do
    local child = processes.start { command = { "true" }, sandbox = sandbox }
    if child then
      child:close()
      scenarios[#scenarios + 1] = { "sandbox", name, is_confined = true, has_whole_transfers = true }
    end
  end
end

-- A call in the middle of many equal ones is tried only every so often.
local EACH_OF_THE_FIRST, STEP = 12, 7

local system_calls = { name = "system calls", workers = 5 }

local function slurp(path)
  local file <close> = io.open(path)
  return file and file:read "a" or ""
end

local function command_of(scenario, fault)
  local command = { "lua5.4", "torture/scenarios.lua", table.unpack(scenario) }
  if scenario.in_plugin and fault then command[#command + 1] = fault end
  return command
end

local function environment_of(scenario, fault, counts)
  local env = { PRELOAD = runs.path "faults.so" }
  if scenario.in_plugin then
    env.PLUGIN_COUNTS = counts
  else
    env.PINTLE_FAULT, env.PINTLE_FAULT_COUNTS = fault, counts
  end
  return env
end

local function sorted_lines(text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = line end
  table.sort(lines)
  return table.concat(lines, "\n")
end

-- Raises for functions of the C library, and numbers of system calls, that the core uses and that are listed nowhere.
local function check_lists()
  local known = {}
  for name in INFALLIBLE:gmatch "%S+" do known[name] = true end
  local function check(name)
    local is_pure = known[name] or name:find "^mem" or name:find "^str" or name:find "^pthread_"
    if not is_pure and not ERRORS[name] then error("no errors are listed for " .. name, 0) end
  end
  local path = assert(package.searchpath("pintle.core", package.cpath))
  local symbols <close> = assert(io.popen(("nm -D --undefined-only '%s'"):format(path)))
  for name in symbols:read("a"):gmatch "U (%a[%w_]*)" do
    if not name:find "^lua" then check(name) end
  end
  for file in require("lfs").dir "csrc" do
    for name in slurp("csrc/" .. file):gmatch "syscall%(SYS_([%w_]+)" do check(name) end
  end
end

-- Runs a scenario without a fault. Its output is kept for the comparison.
local function count_calls(scenario)
  local path = os.tmpname()
  local result = runs.run(command_of(scenario), environment_of(scenario, nil, path), LIMIT)
  local counts, text = {}, slurp(path)
  os.remove(path)
  if result.problem or result.status ~= 0 then
    error(("%s fails without a fault: %s\n%s"):format(scenario[1], result.problem or result.status, result.text), 0)
  end
  scenario.usual = sorted_lines(result.text)
  for name, number in text:gmatch "(%S+) (%d+)" do counts[name] = math.tointeger(tonumber(number)) end
  return counts
end

local function add_faults(faults, scenario, name, count)
  for way in (ERRORS[name] or error("no errors are listed for " .. name, 0)):gmatch "%S+" do
    for call = 1, count do
      if call <= EACH_OF_THE_FIRST or call % STEP == 0 then
        local fault = ("%s:%s:%d%s"):format(name, way:gsub("%+", ""), call, way:match "%+" or "")
        faults[#faults + 1] = {
          scenario = scenario, fault = fault, is_harmless = is_harmless(scenario, way),
          must_refuse = scenario.is_confined and CONFINING[name],
        }
      end
    end
  end
end

---The faults to try, in a random order, so that a short run is a sample of all.
function system_calls.list()
  local faults, scenarios = {}, table.move(SCENARIOS, 1, #SCENARIOS, 1, {})
  check_lists()
  add_sandboxes(scenarios)
  for _, scenario in ipairs(scenarios) do
    for name, count in pairs(count_calls(scenario)) do add_faults(faults, scenario, name, count) end
  end
  return runs.shuffle(faults)
end

local function problem_of(item, result)
  if result.problem then return result.problem end
  if item.is_harmless and sorted_lines(result.text) ~= item.scenario.usual then return "the fault is not harmless" end
  if result.text:find "LIE" then return "a wrong result" end
  if item.must_refuse and not result.text:find "error\tstart" then return "it starts without a part of its sandbox" end
  if result.signal then return "ended by signal " .. result.signal end
  if result.status > 1 then return "ended with status " .. result.status end
  if result.status == 1 and not result.text:find "pintle%.error" and not result.text:find "lua5.4: " then
    return "ended with status 1 and no error"
  end
end

---Returns nil, or what went wrong.
function system_calls.try(item)
  local scenario = item.scenario
  local result = runs.run(command_of(scenario, item.fault), environment_of(scenario, item.fault), LIMIT)
  local problem = problem_of(item, result)
  if not problem then return nil end
  return ("%s, %s%s: %s\n%s"):format(table.concat(scenario, " "), item.fault,
    scenario.in_plugin and " in the plugin" or "", problem, result.text)
end

return system_calls
