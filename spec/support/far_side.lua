-- The other side of a conversation, with methods that specs need. As a program it uses its stdin and stdout:
-- far_side.lua FRAMING
local errors = require "pintle.error"
local loop = require "pintle.loop"

local far_side = {}

local handlers = {}

function handlers.echo(params) return params end

function handlers.nothing() end

-- {====== Errors ======

function handlers.fail_with(params) return nil, params[1] end

function handlers.fail_invalid() return nil, errors.new("invalid", "it does not fit", { data = { at = "x" } }) end

function handlers.raise(params) error(params[1], 0) end

function handlers.unsendable() return { print } end

function handlers.illegible() return nil, { code = 5, message = "no file caf\xE9 here, é", data = { 1 } } end

function handlers.bad_data() return nil, { code = 7, message = "with data", data = print } end

-- }======

-- {====== Calling back ======

function handlers.ping(params, ctx)
  if params.depth == 0 then return 0 end
  local below, err = ctx:call("ping", { depth = params.depth - 1 })
  if not below then return nil, err end
  return below + 1
end

function handlers.call_back(params, ctx)
  local result, err = ctx:call(params.method, params.params, { timeout = params.timeout })
  if err then return { kind = err.kind, message = err.message, code = err.code } end
  return { result = result }
end

function handlers.shout(params, ctx)
  for i = 1, params.times do ctx:notify("heard", { i }) end
  return true
end

function handlers.report(params, ctx) ctx:notify("$/progress", params) end

function handlers.work(params, ctx)
  for i = 1, 3 do ctx:notify("$/progress", { token = params.workDoneToken, value = i }) end
  return "done"
end

-- }======

-- {====== Waiting ======

function handlers.sleep(params, ctx)
  local ok, err = loop.sleep(params.seconds)
  ctx.peer.last_error = err
  if not ok then return nil, err end
  return params.seconds
end

-- Answers only after `release`.
function handlers.hold(params, ctx)
  local held = ctx.peer.held
  held[#held + 1] = loop.event()
  held[#held]:wait()
  return params
end

function handlers.release(_, ctx)
  local held = ctx.peer.held
  ctx.peer.held = {}
  for i = #held, 1, -1 do held[i]:set(true) end
  return #held
end

function handlers.compute(_, ctx)
  repeat until ctx:cancelled()
  ctx.peer.notes[#ctx.peer.notes + 1] = "cancelled"
  return "too late"
end

-- }======

-- {====== Looking back ======

function handlers.note(params, ctx) ctx.peer.notes[#ctx.peer.notes + 1] = params[1] end

function handlers.notes(_, ctx) return ctx.peer.notes end

function handlers.last_error(_, ctx) return ctx.peer.last_error and ctx.peer.last_error.kind end

function handlers.stats(_, ctx) return ctx.peer.stream:stats() end

function handlers.leave(_, ctx) ctx.peer:close() end

-- }======

function far_side.install(peer)
  peer.notes, peer.held = {}, {}
  for method, handler in pairs(handlers) do peer:on(method, handler) end
end

if arg and arg[0] and arg[0]:find "far_side%.lua$" then
  local peer = assert(require("pintle.connect").open {
    stdio = true, framing = arg[1], on_error = function() end,
  })
  far_side.install(peer)
  peer:join()
end

return far_side
