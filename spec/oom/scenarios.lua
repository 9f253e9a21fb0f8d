-- All of the core in small pieces, for the driver: each passes as long as there is memory, and ends with the error
-- for that otherwise. Whatever `again` calls can be called once more after such an error as if nothing had been.
local core = ...
local scenarios = {}

-- Lua's own metatable for large buffers: if memory is short while it is made, Lua goes on with half of it.
local _ = ("x"):rep(10000)

local function load_part(name, ...) return assert(loadfile("spec/oom/" .. name .. ".lua"))(...) end

local checks = load_part("checks", core)
for _, part in ipairs { "values", "loop", "peers", "processes" } do load_part(part, core, scenarios, checks) end

return scenarios
