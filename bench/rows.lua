-- What is measured, a row each. A row has either two commands, `limit` and `ours`, which print one figure each,
-- or one, `both`, which prints a line of two for every round. In a command, `limit/` is where the C programs are,
-- `lua` is Lua with pintle on its path, ECHO is the Lua plugin, SECONDS and ROUNDS are filled in, and `core0` and
-- `core1` tie what follows to a core. Cores that are free are taken as one for the host and one for the plugin:
-- left alone, the system puts both on one core in some runs and on two in others, eight times apart.
-- The ratio is ours to the limit; `better` says which way is good. `scale` turns a printed figure into `unit`.

local MICROSECOND = { unit = "µs", scale = 1e6 }
local MILLISECOND = { unit = "ms", scale = 1e3 }
local CALLS = { unit = "k calls/s", scale = 1e-3 }
local MEGABYTES = { unit = "MB/s", scale = 1e-6 }
local OPERATIONS = { unit = "/s", scale = 1 }

local rows = {}

local function add(measure, row)
  row.unit, row.scale = measure.unit, measure.scale
  rows[#rows + 1] = row
end

local function codec(name, what, target)
  add(OPERATIONS, {
    name = name,
    against = "lua-cjson",
    both = "lua bench/codec.lua " .. what .. " SECONDS ROUNDS",
    better = "more",
    target = target,
  })
end

codec("decode small", "decode small 0", 2.1)
codec("decode 1 MB document", "decode document 1000000", 1.7)
codec("decode 1 MiB string", "decode string 1048576", 20)
codec("encode small", "encode small 0", 2.7)
codec("encode 1 MB document", "encode document 1000000", 2.4)
codec("encode 1 MiB string", "encode string 1048576", 12)

add(MICROSECOND, {
  name = "one call after another, one core",
  against = "C: write, poll, read",
  limit = "core0 limit/sequential_host SECONDS limit/sequential_child",
  ours = "core0 lua bench/stream_host.lua sequential SECONDS ECHO",
  better = "less",
  target = 1.6,
})

add(MICROSECOND, {
  name = "one call after another, cores free",
  against = "C: write, poll, read",
  limit = "core0 limit/sequential_host SECONDS core1 limit/sequential_child",
  ours = "core0 lua bench/stream_host.lua sequential SECONDS core1 ECHO",
  better = "less",
  target = 1.35,
})

add(MICROSECOND, {
  name = "one call after another, cores free, spin",
  against = "C: write, poll, read",
  limit = "core0 limit/sequential_host SECONDS core1 limit/sequential_child",
  ours = "core0 lua bench/stream_host.lua spin SECONDS core1 ECHO",
  better = "less",
  target = 0.4,
})

add(CALLS, {
  name = "64 calls in flight, cores free",
  against = "C: structure scanned",
  limit = "core0 limit/flight_host SECONDS 64 core1 limit/flight_child",
  ours = "core0 lua bench/stream_host.lua flight SECONDS 64 core1 ECHO",
  better = "more",
  target = 0.45,
})

add(CALLS, {
  name = "64 calls in flight, one core",
  against = "C: structure scanned",
  limit = "core0 limit/flight_host SECONDS 64 limit/flight_child",
  ours = "core0 lua bench/stream_host.lua flight SECONDS 64 ECHO",
  better = "more",
  target = 0.28,
})

add(CALLS, {
  name = "1000 calls in flight",
  against = "C: structure scanned",
  limit = "core0 limit/flight_host SECONDS 1000 core1 limit/flight_child",
  ours = "core0 lua bench/stream_host.lua flight SECONDS 1000 core1 ECHO",
  better = "more",
  target = 0.33,
})

add(MEGABYTES, {
  name = "1 MiB string there and back",
  against = "C: store and forward, 64 KiB pipes",
  limit = "core0 limit/large_host SECONDS 1048576 core1 limit/large_child",
  ours = "core0 lua bench/stream_host.lua string SECONDS 1048576 core1 ECHO",
  better = "more",
  target = 1.5,
})

add(MEGABYTES, {
  name = "10 MB array of small objects there and back",
  against = "C: store and forward, 64 KiB pipes",
  limit = "core0 limit/large_host SECONDS 10000000 core1 limit/large_child",
  ours = "core0 lua bench/stream_host.lua array SECONDS 10000000 core1 ECHO",
  better = "more",
  target = 0.11,
})

add(MILLISECOND, {
  name = "spawn to first answer",
  against = "C host, C child",
  limit = "limit/spawn_host SECONDS limit/sequential_child",
  ours = "lua bench/spawn_host.lua SECONDS 0 ECHO",
  better = "less",
  target = 2.2,
})

add(MILLISECOND, {
  name = "spawn from a 500 MB heap",
  against = "the same from a small heap",
  limit = "lua bench/spawn_host.lua SECONDS 0 ECHO",
  ours = "lua bench/spawn_host.lua SECONDS 500 ECHO",
  better = "less",
  target = 1.3,
})

return rows
