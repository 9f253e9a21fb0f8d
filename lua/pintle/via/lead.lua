-- The far end of a way: runs one program in a session of its own, passes its input on, and ends it when the near end is
-- gone. It is sent to the far end as source text, and needs Lua 5.3 or newer, a POSIX shell, `setsid`, `env`, `sleep`
-- and /proc there. docs/far.md describes the messages; `pintle.via.relay` is the near end.
--
-- Lua alone cannot wait for two things at once, so the work is done by several processes, each of which waits for one:
--   read    the only reader of the input: passes data to `pump`, everything else to `watch`
--   pump    writes the data to the program, which may block, and acknowledges it
--   run     starts the program and waits for its end
--   watch   decides; every event is a line of its input, and time is one as well
-- `main` starts them and waits. What `watch` says to the near end goes to stderr, in lines that begin with a secret
-- mark.

local MARK = os.getenv "PINTLE_MARK"

-- {====== The shell ======

local function quote_word(word) return "'" .. word:gsub("'", [['\'']]) .. "'" end

local function quote_words(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = quote_word(word) end
  return table.concat(quoted, " ")
end

-- In a script, @role stands for the words that start this file in that role.
local function expand_roles(script)
  return (script:gsub("@(%l+)", [["$PINTLE_LUA" -e 'load(os.getenv "PINTLE_LEAD", "=lead")()' /dev/null %1]]))
end

local function signal_group(name, pid)
  os.execute(("{ kill -s %s -- -%d || kill -s %s %d; } > /dev/null 2>&1"):format(name, pid, name, pid))
end

-- }======

-- {====== read ======

-- Reads one message; nil at the end of the input.
local function read_message()
  local kind, size = (io.read "l" or ""):match "^(%a+) (%d+)$"
  if not kind then return nil end
  size = math.tointeger(size)
  local content = size > 0 and io.read(size) or ""
  if #content < size then return nil end
  return kind, content
end

local function read()
  local to_pump, to_watch = io.stdout, io.stderr
  for kind, content in read_message do
    if kind == "data" or kind == "eof" then
      to_pump:write(kind, " ", #content, "\n", content)
      to_pump:flush()
    else
      to_watch:write(kind .. " " .. content .. "\n")
    end
  end
  to_watch:write "hangup\n"
end

-- }======

-- {====== pump ======

-- The program's input is the pipe that its shell has as descriptor 0; the shell waits for the first line.
local function pump(pid)
  local to_watch, program = io.stderr, io.open(("/proc/%s/fd/0"):format(pid), "w")
  local is_open = program and program:write "go\n" and program:flush()
  for kind, content in read_message do
    if kind == "eof" then break end
    if is_open and not (program:write(content) and program:flush()) then
      is_open = false
      to_watch:write "deserted\n"
    end
    to_watch:write("ack " .. #content .. "\n")
  end
  if program then program:close() end
end

-- }======

-- {====== run ======

local LIMITS = { -- by `ulimit`; the shells differ in the option for processes
  memory = { "-v", 1024 }, cpu = { "-t", 1 }, files = { "-n", 1 }, processes = { "-u", 1, "-p" }, core = { "-c", 512 },
}

local function limit_line(name, value)
  local flag, unit, other = table.unpack(LIMITS[name])
  local line = ("ulimit %s %d"):format(flag, (value + unit - 1) // unit)
  if other then line = ("{ %s 2> /dev/null || ulimit %s %d; }"):format(line, other, value) end
  return line .. (" || fail 'cannot set the limit %s'"):format(name)
end

-- The words that change the environment; none if it stays as it is.
local function environment_words(settings)
  local words = {}
  if type(settings.inherit) == "table" then
    words[1] = "-i"
    for _, name in ipairs(settings.inherit) do
      local value = os.getenv(name)
      if value then words[#words + 1] = name .. "=" .. value end
    end
  elseif settings.inherit == false then
    words[1] = "-i"
  end
  for name, value in pairs(settings.env or {}) do
    if not value then table.move({ "-u", name }, 1, 2, #words + 1, words) end
  end
  for name, value in pairs(settings.env or {}) do
    if value then words[#words + 1] = name .. "=" .. value end
  end
  return words
end

-- The shell becomes the program, so what is known of the shell is known of the program: its number, its status. It has
-- its own input open for writing until `pump` has it.
local PROGRAM = expand_roles [[
fail() { echo "failed $1" >&4; exit 126; }
exec 6<> /proc/self/fd/0
( exec > /dev/null 2>&4 4>&- 6>&-; trap '' PIPE; exec @pump $$ <&5 & )
exec 5<&-
read -r PINTLE_GO
exec 6>&-
%s
echo "pid $$" >&4
exec 4>&-
unset PINTLE_LEAD PINTLE_LUA PINTLE_MARK PINTLE_START PINTLE_GO
exec setsid %s]]

local function program_line(settings)
  local steps = {}
  if settings.cwd then
    steps[1] = ("cd -- %s 2> /dev/null || fail %s"):format(quote_word(settings.cwd),
      quote_word("cannot change to the directory " .. settings.cwd))
  end
  for name, value in pairs(settings.limits or {}) do steps[#steps + 1] = limit_line(name, value) end
  local words = environment_words(settings)
  local command = quote_words(settings.command)
  -- env takes words with = for variables, so the program is behind a shell there
  if words[1] then command = ("env %s sh -c 'exec \"$@\"' sh %s"):format(quote_words(words), command) end
  return PROGRAM:format(table.concat(steps, "\n"), command)
end

local function run(settings)
  local program = io.popen(program_line(settings), "w")
  local _, how, code = program:close()
  local value = how == "signal" and ("$(kill -l %d)"):format(code) or code
  os.execute(("echo ended %s %s >&4"):format(how, value))
end

-- }======

-- {====== watch ======

local END_TIMEOUT = 5 -- seconds for the near end to close, after the program has ended

-- Starts a process that adds a line to our input after some seconds.
local function start_timer(seconds)
  local pipe = io.popen(("setsid sh -c 'sleep %.3f; echo tick >&4' < /dev/null > /dev/null 2>&1 & echo $!"):format(
    seconds))
  local pid = pipe:read "n"
  pipe:close()
  return pid
end

local function watch(settings, session)
  local timeouts, patience = settings.stop_timeouts, settings.patience
  local state, pid, timer, is_heard, has_hung_up = "running", nil, nil, false, false
  local events = {}

  local function say(...)
    io.stdout:write(MARK, table.concat({ ... }, " "), "\n")
    io.stdout:flush()
  end

  local function set_timer(seconds)
    if timer then signal_group("KILL", timer) end
    timer = seconds and start_timer(seconds)
  end

  local function enter(name, seconds, signal)
    state = name
    if signal and pid then signal_group(signal, pid) end
    set_timer(seconds)
  end

  -- Also ends this process.
  local function leave()
    set_timer(nil)
    signal_group("KILL", session)
  end

  function events.pid(number)
    pid = math.tointeger(number)
    say "started"
    if state == "kill" then signal_group("KILL", pid) end
  end

  function events.alive()
    is_heard = true
    say "alive"
  end

  function events.ack(size) say("ack", size) end

  function events.deserted() say "deserted" end

  function events.failed(reason) say("failed", reason) end

  function events.signal(name)
    if pid then signal_group(name, pid) end
  end

  function events.hangup()
    has_hung_up = true
    if state == "running" then enter("eof", timeouts.eof) end
    if state == "ended" then leave() end
  end

  function events.ended(status)
    if pid then signal_group("KILL", pid) end
    say("ended", status)
    if has_hung_up then return leave() end
    enter("ended", END_TIMEOUT)
  end

  -- What follows when the time of a state is over.
  local next_step = {
    running = function()
      if not is_heard then return enter("term", timeouts.term, "TERM") end
      is_heard = false
      set_timer(patience)
    end,
    eof = function() enter("term", timeouts.term, "TERM") end,
    term = function() enter("kill", timeouts.kill, "KILL") end,
    kill = leave,
    ended = leave,
  }

  function events.tick() next_step[state]() end

  set_timer(patience)
  for line in io.lines() do
    local name, rest = line:match "^(%a+) ?(.*)$"
    if events[name] then events[name](rest) else say("trouble", line) end
  end
end

-- }======

-- {====== main ======

-- Descriptor 3 is the way's stdout; 4 is the input of `watch`, and 5 that of `pump`. The path of a descriptor of a pipe
-- opens either end.
local STAGES = expand_roles [[
exec 3>&1
{
  exec 4>&1
  ( trap '' PIPE; exec @read 2>&4 3>&- 4>&- ) |
    @run 5<&0 < /dev/null >&3 3>&-
} | @watch $$ 4> /proc/self/fd/0 3>&- | cat >&2 3>&-
]]

local function main()
  io.stdin:setvbuf "no" -- what follows the first message is for `read`
  io.stderr:write(MARK, "ready\n")
  local kind, start = read_message()
  if kind ~= "start" then return end
  local _, how, code = os.execute(("PINTLE_START=%s exec setsid sh -c %s"):format(quote_word(start),
    quote_word(STAGES)))
  -- `watch` ends all of them, and this one, with a signal
  if how == "exit" and code ~= 0 then io.stderr:write(MARK, "failed the shell ended with exit code ", code, "\n") end
end

-- }======

local function read_settings() return load(os.getenv "PINTLE_START", "=start", "t", {})() end

local ROLES = {
  main = main,
  read = read,
  pump = function() pump(arg[2]) end,
  run = function() run(read_settings()) end,
  watch = function() watch(read_settings(), math.tointeger(arg[2])) end,
}

return ROLES[arg[1]]()
