-- All of the core in small pieces, for the driver: each passes as long as there is memory, and ends with the error
-- for that otherwise. Whatever `again` calls can be called once more after such an error as if nothing had been.
local core = ...
local luaopen = luaopen_pintle_core -- luacheck: globals luaopen_pintle_core
local json, null = core.json, core.json.null
local scenarios = {}

-- Lua's own metatable for large buffers: if memory is short while it is made, Lua goes on with half of it.
local _ = ("x"):rep(10000)

local function is_memory(message)
  return tostring(message):find("not enough memory", 1, true)
end

local function finish(f, a, b, c, d, e, ok, value, message, ...)
  if ok and not (value == nil and is_memory(message)) then return value, message, ... end
  if not ok and not is_memory(value) then error(value, 0) end
  return f(a, b, c, d, e)
end

local function again(f, a, b, c, d, e)
  return finish(f, a, b, c, d, e, pcall(f, a, b, c, d, e))
end

local function is(expected, value)
  if value ~= expected then error(("%s expected, got %s"):format(expected, value), 2) end
  return value
end

local function says(pattern, message)
  if is_memory(message) then error(message, 0) end
  if not tostring(message):find(pattern) then error(("'%s' is not in '%s'"):format(pattern, message), 3) end
end

local function raises(pattern, f, ...)
  local ok, message = pcall(f, ...)
  if ok then error("no error: " .. pattern, 2) end
  says(pattern, message)
end

local function fails(pattern, kind, value, message, what)
  is(nil, value)
  says(pattern, message)
  is(kind, what)
end

