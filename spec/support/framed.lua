-- A plugin in its own process; specs read and write frames with headers.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"

local framed = {}

local methods = {}
local metatable = { __index = methods }

local function frame(text) return ("Content-Length: %d\r\n\r\n%s"):format(#text, text) end

-- Starts a script. Its stdout, stderr and status are read as in spec.support.extension.
function framed.start(script, arguments, env)
  return setmetatable({ extension = extension.start(script, arguments, env), rest = "" }, metatable)
end

function methods:pid() return self.extension.process:pid() end

-- Sends bodies at once, each in its own frame.
function methods:say(...)
  local frames = {}
  for i, text in ipairs { ... } do frames[i] = frame(text) end
  local text = table.concat(frames)
  assert(self.extension.process.stdin:write(text) == #text, "the plugin does not read")
end

local function take(self)
  local length, start = self.rest:match "^Content%-Length: (%d+)\r\n\r\n()"
  if not length or #self.rest < start - 1 + length then return nil end
  local body = self.rest:sub(start, start - 1 + length)
  self.rest = self.rest:sub(start + length)
  return body
end

-- The body of the next frame.
function methods:hear()
  local deadline = core.now() + children.patience
  local stdout = self.extension.process.stdout
  local body = take(self)
  while not body do
    local text = stdout:read()
    assert(text ~= "" and text ~= nil, "the plugin has ended: " .. self.rest)
    if text then self.rest = self.rest .. text else children.await(stdout) end
    assert(core.now() < deadline, "no message in time")
    body = take(self)
  end
  return body
end

function methods:ask(text)
  self:say(text)
  return self:hear()
end

-- The same with values.
function methods:notify(method, params)
  self:say(core.json.encode { jsonrpc = "2.0", method = method, params = params })
end

function methods:request(id, method, params)
  self:say(core.json.encode { jsonrpc = "2.0", id = id, method = method, params = params })
end

function methods:message() return core.json.decode(self:hear()) end

function methods:call(id, method, params)
  self:request(id, method, params)
  return self:message()
end

-- Waits for its exit while its input is open. Returns its status, the rest of its output, and its stderr.
function methods:ending()
  local process = self.extension.process
  local text = self.rest .. children.read(process.stdout)
  local complaints = children.read(process.stderr)
  local status, signal = process:wait(children.patience)
  return status or signal, text, complaints
end

-- Closes its input.
function methods:finish()
  self.extension.process.stdin:close()
  return self:ending()
end

function metatable.__close(self) self.extension.process:close() end

return framed
