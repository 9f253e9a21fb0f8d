-- pintle run: a host for the plugins in a directory, with a prompt; or with lines from somewhere else.

local dialects = require "pintle.dialect"
local options = require "pintle.cli.options"

local run = { name = "run", summary = "Start the plugins in a directory, and run their operations from a prompt." }

function run.define(parser)
  parser:argument("directory", "Where the plugins are: programs, and directories with a manifest.json."):argname "DIR"
  parser:option("-d --dialect", "The protocol they speak.", dialects.DEFAULT):argname "NAME"
  parser:option("-t --timeout", "How long an operation may take, such as 1m30s; 60s unless told."):argname "TIME"
    :convert(options.seconds)
  parser:option("--patience", "How long they may take to start, such as 30s.", "10s"):argname "TIME"
    :convert(options.seconds)
  parser:option("--log", "The lowest level of what they say that is shown on stderr.", "info"):argname "LEVEL"
    :choices { "debug", "info", "warn", "error", "silent" }
  parser:flag("--no-history", "Keep nothing of what is entered.")
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function run.run(args, console) return require "pintle.cli.run.session".run(args, console) end

return run
