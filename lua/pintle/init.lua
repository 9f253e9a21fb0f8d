-- The face of pintle: nothing but names. All but one are found by `pintle.names`; a program that only serves needs no
-- other, and starts the faster the less it parses.

local function connect(options) return require "pintle.connect".open(options) end

---@type pintle
return setmetatable({ connect = connect }, { __index = function(...) return require "pintle.names"(...) end })
