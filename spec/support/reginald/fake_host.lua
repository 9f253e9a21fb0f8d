-- The common part of the hosts of both releases: they start a plugin, send each message in two writes, count their ids
-- from 1, and check the responses strictly.
local children = require "spec.support.children"
local core = require "pintle.core"
local strict = require "spec.support.reginald.strict"

local json = core.json

local fake_host = {}

local methods = {}
methods.__index = methods

local function write(self, text)
  local at = 1
  while at <= #text do
    local written, message = self.process.stdin:write(text:sub(at))
    assert(written ~= nil, message)
    at = at + (written or 0)
  end
end

-- Sends a body unchanged.
function methods:say(body)
  write(self, ("Content-Length: %d\r\n\r\n"):format(#body))
  write(self, body)
end

-- Sends bytes unchanged.
function methods:write(bytes) write(self, bytes) end

local function read_more(self)
  local text = self.process.stdout:read()
  if text == "" or text == nil then
    error("the plugin has ended: " .. self.rest .. children.read(self.process.stderr), 0)
  end
  if text then self.rest = self.rest .. text else children.await(self.process.stdout) end
end

-- The length in a header. Headers may end with LF alone, and be in any case.
local function length_of(header)
  local length
  for line in (header .. "\n"):gmatch "(.-)\r?\n" do
    local name, value = line:match "^([%a-]+):%s*(.*)$"
    if not name then error("not a header: " .. line, 0) end
    if name:lower() == "content-length" then length = math.tointeger(value) end
  end
  return length or error("no Content-Length in " .. header, 0)
end

-- The next body that the plugin sends.
function methods:hear()
  local stop, first
  repeat
    first, stop = self.rest:find "\r?\n\r?\n"
    if not stop then read_more(self) end
  until stop
  local length = length_of(self.rest:sub(1, first - 1))
  while #self.rest < stop + length do read_more(self) end
  local body = self.rest:sub(stop + 1, stop + length)
  self.rest = self.rest:sub(stop + length + 1)
  return body
end

-- Closes the input. Returns the rest of the output as frames, the status and stderr.
function methods:finish()
  if not self.process.stdin:closed() then self.process.stdin:close() end
  local text, complaints = self.rest .. children.read(self.process.stdout), children.read(self.process.stderr)
  local status, signal = self.process:wait(children.patience)
  self.process:close()
  return text, status or signal, complaints
end

methods.__close = function(self) self.process:close() end

-- {====== Looking closely ======

local RESPONSE = { jsonrpc = strict.one_of "2.0", id = "integer", result = "any" }
local FAILURE = {
  jsonrpc = strict.one_of "2.0", id = "integer", error = { code = "integer", message = "string", ["data?"] = "any" },
}
local NOTIFICATION = { jsonrpc = strict.one_of "2.0", method = strict.one_of "log", params = "any" }

local function check(self, message)
  if strict.kind(message) ~= "object" then return nil, "a batch, or no message at all" end
  if message.method ~= nil and message.id ~= nil then return nil, "a request from the plugin" end
  if message.method ~= nil then
    local ok, mistake = strict.check(message, NOTIFICATION, "notification")
    if not ok then return nil, mistake end
    return strict.check(message.params, self.log_rule, "log")
  end
  return strict.check(message, message.error ~= nil and FAILURE or RESPONSE, "response")
end

-- The next valid message, and whether it answers `id`.
local function next_message(self, id)
  local message = assert(json.decode(self:hear()))
  local ok, mistake = check(self, message)
  if ok and message.method == nil and message.id ~= id then ok, mistake = nil, "a response with a wrong id" end
  if not ok then
    self:on_mistake(mistake)
    return nil
  end
  return message
end

-- Sends a request and waits for the answer: its result, or nil and its error. Log messages are kept.
function methods:call(method, params)
  self.id = self.id + 1
  self:say(('{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}'):format(self.id, method, params or "null"))
  return self:answer(self.id, method)
end

function methods:answer(id, method)
  while not self.hung do
    local message = next_message(self, id)
    if message and message.method then
      table.insert(self.logged, message.params)
    elseif message then
      local ok, mistake = true, nil
      if not message.error then ok, mistake = strict.check(message.result, self.results[method] or "any", method) end
      if not ok then self:on_mistake(mistake) end
      return message.result, message.error
    end
  end
  error("the host hangs: " .. self.hung, 0)
end

function methods:notify(method) self:say(('{"jsonrpc":"2.0","method":"%s","params":null}'):format(method)) end

-- Sends shutdown and exit, and expects status 0.
function methods:stop()
  self:call "shutdown"
  self:notify "exit"
  local text, status, complaints = self:finish()
  assert(text == "" and status == 0, ("%s, status %s: %s"):format(text, status, complaints))
  return complaints
end

-- }======

-- `kind` has: log_rule, results (rules by method), on_mistake (a method).
function fake_host.start(kind, command)
  local self = { id = 0, rest = "", logged = {}, mistakes = 0, hung = false }
  for name, value in pairs(kind) do self[name] = value end
  self.process = assert(core.spawn { command = command, stderr = "pipe" })
  return setmetatable(self, methods)
end

return fake_host
