-- What the function of an operation or a method is given as `ctx`: what it was asked with, and ways to speak up.

local lazy = require "pintle.lazy"
local loop = require "pintle.loop"

local program = lazy "pintle.plugin.program"

local LEVELS = { debug = true, info = true, warn = true, error = true }
local HELD_BACK = 1 << 20 -- unsent bytes past which who speaks up has to wait

---@class pintle.plugin.context
---@field operation? string nil in a method
---@field method string
---@field workdir? string what relative paths are relative to
---@field env table<string, string> on top of the plugin's own
---@field phase? string
---@field agent? table
---@field config table what the plugin is configured with
---@field request pintle.request
---@field server pintle.server
local methods = {}

local metatable = { __name = "pintle.plugin.context", __index = methods }

local contexts = {}

-- {====== Speaking up ======

-- After something was sent. A handler that sends faster than the host reads waits here, so that its output does not
-- fill the memory. An error raises if the value cannot be sent; that the host is gone is not the author's concern.
local function after_send(self, err)
  if err and err.kind == "invalid" then error(err.message, 3) end
  local peer = self.request.peer
  if peer.stream:queued() > HELD_BACK and not peer.ended then peer:drain(self:deadline() or math.huge) end
end

---Tells the host something.
---@param level pintle.level
---@param message string
---@param data? any more of it, for programs
function methods:log(level, message, data)
  if not LEVELS[level] then
    error(("log: level: debug, info, warn or error expected, got %s"):format(tostring(level)), 2)
  end
  if type(message) ~= "string" then error("log: message: a string expected, got " .. type(message), 2) end
  local _, err = self.server:log(level, message, data, self.request)
  after_send(self, err)
end

local function is_fraction(value) return type(value) == "number" and value >= 0 and value <= 1 end

---Tells how far it is.
---@param fraction number from 0 to 1
---@param message? string
function methods:progress(fraction, message)
  if not is_fraction(fraction) then
    error(("progress: a number from 0 to 1 expected, got %s"):format(tostring(fraction)), 2)
  end
  if message ~= nil and type(message) ~= "string" then
    error("progress: message: a string expected, got " .. type(message), 2)
  end
  local _, err = self.server:progress(self.request, fraction, message)
  after_send(self, err)
end

---Gives a part of the result ahead of the rest, where host and protocol know of such a thing.
---@param value any
---@return true?, pintle.error?
function methods:part(value)
  local ok, err = self.server:part(self.request, value)
  after_send(self)
  return ok, err
end

---Calls the host.
---@param method string
---@param params? any
---@param options? { timeout?: number|false }
---@return any result, pintle.error?
function methods:call(method, params, options) return self.request:call(method, params, options) end

---@param method string
---@param params? any
---@return true?, pintle.error?
function methods:notify(method, params) return self.request:notify(method, params) end

-- }======

-- {====== Time ======

---Whether the answer is wanted no more: cancelled, out of time, or the host is gone. `why` is the error to give back.
---@return boolean, pintle.error? why
function methods:cancelled() return self.request:cancelled() end

---Seconds that are left; nil when there is no deadline.
---@return number?
function methods:deadline() return self.request:deadline() end

---Waits. Ends early, with `nil, err`, when the answer is wanted no more.
---@param seconds number
---@return true?, pintle.error?
function methods.sleep(_, seconds)
  if type(seconds) ~= "number" then error("sleep: seconds expected, got " .. type(seconds), 2) end
  return loop.sleep(seconds)
end

-- }======

-- {====== The outside ======

---A path as seen from the directory of the task.
---@param name string
---@return string
function methods:path(name)
  if type(name) ~= "string" then error("path: a string expected, got " .. type(name), 2) end
  if name:sub(1, 1) == "/" or not self.workdir then return name end
  if name == "" or name == "." then return self.workdir end
  local folder = self.workdir:find "/$" and self.workdir or self.workdir .. "/"
  return folder .. name:gsub("^%./+", "")
end

local RUN_OPTIONS = { input = "string", env = "table", cwd = "string", timeout = "number", keep = "number" }

local function check_run(given)
  if type(given) ~= "table" then error("run: a table expected, got " .. type(given), 3) end
  if type(given[1]) ~= "string" then error("run: a command expected, such as { \"ls\", \"-l\" }", 3) end
  for name, value in pairs(given) do
    local expected = math.type(name) == "integer" and "string" or RUN_OPTIONS[name]
    if not expected then error(("run: there is no option %q"):format(tostring(name)), 3) end
    if type(value) ~= expected then
      error(("run: %s: a %s expected, got %s"):format(tostring(name), expected, type(value)), 3)
    end
  end
  for name, value in pairs(given.env or {}) do
    if type(value) ~= "string" and value ~= false then
      error(("run: env: %s: a string expected, got %s"):format(tostring(name), type(value)), 3)
    end
  end
end

local function merged(...)
  local all = {}
  for _, env in ipairs { ... } do
    for name, value in pairs(env) do all[name] = value end
  end
  return all
end

local function shortest(one, other)
  if one and other then return math.min(one, other) end
  return one or other
end

---Runs a program in the directory and environment of the task, until it ends, its `timeout` is over or the answer is
---wanted no more; then it is killed, and its group with it. 1 MiB of each output is kept unless `keep` says otherwise.
---@param given { [integer]: string, input?: string, env?: table, cwd?: string, timeout?: number, keep?: integer }
---@return pintle.program.result?, pintle.error?
function methods:run(given)
  check_run(given)
  local is_over, why = self:cancelled()
  if is_over then return nil, why end
  local result, err = program.run {
    command = table.move(given, 1, #given, 1, {}),
    input = given.input,
    env = merged(self.env, given.env or {}),
    cwd = given.cwd and self:path(given.cwd) or self.workdir,
    timeout = shortest(given.timeout, self:deadline()),
    keep = given.keep,
  }
  is_over, why = self:cancelled()
  if not result and is_over then err = why end
  return result, err
end

-- }======

---@param server pintle.server
---@param request pintle.request
---@param operation string?
---@param context pintle.context?
---@return pintle.plugin.context
function contexts.new(server, request, operation, context)
  context = context or {}
  return setmetatable({
    server = server, request = request, operation = operation, method = request.method, config = server.config,
    workdir = context.workdir, env = context.env or {}, phase = context.phase, agent = context.agent,
  }, metatable)
end

contexts.LEVELS = LEVELS

return contexts
