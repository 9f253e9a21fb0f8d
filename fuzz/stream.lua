-- One peer, and bytes for it that arrive in pieces. Its handlers answer at once, later, by calling back, with an error
-- or with something that cannot be sent; calls of its own wait, are cancelled or are given up; finalizers use the peer
-- in the middle of all that. The conversation must come to an end, every call must get one result or error, and what
-- the peer wrote must be frames with JSON-RPC messages.
--
-- Input: framing, flags, bounds of a message, of a header, of nesting and of the queue, calls made at first, what to
-- do with requests, how many sizes of pieces follow, those sizes, the bytes.
local core = core -- luacheck: globals core
package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
package.loaded["pintle.core"] = core

local errors = require "pintle.error"
local loop = require "pintle.loop"
local peers = require "pintle.peer"
local tasks = require "pintle.task"

local RAW, STRING_IDS, EXTRA, CODEC, SOCKET, FINALIZERS, OTHERS, NARROW = 1, 2, 4, 8, 16, 32, 64, 128
local PARAMS = core.json.order { "made", "list", "missing" }
local FRAMINGS = { [0] = "auto", "line", "header" }
local EXTRA_MEMBERS = { version = "0.1" }
local MOST_PIECES = 6 -- the rest arrives at once: it is turns that take time
local MOST_TURNS = 100 -- without any input, until no handler waits
local LATE = 5 -- seconds until everything has ended; a peer that is closed waits for its handlers for a moment

local function choices(input)
  local at = 0
  local function byte()
    at = at + 1
    return input:byte(at) or 0
  end
  local c = {
    framing = FRAMINGS[byte() % 3], flags = byte(), message = byte() * 8 + 32, header = byte() + 1,
    nesting = byte() % 32 + 1, queue = byte() * 4 + 1, calls = byte(), plan = byte(), sizes = {},
  }
  for i = 1, byte() % 8 do c.sizes[i] = math.max(byte(), 1) end
  c.bytes = input:sub(at + 1)
  c.sizes[1] = c.sizes[1] or #c.bytes
  c.calls = c.calls < 250 and c.calls % 10 or 70 -- seldom more than may wait
  function c.has(flag) return c.flags & flag ~= 0 end
  return c
end

local function ignore() end

-- The peer and the other end of its two descriptors.
local function open(c)
  local read, write, far_read, far_write
  if c.has(SOCKET) then
    read, far_read = core.socketpair()
    write, far_write = read, far_read
  else
    read, far_write = core.pipe()
    far_read, write = core.pipe()
  end
  local is_narrow = c.has(NARROW)
  local peer = assert(peers.open {
    read = read, write = write, framing = c.framing, raw = c.has(RAW), ids = c.has(STRING_IDS) and "string" or nil,
    extra = c.has(EXTRA) and EXTRA_MEMBERS or nil, json = c.has(CODEC) and core.json or nil, others = c.has(OTHERS),
    answer_noise = c.plan & 1 == 0, ordered = c.plan & 2 ~= 0, on_noise = ignore, on_error = ignore, timeout = false,
    limits = { message = c.message, header = c.header, nesting = c.nesting, text = 20, calls = is_narrow and 8 or 64,
               queue = is_narrow and c.queue or nil, requests = is_narrow and 2 or nil,
               backlog = is_narrow and 2 or nil },
  })
  return peer, far_read, far_write
end

-- {====== What the peer writes ======

local function is_message(value, extra)
  if type(value) ~= "table" or value.jsonrpc ~= "2.0" or extra and value.version ~= "0.1" then return false end
  if type(value.method) == "string" then return value.result == nil and value.error == nil end
  return value.id ~= nil and (value.result == nil) ~= (value.error == nil)
end

-- Counts messages and answers; an array has the answers to a batch.
local function note_written(count, value, extra)
  local members = type(value) == "table" and #value > 0 and value or { value }
  for _, member in ipairs(members) do
    assert(is_message(member, extra), "no JSON-RPC message was written")
    if not member.method then count.answers = count.answers + 1 end
    count.messages = count.messages + 1
  end
end

local function new_reader(c)
  local frames, count = {}, { messages = 0, answers = 0 }
  local function feed(framing, text)
    frames[framing] = frames[framing] or core.frames(framing)
    frames[framing]:feed(text)
    for kind, body in frames[framing].next, frames[framing] do
      if kind ~= "message" then error(("%s written as %s: %q"):format(kind, framing, body)) end
      note_written(count, assert(core.json.decode(body)), c.has(EXTRA))
    end
  end
  -- A turn that finds out the framing may write lines before.
  local function feed_all(framing, text)
    if framing == "line" or frames.header then return feed(framing, text) end
    while text:find "^[{[]" do
      local line, rest = text:match "^(.-\n)(.*)$"
      feed("line", line or text)
      text = rest or ""
    end
    if text ~= "" then feed("header", text) end
  end
  local function finish(is_all)
    for framing, each in pairs(frames) do
      each:finish()
      assert(not is_all or each:next() == nil, framing .. ": a frame is unfinished")
    end
    return count
  end
  return feed_all, finish
end

-- }======

