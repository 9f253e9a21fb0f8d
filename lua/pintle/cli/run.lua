-- pintle run: a host for the plugins in a directory, with a prompt; without a terminal it reads commands from stdin.

local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local errors = lazy "pintle.error"
local histories = lazy "pintle.cli.run.history"
local log = lazy "pintle.host.log"
local prompts = lazy "pintle.cli.run.prompt"
local shells = lazy "pintle.cli.run.shell"
local tasks = lazy "pintle.task"
local terminals = lazy "pintle.cli.run.terminal"

local run = { name = "run", summary = "Start the plugins in a directory, and run their operations from a prompt." }

function run.define(parser)
  parser:argument("directory", "The directory of the plugins: programs, and directories with a manifest.json.")
    :argname "DIR"
  parser:option("-d --dialect", "The protocol of the plugins.", dialects.DEFAULT):argname "NAME"
  parser:option("-t --timeout", "How long an operation may take, such as 1m30s (default: 60s)."):argname "TIME"
    :convert(options.seconds)
  options.define_start_timeout(parser)
  options.define_log(parser, "info")
  parser:flag("--no-history", "Do not save entered lines.")
end

-- {====== Commands from stdin ======

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

-- Continues after failures; the status is that of the first failure.
local function run_script(shell, start_status)
  local input <close> = terminals.input()
  local outcome = start_status
  while not shell.is_over do
    local line = read_line(input)
    if not line then break end
    input:pause()
    local code = line:find "^%s*#" and status.DONE or shell:perform(line)
    shell.console:flush()
    if outcome == status.DONE then outcome = code end
  end
  return outcome
end

-- }======

-- {====== The prompt ======

local function perform(shell, input, line)
  local task = tasks.start(shell.perform, shell, line)
  input:during(function() task:cancel "interrupted" end, function() task:await() end)
  shell.console:flush()
end

local function run_prompt(shell, screen, args)
  local raw <close>, err = terminals.raw_mode()
  if not raw then return nil, err end
  local input <close> = terminals.input()
  local history = histories.new(not args.no_history and histories.path() or nil)
  screen.prompt = prompts.new(input, function(left) return shell:complete(left) end, history.lines)
  while not shell.is_over do
    local line = screen.prompt:read()
    if not line then break end
    if line:find "%S" and not shell:is_secret(line) then history:keep(line) end
    perform(shell, input, line)
  end
  return status.DONE
end

-- }======

-- Log entries are printed above the line that is being edited.
local function log_to(terminal, screen)
  return function(entry)
    if screen.prompt then screen.prompt:hide() end
    terminal.entry(entry)
    if screen.prompt then screen.prompt:show() end
  end
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function run.run(args, console)
  local known, message = dialects.get(args.dialect)
  if not known then return nil, errors.new("invalid", message) end
  local terminal, screen = log.terminal(), {}
  local shell = shells.new(args, console, terminal, log_to(terminal, screen))
  local host <close> = shell.host -- luacheck: ignore 211
  local signal, code, err = status.run_interruptible(function()
    local start_status, problem = shell:start()
    if not start_status then return nil, problem end
    if core.isatty(0) and core.isatty(1) then return run_prompt(shell, screen, args) end
    return run_script(shell, start_status)
  end)
  screen.prompt = nil
  if signal then return status.of_signal(signal) end
  return code, err
end

return run
