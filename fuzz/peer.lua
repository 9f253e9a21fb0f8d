-- Two peers at the ends of a socket pair, in one loop that is driven by loop.step(0). Each byte of the input is an
-- action: calls from tasks, notifications, batches, cancellations, broken input in the middle, the end of one side.
-- Handlers wait, call back, fail and turn the loop. It must come to an end, and every call gets one answer or error.
--
-- Input: flags, then actions.
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.loaded["pintle.core"] = core -- luacheck: globals core

local core = core -- luacheck: globals core
local loop = require "pintle.loop"
local peers = require "pintle.peer"
local tasks = require "pintle.task"

local RAW, HEADER, FEW_REQUESTS = 1, 2, 4
local METHODS = { "echo", "wait", "call_back", "nested", "fail", "refuse", "unsendable", "nothing" }
local LINES = {
  '{"jsonrpc":"2.0","id":1,"result":1}', '{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}', "noise", "{",
  '[{"jsonrpc":"2.0","id":7,"method":"echo"},{"jsonrpc":"2.0","method":"wait"},5]', '{"jsonrpc":"2.0","id":3}', "[]",
  '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}', '{"jsonrpc":"2.0","id":4,"method":"call_back"}',
}

local function install(peer, gates)
  peer:on("echo", function(params) return params end)
  peer:on("wait", function()
    local gate = loop.event()
    gates[#gates + 1] = gate
    return gate:wait(0.005, "late") -- a turn inside of a turn opens no gate
  end)
  peer:on("call_back", function(params, ctx) return ctx.peer:call("echo", params) end)
  peer:on("nested", function(params, ctx)
    local result, err
    ("x"):gsub("x", function() result, err = ctx.peer:call("echo", params) end)
    return result, err
  end)
  peer:on("fail", function() error("failed", 0) end)
  peer:on("refuse", function() return nil, "refused" end)
  peer:on("unsendable", function() return print end)
end

-- Two peers, and the descriptors that they use, through which broken input gets in between.
local function open(flags)
  local one, two = core.socketpair()
  local function options(fd)
    return {
      read = fd:fileno(), write = fd:fileno(), framing = flags & HEADER ~= 0 and "header" or "line",
      raw = flags & RAW ~= 0, timeout = 5,
      linger = 0.01, on_error = function() end, answer_noise = true,
      limits = { requests = flags & FEW_REQUESTS ~= 0 and 2 or nil, backlog = flags & FEW_REQUESTS ~= 0 and 2 or nil },
    }
  end
  return assert(peers.open(options(one))), assert(peers.open(options(two))), one, two
end

local function run(input)
  local flags = input:byte(1) or 0
  local gates, running, made, answered = {}, {}, 0, 0
  local near, far, near_fd, far_fd = open(flags)
  install(near, gates)
  install(far, gates)

  local function call(peer, method)
    made = made + 1
    running[#running + 1] = tasks.start(function()
      local result, err = peer:call(method, { made })
      answered = answered + 1
      assert(result ~= nil or err ~= nil, "neither a result nor an error")
    end)
  end

  local function inject(peer, text)
    if peer.ended or peer.stream:queued() > 0 then return end
    local header = flags & HEADER ~= 0 and ("Content-Length: %d\r\n\r\n"):format(#text) or ""
    (peer == near and near_fd or far_fd):write(header .. text .. (flags & HEADER ~= 0 and "" or "\n"))
  end

  local function act(byte)
    local peer, what, which = byte & 1 == 0 and near or far, byte >> 1 & 7, byte >> 4
    if what <= 2 then
      call(peer, METHODS[which % #METHODS + 1])
    elseif what == 3 then
      peer:notify(METHODS[which % #METHODS + 1], { which })
    elseif what == 4 then
      local gate = table.remove(gates)
      if gate then gate:set(which) end
    elseif what == 5 then
      local task = table.remove(running, which % math.max(#running, 1) + 1)
      if task then task:cancel() end
    elseif what == 6 then
      inject(peer, LINES[which % #LINES + 1])
    elseif which == 15 then
      peer:finish(require("pintle.error").new("closed", "finished"))
      local fd = peer == near and near_fd or far_fd
      if not fd:closed() then fd:close() end
    else
      loop.step(0)
    end
  end

  for i = 2, math.min(#input, 200) do act(input:byte(i)) end
  local deadline = core.now() + 5
  repeat
    loop.step(0)
    local gate = table.remove(gates)
    if gate then gate:set(true) end
    local at_work = near.stream:running() + far.stream:running()
  until answered == made and #gates == 0 and at_work == 0 or core.now() > deadline
  assert(answered == made, ("%d calls, %d answers"):format(made, answered))
  local over = require("pintle.error").new("closed", "over")
  near:finish(over)
  far:finish(over)
  for _ = 1, 3 do loop.step(0) end
  for _, fd in ipairs { near_fd, far_fd } do if not fd:closed() then fd:close() end end
end

return run