-- The calls that were made, by a task or begun; each gets one result or error.
local function new_calls(peer)
  local all, made = {}, 0
  local calls = {}

  local function params() return setmetatable({ list = {}, other = true, made = made }, PARAMS) end

  function calls.begin()
    made = made + 1
    local at = made -- a finalizer may call meanwhile
    all[at] = peer:begin("call", params())
  end

  function calls.start()
    local call = { answers = 0 }
    made = made + 1
    all[made] = call
    call.task = tasks.start(function()
      local result, err = peer:call("call", params())
      assert(result ~= nil or err ~= nil, "neither a result nor an error")
      call.answers = call.answers + 1
    end)
  end

  function calls.cancel(which)
    local call = all[which % math.max(made, 1) + 1]
    local target = call and (call.task or call.wait and call)
    if target then target:cancel() end
  end

  function calls.check()
    for i = 1, made do
      local call = all[i]
      assert((call.task and call.answers == 1) or (call.wait and call:is_done()), "a call is lost")
      if call.wait then
        local result, err = call:wait()
        assert(result ~= nil or err ~= nil, "neither a result nor an error")
      end
    end
  end

  return calls
end

local function install(peer, choose, gates)
  local deep = 0
  local function turn()
    if deep > 2 then return end
    deep = deep + 1
    loop.step(0)
    deep = deep - 1
  end

  peer:on("m", function(params)
    local how = choose(8)
    if how == 0 then error("failed", 0) end
    if how == 1 then return nil, "refused" end
    if how == 2 then return ignore end
    return params
  end)
  peer:on_unknown(function(params, ctx)
    local how = choose(6)
    if how == 0 then
      local gate = loop.event()
      gates[#gates + 1] = gate
      return gate:wait()
    elseif how == 1 then
      return ctx.peer:call("back", { choose(9) })
    elseif how == 2 then
      turn()
    elseif how == 3 then
      ctx.peer:notify("told", {})
    end
    return params
  end)
end

local function run(input)
  local c = choices(input)
  local peer, far_read, far_write = open(c)
  local read_back, finish_reading = new_reader(c)
  local random, gates, failure, is_cut = c.plan, {}, nil, false

  local function choose(n)
    random = (random * 1103515245 + 12345) % 2147483648
    return random // 65536 % n
  end

  local calls = new_calls(peer)
  install(peer, choose, gates)

  local function open_gate()
    local gate = table.remove(gates)
    if gate then gate:set("late") end
  end

  -- Before the framing can change, for it says how to read this back.
  local function drain()
    local framing = peer.stream:framing() == "header" and "header" or "line"
    local text = far_read:read()
    if text and text ~= "" then read_back(framing, text) end
  end

  local actions = {
    calls.begin, calls.start, open_gate,
    function() peer:notify("gc", {}) end,
    function() calls.cancel(choose(80)) end,
    function() peer:receive_while_busy() end,
    function() peer.stream:write() end,
    function()
      if choose(8) > 0 or peer.ended then return end
      is_cut = true
      peer:finish(errors.new("closed", "finished"))
    end,
  }
  local function plant_finalizer()
    if not c.has(FINALIZERS) then return end
    local action = actions[choose(#actions) + 1]
    setmetatable({}, { __gc = function()
      local ok, message = pcall(action)
      if not ok then failure = failure or message end
    end })
  end

  local function turn()
    plant_finalizer()
    loop.step(0)
    drain()
  end

  for _ = 1, c.calls do calls[choose(4) == 0 and "start" or "begin"]() end
  turn()
  local at, i = 1, 0
  while at <= #c.bytes do
    local size = i < MOST_PIECES and c.sizes[i % #c.sizes + 1] or #c.bytes
    i = i + 1
    far_write:write(c.bytes:sub(at, at + size - 1))
    at = at + size
    turn()
    if c.plan & 4 ~= 0 and choose(4) == 0 then actions[choose(#actions - 1) + 1]() end
  end
  for _ = 1, MOST_TURNS do
    if #gates == 0 then break end
    open_gate()
    turn()
  end
  turn()
  local stats = peer.stream:stats()
  -- A batch waits for its handlers, and finalizers may send at any time.
  local is_all = not c.has(FINALIZERS) and not is_cut and peer.stream:queued() == 0 and #peer:requests() == 0
  local written = finish_reading(is_all)
  assert(written.answers <= stats.received + stats.invalid + stats.noise, "more answers than messages")
  assert(not is_all or written.messages == stats.sent, "not as much was written as sent")

  far_write:close()
  far_read:close()
  local late = core.now() + LATE
  while not (peer.ended and peer.stream:running() == 0) and core.now() < late do
    plant_finalizer()
    open_gate()
    loop.step(0)
  end
  assert(peer.ended, "it does not end")
  collectgarbage "stop" -- a finalizer could start another call that has no turn left
  for _ = 1, 2 do loop.step(0) end
  calls.check()
  collectgarbage "restart"
  assert(peer.stream:waiting() == 0)
  if c.has(FINALIZERS) then collectgarbage "step" end
  assert(not failure, failure)
end

return run
