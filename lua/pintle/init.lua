-- The face of pintle: nothing but names. All but one are found by `pintle.names`; a program that only serves needs no
-- other, and starts the faster the less it parses.

local core = require "pintle.core"

local function connect(options)
  local peer = core.sole.connect(options)
  if peer then return peer end
  return require "pintle.connect".open(options)
end

---@type pintle
return setmetatable({ connect = connect }, { __index = function(...) return require "pintle.names"(...) end })