-- {====== Values ======

function scenarios.open()
  local module = again(luaopen)
  local function type_of(name) return type(module[name]) end
  is("table", again(type_of, "json"))
  is("function", type(module.json.decode))
  is("function", type(again(function() return module.loop end).step))
  for name in ("call peer now frames getpid poll spawn sandbox sha256 signals watchdog listen"):gmatch "%S+" do
    is("function", again(type_of, name))
  end
end

function scenarios.decode()
  local t = again(json.decode, '{"a":[1,-2,1.5,1e300,true,false,null],"b":{},"c":[],"d":"\\u00e4\\n\\ud83d\\ude00"}')
  is(7, #t.a)
  is(null, t.a[7])
  is("ä\n😀", t.d)
  is("[]", again(json.encode, t.c))
  is(1, again(json.decode, json.raw "[1]")[1])
end

function scenarios.decode_ordered()
  local text = '{"b":{},"a":[{"y":1,"x":2,"long name that is not kept":3}],"c":null}'
  local t = again(json.decode, text, nil, true)
  is(text, again(json.encode, t))
  local names = ""
  for name in again(pairs, t) do names = names .. name end
  is("bac", names)
end

function scenarios.decode_big_integers()
  local text = '[98765432109876543210,{"n":-98765432109876543210}]'
  is(text, again(json.encode, again(json.decode, text, nil, nil, true)))
end

function scenarios.encode_large_ordered()
  local members = {}
  for i = 1, 70 do members[i] = ('"n%d":%d'):format(i * 31 % 71, i) end
  local text = "{" .. table.concat(members, ",") .. "}"
  is("[" .. text .. "]", again(json.encode, { again(json.decode, text, nil, true) }))
  is("n31", (again(pairs(json.decode("{}", nil, true)), again(json.decode, text, nil, true))))
end

function scenarios.decode_watched()
  local trail = again(json.watch, { "_marker" })
  local t = again(json.decode, '[{"a":{"_marker":1}},"' .. ("x"):rep(5000) .. '"]', nil, true)
  is(true, trail[t] and trail[t[1]] and trail[t[1].a])
  raises("too many names", json.watch, { "a", "b", "c", "d", "e", "f", "g", "h" })
end

function scenarios.decode_many()
  is(200, #again(json.decode, "[" .. ("1,[],2,"):rep(66) .. "3,{}]"))
  is(100, again(json.decode, '{"a":{' .. ('"x":1,"y":2,'):rep(99) .. '"x":100}}').a.x)
  is(100, again(json.decode, '{"a":{' .. ('"x":1,"y":2,'):rep(99) .. '"z":{},"x":100}}').a.x)
end

function scenarios.decode_deep()
  is("table", type(again(json.decode, ("["):rep(100) .. ("]"):rep(100))))
end

function scenarios.decode_large()
  is(40001, #again(json.decode, "[" .. ("1,"):rep(40000) .. "1]"))
  is(2000, #again(json.decode, '"' .. ("\\n"):rep(2000) .. '"'))
end

function scenarios.decode_wrong()
  fails("nested too deeply at line 1", nil, again(json.decode, "[[[1]]]", 2))
  fails("unfinished", nil, again(json.decode, '{"a":[1,'))
  fails("line 2, column 3", nil, again(json.decode, '[\n1 x]'))
  fails("unexpected text", nil, again(json.decode, "1 2"))
  fails("invalid", nil, again(json.decode, "[" .. ("1,"):rep(40000) .. "x]"))
  raises("string expected", json.decode)
  raises("nesting out of range", json.decode, "1", -1)
  raises("unfinished", json.raw, "[1")
end

function scenarios.encode()
  local list = json.array { 1, 2.5, "x\n\1ä", true, null, json.raw " [1,\n2] ", json.array(), {} }
  is('[1,2.5,"x\\n\\u0001ä",true,null, [1, 2] ,[],{}]', again(json.encode, list))
  is('[3,2,1]', again(json.encode, { [3] = 1, [2] = 2, [1] = 3 }))
  is('{"name":"value"}', again(json.encode, { name = "value" }))
  is("null", again(json.encode, nil))
  is(" [1,\n2] ", tostring(list[6]))
end

function scenarios.encode_ordered()
  local order = again(json.order, { "first", "second", "third" })
  local inner = setmetatable({ third = setmetatable({}, order), first = json.array() }, order)
  is('{"first":1,"third":{"first":[],"third":{}},"last":2}',
    again(json.encode, setmetatable({ last = 2, third = inner, first = 1 }, order)))
  inner.second = print
  raises("value%.third%.second: a function", json.encode, setmetatable({ third = inner }, order))
  raises("occurs twice", json.order, { "a", "b", "a" })
  raises("must contain only strings", json.order, { 1 })
end

function scenarios.encode_deep()
  local deep = {}
  for _ = 1, 100 do deep = { deep } end
  is(1 + 100 * 2 + 1, #again(json.encode, deep))
end

function scenarios.encode_large()
  is(40002, #again(json.encode, ("x"):rep(40000)))
  is(300 * 1024 + 2, #again(json.encode, ("x"):rep(300 * 1024)))
  is(4002, #again(json.encode, ("\n"):rep(2000)))
end

function scenarios.encode_wrong()
  local loop = {}
  loop.self = { loop }
  raises("value.self%[1%]: a table that contains itself", json.encode, loop)
  raises("value%.a%[2%]%.b.*function", json.encode, { a = { 1, { b = print } } })
  raises("hole", json.encode, { 1, nil, 3 })
  raises("both items and names", json.encode, { 1, x = 1 })
  raises("neither a name nor an index", json.encode, { [1.5] = 1 })
  raises("NaN", json.encode, 0 / 0)
  raises('%["a b"%].*infinity', json.encode, { ["a b"] = math.huge })
  raises("UTF%-8", json.encode, "\255")
  raises("nested too deeply", json.encode, { { {} } }, 2)
  raises("another metatable", json.array, setmetatable({}, {}))
  is("[1]", again(json.encode, { 1 }))
end

-- }======

-- {====== Frames ======

function scenarios.frames()
  local frames = again(core.frames, "auto")
  again(frames.feed, frames, "hello\nContent-Length: 2\r\n\r\n{}Content-Length: x\r\n\r\n")
  local kinds = {}
  for kind in frames.next, frames do kinds[#kinds + 1] = kind end
  is("noise message bad", table.concat(kinds, " "))
  is("header", frames:framing())
  again(frames.feed, frames, "Content-Length: 300000\r\n\r\n" .. ("x"):rep(300000))
  is(300000, #select(2, frames:next()))
  frames:finish()
  is(nil, frames:next())
  raises("ended already", frames.feed, frames, "x")
end

-- }======

-- {====== The loop ======

local loop = core.loop

-- What a scenario has left in the loop when memory was short for it is no part of this one.
local function empty_loop()
  while loop.timeout() == 0 do pcall(loop.step) end
end

-- Runs the function in a task. What it raises is in `err` of the object.
local function start(f, ...)
  local object = { failed = function(self, err) self.err = err end }
  again(loop.start, object, f, ...)
  return object
end

local function not_failed(object)
  if object.err then error(object.err, 0) end
end

-- More tasks than the loop has room for at first.
function scenarios.loop_tasks()
  local event, got, objects = again(loop.event), {}, {}
  local function wait(i) got[i] = event:wait() end
  for i = 1, 70 do objects[i] = start(wait, i) end
  is(false, event:is_set())
  event:set "x"
  loop.step()
  for i = 1, 70 do
    not_failed(objects[i])
    is("x", got[i])
  end
  is("x", (event:wait()))
end

-- A hook of the main thread is copied to new threads, and to those that are used again.
function scenarios.loop_task_hooked()
  local function run()
    local hook
    not_failed(start(function() hook = debug.gethook() end))
    return hook
  end
  local function note() end
  run()
  again(debug.sethook, note, "l")
  local ok, hook = pcall(run)
  debug.sethook()
  if not ok then error(hook, 0) end
  is(note, hook)
  is(nil, run())
end

function scenarios.loop_task_fails()
  local closed
  local object = start(function()
    local _ <close> = setmetatable({}, { __close = function() closed = true end })
    coroutine.yield()
    error "so it is"
  end)
  is(nil, object.err)
  loop.step()
  says("so it is", object.err)
  is(true, closed)
end

function scenarios.loop_task_stopped()
  local event, was, current = again(loop.event), nil, nil
  local object = start(function()
    current = loop.current()
    was = select(2, event:wait(100, "late"))
    was = was .. select(2, event:wait())
  end)
  not_failed(object)
  is(object, current)
  again(loop.stop, object, "stopped")
  loop.step()
  not_failed(object)
  is("stoppedstopped", was)
  is(nil, (loop.timeout()))
end

-- Tasks inside of tasks, deeper than they may be.
function scenarios.loop_task_depth()
  local deepest, failure = 0, nil
  local function dive(n)
    deepest = math.max(deepest, n)
    local object = { failed = function(_, err) failure = failure or err end }
    if n < 60 then loop.start(object, dive, n + 1) end
  end
  local object = start(dive, 1)
  for _ = 1, 3 do loop.step() end
  not_failed(object)
  if failure then error(failure, 0) end
  is(60, deepest)
end

function scenarios.loop_soon()
  local n = 0
  local function add(k) n = n + k end
  for _ = 1, 70 do again(loop.soon, add, 1) end
  is(0, loop.timeout())
  loop.step()
  is(70, n)
end

function scenarios.loop_timers()
  local n, timers = 0, {}
  local function add(k) n = n + k end
  for i = 1, 20 do timers[i] = again(loop.after, i == 20 and 100 or 0, add, 1) end
  is(0, loop.timeout())
  loop.step()
  is(19, n)
  for i = 1, 20 do again(loop.cancel, timers[i]) end
  is(nil, (loop.timeout()))
end

function scenarios.loop_deadlines()
  local event, late, expired = again(loop.event), nil, nil
  local object = start(function() late = select(2, event:wait(0.001, "late")) end)
  object.expire = function(self) expired = self end
  again(loop.set_deadline, object, 0)
  is("late", select(2, event:wait(0.001, "late")))
  loop.step(0.001)
  not_failed(object)
  is("late", late)
  is(object, expired)
end

function scenarios.loop_action()
  local event, actor = again(loop.event), nil
  event:on_set(function(e) actor = e end)
  event:set()
  is(true, event:is_set())
  loop.step()
  if not actor then error("not enough memory", 0) end -- an action is not called then
  is(event, actor)
end

function scenarios.loop_watch()
  local ends, seen, watchers = {}, 0, {}
  local function see() seen = seen + 1 end
  local function watch_all()
    for i = 1, 40 do
      ends[2 * i - 1], ends[2 * i] = again(core.pipe)
      watchers[i] = { on_ready = see }
      is(true, again(loop.watch, ends[2 * i], "w", watchers[i]))
    end
    loop.step()
  end
  local ok, message = pcall(watch_all)
  for i, watcher in ipairs(watchers) do again(loop.unwatch, ends[2 * i], watcher) end
  if not ok then error(message, 0) end
  is(40, seen)
  fails("cannot watch descriptor 500", "closed", again(loop.watch, 500, "r", {}))
  is("number", type(loop.fileno()))
end

-- A turn inside of a turn, by what cannot yield.
function scenarios.loop_nested()
  local event, got = again(loop.event), nil
  again(loop.soon, function() event:set "in time" end)
  local object = start(function()
    ("x"):gsub("x", function() got = event:wait() end)
  end)
  if not got then
    not_failed(object)
    error "it did not wait"
  end
  is("in time", got)
end

function scenarios.watchdog()
  local was
  is(true, again(core.watchdog, function() error("interrupted", 0) end, function() return false end, 0.001))
  local object = start(function()
    local deadline = core.now() + 2
    while core.now() < deadline do was = true end
  end)
  is(true, again(core.watchdog))
  says("interrupted", object.err)
  is(true, was)
  raises("function expected", core.watchdog, 1)
  again(assert(again(load, "local protect = ... protect()", "=protected")), core.protect)
end

-- }======

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

-- Input that breaks off, batches, what is no message, the end, and the end that was foreseen.
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

-- {====== Descriptors, processes, readiness ======

function scenarios.descriptors()
  local r <close>, w = again(core.pipe)
  is(false, (again(r.read, r)))
  is(5, again(w.write, w, "hello"))
  is("hello", r:read()) -- what was read is gone if there is no memory for it
  says("pintle.fd %(%d+%)", tostring(w))
  w:close()
  is("", (again(r.read, r)))
  says("closed", tostring(w))
  raises("closed", w.write, w, "x")
  local one <close>, two = again(core.socketpair)
  is("number", type(one:fileno() + two:fileno() + core.now()))
  is(false, core.isatty(one))
  is(nil, core.columns(one))
  raises("no descriptor", core.isatty, -1)
end

-- The second time in a process it is refused.
function scenarios.claim()
  local input <close>, output, kind = core.claim_stdio()
  if input then output:close() else is("closed", kind) end
end

local function finished(process)
  return process:wait(10)
end

function scenarios.spawn()
  local p <close> = assert(again(core.spawn, {
    command = { "cat", "-" }, env = { A = "1", B = false }, inherit = { "PATH", "HOME" }, cwd = "/",
    limits = { files = 64, core = 0 }, group = "session", death_signal = "TERM", stderr = "null",
  }))
  is("number", type(p:pid() + (p:fd() or 0)))
  is(2, p.stdin:write "hi")
  p.stdin:close()
  is(0, (again(finished, p)))
  is("hi", p.stdout:read())
  says("ended", tostring(p))
  fails("already ended", "closed", again(p.kill, p))
end

function scenarios.spawn_kill()
  local null_device <close>, other = core.pipe()
  local p = assert(core.spawn { command = { "/bin/cat" }, stdin = "pipe", stdout = other, stderr = other:fileno() })
  is(false, (again(p.wait, p)))
  is(true, again(p.kill, p, "TERM", true))
  local code, signal = again(finished, p)
  is(nil, code)
  is("TERM", signal)
  p:close()
  p:close()
  assert(core.spawn { command = { "cat" }, group = false, inherit = false }) -- left to the collector
  is(false, null_device:closed())
end

local _, has_filter = core.sandbox()

-- Where the system cannot enforce it, the start fails, and allocates the same.
function scenarios.spawn_sandbox()
  local kept = {}
  local p, message, kind = again(core.spawn, {
    command = { "/bin/cat" }, sha256 = core.sha256 "/bin/cat", stdout = "null", sandbox = {
      files = true, scoped = true, filter = has_filter, partial = true, read = { "/" },
      read_optional = { "/nowhere", "/usr" }, write = { "/tmp" }, write_optional = { "/dev/null" },
      needs = { read_optional = { "/" } }, connect = { 443 }, listen = { 80, 81 }, sockets = { "tcp", "udp" },
      groups = {}, code = { "/bin/cat" }, read_fixed = { "/proc/stat" }, kept = kept,
    },
  })
  if not p then return is("spawn", kind, message) end
  is(true, again(p.kill, p, "KILL", true))
  is(nil, (again(finished, p)))
  p:close()
end

function scenarios.spawn_sandbox_wrong()
  local function raises_for(text, sandbox) raises(text, core.spawn, { command = { "x" }, sandbox = sandbox }) end
  raises_for("'sandbox': table expected", true)
  raises_for("unknown name 'x'", { x = 1 })
  raises_for("'read': string expected", { read = { 1 } })
  raises_for("'needs': table expected", { needs = 1 })
  raises_for("a port is", { connect = { 65536 } })
  raises_for("unknown kind 'x'", { sockets = { "x" } })
  fails("not the expected file", "invalid", again(core.spawn, { command = { "/bin/cat" }, sha256 = "0" }))
  fails("sandbox: ", "spawn", again(core.spawn, { command = { "/bin/cat" },
    sandbox = { files = true, partial = true, read = { "/nowhere" } } }))
end

function scenarios.sandbox()
  is("number", type((again(core.sandbox))))
  is("/usr", (again(core.realpath, "/usr/../usr/.")))
  fails("cannot resolve", "invalid", again(core.realpath, "/nowhere"))
end

function scenarios.spawn_wrong()
  fails('cannot run "/nowhere"', "spawn", again(core.spawn, { command = { "/nowhere" } }))
  fails('cannot run "not%-there"', "spawn", again(core.spawn, { command = { "not-there" } }))
  fails('cannot enter "/nowhere"', "spawn", again(core.spawn, { command = { "/bin/true" }, cwd = "/nowhere" }))
  fails("connect stdin", "spawn", again(core.spawn, { command = { "/bin/true" }, stdin = 500 }))
  raises("unknown name 'x'", core.spawn, { x = 1 })
  raises("'command'", core.spawn, {})
  raises("'command': .*empty", core.spawn, { command = { "" } })
  raises("'env': '=' is not a name", core.spawn, { command = { "x" }, env = { ["="] = "" } })
  raises("'env.A': string expected", core.spawn, { command = { "x" }, env = { A = 1 } })
  raises("unknown signal", core.spawn, { command = { "x" }, death_signal = "X" })
  raises("unknown limit", core.spawn, { command = { "x" }, limits = { x = 1 } })
  raises("not a whole number", core.spawn, { command = { "x" }, limits = { cpu = 1.5 } })
  raises("'stdin'", core.spawn, { command = { "x" }, stdin = "x" })
end

function scenarios.signals()
  local signals <close> = assert(again(core.signals, { "USR1", "KILL", "USR2" }))
  is("number", type(signals:fd()))
  is(nil, again(signals.next, signals))
  fails("already", "full", again(core.signals, { "USR1" }))
  is(true, again(core.raise, "WINCH"))
  raises("unknown signal 'X'", core.signals, { "X" })
  raises("name expected", core.raise, {})
end

function scenarios.sockets()
  local listener <close> = assert(again(core.listen, { host = "127.0.0.1", port = 0 }))
  local place = again(core.address, listener)
  is(false, again(core.accept, listener))
  local far <close> = assert(again(core.connect, place))
  is(true, again(core.connected, far))
  local near <close> = again(core.accept, listener)
  is("table", type(again(core.address, near)))
  fails("in use", "full", again(core.listen, place))
  fails("no address", "invalid", again(core.address, assert(core.loop.fileno())))
  raises("path, or a host", core.connect, {})
end

function scenarios.sockets_unix()
  local path = "build/oom/socket" -- what a run leaves there is replaced by the next
  local listener <close> = assert(again(core.listen, { path = path, mode = 384 }))
  local far <close> = assert(again(core.connect, { path = path }))
  local near <close> = again(core.accept, listener)
  is(1, again(far.write, far, "x"))
  is("x", near:read())
  is(path, again(core.address, near).path)
  fails("in use", "full", again(core.listen, { path = path }))
  os.remove(path)
  fails("No such file", "closed", again(core.connect, { path = path }))
end

function scenarios.sha256()
  is(64, #again(core.sha256, "/proc/self/exe"))
  fails("cannot read", "invalid", again(core.sha256, "/nowhere"))
  fails("cannot read", "invalid", again(core.sha256, "/"))
  raises("zero byte", core.sha256, "a\0b")
end

function scenarios.pidfd()
  local pid = again(core.getpid)
  is(true, again(core.alive, pid))
  again(core.pidfd, pid):close()
  fails("cannot watch", "closed", again(core.pidfd, 0x7FFFFFFF))
end

function scenarios.which()
  says("/cat$", (assert(again(core.which, "cat"))))
  is("/bin/cat", (again(core.which, "cat", "/nowhere:/bin")))
  fails("cannot run", "spawn", again(core.which, "not-there"))
  raises("zero byte", core.which, "a\0b")
end

function scenarios.poll()
  local r <close>, w = core.pipe()
  local function poll(...)
    local arguments = table.pack(...)
    return again(function() return core.poll(table.unpack(arguments, 1, arguments.n)) end)
  end
  is("w", (poll(1, w:fileno(), "w")))
  w:write "x"
  local readable, writable = poll(0, r, "r", w, "rw")
  is("r", readable)
  is("w", writable)
  r:close()
  is("rw", (poll(nil, w, "w")))
  fails("cannot wait", "closed", poll(0, 500, "r"))
  raises("invalid option", core.poll, 0, w, "x")
end

function scenarios.watching_many()
  local ends, ready, watcher = {}, 0, {}
  function watcher.on_ready() ready = ready + 1 end
  local function unwatch()
    for i = 2, #ends, 2 do core.loop.unwatch(ends[i], watcher) end
  end
  local _ <close> = setmetatable({}, { __close = unwatch })
  for i = 1, 40 do
    ends[2 * i - 1], ends[2 * i] = again(core.pipe)
    is(true, again(core.loop.watch, ends[2 * i], "w", watcher))
  end
  again(core.loop.step, 0)
  is(40, ready)
end

-- }======

return scenarios
