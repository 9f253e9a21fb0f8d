-- A server of the editor protocol in its own process; specs read and write its bytes.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"

local json = core.json

local editor = {}

local methods = {}
local metatable = { __index = methods }

local HEADER = 'content-type: "application/vscode-jsonrpc;charset=utf-8"\r\ncontent-length: %d\r\n\r\n%s'

-- A message exactly as in the document.
function editor.frame(body) return HEADER:format(#body, body) end

-- The first request to a server.
function editor.initialization(params, id)
  return ('{"version":"0.1","jsonrpc":"2.0","id":%s,"method":"initialize","params":%s}'):format(id or '"1"',
    params or "{}")
end

function editor.start(script, arguments, env)
  return setmetatable({ plugin = extension.start(script, arguments, env) }, metatable)
end

-- The plugin with an operation for every case, right or wrong.
function editor.plugin(...) return editor.start("spec/support/editor_plugin.lua", ...) end

-- Writes bytes unchanged.
function methods:write(bytes)
  local stdin, at = self.plugin.process.stdin, 1
  while at <= #bytes do
    local written, message = stdin:write(bytes:sub(at))
    assert(written ~= nil, message)
    if written then at = at + written end
  end
end

function methods:say(body) self:write(editor.frame(body)) end

local function more(self)
  local stdout = self.plugin.process.stdout
  local text = stdout:read()
  assert(text ~= "" and text ~= nil, "the server has ended: " .. self.plugin.rest)
  if text then self.plugin.rest = self.plugin.rest .. text else children.await(stdout) end
end

-- The bytes of its next message, with any header.
function methods:frame()
  local deadline = core.now() + children.patience
  while true do
    local head, length = self.plugin.rest:match "^(.-[Ll]ength: (%d+)\r\n\r\n)"
    local size = head and #head + math.tointeger(length)
    if size and #self.plugin.rest >= size then
      local frame = self.plugin.rest:sub(1, size)
      self.plugin.rest = self.plugin.rest:sub(size + 1)
      return frame
    end
    more(self)
    assert(core.now() < deadline, "no message in time")
  end
end

-- The body of its next message, which must be framed as in the document.
function methods:body()
  local frame = self:frame()
  local body = frame:match "\r\n\r\n(.*)$"
  assert(frame == editor.frame(body), frame)
  return body
end

-- Sends a body, and returns the next body that it sends.
function methods:ask(body)
  self:say(body)
  return self:body()
end

-- The same with values instead of text; params may be JSON.
function methods:call(method, params, id)
  local text = type(params) == "string" and params or json.encode(params or {})
  return json.decode(self:ask(('{"version":"0.1","jsonrpc":"2.0","id":%s,"method":"%s","params":%s}'):format(
    id or '"7"', method, text)))
end

function methods:initialize(params) return self:call("initialize", params, '"1"') end

function methods:complaints(ending) return self.plugin:complaints(ending) end

-- Closes its input. Returns the rest of its output, its status and its stderr.
function methods:finish() return self.plugin:finish() end

function metatable.__close(self) self.plugin.process:close() end

-- A server after the handshake.
function editor.opened(params)
  local server = editor.plugin()
  assert(server:initialize(params).result)
  return server
end

return editor
