-- Runs a program until it ends, and keeps its output; and finds the programs that a plugin requires.

local core = require "pintle.core"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local process = require "pintle.process"

core.protect()

local KEPT_BYTES = 1 << 20 -- of each output
local LINGER = 0.5 -- seconds for the outputs to end after the program has ended

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
---@field truncated? boolean whether a part of an output was not kept
---@field stdout_bytes integer the length of all output
---@field stderr_bytes integer

local program = {}

-- Watches a pipe of the program until `on_ready` returns true. `run.drained` is set when all pipes are closed.
local function watch_program_pipe(run, descriptor, events, on_ready)
  local watcher = {}
  function watcher.close()
    if descriptor:closed() then return end
    loop.unwatch(descriptor:fileno(), watcher)
    descriptor:close()
    run.open = run.open - 1
    if run.open == 0 then run.drained:set(true) end
  end
  function watcher.on_ready()
    if on_ready() then watcher.close() end
  end
  run.open, run.watchers[#run.watchers + 1] = run.open + 1, watcher
  assert(loop.watch(descriptor:fileno(), events, watcher))
end

local function read_program_output(run, descriptor, keep)
  local output = { parts = {}, kept = 0, total = 0 }
  watch_program_pipe(run, descriptor, "r", function()
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
local function write_program_input(run, descriptor, input)
  local at = 1
  watch_program_pipe(run, descriptor, "w", function()
    local written = descriptor:write(input:sub(at, at + 65535))
    if written == nil then return true end
    at = at + (written or 0)
    return at > #input
  end)
end

local function program_result(exit, out, err)
  return {
    success = exit.code == 0, code = exit.code, signal = exit.signal,
    stdout = table.concat(out.parts), stderr = table.concat(err.parts),
    stdout_bytes = out.total, stderr_bytes = err.total,
    truncated = (out.total > out.kept or err.total > err.kept) or nil,
  }
end

-- Also kills the program with its process group, if waiting was cancelled.
local cleanup = {
  __close = function(run)
    for _, watcher in ipairs(run.watchers) do watcher.close() end
    run.child:close()
  end,
}

-- The program is searched for in the PATH of its own environment.
local function find_program_command(options)
  local path = options.env and options.env.PATH
  if not path then return options.command end
  local file, message, kind = core.which(options.command[1], path)
  if not file then return nil, errors.new(kind or "spawn", message) end
  return { file, table.unpack(options.command, 2) }
end

---@param options pintle.program.options
---@return pintle.program.result?, pintle.error?
function program.run(options)
  local command, err = find_program_command(options)
  if not command then return nil, err end
  local child
  child, err = process.start {
    command = command, env = options.env, cwd = options.cwd,
    stdin = options.input and "pipe" or "null", stdout = "pipe", stderr = "pipe",
  }
  if not child then return nil, err end
  local run <close> = setmetatable({ child = child, watchers = {}, open = 0, drained = loop.event() }, cleanup)
  local streams, keep = child.process, options.keep or KEPT_BYTES
  local stdout, stderr = read_program_output(run, streams.stdout, keep), read_program_output(run, streams.stderr, keep)
  if options.input then write_program_input(run, streams.stdin, options.input) end
  local exit
  exit, err = child:wait(options.timeout)
  if exit then
    run.drained:wait(LINGER) -- other processes may hold the outputs open
    return program_result(exit, stdout, stderr)
  end
  if err.kind == "timeout" then
    err = errors.new("timeout", ("%s has not ended within %gs"):format(options.command[1], options.timeout))
  end
  return nil, err
end

---Checks that all required commands are in the PATH.
---@param found table<string, boolean> a cache of the commands that were found
---@param requirements pintle.requirement[]
---@param path? string default: the PATH of this process
---@return true?, pintle.error? err of the kind "requirement"
function program.check(found, requirements, path)
  for _, required in ipairs(requirements) do
    local command = required.command
    local key = command .. "\0" .. (path or "")
    found[key] = found[key] or core.which(command, path) ~= nil
    if not found[key] then
      local message = ("Requirement not met: the command %q is not in PATH"):format(command)
      return nil, errors.new("requirement", message, { data = { command = command } })
    end
  end
  return true
end

return program
