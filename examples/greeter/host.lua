-- A host for the greeter in any language: script/lua examples/greeter/host.lua [COMMAND…]

local pintle = require "pintle"

local here = arg[0]:match "^(.*)/" or "."
local command = #arg > 0 and { table.unpack(arg) } or { "lua5.4", here .. "/plugin.lua" }

local host <close> = pintle.host { dialect = "gevals", log = print }
local greeter = assert(host:start { command = command })
print(greeter.manifest.name .. " " .. greeter.manifest.version)

local function greet(args)
  local outcome, err = greeter:execute("greet", args, { timeout = "5s" })
  if not outcome then
    print("not asked: " .. tostring(err))
  elseif outcome.success then
    print(outcome.message)
  else
    print("failed: " .. outcome.error)
  end
end

greet { name = "Ada" }
greet { name = 5 }
greet { name = "" }
