-- The near end of a way: a process between a host and the client that reaches the far end, such as ssh. It starts the
-- client, sends `pintle.via.lead` through it, passes its own input on to the program there, and ends as that program
-- has ended. So a host treats it as if it were the program. Its stdout is the client's as well: output comes straight
-- from the far end.

local core = require "pintle.core"
local loop = require "pintle.loop"

local PIECE = 16384 -- bytes of data in one message
local WINDOW = 49152 -- bytes on their way; they fit into the pipe between `read` and `pump`, so `read` never waits
local PATIENCE = 4 -- intervals of the keepalive without an answer
local END_TIMEOUT = 5 -- seconds for the client to end, after the program has ended
local LOST = 255 -- exit code if it is not known how the program has ended
local SAFE = 4096 -- bytes that a descriptor takes without blocking if it is ready

local SIGNALS = { "HUP", "INT", "QUIT", "TERM", "USR1", "USR2" }

---What a relay does. `pintle.via` makes it.
---@class pintle.relay.settings
---@field client string[] the command of the client, which runs a shell at the far end
---@field env table<string, string|false> variables for the client
---@field place string the far end, for messages
---@field lua string[] names or paths of Lua at the far end; the first that exists is used
---@field connect_timeout number seconds until the far end is ready
---@field keepalive number seconds
---@field lead string the source of `pintle.via.lead`
---@field start string what `lead` runs, as a Lua chunk

---@class pintle.relay
---@field settings pintle.relay.settings
---@field client pintle.process
---@field mark string begins each line on the client's stderr that `lead` has written
---@field unsent string for the client
---@field unprinted string for our stderr
---@field held string the beginning of a line of `lead`
---@field on_the_way integer bytes of data that the program has not read
---@field input? pintle.fd our stdin, until its end
---@field ended? string how the program has ended: "exit 3", "signal KILL"
---@field is_ready boolean whether `lead` runs
---@field is_heard boolean whether `lead` has said something since the last look
local methods = {}

local metatable = { __name = "pintle.relay", __index = methods }

local function quote_word(word) return "'" .. word:gsub("'", [['\'']]) .. "'" end

-- {====== Our stderr ======

-- Prints as much as there is room for: a host that does not read must not keep us from the far end.
local function print_unprinted(self)
  while self.unprinted ~= "" do
    if not core.poll(0, 2, "w") then return loop.watch(2, "w", self.printer) end
    io.stderr:write(self.unprinted:sub(1, SAFE))
    self.unprinted = self.unprinted:sub(SAFE + 1)
  end
  loop.unwatch(2, self.printer)
end

local function print_text(self, text)
  self.unprinted = self.unprinted .. text
  print_unprinted(self)
end

local function complain(self, message, ...)
  print_text(self, ("pintle: %s: %s\n"):format(self.settings.place, message:format(...)))
end

-- }======

