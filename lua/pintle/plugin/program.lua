-- Programs that a plugin uses: looks for those that it requires, and runs one to its end within a task. Its output is
-- gathered, and other tasks go on meanwhile.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local process = require "pintle.process"

core.protect()

local KEPT = 1 << 20 -- bytes of each output
local LINGER = 0.5 -- seconds in which an output may still end after the program has

---@class pintle.program.options
---@field command string[]
---@field input? string
---@field env? table<string, string|false>
---@field cwd? string
---@field timeout? number seconds
---@field keep? integer bytes of each output that are kept

---@class pintle.program.result
---@field success boolean whether it ended with status 0
---@field code? integer
---@field signal? string
---@field stdout string
---@field stderr string
---@field truncated? boolean whether there was more than is kept
---@field stdout_bytes integer how much there was
---@field stderr_bytes integer

local program = {}

-- One of the things that have to end before the program is done with.
local function one_less(run)
  run.open = run.open - 1
  if run.open == 0 then run.over:set(true) end
end

local function close(run, descriptor, watcher)
  if descriptor:closed() then return end
  loop.unwatch(descriptor:fileno(), watcher)
  descriptor:close()
  one_less(run)
end

local function watch(run, descriptor, events, on_ready)
  local watcher = {}
  run.open = run.open + 1
  function watcher.on_ready()
    if on_ready() then close(run, descriptor, watcher) end
  end
  run.closers[#run.closers + 1] = function() close(run, descriptor, watcher) end
  assert(loop.watch(descriptor:fileno(), events, watcher))
end

local function gather(run, descriptor, keep)
  local output = { parts = {}, kept = 0, total = 0 }
  watch(run, descriptor, "r", function()
    local text = descriptor:read()
    if text == false then return false end
    if not text or text == "" then return true end
    output.total = output.total + #text
    local piece = text:sub(1, keep - output.kept)
    if piece ~= "" then output.parts[#output.parts + 1] = piece end
    output.kept = output.kept + #piece
  end)
  return output
end

-- A program need not read all of its input.
local function feed(run, descriptor, input)
  local at = 1
  watch(run, descriptor, "w", function()
    local written = descriptor:write(input:sub(at, at + 65535))
    if written == nil then return true end
    at = at + (written or 0)
    return at > #input
  end)
end

local function result_of(exit, out, err)
  return {
    success = exit.code == 0, code = exit.code, signal = exit.signal,
    stdout = table.concat(out.parts), stderr = table.concat(err.parts),
    stdout_bytes = out.total, stderr_bytes = err.total,
    truncated = (out.total > out.kept or err.total > err.kept) or nil,
  }
end

local function close_all(run)
  for _, closer in ipairs(run.closers) do closer() end
end

-- What it leaves behind may hold its outputs open.
local function on_exit(run)
  run.linger = loop.after(LINGER, close_all, run)
  one_less(run)
end

local function start(run, options)
  run.open = 1
  local child, err = process.start {
    command = options.command, env = options.env, cwd = options.cwd,
    stdin = options.input and "pipe" or "null", stdout = "pipe", stderr = "pipe",
    on_exit = function() on_exit(run) end,
  }
  if not child then return nil, err end
  run.child = child
  local streams, keep = child.process, options.keep or KEPT
  run.out, run.err = gather(run, streams.stdout, keep), gather(run, streams.stderr, keep)
  if options.input then feed(run, streams.stdin, options.input) end
  return true
end

local function wait(run, seconds)
  local late = seconds and errors.new("timeout", ("%s has not ended within %gs"):format(run.name, seconds))
  return run.over:wait(seconds, late)
end

-- Also when the wait was given up: the program goes, and its group with it.
local function clean_up(run)
  close_all(run)
  if run.child then run.child:close() end
  if run.linger then loop.forget(run.linger) end
end

-- A PATH of its own counts for finding the program, too.
local function find(options)
  local path = options.env and options.env.PATH
  if not path then return options.command end
  local file, message, kind = core.which(options.command[1], path)
  if not file then return nil, errors.new(kind or "spawn", message) end
  return { file, table.unpack(options.command, 2) }
end

---@param options pintle.program.options
---@return pintle.program.result?, pintle.error?
function program.run(options)
  local command, err = find(options)
  if not command then return nil, err end
  local run <close> = setmetatable({
    closers = {}, name = options.command[1], over = loop.event(),
  }, { __close = clean_up })
  local ok
  ok, err = start(run, setmetatable({ command = command }, { __index = options }))
  if ok then ok, err = wait(run, options.timeout) end
  if not ok then return nil, err end
  return result_of(run.child.exit, run.out, run.err)
end

local function is_there(found, command, path)
  local key = command .. "\0" .. (path or "")
  found[key] = found[key] or core.which(command, path) ~= nil
  return found[key]
end

---Looks for all commands that a plugin or operation requires. What was found once is not looked for again.
---@param found table<string, boolean> where that is remembered
---@param requirements pintle.requirement[]
---@param path? string directories to look in; default: the PATH
---@return true?, pintle.error? err of the kind "requirement"
function program.check(found, requirements, path)
  for _, required in ipairs(requirements) do
    local command = required.command
    if not is_there(found, command, path) then
      local message = ("Requirement not met: the command %q is not in PATH"):format(command)
      return nil, errors.new("requirement", message, { data = { command = command } })
    end
  end
  return true
end

return program
