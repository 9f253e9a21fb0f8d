-- The near end of a way: a process between a host and the client that reaches the far end, such as ssh. It starts the
-- client, sends `pintle.via.lead` through it, passes its own input on to the program there, and ends as that program
-- has ended. So a host treats it as if it were the program. Its stdout is the client's as well: output comes straight
-- from the far end.

local core = require "pintle.core"
local loop = require "pintle.loop"

local PIECE = 262144 -- bytes in one message that waits for its acknowledgement
local AHEAD = 4000 -- bytes of messages that may be sent behind others: they fit into the smallest pipe at the far end
local HEADER = 16 -- bytes that the header of a message counts as; it has no more
local UNASKED = 2000 -- bytes after which an acknowledgement is asked for
local ASK_TIMEOUT = 0.01 -- seconds after which it is asked for
local PATIENCE = 4 -- intervals of the keepalive without a word, for both ends
local END_TIMEOUT = 5 -- seconds for the client to end, after the program has ended
local TERM_TIMEOUT = 2 -- seconds for the client to end after SIGTERM
local CHECK_INTERVAL = 0.5 -- seconds between looks at our stdout
local LOST = 255 -- exit code if it is not known how the program has ended
local POLL_INTERVAL = 0.01 -- seconds, where the system cannot report the end of a process
local SAFE = 4096 -- bytes that a descriptor takes without blocking if it is ready
local UNPRINTED_LIMIT = 262144 -- bytes for our stderr; no more is read then

local SIGNALS = { "HUP", "INT", "QUIT", "TERM", "USR1", "USR2" }

---What a relay does. `pintle.via` makes it.
---@class pintle.relay.settings
---@field client string[] the command of the client, which runs a shell at the far end
---@field env table<string, string|false> variables for the client
---@field death_signal? pintle.signal for the client when the relay is killed; default: KILL
---@field place string the far end, for messages
---@field lua string[] names or paths of Lua at the far end; the first that is 5.3 or newer is used
---@field connect_timeout number seconds until the far end is ready
---@field keepalive number seconds
---@field mark string begins each line on the client's stderr that `lead` has written; secret
---@field reports? boolean whether our own stderr has such lines as well, for the host: "started", "failed REASON"
---@field kill_signal? pintle.signal what the host sends us to have the program killed
---@field end_timeouts? { eof: number, term: number } seconds until SIGTERM and SIGKILL after the end of our input
---@field lead string the source of `pintle.via.lead`
---@field start string what `lead` runs, as a Lua chunk

---@class pintle.relay
---@field settings pintle.relay.settings
---@field client pintle.process
---@field unsent string[] for the client
---@field unprinted string for our stderr
---@field printed integer bytes of `unprinted` that are printed
---@field held string the beginning of a line of `lead`
---@field input? pintle.fd our stdin, until its end
---@field is_reading boolean whether the loop watches it
---@field backlog string[] input that is not sent yet
---@field backlog_size integer bytes
---@field on_the_way integer bytes of messages that the program has not got
---@field unasked integer bytes of them for which no acknowledgement is asked
---@field is_asking boolean whether one will be asked for
---@field ended? string how the program has ended: "exit 3", "signal KILL"
---@field idle_since? number when the client had nothing to write any more, after the end of the program
---@field is_listening boolean whether the loop watches the client's stderr
---@field is_ready boolean whether `lead` runs
---@field is_heard boolean whether `lead` has said something since the last look
---@field is_asked boolean whether `lead` has not answered a question yet
---@field is_explained boolean whether our stderr says why the connection ends
---@field is_stopping boolean whether the client has got SIGTERM
---@field is_over boolean whether the client has ended

local function quote_word(word) return "'" .. word:gsub("'", [['\'']]) .. "'" end

-- {====== Our stderr ======

-- Prints as much as there is room for: a host that does not read must not keep us from the far end.
local function print_unprinted(self)
  while self.printed < #self.unprinted do
    if not core.poll(0, 2, "w") then return loop.watch(2, "w", self.printer) end
    io.stderr:write(self.unprinted:sub(self.printed + 1, self.printed + SAFE))
    self.printed = self.printed + SAFE
  end
  self.unprinted, self.printed = "", 0
  loop.unwatch(2, self.printer)
  if not self.is_listening and not self.client.stderr:closed() then
    self.is_listening = true
    loop.watch(self.client.stderr, "r", self.listener)
  end
end

local function print_text(self, text)
  if text == "" then return end
  self.unprinted = self.unprinted .. text
  print_unprinted(self)
  if #self.unprinted <= UNPRINTED_LIMIT or not self.is_listening then return end
  self.is_listening = false
  loop.unwatch(self.client.stderr, self.listener)
end

local function complain(self, message, ...)
  self.is_explained = true
  local settings, text = self.settings, message:format(...)
  local prefix = settings.reports and settings.mark .. "failed " or "pintle: "
  print_text(self, ("%s%s: %s\n"):format(prefix, settings.place, text))
end

-- }======

