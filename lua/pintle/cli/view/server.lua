-- The live page: serves one recording over HTTP, to browsers of this machine, while the recording grows.
--
-- Only who knows the address can read it: the path begins with a random token. The Host header is checked, so that a
-- foreign page cannot reach the server under a name of its own. Each connection answers one request.

local core = require "pintle.core"
local entries = require "pintle.cli.view.entries"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local pages = require "pintle.cli.view.page"
local recording = require "pintle.cli.recording"
local tasks = require "pintle.task"

local ADDRESS = "127.0.0.1"
local MAX_CONNECTIONS = 16
local MAX_HEAD = 8192 -- bytes of a request
local HEAD_TIME = 10 -- seconds for a request to arrive
local WRITE_TIME = 30 -- seconds without progress until a browser is given up
local POLL_INTERVAL = 0.05 -- seconds between two looks at the recording
local PAUSE = 0.1 -- seconds without accepting, after a connection could not be accepted
local CHUNK = 64 * 1024 -- approximate bytes of entries that are written together
local TOKEN = 16 -- random bytes

---@class pintle.cli.view.server
---@field address string where the page is
local methods = {}

local metatable = { __name = "pintle.cli.view.server", __index = methods }

-- {====== Reading and writing ======

-- Whether the descriptor became ready in time. Raises if the task is cancelled.
local function wait_for_socket(socket, events, seconds)
  local number, ready = socket:fileno(), loop.event()
  local watcher = { on_ready = function() ready:set(true) end }
  assert(loop.watch(number, events, watcher))
  local late = errors.new("timeout", "too slow")
  local ok, err = ready:wait(seconds, late)
  loop.unwatch(number, watcher)
  if not ok and err ~= late then error(err, 0) end
  return ok ~= nil
end

-- Whether everything was written.
local function send_to_browser(socket, text)
  local at = 1
  while at <= #text do
    local count = socket:write(at == 1 and text or text:sub(at))
    if count == nil then return false end
    at = at + (count or 0)
    if not count and not wait_for_socket(socket, "w", WRITE_TIME) then return false end
  end
  return true
end

-- The head of a request: nil if it does not come, or is too long.
local function read_request_head(socket)
  local text, deadline = "", loop.now() + HEAD_TIME
  while not text:find("\r\n\r\n", 1, true) do
    local left = deadline - loop.now()
    if left <= 0 or #text >= MAX_HEAD then return nil end
    local data = socket:read(MAX_HEAD)
    if data == nil or data == "" then return nil end
    text = text .. (data or "")
    if not data then wait_for_socket(socket, "r", left) end
  end
  return text
end

local function has_browser_left(socket)
  local data = socket:read(1)
  return data == nil or data == ""
end

-- }======

-- {====== Requests ======

local REASONS = {
  [200] = "OK", [400] = "Bad Request", [403] = "Forbidden", [404] = "Not Found", [405] = "Method Not Allowed",
  [503] = "Service Unavailable",
}

local HEAD = table.concat({
  "HTTP/1.1 %d %s", "Content-Type: %s; charset=utf-8", "Cache-Control: no-store", "Referrer-Policy: no-referrer",
  "X-Content-Type-Options: nosniff", "Cross-Origin-Resource-Policy: same-origin",
  "Content-Security-Policy: frame-ancestors 'none'", "Connection: close", "", "",
}, "\r\n")

local function response_head(code, kind) return HEAD:format(code, REASONS[code], kind or "text/plain") end

local function refuse_browser(socket, code) send_to_browser(socket, response_head(code) .. REASONS[code] .. "\n") end

---@return string? method, string? target, table<string, string> headers by lower-case names
local function parse_request_head(text)
  local method, target, rest = text:match "^(%u+) (%S+) HTTP/1%.[01]\r\n(.*)$"
  local headers = {}
  for name, value in (rest or ""):gmatch "([%w-]+):[ \t]*([^\r\n]*)\r\n" do headers[name:lower()] = value end
  return method, target, headers
end

-- A browser names the page that asks: a foreign one gets nothing.
local function is_own_page(self, headers)
  local site = headers["sec-fetch-site"]
  return self.hosts[headers.host] and site ~= "cross-site" and site ~= "same-site"
end

-- What to answer instead of a page, if anything.
local function refusal_status(self, method, target, headers)
  if not method then return 400 end
  if not is_own_page(self, headers) then return 403 end
  if not self.routes[target] then return 404 end
  return method ~= "GET" and 405 or nil
end

-- }======

