-- The report of pintle check, read line by line as it is written, because a check may take long.
local cli = require "spec.support.cli"

---@param ... any words; or one process that cli.start has begun with them
---@return string[] verdicts all but those that passed, integer passed, integer status
return function(...)
  local given = ...
  local is_begun = type(given) == "table" and given.process
  local started <close> = is_begun and given or cli.start(cli.words("check", ...), { stdin = "null" })
  local out, err, status = started:finish()
  local verdicts = {}
  for verdict, name in ("\n" .. out):gmatch "\n(%l+)  (%S+)" do
    if verdict ~= "pass" then verdicts[#verdicts + 1] = verdict .. " " .. name end
  end
  return verdicts, tonumber(out:match "(%d+) passed" or error(err)), status
end
