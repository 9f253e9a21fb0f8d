-- The far end of a way: runs one program in a session of its own, passes its input on, and ends it when the near end is
-- gone. It is sent to the far end as source text, and needs Lua 5.3 or newer, a POSIX shell, `setsid`, `env`, `sleep`
-- and /proc there. docs/far.md describes the messages; `pintle.via.relay` is the near end.
--
-- Lua alone cannot wait for two things at once, so the work is done by several processes, each of which waits for one:
--   read    the only reader of the input: passes data to `pump`, everything else to `watch`. It never waits for others
--   pump    writes the data to the program, which may block, and acknowledges it
--   run     starts the program and `pump`, and waits for their ends
--   watch   decides; every event is a line of its input, and time is one as well
--   tell    writes what `watch` says to stderr, which may block, behind a secret mark; it ends all if `watch` is killed
-- Each has a parent that waits for it: in a container without an init, nobody else would.

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
  return (script:gsub("@(%l+)", [["$PINTLE_LUA" -E -e 'load(os.getenv "PINTLE_LEAD", "=lead")()' /dev/null %1]]))
end

-- The input of `watch`, for the processes that have it as descriptor 4. Each write is whole lines in one piece.
local function open_events()
  local events = assert(io.open("/proc/self/fd/4", "w"))
  events:setvbuf "no"
  return events
end

-- Tells `watch` the number of this process.
local function report_process(events, role)
  local file = assert(io.open "/proc/self/stat")
  events:write(("process %s %d\n"):format(role, file:read "n"))
  file:close()
end

-- }======

-- {====== Messages of the near end ======

-- Reads the header of a message; nil at the end of the input.
local function read_header()
  local kind, size = (io.read "l" or ""):match "^(%a+) (%d+)$"
  return kind, math.tointeger(size)
end

-- Reads a message; nil at the end of the input.
local function read_message()
  local kind, size = read_header()
  if not kind then return nil end
  local content = size > 0 and io.read(size) or ""
  if #content < size then return nil end
  return kind, content
end

local CHUNK = 65536 -- bytes

-- Passes a message on to `pump` or `run`. Whatever it writes has room there: the near end sees to that.
local function pass_message(kind, size)
  local text = ("%s %d\n"):format(kind, size)
  repeat
    local content = size > 0 and io.read(math.min(size, CHUNK)) or ""
    size = size - #content
    if not io.stdout:write(text, content) or size > 0 and content == "" then return end
    text = ""
  until size == 0
end

local FOR_PUMP = { start = true, chunk = true, data = true, eof = true }

local function read()
  local events = open_events()
  io.stdin:setvbuf("full", CHUNK)
  io.stdout:setvbuf "no"
  report_process(events, "read")
  for kind, size in read_header do
    if FOR_PUMP[kind] then
      pass_message(kind, size)
    else
      events:write(("%s %s\n"):format(kind, size > 0 and io.read(size) or ""))
    end
  end
  events:write "gone read\nhangup\n"
end

local HEADER = 16 -- bytes that a header counts as

-- Its output is the input of the program. The kind "data" is acknowledged, with all chunks before it.
local function pump()
  local events, is_open, size = open_events(), true, 0
  io.stdin:setvbuf("full", CHUNK)
  io.stdout:setvbuf "no"
  for kind, content in read_message do
    if kind == "eof" then return events:write "gone pump\n" end
    if is_open and not io.stdout:write(content) then
      is_open = false
      events:write "deserted\n"
    end
    size = size + #content + HEADER
    if kind == "data" then
      events:write(("ack %d\n"):format(size))
      size = 0
    end
  end
  events:write "gone pump\nhangup\n"
end

-- }======

