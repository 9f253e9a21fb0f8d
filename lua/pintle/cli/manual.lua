-- pintle manual: the page for `man`, made of what the command line itself says.

local status = require "pintle.cli.status"

local manual = { name = "manual", summary = "Print the manual page, as `man -l` takes it." }

function manual.define() end

---@param console pintle.cli.console
---@return integer
function manual.run(_, console)
  console:write(require "pintle.cli.manual.page"(require "pintle.cli.outline"()))
  return status.DONE
end

return manual
