-- pintle completion: what a shell has to know to complete the words of the command.

local status = require "pintle.cli.status"

local completion = { name = "completion", summary = "Print what a shell needs to complete the words of pintle." }

function completion.define(parser)
  parser:argument("shell", "The shell it is for."):argname "SHELL":choices { "bash", "fish", "zsh" }
end

---@param args table
---@param console pintle.cli.console
---@return integer
function completion.run(args, console)
  local outline = require "pintle.cli.outline"
  console:write(require("pintle.cli.completion." .. args.shell)(outline()))
  return status.DONE
end

return completion