-- {====== run ======

local WORD_LIMIT = 131071 -- bytes of one argument, such as the script for a shell; Linux takes no more

local LIMITS = { -- by `ulimit`; the shells differ in the option for processes
  memory = { "-v", 1024 }, cpu = { "-t", 1 }, files = { "-n", 1 }, processes = { "-u", 1, "-p" }, core = { "-c", 512 },
}

local function limit_line(name, value)
  local flag, unit, other = table.unpack(LIMITS[name])
  local line = ("ulimit %s %d 2> /dev/null"):format(flag, (value + unit - 1) // unit)
  if other then line = ("{ %s || ulimit %s %d 2> /dev/null; }"):format(line, other, value) end
  return line .. (" || fail 126 'cannot set the %s limit'"):format(name)
end

local function directory_line(directory)
  if directory:sub(1, 1) ~= "/" then directory = "./" .. directory end
  return ("cd -P -- %s > /dev/null 2>&1 || fail 126 %s"):format(quote_word(directory),
    quote_word(('cannot enter "%s"'):format(directory)))
end

-- The words that change the environment; none if it stays as it is.
local function environment_words(settings)
  local words, env, inherit = {}, settings.env or {}, settings.inherit
  local is_empty = inherit == false or type(inherit) == "table"
  if is_empty then words[1] = "-i" end
  for name, value in pairs(env) do
    if not value and not is_empty then table.move({ "-u", name }, 1, 2, #words + 1, words) end
  end
  if is_empty or next(env) then words[#words + 1] = "--" end
  for _, name in ipairs(is_empty and inherit or {}) do
    local value = os.getenv(name)
    if value and env[name] == nil then words[#words + 1] = name .. "=" .. value end
  end
  for name, value in pairs(env) do
    if value then words[#words + 1] = name .. "=" .. value end
  end
  return words
end

-- The shell becomes the program, so what is known of the shell is known of the program: its number, its status.
local PROGRAM = [[
fail() { printf 'failed %%s\n' "$2" >&4; exit "$1"; }
printf 'pid %%d\n' $$ >&4
%s
check_file() {
  PINTLE_FILE=$1
  [ -e "$1" ] || return 1
  PINTLE_STATUS=126
  [ -f "$1" ] && [ -x "$1" ] || return 1
  PINTLE_STATUS=0
}
find_program() {
  PINTLE_STATUS=127
  case $1 in
  */*) check_file "$1" ;;
  *)
    set -f
    IFS=:
    for PINTLE_DIRECTORY in $PATH; do check_file "${PINTLE_DIRECTORY:-.}/$1" && break; done
    unset IFS
    set +f
    ;;
  esac
  case $PINTLE_STATUS in
  126) fail 126 "cannot run \"$1\": Permission denied" ;;
  127) fail 127 "cannot run \"$1\": No such file or directory" ;;
  esac
}
set -- %s
find_program "$1"
%s
echo started >&4
exec 4>&-
unset PINTLE_LEAD PINTLE_LUA PINTLE_MARK PINTLE_PATIENCE PINTLE_STATUS PINTLE_FILE PINTLE_DIRECTORY
exec setsid -- %s "$@"]]

-- `env` looks for the program in the new PATH, and takes words with = for variables. So it is given the file that was
-- found; if even that has a =, through a shell.
local USE_FILE = [[
case $PINTLE_FILE in /*) ;; *) PINTLE_FILE=./$PINTLE_FILE ;; esac
shift
case $PINTLE_FILE in
*=*) set -- sh -c 'exec "$@"' sh "$PINTLE_FILE" "$@" ;;
*) set -- "$PINTLE_FILE" "$@" ;;
esac]]

local function program_script(settings)
  local steps = {}
  if settings.cwd then steps[1] = directory_line(settings.cwd) end
  for name, value in pairs(settings.limits or {}) do steps[#steps + 1] = limit_line(name, value) end
  local words = environment_words(settings)
  local has_words = words[1] ~= nil
  return PROGRAM:format(table.concat(steps, "\n"), quote_words(settings.command), has_words and USE_FILE or "",
    has_words and "env " .. quote_words(words) or "")
end

local function open_descriptors()
  local open = {}
  for number = 0, 63 do
    local file = io.open("/proc/self/fdinfo/" .. number)
    if file then file:close() end
    open[number] = file ~= nil
  end
  return open
end

-- Starts a program with a pipe as its stdin. Returns the number of our descriptor of the pipe as well.
local function open_program(script)
  local before = open_descriptors()
  local program = io.popen(script, "w")
  for number, is_open in pairs(open_descriptors()) do
    if is_open and not before[number] then return program, number end
  end
end

-- `pump` opens the pipe anew; it writes a line when it has done so.
local PUMP = expand_roles [[
exec 6> /proc/$PPID/fd/%d || exit
echo "process pump $$" >&4
echo
trap '' PIPE
exec @pump >&6 3>&- 6>&-]]

local function signal_name(number)
  local names = io.popen(("kill -l %d"):format(number))
  local name = names:read "l"
  names:close()
  return name or number
end

-- The program would inherit a file that stays open.
local function report(...)
  local events = open_events()
  events:write(string.format(...) .. "\n")
  events:close()
end

local function run_program(script)
  local program, number = open_program(script)
  local pumping = io.popen(PUMP:format(number))
  pumping:read "l"
  local _, how, code = program:close()
  report("ended %s %s", how, how == "signal" and signal_name(code) or code)
  pumping:close()
end

local function run()
  io.stdin:setvbuf "no" -- what follows the first message is for `pump`
  local events = open_events()
  report_process(events, "run")
  events:close()
  local kind, code = read_message()
  if kind ~= "start" then return report "ended exit 126" end
  local start = load(code, "=start", "t", {})()
  local timeouts, script = start.stop_timeouts, program_script(start)
  report("timeouts %.17g %.17g %.17g", timeouts.eof, timeouts.term, timeouts.kill)
  if #script <= WORD_LIMIT then return run_program(script) end
  report("failed the command and its environment have %d bytes as words of a shell, which takes %d", #script,
    WORD_LIMIT)
  report "ended exit 126"
end

-- }======

-- {====== tell ======

-- Lines with a dash are for the case that `watch` is killed: the processes that must not live without it.
local function tell()
  local others = ""
  for line in io.lines() do
    if line:sub(1, 1) == "-" then
      others = line
    elseif line == "bye" then
      return
    else
      io.stderr:write(MARK .. line .. "\n") -- in one piece: the program writes to the same pipe
    end
  end
  io.stderr:write(MARK .. "failed the watch at the far end was killed\n")
  os.execute(("for pid in %s; do kill -s KILL -- $pid; done 2> /dev/null"):format(others:sub(2)))
end

-- }======

-- {====== watch ======

local PATIENCE = tonumber(os.getenv "PINTLE_PATIENCE") -- seconds without a word of the near end
local TICKS = 4 -- ticks without a message from the near end until it counts as gone; one tick alone may be late news
local LAST_WORDS = 1 -- second for a report of trouble to get out
local LONGEST = 100000000 -- seconds that every `sleep` takes

-- Adds a line to the events after some seconds. Writes the number of its `sleep`: when that is killed, the timer ends.
-- Some systems have a `sleep` that takes whole seconds only.
local TIMER = [[
exec < /dev/null 2> /dev/null
PINTLE_SECONDS=%.3f
sleep 0.0 || PINTLE_SECONDS=%d
sleep $PINTLE_SECONDS > /dev/null &
echo $!
wait $! && echo tick %d >&4 || echo untimed %d >&4]]

local TELL = expand_roles [[
echo "process tell $$" >&4
exec @tell 4>&-]]

local timeouts = { eof = 0, term = 0, kill = 1 } -- until `run` has read them
local members = {} -- process numbers by role
local pid -- of the program
local state, silent, is_heard, is_abandoned = "running", 0, true, false
local early_signals = {}
local timer, timer_pid, timer_count = nil, nil, 0
local hand -- a shell for signals, which is there even if no process can be made
local teller -- the input of `tell`
local events = {}

local function say(...)
  if teller:write(table.concat({ ... }, " "), "\n") and teller:flush() then return end
  is_abandoned = true
end

local function order(...)
  local command = string.format(...)
  if not (hand:write(command, "\n") and hand:flush()) then os.execute(command .. " 2> /dev/null") end
end

-- The shell of the program has no group yet at first.
local function signal_program(name)
  if pid then order("kill -s %s -- -%d || kill -s %s %d", name, pid, name, pid) end
end

local function update_guard()
  local numbers = { pid and -pid }
  for _, member in pairs(members) do numbers[#numbers + 1] = member end
  say("-", table.concat(numbers, " "))
end

-- Returns whether there is a timer.
local function set_timer(seconds)
  if timer then
    if timer_pid then order("kill -s KILL %d", timer_pid) end
    timer:close()
  end
  timer, timer_count = nil, timer_count + 1
  if not seconds then return end
  seconds = math.min(seconds, LONGEST)
  timer = io.popen(TIMER:format(seconds, math.ceil(seconds), timer_count, timer_count))
  timer_pid = timer and timer:read "n"
  if timer and not timer_pid then
    timer:close()
    timer = nil
  end
  return timer_pid ~= nil
end

-- The shell that waits for `read`, `run` and this process ends then.
local function leave()
  set_timer(nil)
  for _, role in ipairs { "read", "pump", "tell", pid and state ~= "ended" and "run" or nil } do
    if members[role] then order("kill -s KILL %d", members[role]) end
  end
  if not members.tell then say "bye" end
  hand:close()
  teller:close()
  os.exit(0, false)
end

local STEPS = { "eof", "term", "kill" }
local ACTIONS = {
  eof = function()
    if members.read then order("kill -s KILL %d", members.read) end
    members.read = nil
  end,
  term = function() signal_program "TERM" end,
  kill = function() signal_program "KILL" end,
}

-- Takes a step to stop the program, or the first one behind it that has a time.
local function stop(first)
  for i = first, #STEPS do
    state = STEPS[i]
    if timeouts[state] > 0 or state == "kill" then
      ACTIONS[state]()
      if set_timer(timeouts[state]) then return end
    end
  end
  leave()
end

local function abandon()
  is_abandoned = true
  if state == "ended" then return leave() end
  if state == "running" then stop(1) end
end

local function lose(role)
  say("failed the process", role, "at the far end was killed")
  is_abandoned, state = true, "kill"
  signal_program "KILL"
  if not set_timer(LAST_WORDS) then leave() end
end

local function is_alive(number)
  local file = io.open(("/proc/%d/stat"):format(number))
  local line = file and file:read "l" or ") Z"
  if file then file:close() end
  return not line:find "^.*%) [ZX]"
end

local function find_lost_member()
  for role, number in pairs(members) do
    if not is_alive(number) then return role end
  end
end

-- Whether the near end is there, and all of us.
local function check()
  silent = is_heard and 0 or silent + 1
  is_heard = false
  local lost = state == "running" and find_lost_member()
  if lost then return lose(lost) end
  if silent >= TICKS then return abandon() end
  set_timer(PATIENCE / TICKS)
end

local NEXT = {
  running = check, ended = check, eof = function() stop(2) end, term = function() stop(3) end, kill = leave,
}

function events.tick(number) if tonumber(number) == timer_count then NEXT[state]() end end

-- No process could be made for the timer. The near end's next message starts it, or the next step is taken.
function events.untimed(number)
  if tonumber(number) ~= timer_count then return end
  if state ~= "running" and state ~= "ended" then return NEXT[state]() end
  timer:close()
  timer, timer_pid = nil, nil
end

function events.timeouts(numbers)
  local eof, term, kill = numbers:match "(%S+) (%S+) (%S+)"
  timeouts = { eof = tonumber(eof), term = tonumber(term), kill = tonumber(kill) }
end

function events.process(text)
  local role, number = text:match "^(%l+) (%d+)$"
  members[role] = math.tointeger(number)
  update_guard()
end

function events.gone(role)
  members[role] = nil
  update_guard()
end

function events.pid(number)
  pid = math.tointeger(number)
  update_guard()
  for _, name in ipairs(early_signals) do signal_program(name) end
  if state == "kill" then signal_program "KILL" end
end

function events.alive()
  is_heard = true
  if not timer and (state == "running" or state == "ended") then set_timer(PATIENCE / TICKS) end
end

function events.ask()
  events.alive()
  say "alive"
end

function events.started() say "started" end

function events.ack(size) say("ack", size) end

function events.deserted() say "deserted" end

function events.failed(reason) say("failed", reason) end

function events.signal(name)
  if not pid then early_signals[#early_signals + 1] = name end
  signal_program(name)
end

function events.ended(status)
  if pid then order("kill -s KILL -- -%d", pid) end
  say("ended", status)
  state = "ended"
  if is_abandoned then leave() end
end

events.hangup = abandon

local function watch()
  hand = io.popen("exec sh > /dev/null 2>&1 4>&-", "w")
  teller = io.popen(TELL, "w")
  set_timer(PATIENCE / TICKS)
  for line in io.lines() do
    local name, rest = line:match "^(%a+) ?(.*)$"
    if events[name] then events[name](rest) else say("trouble", line) end
    if is_abandoned and state == "running" then abandon() end
  end
end

-- }======

-- Descriptor 3 is the stdout of the program and 7 its stderr; the shells must not wait to write that a process was
-- killed. 4 is the input of `watch`. The path of a descriptor of a pipe opens either end. What comes behind the line is
-- for `read`.
local STAGES = expand_roles [[
echo "${PINTLE_MARK}ready" >&7
exec 3>&1 > /dev/null
{
  exec 4>&1
  { trap '' PIPE; exec @read 3>&- 7>&-; } | @run >&3 3>&- 2>&7 7>&-
} | { trap '' PIPE; exec @watch 4> /proc/self/fd/0 > /dev/null 3>&- 2>&7 7>&-; }
]]

local function print_stages() io.write(STAGES) end

local ROLES = { stages = print_stages, read = read, pump = pump, run = run, watch = watch, tell = tell }

if not math.type then os.exit(1) end -- Lua before 5.3
return ROLES[arg[1]]()
