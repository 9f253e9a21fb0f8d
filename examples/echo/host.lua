-- Starts plugin.lua as a child, talks to it, and shows the exchange.

local core = require "pintle.core"
local json = core.json

local DEADLINE = 10

local folder = arg[0]:match "^(.*)/" or "."
local process <close> = assert(core.spawn { command = { "lua5.4", folder .. "/plugin.lua" } })
local stream <close> = assert(core.stream { read = process.stdout, write = process.stdin, framing = "header" })

local function show(arrow, ...) print(arrow .. " " .. table.concat({ ... }, " ")) end

-- The answer to a call: its kind and payload, or "closed" or "timeout" and why.
local function ask(method, params)
  show("→", method, json.encode(params))
  assert(stream:request(method, method, params))
  while true do
    local ready, message = stream:wait(DEADLINE)
    if not ready then return message and "closed" or "timeout", message or "no answer in time" end
    local kind, id_or_message, _, payload = stream:receive()
    if kind then return kind, payload end
    if kind == nil then return "closed", id_or_message end
  end
end

local function try(title, method, params)
  print("\n" .. title)
  local kind, payload = ask(method, params)
  show("←", kind, type(payload) == "string" and payload or json.encode(payload))
end

try("Values come back as they went: 64-bit integers, floats, [] and {}.", "echo",
  json.array { math.maxinteger, 1.0, 0.1, json.array {}, {}, json.null, "naïve \u{1F600}\0" })
try("What the other side does not know is an error, not an exception.", "ehco", { 1 })
try("A child that dies is seen at once.", "crash", {})

local code, signal = process:wait(DEADLINE)
print(("\nThe child ended with %s."):format(signal and "signal " .. signal or "status " .. tostring(code)))
