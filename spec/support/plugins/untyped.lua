-- A plugin whose schemas of arguments have no type "object", or have it in a list.
local pintle = require "pintle"

local plugin = pintle.plugin { name = "untyped", version = "1.0.0" }

local function say(args) return "n is " .. tostring(args.n) end

plugin:operation("bare", { params = {} }, say)
plugin:operation("typeless", { params = { properties = { n = { type = "integer", default = 7 } } } }, say)
plugin:operation("listed", { params = { type = { "object" }, properties = { n = { type = "integer" } } } }, say)

plugin:serve()