-- {====== To the far end ======

local function close_client_input(self)
  local output = self.client.stdin
  if output:closed() then return end
  loop.unwatch(output, self.writer)
  output:close()
  self.unsent = {}
end

-- A client that reads no more is about to end.
local function write_unsent(self)
  local output, unsent = self.client.stdin, self.unsent
  while unsent[1] do
    local written = output:write(unsent[1])
    if written == nil then return close_client_input(self) end
    if not written then return loop.watch(output, "w", self.writer) end
    unsent[1] = unsent[1]:sub(written + 1)
    if unsent[1] == "" then table.remove(unsent, 1) end
  end
  loop.unwatch(output, self.writer)
end

local function send_bytes(self, bytes)
  if self.client.stdin:closed() then return end
  self.unsent[#self.unsent + 1] = bytes
  write_unsent(self)
end

local function send(self, kind, content)
  content = content or ""
  send_bytes(self, ("%s %d\n%s"):format(kind, #content, content))
end

-- The shell reads this line. It may read more than a line at a time, so nothing follows before `lead` is ready.
local BOOT = [[PINTLE_LEAD=%s PINTLE_MARK=%s PINTLE_PATIENCE=%.17g; ]]
  .. [[export PINTLE_LEAD PINTLE_MARK PINTLE_PATIENCE PINTLE_LUA; ]]
  .. [[PINTLE_FAIL() { echo "${PINTLE_MARK}failed $1" >&2; exit 127; }; ]]
  .. [[for PINTLE_NEED in setsid env sleep; do command -v $PINTLE_NEED > /dev/null 2>&1 || ]]
  .. [[PINTLE_FAIL "there is no program $PINTLE_NEED"; done; ]]
  .. [[[ -e /proc/self/fd/0 ] || PINTLE_FAIL "there is no /proc"; ]]
  .. [[for PINTLE_LUA in %s; do ]]
  .. [[if PINTLE_STAGES=$("$PINTLE_LUA" -E -e 'load(os.getenv "PINTLE_LEAD", "=lead")()' /dev/null stages ]]
  .. [[< /dev/null 2> /dev/null); then ]]
  .. [[setsid sh -c "$PINTLE_STAGES"; exit 0; fi; done 7>&2 2> /dev/null; ]]
  .. [[PINTLE_FAIL "there is no Lua 5.3 or newer"]] .. "\n"

local function quote_list(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = quote_word(word) end
  return table.concat(quoted, " ")
end

local function boot(self)
  local settings = self.settings
  send_bytes(self, BOOT:format(quote_word(settings.lead), quote_word(settings.mark), PATIENCE * settings.keepalive,
    quote_list(settings.lua)))
end

-- }======

-- {====== Our input ======

local function close_input(self)
  if not self.input then return end
  loop.unwatch(self.input, self.reader)
  self.input:close()
  self.input = nil
end

-- Takes up to `limit` bytes from the backlog.
local function take_input(self, limit)
  local data = table.concat(self.backlog)
  self.backlog = { #data > limit and data:sub(limit + 1) or nil }
  self.backlog_size = math.max(#data - limit, 0)
  return data:sub(1, limit)
end

-- Input as a "chunk" is acknowledged together with the next "data": most small messages need not be answered.
local function send_data(self, data)
  self.on_the_way = self.on_the_way + #data + HEADER
  self.unasked = self.unasked + #data + HEADER
  if data ~= "" and self.unasked < UNASKED then return send(self, "chunk", data) end
  self.unasked = 0
  send(self, "data", data)
end

local function ask_for_acknowledgement(self)
  self.is_asking = false
  if self.unasked > 0 and not self.ended then send_data(self, "") end
end

local function ask_later(self)
  if self.is_asking or self.unasked == 0 then return end
  self.is_asking = true
  loop.after(ASK_TIMEOUT, ask_for_acknowledgement, self)
end

-- Sends one message of any size, or small ones. `read` at the far end never waits for the program then: `pump` holds
-- the message at which it works, and the pipe between them holds the others.
local function send_input(self)
  if not self.is_ready then return end
  if self.backlog_size > 0 and (self.on_the_way == 0 or self.on_the_way + self.backlog_size + HEADER <= AHEAD) then
    send_data(self, take_input(self, PIECE))
    ask_later(self)
  elseif self.backlog_size > 0 and self.unasked > 0 then
    send_data(self, "")
  end
  if self.backlog_size == 0 and not self.input and not self.has_sent_end then
    self.has_sent_end = true
    send(self, "eof")
  end
end

-- Stops a program whose input has ended, if it does not end by itself.
local function stop_program(self, timeouts)
  loop.after(timeouts.eof, function()
    send(self, "signal", "TERM")
    loop.after(timeouts.term, function() send(self, "signal", "KILL") end)
  end)
end

local function read_input(self)
  local data = self.input:read()
  if data == false then return end
  if not data or data == "" then
    close_input(self)
    if self.settings.end_timeouts then stop_program(self, self.settings.end_timeouts) end
  else
    self.backlog[#self.backlog + 1] = data
    self.backlog_size = self.backlog_size + #data
  end
  send_input(self)
  if self.input and self.backlog_size >= PIECE then
    self.is_reading = false
    loop.unwatch(self.input, self.reader)
  end
end

local function watch_input(self)
  if not self.input or self.is_reading or self.backlog_size >= PIECE then return end
  self.is_reading = true
  loop.watch(self.input, "r", self.reader)
end

-- }======

-- {====== Time ======

-- SIGTERM lets the client undo what it has done, such as a job that waits in a queue.
local function stop_client(self)
  self.is_stopping = true
  self.client:kill("TERM", true)
  loop.after(TERM_TIMEOUT, function() self.client:kill("KILL", true) end)
end

local function give_up(self, message, ...)
  complain(self, message, ...)
  stop_client(self)
end

-- While our own stderr is blocked, answers wait behind the text. A question is asked when the last one is answered, so
-- that the answers cannot fill a pipe at the far end.
local function check_keepalive(self)
  if self.ended then return end
  self.silent = (self.is_heard or self.unprinted ~= "") and 0 or self.silent + 1
  self.is_heard = false
  if self.silent >= PATIENCE then
    return give_up(self, "no answer in %g seconds", PATIENCE * self.settings.keepalive)
  end
  send(self, self.is_asked and "alive" or "ask")
  self.is_asked = true
  loop.after(self.settings.keepalive, check_keepalive, self)
end

-- }======

-- {====== From the far end ======

local messages = {}

function messages.ready(self)
  if self.is_ready or self.is_stopping then return end
  self.is_ready = true
  loop.cancel(self.connecting)
  loop.after(self.settings.keepalive, check_keepalive, self)
  send(self, "start", self.settings.start)
  watch_input(self)
end

function messages.started(self)
  if self.settings.reports then print_text(self, self.settings.mark .. "started\n") end
end

function messages.ack(self, size)
  self.on_the_way = self.on_the_way - (math.tointeger(size) or 0)
  send_input(self)
  watch_input(self)
end

function messages.alive(self) self.is_asked = false end

-- The program reads no more: neither do we, so that the host notices when it writes.
function messages.deserted(self)
  close_input(self)
  self.backlog, self.backlog_size = {}, 0
end

function messages.failed(self, reason) complain(self, "%s", reason) end

function messages.trouble(self, text) complain(self, "%s", text) end

-- The client has written all it has got when there is room in our stdout and stderr; only another process at the far
-- end can keep it then.
local function end_client(self)
  local now = loop.now()
  if not self.idle_since or self.unprinted ~= "" or not core.poll(0, 1, "w") then self.idle_since = now end
  if now - self.idle_since >= END_TIMEOUT then return self.client:kill("KILL", true) end
  loop.after(CHECK_INTERVAL, end_client, self)
end

function messages.ended(self, how)
  if self.ended then return end
  self.ended = how
  close_input(self)
  close_client_input(self)
  end_client(self)
end

local function receive_line(self, line)
  local name, rest = line:match "^(%a+) ?(.*)$"
  self.is_heard = true
  if messages[name] then messages[name](self, rest) end
end

-- How many bytes at the end of the text may be the beginning of a mark.
local function partial_mark(text, mark)
  for n = math.min(#mark - 1, #text), 1, -1 do
    if text:sub(-n) == mark:sub(1, n) then return n end
  end
  return 0
end

-- Prints what the program has written, and receives the lines that begin with the mark.
local function split_stderr(self, text)
  local mark = self.settings.mark
  text = self.held .. text
  local from, to = text:find(mark, 1, true)
  while from do
    local stop = text:find("\n", to, true)
    if not stop then break end
    print_text(self, text:sub(1, from - 1))
    receive_line(self, text:sub(to + 1, stop - 1))
    text = text:sub(stop + 1)
    from, to = text:find(mark, 1, true)
  end
  local shown = from and from - 1 or #text - partial_mark(text, mark)
  print_text(self, text:sub(1, shown))
  self.held = text:sub(shown + 1)
end

local function read_stderr(self)
  local errors = self.client.stderr
  local data = errors:read()
  if data == false then return false end
  if not data or data == "" then
    loop.unwatch(errors, self.listener)
    errors:close()
    return false
  end
  split_stderr(self, data)
  return true
end

-- }======

-- {====== Signals ======

-- Before the far end is ready, the client is all there is to stop; behind its end, only we are.
local function forward_signal(self, name)
  if self.is_over then return core.raise(name) end
  if name == self.settings.kill_signal then name = "KILL" end
  if self.is_ready then return send(self, "signal", name) end
  if self.ended then return self.client:kill("KILL", true) end
  self.ended = "signal " .. name
  stop_client(self)
end

local function watch_signals(self)
  local names = { table.unpack(SIGNALS) }
  names[#names + 1] = self.settings.kill_signal
  local signals = assert(core.signals(names, true, true))
  local watcher = {}
  function watcher.on_ready()
    for name in signals.next, signals do forward_signal(self, name) end
  end
  loop.watch(signals:fd(), "r", watcher)
end

-- }======

-- Waits until the client has ended.
local function await_client(self)
  local client, watcher = self.client, {}
  local function look() self.is_over = client:wait(0) ~= false end
  local descriptor = client:fd()
  if descriptor then
    watcher.on_ready = look
    assert(loop.watch(descriptor, "r", watcher))
  end
  while not self.is_over do
    if not descriptor then loop.after(POLL_INTERVAL, look) end
    loop.step(math.huge)
  end
  if descriptor then loop.unwatch(descriptor, watcher) end
end

-- Reads and prints what the client has left. Like any program, we wait for a host that reads late.
local function print_rest(self)
  while not self.client.stderr:closed() and read_stderr(self) do
    loop.run_while(function() return #self.unprinted > UNPRINTED_LIMIT end)
  end
  print_text(self, self.held)
  loop.run_while(function() return self.unprinted ~= "" end)
end

local function describe_client_end(client)
  local code, signal = client:wait(0)
  return code and "exit code " .. code or "the signal " .. signal
end

-- Ends this process as the program has ended.
local function leave(self)
  local how, value = (self.ended or ""):match "^(%a+) (%w+)$"
  if how == "exit" and tonumber(value) then os.exit(tonumber(value)) end
  if how == "signal" then pcall(core.raise, value) end
  local message = self.ended and "the program has ended with " .. self.ended
    or ("the connection has ended: %s ended with %s"):format(self.settings.client[1],
      describe_client_end(self.client))
  if self.ended or not self.is_explained then complain(self, "%s", message) end
  os.exit(LOST)
end

local function start_client(settings)
  local client, message = core.spawn {
    command = settings.client, env = settings.env, stdout = "inherit", stderr = "pipe", group = "session",
    death_signal = settings.death_signal,
  }
  if client then return client end
  io.stderr:write(settings.reports and settings.mark .. "failed " or "pintle: ", message, "\n")
  os.exit(127)
end

local relay = {}

---Runs a relay. Does not return.
---@param settings pintle.relay.settings
function relay.run(settings)
  ---@class pintle.relay
  local self = {
    settings = settings, input = core.claim_stdin(),
    unsent = {}, unprinted = "", printed = 0, held = "", backlog = {}, backlog_size = 0, on_the_way = 0, unasked = 0,
    silent = 0, is_asking = false,
    is_reading = false, is_listening = true, is_ready = false, is_heard = true, is_asked = false, is_explained = false,
    is_stopping = false, is_over = false,
  }
  self.writer = { on_ready = function() write_unsent(self) end }
  self.printer = { on_ready = function() print_unprinted(self) end }
  self.reader = { on_ready = function() read_input(self) end }
  self.listener = { on_ready = function() read_stderr(self) end }
  self.connecting = loop.after(settings.connect_timeout, function()
    give_up(self, "no connection in %g seconds", settings.connect_timeout)
  end)
  watch_signals(self)
  self.client = start_client(settings)
  assert(loop.watch(self.client.stderr, "r", self.listener))
  boot(self)
  await_client(self)
  print_rest(self)
  leave(self)
end

return relay
