-- Starts plugin.lua as a child process, calls it, and shows the messages.

local pintle = require "pintle"
local json = pintle.json

local folder = arg[0]:match "^(.*)/" or "."
local peer <close> = assert(pintle.connect {
  command = { "lua5.4", folder .. "/plugin.lua" }, framing = "header", timeout = 10,
})

local function try(title, method, params)
  print("\n" .. title)
  print("→ " .. method .. " " .. json.encode(params))
  local result, err = peer:call(method, params)
  print(err and "← " .. err.kind .. ": " .. tostring(err) or "← " .. json.encode(result))
  return err
end

try("Values come back as they went: 64-bit integers, floats, [] and {}.", "echo",
  pintle.array { math.maxinteger, 1.0, 0.1, pintle.array {}, {}, pintle.null, "naïve \u{1F600}\0" })
try("What the other side does not know is an error, not an exception.", "ehco", { 1 })
local err = try("A child that dies is seen at once.", "crash", {})

print(("\nThe child ended with status %d."):format(err.exit.code))
