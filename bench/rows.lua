-- What is measured, a row each. A row has either two commands, `limit` and `ours`, which print one figure each,
-- or one, `both`, which prints a line of two for every round. In a command, `limit/` is where the C programs are,
-- `lua` is Lua with pintle on its path, ECHO is the plugin that answers bare calls and OPERATIONS the one that has
-- operations, SECONDS and ROUNDS are filled in, and `core0` and `core1` tie what follows to a core. Cores that are free
-- are taken as one for the host and one for the plugin: left alone, the system puts both on one core in some runs and
-- on two in others, eight times apart. Only a hundred plugins that all have something to do are left alone, for they
-- keep any number of cores busy. The ratio is ours to the limit; `better` says which way is good. `scale` turns a
-- printed figure into `unit`. A row with `messages` has no ratio: the difference for each of so many messages is in its
-- place. A row without `target` has none to meet. A row that is slow is passed over by --quick. A
-- command that cannot be run here prints "skipped: " and the reason.

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

local MEGABYTE = { unit = "MB", scale = 1 }

-- A row of calls to the plugin that echoes. MODE is the host's mode.
local function conversation(measure, row)
  row.ours = ("core0 lua bench/peer_host.lua %s %s ECHO"):format(row.mode, row.core)
  row.mode, row.core = nil, nil
  add(measure, row)
end

local ONE_CORE, TWO_CORES = "", "core1"

local function latency(name, mode, core, target)
  conversation(MICROSECOND, {
    name = name, mode = mode .. " SECONDS", core = core, better = "less", target = target,
    against = "C: write, poll, read",
    limit = ("core0 limit/sequential_host SECONDS %s limit/sequential_child"):format(core),
  })
end

latency("one call after another, one core", "sequential", ONE_CORE, 1.55)
latency("one call after another, cores free", "sequential", TWO_CORES, 1.35)
latency("one call after another, cores free, spin", "spin", TWO_CORES, 0.4)

local function flight(name, depth, core, target)
  conversation(CALLS, {
    name = name, mode = "flight SECONDS " .. depth, core = core, better = "more", target = target,
    against = "C: structure scanned",
    limit = ("core0 limit/flight_host SECONDS %d %s limit/flight_child"):format(depth, core),
  })
end

flight("64 calls in flight, cores free", 64, TWO_CORES, 0.45)
flight("64 calls in flight, one core", 64, ONE_CORE, 0.3)
flight("1000 calls in flight", 1000, TWO_CORES, 0.33)

local function large(name, what, bytes, target)
  conversation(MEGABYTES, {
    name = name, mode = ("%s SECONDS %d"):format(what, bytes), core = TWO_CORES, better = "more", target = target,
    against = "C: store and forward, 64 KiB pipes",
    limit = ("core0 limit/large_host SECONDS %d core1 limit/large_child"):format(bytes),
  })
end

large("1 MiB string there and back", "string", 1048576, 1.5)
large("10 MB array there and back", "array", 10000000, 0.11)

-- {====== Operations, and what else users call; on one core, framed by line ======

local function bare(count)
  return ("core0 lua bench/operation_host.lua bare SECONDS %d ECHO line"):format(count)
end

local function operation(name, mode, dialect, count)
  return {
    name = name, better = "less",
    ours = ("core0 lua bench/operation_host.lua %s %s SECONDS %d OPERATIONS"):format(mode, dialect, count),
  }
end

local function execute(dialect, count, target)
  local way = count == 1 and "in turn" or count .. " in flight"
  local row = operation(("plugin:execute, %s, %s"):format(dialect, way), "execute", dialect, count)
  row.against, row.limit, row.target = "a bare call", bare(count), target
  add(MICROSECOND, row)
end

local function speak_up(dialect)
  local row = operation(("plugin:execute, %s, with a log and progress"):format(dialect), "tell", dialect, 1)
  row.against, row.limit = "each message, µs more than without", operation("", "quiet", dialect, 1).ours
  row.messages, row.target = 2, 4
  add(MICROSECOND, row)
end

execute("gevals", 1, 1.8)
execute("gevals", 64, 4)
execute("mcp", 1)
execute("mcp", 64)
speak_up "gevals"
speak_up "mcp"

add(MICROSECOND, {
  name = "a call that is cancelled, and the next one",
  against = "a bare call",
  limit = bare(1),
  ours = "core0 lua bench/operation_host.lua cancel SECONDS 1 ECHO line",
  better = "less",
})

add(MICROSECOND, {
  name = "a notification, 100 between two calls",
  against = "a bare call, 64 in flight",
  limit = bare(64),
  ours = "core0 lua bench/operation_host.lua notify SECONDS 100 ECHO line",
  better = "less",
})

add(MILLISECOND, {
  name = "host:start of the greeter, handshake included",
  against = "1 ms",
  limit = "echo 0.001",
  ours = "core0 lua bench/operation_host.lua start gevals SECONDS 1 lua examples/greeter/plugin.lua",
  better = "less",
  target = 4,
})

add(MILLISECOND, {
  name = "start with a sandbox",
  against = "the same without",
  limit = "core0 lua bench/operation_host.lua start gevals SECONDS 1 lua examples/greeter/plugin.lua",
  ours = "core0 lua bench/operation_host.lua confine gevals SECONDS 1 lua examples/greeter/plugin.lua",
  better = "less",
  target = 1.1,
})

-- }======

