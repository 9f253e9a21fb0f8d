-- Peers: calls, answers, batches, malformed input, limits.
local core, scenarios, checks = ...
local json, null = core.json, core.json.null
local loop = core.loop
local again, is, says, raises, fails = checks.again, checks.is, checks.says, checks.raises, checks.fails
local is_memory, empty_loop, start, not_failed = checks.is_memory, checks.empty_loop, checks.start, checks.not_failed

-- {====== Peers ======

local policy = {}

function policy.request(self, _, id, method, params)
  if self.held then return table.insert(self.held, { id, method, params }) end
  if id then self.stream:fail(id, -32601, "no method " .. method) end
  self.stream:write_soon()
end

function policy.refuse(self, _, id, _, err)
  if id then self.stream:fail(id, -1, err) end
end

function policy.failed(self, _, id, _, err)
  if id then self.stream:fail(id, -2, tostring(err)) end
end

function policy.unsent(self, id, _, message)
  self.stream:fail(id, -3, message)
end

function policy.keep(self, kind) self.kept = kind end
function policy.call(_, _, _, options) return nil, "option " .. next(options) end
function policy.refused(_, kind, message) return message or kind end
policy.failure = policy.refused
function policy.overdue() return "overdue" end
function policy.withdrawn(self, _, err) self.withdrawn = err end
function policy.remote_error(payload)
  return (type(payload) == "userdata" and json.decode(payload) or payload).message
end
function policy.after_activity(self) self.moved = true end
function policy.calling(self) self.calling = true end

function policy.invalid(self, _, id, call, report)
  if call then return self.stream:complete_call(call, nil, report.message) end
  self.stream:fail(id, report.code, report.message)
  self.stream:write_soon()
end

function policy.ended(self, message)
  if self.ended then return end
  self.stream:fail_calls(message)
  if not self.is_ending then
    self.is_ending = true
    self.stream:write()
  end
  self.stream:finish()
  self.ended = message
end

policy.lost, policy.broken = policy.ended, policy.ended

local handlers = {}
function handlers.echo(params) return params end
function handlers.context(_, ctx) return ctx.method .. " " .. tostring(ctx.id) end
function handlers.refuse() return nil, "refused" end
function handlers.fail() error("failed", 0) end
function handlers.unsendable() return print end
function handlers.never() loop.event():wait() end
function handlers.note(params, ctx) ctx.peer.note = params end

function handlers.call_back(params, ctx)
  return core.call(ctx.peer, "echo", params)
end

function handlers.call_back_nested(params, ctx)
  local result, err
  ("x"):gsub("x", function() result, err = core.call(ctx.peer, "echo", params) end)
  return result, err
end

local function new_peer(fd, options)
  local peer = {}
  local given = { read = fd, write = fd, framing = "line" }
  for name, value in pairs(options or {}) do given[name] = value end
  peer.stream = assert(again(core.peer, given, peer, {
    policy = policy, handlers = handlers, controls = { cancel = function() return false end }, context = {},
    timeout = 10, requests = 64,
  }))
  return peer
end

local function finish_peer(peer)
  peer.stream:fail_calls "finished"
  peer.stream:finish()
end

-- Two peers that talk to each other. If memory was short for a message, that is what the scenario ends with.
local function converse_in_loop(f, options, other)
  local one, two = core.socketpair()
  local a, b = new_peer(one, options), new_peer(two, other or options)
  again(a.stream.begin, a.stream)
  again(b.stream.begin, b.stream)
  local ok, err = pcall(f, a, b)
  local was_short = is_memory(a.ended) or is_memory(b.ended)
  finish_peer(a)
  finish_peer(b)
  if was_short then error("not enough memory", 0) end
  if not ok then error(err, 0) end
end

local function call(peer, method, params, options)
  return again(core.call, peer, method, params, options)
end

local function result_of(peer, method, params)
  local result, err = call(peer, method, params)
  if result == nil then error(err, 0) end
  return result
end

function scenarios.peer_call()
  converse_in_loop(function(a)
    is(2, result_of(a, "echo", { 1, 2 })[2])
    says("context %d+", result_of(a, "context"))
    is(null, result_of(a, "echo"))
  end)
end

function scenarios.peer_call_fails()
  converse_in_loop(function(a)
    says("refused", select(2, call(a, "refuse")))
    says("failed", select(2, call(a, "fail")))
    says("a function", select(2, call(a, "unsendable")))
    says("no method nothing", select(2, call(a, "nothing")))
    says("a function", select(2, call(a, "echo", { print })))
    says("option other", select(2, call(a, "echo", nil, { other = 1 })))
  end)
end

function scenarios.peer_call_back()
  converse_in_loop(function(a)
    is(1, result_of(a, "call_back", { 1 })[1])
    is(2, result_of(a, "call_back_nested", { 2 })[1])
  end)
end

local function in_tasks(options)
  converse_in_loop(function(a, b)
    local got, objects = {}, {}
    local function ask(i) got[i] = assert(core.call(a, i % 2 == 0 and "call_back" or "echo", { i })) end
    for i = 1, 20 do objects[i] = start(ask, i) end
    local deadline = core.now() + 5
    while #got < 20 and core.now() < deadline do
      loop.step(0.001)
      for i = 1, 20 do not_failed(objects[i]) end
      if a.ended or b.ended then error(a.ended or b.ended, 0) end
    end
    for i = 1, 20 do is(i, again(json.decode, again(json.encode, got[i]))[1]) end
  end, options)
end

function scenarios.peer_tasks() in_tasks() end
function scenarios.peer_tasks_raw() in_tasks { raw = true, framing = "header" } end

function scenarios.peer_tasks_codec()
  in_tasks { json = { encode = json.encode, decode = json.decode }, ids = "string" }
end

function scenarios.peer_large()
  converse_in_loop(function(a)
    is(600 * 1024, #result_of(a, "echo", { ("x"):rep(600 * 1024) })[1])
  end, { framing = "header" })
end

function scenarios.peer_notify()
  converse_in_loop(function(a, b)
    is(true, again(core.notify, a, "note", { 1 }))
    is(true, again(core.notify, a, "cancel", { 1 }))
    says("a function", select(2, again(core.notify, a, "note", { print })))
    loop.step(1)
    if not b.note then error(b.ended or "not enough memory", 0) end
    is(1, b.note[1])
  end)
end

function scenarios.peer_deadline()
  converse_in_loop(function(a, b)
    says("overdue", select(2, call(a, "never", nil, { timeout = 0.001 })))
    local err
    local object = start(function() err = select(2, core.call(a, "never", nil, { timeout = 0.001 })) end)
    local deadline = core.now() + 5
    while not err and not object.err and core.now() < deadline do loop.step(0.001) end
    not_failed(object)
    says("overdue", err)
    for _, ctx in ipairs(again(b.stream.requests, b.stream)) do loop.stop(ctx, "stopped") end
    loop.step()
    is(0, (b.stream:running()))
    is(0, a.stream:waiting())
  end)
end

function scenarios.peer_stopped()
  converse_in_loop(function(a, b)
    local err
    local object = start(function() err = select(2, core.call(a, "never")) end)
    not_failed(object)
    is(1, a.stream:waiting())
    again(loop.stop, object, "stopped")
    loop.step(0.001)
    not_failed(object)
    is("stopped", err)
    is("stopped", a.withdrawn or error("not enough memory", 0))
    for _, ctx in ipairs(again(b.stream.requests, b.stream)) do loop.stop(ctx, "stopped") end
  end)
end

function scenarios.peer_ask()
  converse_in_loop(function(a)
    local events, acted = {}, 0
    local function act() acted = acted + 1 end
    for i = 1, 20 do
      events[i] = again(loop.event)
      events[i]:on_set(act)
      again(a.stream.ask, a.stream, events[i], i < 20 and "never" or "echo", { i }, 10)
    end
    local got, err = events[20]:wait(5, "late")
    if not got then error(err, 0) end
    is(20, got[1])
    a.stream:fail_calls "deaf"
    for i = 1, 19 do is("deaf", select(2, events[i]:wait(5, "late"))) end
    loop.step()
  end)
end

function scenarios.peer_complete_call()
  converse_in_loop(function(a)
    local event = again(loop.event)
    local id = again(a.stream.ask, a.stream, event, "never", nil, 0.001)
    is(true, again(a.stream.complete_call, a.stream, id, "settled"))
    is("settled", (event:wait()))
    is(false, again(a.stream.complete_call, a.stream, id, "settled"))
    local late = again(loop.event)
    again(a.stream.ask, a.stream, late, "never", nil, 0)
    is(core.overdue, (select(2, late:wait(5))))
  end)
end

function scenarios.peer_held()
  converse_in_loop(function(a, b)
    b.held = {}
    b.stream:hold(true)
    local got, err
    local object = start(function() got, err = core.call(a, "echo", { 1 }) end)
    not_failed(object)
    loop.step(1)
    if b.ended then error(b.ended, 0) end
    b.calling = false
    local request = is("table", type(b.held[1])) and b.held[1]
    again(b.stream.handle, b.stream, request[1], request[2], request[3], handlers.echo)
    for _ = 1, 3 do loop.step(0.001) end
    not_failed(object)
    if not got then error(err or a.ended or b.ended or "no answer", 0) end
    is(1, got[1])
    local other = start(function() core.call(b, "never", nil, { timeout = 0 }) end)
    not_failed(other)
    is(true, b.calling)
  end)
end

function scenarios.peer_receive_only()
  converse_in_loop(function(a, b)
    is(true, again(core.notify, a, "note"))
    is(true, again(core.notify, a, "note"))
    again(b.stream.pause, b.stream, true)
    again(b.stream.pause, b.stream, false)
    is(true, again(b.stream.receive_only, b.stream))
    loop.step()
    if not b.kept then error(b.ended or "not enough memory", 0) end
    is("notification", b.kept)
  end)
end

function scenarios.peer_output_blocked()
  converse_in_loop(function(a, b)
    again(a.stream.watch_activity, a.stream, true)
    again(b.stream.pause, b.stream, true)
    local text = ("x"):rep(100 * 1024)
    for _ = 1, 20 do is(true, again(core.notify, a, "note", { text })) end
    again(b.stream.pause, b.stream, false)
    local deadline = core.now() + 5
    while a.stream:queued() > 0 and not a.ended and not b.ended and core.now() < deadline do loop.step(0.1) end
    if a.ended or b.ended then error(a.ended or b.ended, 0) end
    is(0, a.stream:queued())
    is(true, a.moved)
    again(a.stream.close_output, a.stream)
    for _ = 1, 10 do if not b.ended then loop.step(1) end end
    says("has closed", b.ended)
  end)
end

-- Input that breaks off, batches, input that is not a message, the end, and the expected end.
local function feed(framing, text, f, limits)
  local read, write = core.pipe()
  local out, into = core.pipe()
  local peer = new_peer(read, { write = into, framing = framing, limits = limits })
  again(peer.stream.begin, peer.stream)
  is(#text, write:write(text))
  local ok, err = pcall(f, peer, out, write)
  finish_peer(peer)
  if is_memory(peer.ended) then error("not enough memory", 0) end
  if not ok then error(err, 0) end
end

function scenarios.peer_batch()
  local request = '{"jsonrpc":"2.0","id":%s,"method":"%s","params":[1]}'
  local text = "[" .. request:format("1", "echo") .. "," .. request:format('"b"', "context") .. ",5," ..
    request:format("1.0", "nothing") .. ',{"jsonrpc":"2.0","method":"note"}]\n'
  feed("line", text, function(_, out, write)
    loop.step(1)
    local answer = out:read()
    if not answer then error("not enough memory", 0) end
    is(4, #again(json.decode, answer))
    write:close()
  end)
end

function scenarios.peer_invalid()
  local text = 'hello\n{"jsonrpc":"2.0","id":7,"method":5}\n{"jsonrpc":"2.0","id":9,"result":1}\n{'
  feed("line", text, function(peer, out, write)
    write:close()
    for _ = 1, 3 do loop.step(0.001) end
    says("has closed", peer.ended)
    local _ = out:read()
  end)
end

function scenarios.peer_expect_end()
  feed("line", '{"jsonrpc":"2.0","id":7,"method":"echo"}\n', function(peer, out, write)
    again(peer.stream.expect_end, peer.stream)
    for _ = 1, 3 do loop.step(0.001) end
    says("has ended", peer.ended)
    says('"id":7', out:read())
    write:close()
  end)
end

-- A call that waits when the other side goes away.
function scenarios.peer_fail_calls()
  converse_in_loop(function(a, b)
    local err
    local object = start(function() err = select(2, core.call(a, "never")) end)
    not_failed(object)
    finish_peer(b)
    for _ = 1, 10 do if not err then loop.step(0.1) end end
    not_failed(object)
    is("string", type(err)) -- closed, or reset
    is("string", type(select(2, call(a, "echo"))))
  end)
end

-- What raises in the loop goes through a call that turns it, and the call is taken back.
function scenarios.peer_error_through_call()
  converse_in_loop(function(a)
    empty_loop()
    again(loop.soon, error, "through")
    raises("through", core.call, a, "never")
    is(0, a.stream:waiting())
    is(1, result_of(a, "echo", { 1 })[1])
  end)
end

-- A peer that is collected while the loop still has it in its lists.
function scenarios.peer_collected()
  local one, two = core.socketpair()
  do
    local peer = new_peer(one)
    again(peer.stream.ask, peer.stream, again(loop.event), "never", nil, 100)
    again(peer.stream.expect_end, peer.stream)
    peer = nil -- luacheck: ignore
  end
  for _ = 1, 3 do
    collectgarbage()
    loop.step()
  end
  two:close()
end

-- }======

-- {====== The form of messages ======

local function assert_echoes(options)
  converse_in_loop(function(a) is(2, result_of(a, "echo", { 1, 2 })[2]) end, options)
end

function scenarios.peer_ids_and_extra()
  assert_echoes { ids = "string", extra = { version = "0.1", x = 1, y = true } }
end

function scenarios.peer_own_header()
  assert_echoes { framing = "header", header = "Content-Type: application/json\r\nContent-Length: " }
end

function scenarios.peer_cjson() assert_echoes { framing = "header", json = require "cjson" } end

function scenarios.peer_codec_refuses()
  local picky = { encode = function() error "cannot" end, decode = function() return nil, "cannot" end }
  converse_in_loop(function(a)
    says("cannot", select(2, again(core.notify, a, "note", {})))
    says("codec cannot read", select(2, call(a, "echo")))
  end, { json = picky }, {})
end

function scenarios.peer_set_envelope()
  local ways = { ids = "string", extra = { version = "0.1" }, header = "content-length: " }
  converse_in_loop(function(a, b)
    is(true, again(core.notify, a, "note"))
    loop.step(1)
    if b.ended then error(b.ended, 0) end
    fails("version is missing", "invalid", again(b.stream.set_envelope, b.stream, ways))
    is(true, again(b.stream.set_envelope, b.stream, ways))
    is(true, again(a.stream.set_envelope, a.stream, ways))
    is(1, result_of(a, "echo", { 1 })[1])
    is(true, again(a.stream.set_envelope, a.stream, { extra = { version = "0.2" } }))
    says('"0.2" expected, got "0.1"', select(2, call(a, "echo"))) -- what b says is not what a expects, either
  end, { framing = "header" }, { framing = "auto", others = true })
end

function scenarios.peer_others()
  converse_in_loop(function(a, b)
    is(true, again(core.notify, a, "note"))
    loop.step(1)
    if b.ended then error(b.ended, 0) end
    is("0.1", (b.stream:others() or error("not enough memory", 0)).version)
    fails("is missing", "invalid", again(b.stream.set_envelope, b.stream, { extra = { third = 1 } }))
  end, { extra = { version = "0.1", other = 2 } }, { others = true })
end

-- }======

-- {====== Limits ======

function scenarios.peer_calls_limited()
  converse_in_loop(function(a)
    for _ = 1, 70 do
      local id = again(a.stream.ask, a.stream, again(loop.event), "never", nil, false)
      is("integer", math.type(id))
    end
    fails("70 calls", "full", again(a.stream.ask, a.stream, again(loop.event), "never", nil, false))
    is(70, a.stream:waiting())
  end, { limits = { calls = 70 } })
end

function scenarios.peer_too_long()
  local text = '[{"id":1,"result":"%s"},{"result":{"id":1},"id":2},{"method":"m"}]\n{"method":"%s","id":1.0}\n'
  feed("line", text:format(("x"):rep(100), ("y"):rep(300)), function(peer, out, write)
    local events = { again(loop.event), again(loop.event) }
    for i = 1, 2 do is(i, peer.stream:ask(events[i], "m", nil, false)) end
    loop.step(1)
    for i = 1, 2 do says("longer than the limit", select(2, events[i]:wait(5, peer.ended or "late"))) end
    for _ = 1, 3 do loop.step() end
    is(4, peer.ended and 4 or peer.stream:stats().invalid)
    local _ = out:read()
    says("longer than the limit", select(2, again(core.notify, peer, "m", { ("x"):rep(100) })))
    write:close()
  end, { message = 50 })
end

function scenarios.peer_misuse()
  local function wrong(options) return core.peer(options, {}, { requests = 1 }) end
  raises("framing", wrong, { framing = "x" })
  raises("limits", wrong, { framing = "line", limits = 1 })
  raises("from 1 to", wrong, { framing = "line", limits = { queue = 0 } })
  raises("codec", wrong, { framing = "line", json = { encode = print } })
  raises("ids", wrong, { framing = "line", ids = "x" })
  raises("header", wrong, { framing = "line", header = "x" })
  raises("extra", wrong, { framing = "line", extra = { {} } })
  raises("read", wrong, { framing = "line" })
  local r <close>, w = core.pipe()
  fails("cannot use", "closed", wrong { framing = "line", read = r, write = 500 })
  is(false, r:closed())
  is(false, w:closed())
end

-- }======
