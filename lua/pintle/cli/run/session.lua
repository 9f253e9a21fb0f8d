-- A host with a prompt, from its start to its end.

local core = require "pintle.core"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local histories = require "pintle.cli.run.history"
local inputs = require "pintle.cli.run.input"
local interrupt = require "pintle.cli.interrupt"
local prompts = require "pintle.cli.run.prompt"
local raw_mode = require "pintle.cli.run.raw_mode"
local shells = require "pintle.cli.run.shell"
local status = require "pintle.cli.status"
local tasks = require "pintle.task"
local terminals = require("pintle.host.log").terminal

local session = {}

-- {====== Without a terminal ======

local function read_line(input)
  local bytes = {}
  while true do
    local byte = input:next()
    if byte == false then return nil end
    if byte == "\n" or byte == nil and #bytes > 0 then return table.concat(bytes) end
    if byte == nil then return nil end
    bytes[#bytes + 1] = byte
  end
end

-- Goes on after what fails; the first of those is what it ends with.
local function follow_script(shell, begun)
  local input <close> = inputs()
  local outcome = begun
  while not shell.is_over do
    local line = read_line(input)
    if not line then break end
    input:rest()
    local code = line:find "^%s*#" and status.DONE or shell:perform(line)
    shell.console:flush()
    if outcome == status.DONE then outcome = code end
  end
  return outcome
end

-- }======

-- {====== With one ======

local function perform(shell, input, line)
  local task = tasks.start(shell.perform, shell, line)
  input:during(function() task:cancel "interrupted" end, function() task:await() end)
  shell.console:flush()
end

local function converse(shell, stage, args)
  local raw <close>, err = raw_mode()
  if not raw then return nil, err end
  local input <close> = inputs()
  local history = histories.new(not args.no_history and histories.path() or nil)
  stage.prompt = prompts(input, function(left) return shell:complete(left) end, history.lines)
  while not shell.is_over do
    local line = stage.prompt:read()
    if not line then break end
    if line:find "%S" and not shell:is_secret(line) then history:keep(line) end
    perform(shell, input, line)
  end
  return status.DONE
end

-- }======

-- What is said while somebody types is printed above the line.
local function log_to(terminal, stage)
  return function(entry)
    if stage.prompt then stage.prompt:hide() end
    terminal.entry(entry)
    if stage.prompt then stage.prompt:show() end
  end
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function session.run(args, console)
  local known, message = dialects.get(args.dialect)
  if not known then return nil, errors.new("invalid", message) end
  local terminal, stage = terminals(), {}
  local shell = shells(args, console, terminal, log_to(terminal, stage))
  local host <close> = shell.host -- luacheck: ignore 211
  local signal, code, err = interrupt.run(function()
    local begun, problem = shell:start()
    if not begun then return nil, problem end
    if core.isatty(0) and core.isatty(1) then return converse(shell, stage, args) end
    return follow_script(shell, begun)
  end)
  stage.prompt = nil
  if signal then return status.of_signal(signal) end
  return code, err
end

return session