-- {====== To the far end ======

local function close_client_input(self)
  local output = self.client.stdin
  if output:closed() then return end
  loop.unwatch(output, self.writer)
  output:close()
  self.unsent = ""
end

-- A client that reads no more is about to end.
local function write_unsent(self)
  local output = self.client.stdin
  while self.unsent ~= "" do
    local written = output:write(self.unsent)
    if written == nil then return close_client_input(self) end
    if not written then return loop.watch(output, "w", self.writer) end
    self.unsent = self.unsent:sub(written + 1)
  end
  loop.unwatch(output, self.writer)
end

local function send_bytes(self, bytes)
  if self.client.stdin:closed() then return end
  self.unsent = self.unsent .. bytes
  write_unsent(self)
end

local function send(self, kind, content)
  content = content or ""
  send_bytes(self, ("%s %d\n%s"):format(kind, #content, content))
end

-- The shell reads this line. It may read more than a line at a time, so nothing follows before `lead` is ready.
local BOOT = [[PINTLE_LEAD=%s PINTLE_MARK=%s; export PINTLE_LEAD PINTLE_MARK PINTLE_LUA; ]]
  .. [[for PINTLE_LUA in %s; do command -v "$PINTLE_LUA" > /dev/null 2>&1 && ]]
  .. [[exec "$PINTLE_LUA" -e 'load(os.getenv "PINTLE_LEAD", "=lead")()' /dev/null main; done; ]]
  .. [[echo "${PINTLE_MARK}failed there is no Lua 5.3 or newer" >&2; exit 127]] .. "\n"

local function quote_list(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = quote_word(word) end
  return table.concat(quoted, " ")
end

local function boot(self)
  local settings = self.settings
  send_bytes(self, BOOT:format(quote_word(settings.lead), quote_word(self.mark), quote_list(settings.lua)))
end

-- }======

-- {====== Our input ======

local function close_input(self)
  if not self.input then return end
  loop.unwatch(self.input, self.reader)
  self.input:close()
  self.input = nil
end

local function read_input(self)
  local data = self.input:read(PIECE)
  if data == false then return end
  if not data or data == "" then
    close_input(self)
    return send(self, "eof")
  end
  self.on_the_way = self.on_the_way + #data
  send(self, "data", data)
  if self.on_the_way + PIECE > WINDOW then loop.unwatch(self.input, self.reader) end
end

local function watch_input(self)
  if self.input and self.on_the_way + PIECE <= WINDOW then loop.watch(self.input, "r", self.reader) end
end

-- }======

-- {====== From the far end ======

local messages = {}

function messages.ready(self)
  self.is_ready = true
  loop.cancel(self.connecting)
  send(self, "start", self.settings.start)
  watch_input(self)
end

function messages.ack(self, size)
  self.on_the_way = self.on_the_way - math.tointeger(size)
  watch_input(self)
end

function messages.deserted(self) close_input(self) end

function messages.failed(self, reason) complain(self, "%s", reason) end

function messages.trouble(self, text) complain(self, "%s", text) end

function messages.ended(self, how)
  self.ended = how
  close_input(self)
  close_client_input(self)
  loop.after(END_TIMEOUT, function() self.client:kill("KILL", true) end)
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
  local mark = self.mark
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

-- {====== Time and signals ======

local function give_up(self, message, ...)
  complain(self, message, ...)
  self.client:kill("KILL", true)
end

-- While our own stderr is blocked, answers wait behind the text.
local function check_keepalive(self)
  if self.unprinted ~= "" then self.is_heard = true end
  self.silent = self.is_heard and 0 or self.silent + 1
  self.is_heard = false
  if self.silent >= PATIENCE then
    return give_up(self, "no answer in %g seconds", PATIENCE * self.settings.keepalive)
  end
  if self.is_ready and not self.ended then send(self, "alive") end
  loop.after(self.settings.keepalive, check_keepalive, self)
end

-- Before the far end is ready, the client is all there is to stop.
local function forward_signal(self, name)
  if self.is_ready then return send(self, "signal", name) end
  self.ended = "signal " .. name
  self.client:kill("KILL", true)
end

local function watch_signals(self)
  local signals = assert(core.signals(SIGNALS, true))
  local watcher = {}
  function watcher.on_ready()
    local name = signals:next()
    if name then forward_signal(self, name) end
  end
  loop.watch(signals:fd(), "r", watcher)
end

-- }======

-- Waits until the client has ended and its stderr is read.
local function await_client(self)
  local client, watcher, is_over = self.client, {}, false
  function watcher.on_ready() is_over = client:wait(0) ~= false end
  assert(loop.watch(client:fd(), "r", watcher))
  loop.run_while(function() return not is_over end)
  while not client.stderr:closed() and read_stderr(self) do end -- luacheck: ignore 542
  print_text(self, self.held)
end

local function describe_client_end(client)
  local code, signal = client:wait(0)
  return code and "exit code " .. code or "the signal " .. signal
end

-- Ends this process as the program has ended.
local function leave(self)
  if not self.ended then
    complain(self, "the connection has ended: %s ended with %s", self.settings.client[1],
      describe_client_end(self.client))
    os.exit(LOST)
  end
  local how, value = self.ended:match "^(%a+) (%S+)$"
  if how == "signal" then core.raise(value) end
  os.exit(tonumber(value))
end

local function start_client(settings)
  local client, message = core.spawn {
    command = settings.client, env = settings.env, stdout = "inherit", stderr = "pipe", group = "session",
  }
  if client then return client end
  io.stderr:write("pintle: ", message, "\n")
  os.exit(127)
end

local function new_mark()
  local file <close> = assert(io.open("/dev/urandom", "rb"))
  return ("pintle-%s: "):format(file:read(16):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local relay = {}

---Runs a relay. Does not return.
---@param settings pintle.relay.settings
function relay.run(settings)
  local self = setmetatable({
    settings = settings, client = start_client(settings), input = core.claim_stdin(), mark = new_mark(),
    unsent = "", unprinted = "", held = "", on_the_way = 0, silent = 0, is_ready = false, is_heard = true,
  }, metatable)
  self.writer = { on_ready = function() write_unsent(self) end }
  self.printer = { on_ready = function() print_unprinted(self) end }
  self.reader = { on_ready = function() read_input(self) end }
  self.listener = { on_ready = function() read_stderr(self) end }
  self.connecting = loop.after(settings.connect_timeout, function()
    give_up(self, "no connection in %g seconds", settings.connect_timeout)
  end)
  watch_signals(self)
  assert(loop.watch(self.client.stderr, "r", self.listener))
  boot(self)
  loop.after(settings.keepalive, check_keepalive, self)
  await_client(self)
  leave(self)
end

return relay
