-- Every way to connect, for specs that run over all of them. Each opens a conversation and returns this side of it; the
-- other side is a far_side.
local connect = require "pintle.connect"
local core = require "pintle.core"
local far_side = require "spec.support.far_side"
local loop = require "pintle.loop"
local merge = require("spec.support.pair").merge

local transports = {}

local QUIET = { on_error = function() end }

local function install(far)
  far_side.install(far)
  return far
end

transports["a program"] = function(options)
  local command = { "lua5.4", "spec/support/far_side.lua", options.framing }
  return assert(connect.open(merge(options, { command = command, stop_timeouts = { eof = 1 } })))
end

transports["two pipes"] = function(options)
  local near_in, far_out = core.pipe()
  local far_in, near_out = core.pipe()
  local near = assert(connect.open(merge(options, { read = near_in, write = near_out })))
  local far = assert(connect.open(merge(QUIET, { read = far_in, write = far_out, framing = options.framing })))
  return near, install(far)
end

transports["a pair"] = function(options)
  local near, far = connect.pair(options, merge(QUIET, { framing = options.framing }))
  return near, install(far)
end

-- Listens and connects in one program.
local function over_socket(place, options)
  local far
  local listener <close> = assert(connect.listen(merge(place, QUIET, { framing = options.framing }), function(peer)
    far = install(peer)
  end))
  local where = place.path and { path = place.path } or { host = listener.host, port = listener.port }
  local near = assert(connect.open(merge(options, where)))
  loop.run_while(function() return not far end)
  return near, far
end

transports["a Unix socket"] = function(options)
  local path = os.tmpname()
  os.remove(path)
  return over_socket({ path = path }, options)
end

transports["a TCP socket"] = function(options) return over_socket({ host = "127.0.0.1", port = 0 }, options) end

return transports