add(MILLISECOND, {
  name = "spawn to first answer",
  against = "C host, C child",
  limit = "limit/spawn_host SECONDS limit/sequential_child",
  ours = "lua bench/peer_host.lua start SECONDS 0 ECHO",
  better = "less",
  target = 2.2,
})

add(MILLISECOND, {
  name = "spawn from a 500 MB heap",
  against = "the same from a small heap",
  limit = "lua bench/peer_host.lua start SECONDS 0 ECHO",
  ours = "lua bench/peer_host.lua start SECONDS 500 ECHO",
  better = "less",
  target = 1.3,
})

add(CALLS, {
  name = "100 plugins, one call in turn",
  against = "C host on epoll",
  limit = "core0 limit/many_host turn SECONDS 100 core1 limit/sequential_child",
  ours = "core0 lua bench/peer_host.lua turn SECONDS 100 core1 ECHO",
  better = "more",
  target = 0.75,
})

add(CALLS, {
  name = "100 plugins, all in flight",
  against = "C host on epoll",
  limit = "limit/many_host flight SECONDS 100 limit/sequential_child",
  ours = "lua bench/peer_host.lua each SECONDS 100 ECHO",
  better = "more",
  target = 0.5,
})

add(MICROSECOND, {
  name = "a call with 1000 idle plugins beside it",
  is_slow = true, -- to start them takes longer than to measure
  against = "with none",
  limit = "core0 lua bench/peer_host.lua idle SECONDS 0 core1 ECHO",
  ours = "core0 lua bench/peer_host.lua idle SECONDS 1000 core1 ECHO",
  better = "less",
  target = 1.3,
})

-- {====== At the far end of a way ======

local function far(measure, mode, way, name, better, more)
  local row = { name = name, better = better, against = "on this machine" }
  row.both = ("lua bench/far_host.lua %s %s SECONDS ROUNDS 1"):format(mode, way)
  for field, value in pairs(more or {}) do row[field] = value end
  add(measure, row)
end

far(MICROSECOND, "call", "none", "plugin:execute through the relay, without a client", "less")
far(MICROSECOND, "call", "ssh", "plugin:execute over ssh to this machine", "less")
far(MILLISECOND, "start", "none", "host:start through the relay, without a client", "less")
far(MILLISECOND, "start", "ssh", "host:start over ssh to this machine", "less")
far(CALLS, "pool", "ssh", "a pool of 64 over ssh, 64 calls in flight", "more",
  { both = "lua bench/far_host.lua pool ssh SECONDS ROUNDS 64" })
far(MILLISECOND, "launch", "ssh", "starting a pool of 64 over ssh", "less",
  { both = "lua bench/far_host.lua launch ssh SECONDS ROUNDS 64" })

-- }======

local function memory(name, which, target)
  add(MEGABYTE, {
    name = name,
    against = "1 MB",
    limit = "echo 1",
    ours = ("lua bench/peer_host.lua memory SECONDS %d ECHO"):format(which),
    better = "less",
    target = target,
  })
end

memory("resident memory of an idle plugin", 0, 3.5)
memory("resident memory of its host", 1, 4.5)

return rows
