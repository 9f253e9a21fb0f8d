-- A plugin in its own process; specs read and write its lines.
local core = require "pintle.core"
local children = require "spec.support.children"

local extension = {}

local methods = {}
local metatable = { __index = methods }

-- Starts a script with these arguments; env is added to the environment.
function extension.start(script, arguments, env) return extension.start_with("lua5.4", script, arguments, env) end

function extension.start_with(interpreter, script, arguments, env)
  local command = { interpreter, script }
  table.move(arguments or {}, 1, #(arguments or {}), 3, command)
  local process = assert(core.spawn { command = command, env = env, stderr = "pipe" })
  return setmetatable({ process = process, rest = "" }, metatable)
end

-- A plugin of spec/support/plugins.
function extension.plugin(name, ...) return extension.start("spec/support/plugins/" .. name .. ".lua", ...) end

-- Waits until its input can be written to, and reads its output meanwhile.
local function await_room(self)
  local stdout = self.process.stdout
  local has_room, has_text = core.poll(children.patience, self.process.stdin, "w", stdout, "r")
  assert(has_room or has_text, "the plugin does not read")
  local text = has_text and stdout:read()
  assert(text ~= "" and text ~= nil, "the plugin has ended")
  if text then self.rest = self.rest .. text end
end

-- Writes lines unchanged.
function methods:say(...)
  local text, at = table.concat({ ... }, "\n") .. "\n", 1
  while at <= #text do
    local written, message = self.process.stdin:write(text:sub(at))
    assert(written ~= nil, message)
    if written then at = at + written else await_room(self) end
  end
end

-- Its next line.
function methods:line()
  local deadline = core.now() + children.patience
  while not self.rest:find("\n", 1, true) do
    local text = self.process.stdout:read()
    assert(text ~= "" and text ~= nil, "the plugin has ended: " .. self.rest)
    if text then self.rest = self.rest .. text else children.await(self.process.stdout) end
    assert(core.now() < deadline, "no line in time")
  end
  local line, rest = self.rest:match "^([^\n]*)\n(.*)$"
  self.rest = rest
  return line
end

-- Sends a line, and returns its next line.
function methods:ask(line)
  self:say(line)
  return self:line()
end

-- The same with values instead of text.
function methods:call(method, params, id)
  local message = { jsonrpc = "2.0", id = id or 1, method = method, params = params }
  return core.json.decode(self:ask(core.json.encode(message)))
end

function methods:execute(operation, args, context, id)
  return self:call("execute", { operation = operation, args = args or {}, context = context or {} }, id)
end

-- Its stderr, up to the end, or until that ends with `ending`.
function methods:complaints(ending) return children.read(self.process.stderr, ending) end

-- Closes its input. Returns the rest of its output, its status and its stderr.
function methods:finish()
  if not self.process.stdin:closed() then self.process.stdin:close() end
  local text = self.rest .. children.read(self.process.stdout)
  local complaints = self:complaints()
  local status, signal = self.process:wait(children.patience)
  self.process:close()
  return text, status or signal, complaints
end

function metatable.__close(self) self.process:close() end

-- Runs it with these lines as its whole input.
function extension.run(script, lines, arguments, env)
  local started <close> = extension.start(script, arguments, env)
  if #lines > 0 then started:say(table.unpack(lines)) end
  return started:finish()
end

-- A request to execute an operation, as text.
function extension.execution(operation, args, context, id)
  return core.json.encode {
    jsonrpc = "2.0", id = id or 1, method = "execute",
    params = { operation = operation, args = args or {}, context = context or {} },
  }
end

-- The answer of the workshop to a single execution, which must be its only output; its status and its stderr.
function extension.once(operation, args, context, arguments, env)
  local script = "spec/support/plugins/workshop.lua"
  local text, status, complaints =
    extension.run(script, { extension.execution(operation, args, context) }, arguments, env)
  assert(text:find "^[^\n]+\n$", text)
  return core.json.decode(text), status, complaints
end

return extension