-- {====== The growing recording ======

-- The next line, if all of it is there.
local function read_whole_line(file)
  local place = file:seek()
  local line = file:read "L"
  if line and line:sub(-1) == "\n" then return line:sub(1, -2) end
  file:seek("set", place)
end

-- Entries as lines, until there are enough for now. `is_over` after the last one.
local function read_new_entries(reader)
  local parts, size = {}, 0
  while size < CHUNK and not reader.is_over do
    local line = read_whole_line(reader.file)
    if not line then break end
    reader.number = reader.number + 1
    local record, err = recording.parse(line, reader.name, reader.number)
    local list = record and reader.entries:entries_of_record(record)
      or { reader.entries:entry_of_break(err.message) }
    for _, entry in ipairs(list) do parts[#parts + 1] = entries.encode(entry) .. "\n" end
    reader.is_over = not record or record.exit ~= nil
    size = size + #line
  end
  return table.concat(parts)
end

local function serve_live_rows(self, socket)
  local file <close>, name = recording.open(self.path)
  if not file then return refuse_browser(socket, 503) end
  local reader = { file = file, name = name, number = 0, entries = entries.new(self.payload), is_over = false }
  local is_sent = send_to_browser(socket, response_head(200, "application/x-ndjson"))
  while is_sent and not reader.is_over do
    local text = read_new_entries(reader)
    is_sent = text == "" or send_to_browser(socket, text)
    if is_sent and text == "" then
      is_sent = not has_browser_left(socket)
      local ok, err = loop.sleep(POLL_INTERVAL)
      if not ok then error(err, 0) end
    end
  end
  if is_sent then send_to_browser(socket, '{"over":true}\n') end
end

local function serve_live_html(self, socket)
  send_to_browser(socket, response_head(200, "text/html") .. pages.live(self.title))
end

-- }======

-- {====== Connections ======

local function serve_browser(self, socket)
  local text = read_request_head(socket)
  if not text then return end
  local method, target, headers = parse_request_head(text)
  local code = refusal_status(self, method, target, headers)
  if code then refuse_browser(socket, code) else self.routes[target](self, socket) end
end

local function start_serving_browser(self, socket)
  if self.count >= MAX_CONNECTIONS then
    socket:write(response_head(503) .. "Too many connections\n")
    return socket:close()
  end
  self.count = self.count + 1
  local task
  task = tasks.start(function()
    local ok, err = pcall(serve_browser, self, socket)
    local is_bug = not ok and type(err) == "string" -- a cancelled task raises an error object
    if is_bug then io.stderr:write("pintle: a connection failed: ", err, "\n") end
    socket:close()
    self.count = self.count - 1
    if task then self.tasks[task] = nil end
  end)
  if not socket:closed() then self.tasks[task] = true end
end

local function accept_browsers(self)
  local socket
  repeat
    socket = core.accept(self.socket)
    if socket then start_serving_browser(self, socket) end
  until not socket
  if socket ~= nil then return end
  loop.unwatch(self.socket:fileno(), self.watcher) -- most likely for want of descriptors
  self.timer = loop.after(PAUSE, self.listen, self)
end

---@private
function methods:listen()
  self.timer = nil
  assert(loop.watch(self.socket:fileno(), "r", self.watcher))
end

function methods:close()
  if self.socket:closed() then return end
  if self.timer then loop.cancel(self.timer) end
  loop.unwatch(self.socket:fileno(), self.watcher)
  self.socket:close()
  for task in pairs(self.tasks) do task:cancel() end
  for task in pairs(self.tasks) do pcall(task.await, task) end
end

metatable.__close = methods.close

-- }======

local function random_address_token()
  local file <close> = assert(io.open("/dev/urandom", "rb"))
  file:setvbuf "no"
  return (file:read(TOKEN):gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

local servers = {}

---@param path string of the recording
---@param options { title: string, payload: integer }
---@return pintle.cli.view.server?, pintle.error?
function servers.start(path, options)
  local socket, message, kind = core.listen { host = ADDRESS, port = 0 }
  if not socket then return nil, errors.new(kind, message) end
  local port, token = core.address(socket).port, random_address_token()
  local self = setmetatable({
    socket = socket, path = path, title = options.title, payload = options.payload, count = 0, tasks = {},
    address = ("http://%s:%d/%s/"):format(ADDRESS, port, token),
    hosts = { [("%s:%d"):format(ADDRESS, port)] = true, [("localhost:%d"):format(port)] = true },
    routes = { [("/%s/"):format(token)] = serve_live_html, [("/%s/rows"):format(token)] = serve_live_rows },
  }, metatable)
  self.watcher = { on_ready = function() accept_browsers(self) end }
  self:listen()
  return self
end

return servers
