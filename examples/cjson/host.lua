-- Sends the readings of sensors with two codecs. A broken sensor gives NaN, for which JSON has no form: pintle's codec
-- refuses such a call. A peer can take lua-cjson instead, here with an option that sends null for NaN. The null that
-- comes back is the same value in both libraries.

local cjson = require "cjson"
local pintle = require "pintle"

local null_for_nan = cjson.new()
null_for_nan.encode_invalid_numbers "null"

local function show(reading) return reading == pintle.null and "no reading" or ("%.1f °C"):format(reading) end

local function send(name, codec, readings)
  local folder = arg[0]:match "^(.*)/" or "."
  local peer <close> = assert(pintle.connect {
    command = { "lua5.4", folder .. "/../echo/plugin.lua" }, framing = "header", stderr = "null", json = codec,
  })
  local received, err = peer:call("echo", readings)
  if not received then return print(("%s: %s: %s"):format(name, err.kind, err)) end
  local texts = {}
  for i, reading in ipairs(received) do texts[i] = show(reading) end
  print(("%s: %s"):format(name, table.concat(texts, ", ")))
end

local READINGS = { 21.5, 0 / 0, 22.5 }

send("pintle", nil, READINGS)
send("lua-cjson", null_for_nan, READINGS)
