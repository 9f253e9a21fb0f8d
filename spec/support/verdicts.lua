-- What pintle check says of a plugin, line by line as it comes: it may take longer than anybody is silent.
local cli = require "spec.support.cli"

---@param ... any words
---@return string[] verdicts all but those that passed, integer passed, integer status
return function(...)
  local out, err, status = cli.run(cli.words("check", ...))
  local verdicts = {}
  for verdict, name in ("\n" .. out):gmatch "\n(%l+)  (%S+)" do
    if verdict ~= "pass" then verdicts[#verdicts + 1] = verdict .. " " .. name end
  end
  return verdicts, tonumber(out:match "(%d+) passed" or error(err)), status
end
