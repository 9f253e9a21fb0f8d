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
  is("table", again(type_of, "stream_methods"))
  is("function", type(module.stream_methods.deliver))
  for name in ("alone asking now frames getpid poller spawn resume sha256 signals listen"):gmatch "%S+" do
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
  fails("behind", nil, again(json.decode, "1 2"))
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
  raises("comes twice", json.order, { "a", "b", "a" })
  raises("made of strings", json.order, { 1 })
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
  raises("value.self%[1%]: a table that holds itself", json.encode, loop)
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
  raises("follow the end", frames.feed, frames, "x")
end

-- }======

-- {====== Streams ======

-- Two streams that talk to each other.
local function pair(framing, options, other)
  local one, two = core.socketpair()
  local a, b = { read = one, write = one, framing = framing }, { read = two, write = two, framing = framing }
  for name, value in pairs(options or {}) do a[name] = value end
  for name, value in pairs(other or options or {}) do b[name] = value end
  return assert(core.stream(a)), assert(core.stream(b))
end

-- Keeps what a stream writes to from the collector, for Lua cannot call a finalizer while no memory is left.
local outputs = {}

-- A stream that gets these bytes and then the end of input.
local function reading(framing, bytes, options)
  local read, write = core.pipe()
  local out, into = core.pipe()
  outputs[#outputs + 1] = out
  local o = { read = read, write = into, framing = framing }
  for name, value in pairs(options or {}) do o[name] = value end
  local stream = assert(core.stream(o))
  is(#bytes, write:write(bytes))
  write:close()
  return stream, out
end

local function receive(stream)
  return again(stream.receive, stream)
end

local function flush(stream)
  is(true, again(stream.flush, stream))
end

local function converse(framing, options, other)
  local a <close>, b = pair(framing, options, other)
  local waiter = {}
  local id = is(1, assert(again(a.request, a, waiter, "add", { 1, 2 })))
  is(true, again(a.notify, a, "log", { text = "ä" }))
  flush(a)
  local kind, asked, method, params = receive(b)
  is("request", kind)
  is("add", method)
  is(true, again(b.reply, b, asked, params))
  is("notification", (receive(b)))
  is(false, (receive(b)))
  flush(b)
  local got, answered, who, result = receive(a)
  is("result", got)
  is(waiter, who)
  is(options and options.ids == "string" and "1" or id, answered)
  return result, a, b
end

function scenarios.stream_header()
  is(2, converse("header")[2])
end

function scenarios.stream_line()
  is(2, converse("line", { ids = "string", extra = { version = "0.1", x = 1, y = true } })[2])
end

function scenarios.stream_own_header()
  is(2, converse("header", { header = "Content-Type: application/json\r\nContent-Length: " })[2])
end

function scenarios.stream_speaks()
  local ways = { ids = "string", extra = { version = "0.1" }, header = "content-length: " }
  local a <close>, b = pair("auto", { framing = "header" }, { framing = "auto", others = true })
  is(1, (again(a.request, a, "one", "m")))
  flush(a)
  local _, id = receive(b)
  fails("version is missing", "invalid", again(b.speak, b, ways))
  is(true, again(b.speak, b, ways))
  is(true, again(b.reply, b, id, 1))
  is(1, (again(b.request, b, "two", "m")))
  flush(b)
  is(true, again(a.speak, a, ways))
  local kind, _, waiter = receive(a)
  is("result", kind)
  is("one", waiter)
  local _, asked = receive(a)
  is("1", asked)
  is(true, again(a.notify, a, "m"))
  is(true, again(a.speak, a, { extra = { version = "0.2" } }))
  is(true, again(a.notify, a, "m"))
  flush(a)
  is("notification", (receive(b)))
  local refused, _, _, report = receive(b)
  is("invalid", refused)
  says('"0.1" expected, got "0.2"', report.message)
end

function scenarios.stream_others()
  local a <close>, b = pair("line", { extra = { version = "0.1", other = 2 } }, { others = true })
  is(true, again(a.notify, a, "m"))
  flush(a)
  is("notification", (receive(b)))
  is("0.1", b:others().version)
  fails("is missing", "invalid", again(b.speak, b, { extra = { third = 1 } }))
end

function scenarios.stream_raw()
  is("[1,2]", tostring((converse("line", { raw = true }))))
end

function scenarios.stream_codec()
  local codec = { encode = json.encode, decode = json.decode }
  is(2, converse("line", { json = codec })[2])
  local picky = { encode = function() error "cannot" end, decode = function() return nil, "cannot" end }
  local a <close>, b = pair("line", { json = picky }, {})
  fails("cannot", "invalid", again(a.notify, a, "x", {}))
  is(true, again(a.notify, a, "x"))
  is(true, again(b.notify, b, "x", {}))
  flush(b)
  local kind, _, _, report = receive(a)
  is("invalid", kind)
  says("codec cannot read", report.message)
end

function scenarios.stream_cjson()
  is(2, converse("header", { json = require "cjson" })[2])
end

function scenarios.stream_errors()
  local a <close>, b = pair("header")
  is(1, (again(a.request, a, "one", "m")))
  flush(a)
  local _, id = receive(b)
  is(true, again(b.fail, b, id, -32000, "no", { why = "so" }))
  is(true, again(b.reply, b, 7, 1))
  is(true, again(b.reply, b, "seven"))
  is(true, again(b.fail, b, nil, -32700, "what"))
  flush(b)
  local kind, _, waiter, e = receive(a)
  is("error", kind)
  is("one", waiter)
  is("so", e.data.why)
  for _ = 1, 3 do is("stray", (receive(a))) end
  is(3, a:stats().stray)
end

function scenarios.stream_pending()
  local a <close>, b = pair("line", { limits = { calls = 70 } })
  for i = 1, 70 do is(i, (again(a.request, a, i, "m"))) end
  fails("70 calls", "full", again(a.request, a, 71, "m"))
  flush(a)
  for i = 1, 70 do
    local _, id = receive(b)
    is(i, id)
  end
  is(true, again(b.reply, b, 70, true))
  flush(b)
  local _, _, waiter = receive(a)
  is(70, waiter)
  is(3, again(a.abandon, a, 3))
  is(nil, (again(a.abandon, a, 3)))
  is(68, a:waiting())
  local n = 0
  for id, who in a.orphan, a do n = n + is(id, who) // id end
  is(68, n)
end

function scenarios.stream_batch()
  local call = '{"jsonrpc":"2.0","id":%s,"method":"m","params":[]}'
  local text = "[" .. call:format "1" .. "," .. call:format '"b"' .. ',{"jsonrpc":"2.0","method":"n"},5]\n'
  local s <close>, out = reading("line", text)
  local tickets = {}
  for i, kind in ipairs { "request", "request", "notification", "invalid" } do
    local got, id = receive(s)
    is(kind, got)
    tickets[i] = id or false
  end
  is('"b"', tostring(tickets[2]))
  is(true, again(s.reply, s, tickets[1], "x"))
  is(true, again(s.fail, s, tickets[2], 1, "y"))
  raises("answered already", s.reply, s, tickets[1], "x")
  is(true, again(s.fail, s, tickets[4], -32600, "z"))
  flush(s)
  is(3, #again(json.decode, out:read()))
end

function scenarios.stream_batch_answered_early()
  local text = '[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","method":"n"}]\n'
  local s <close>, out = reading("line", text)
  local _, ticket = receive(s)
  is(true, again(s.reply, s, ticket, {}))
  is("notification", (receive(s)))
  flush(s)
  is(1, #again(json.decode, out:read()))
end

function scenarios.stream_wait()
  local read, write = again(core.pipe)
  local stream = again(core.stream, { read = read, write = 2, framing = "line" })
  again(write.write, write, '{"jsonrpc":"2.0","method":"m","params":[1]}\n')
  is(true, again(stream.wait, stream))
  is("notification", (again(stream.receive, stream)))
  is(false, again(stream.wait, stream, 0))
  again(write.close, write)
  is(true, again(stream.wait, stream))
  again(stream.close, stream)
end

function scenarios.stream_deliver()
  local text = '{"jsonrpc":"2.0","id":1,"result":[1]}\n{"jsonrpc":"2.0","method":"m","params":{}}\n'
  local s <close> = reading("line", text)
  local got, thread
  repeat
    thread = again(coroutine.create, function()
      while true do got = coroutine.yield(core.parked) end
    end)
  until core.resume(thread)
  is(1, (again(s.request, s, thread, "m")))
  is("notification", (again(s.deliver, s)))
  is(1, got[1])
  is(nil, (again(core.innermost)))
end

-- Runs the function in a thread, which may wait; an error in it ends the scenario.
local function in_a_thread(f, ...)
  local thread = coroutine.create(f)
  local ok, what = core.resume(thread, ...)
  if not ok then error(what, 0) end
  return thread
end

local function not_failed(kind, ...)
  if kind == "resumed" and not select(2, ...) then error((select(3, ...)), 0) end
  return kind, ...
end

function scenarios.stream_serve()
  local text = '{"jsonrpc":"2.0","id":1,"method":"m","params":[1]}\n{"jsonrpc":"2.0","id":"x","method":"n"}\n'
  local s <close> = reading("line", text .. text)
  local peer = { handlers = { m = function(params) return params end, n = function(_, ctx) return ctx.id end } }
  in_a_thread(s.serve, s, peer, {}, {}, print)
  local kind, n = not_failed(again(s.deliver, s))
  is(false, kind)
  is(4, n)
  is(4, s:stats().sent)
end

function scenarios.call_alone()
  local s <close> = reading("line", '{"jsonrpc":"2.0","id":1,"result":[1]}\n{"jsonrpc":"2.0","method":"m"}\n')
  local poller <close> = again(core.poller)
  local peer, readiness, kind = { stream = s }, { focus = { false }, poller = poller }, nil
  local function go_on(...) kind = (select(7, ...)) end
  local call = again(core.alone, readiness, { due = math.huge }, go_on, print)
  s:plan(peer)
  call(peer, nil, "m", { 1 })
  is("result", kind)
  is("notification", (again(s.deliver, s)))
  is(nil, (again(s.attend, s, 0)))
end

function scenarios.stream_call()
  local s <close> = reading("line", '{"jsonrpc":"2.0","id":1,"result":[1]}\n')
  local peer, owners, got = { stream = s }, {}, nil
  local call = again(core.caller, owners, print, print, function() end, print)
  s:plan(peer)
  local thread = in_a_thread(function()
    owners[coroutine.running()] = {}
    got = call(peer, "m", { "x" })
  end)
  is(peer, (again(core.asking, thread)))
  is("resumed", (not_failed(again(s.deliver, s))))
  is(1, got[1])
end

function scenarios.poller_deliver()
  local poller <close> = again(core.poller)
  local read, write = again(core.pipe)
  local s <close> = again(core.stream, { read = read, write = 2, framing = "line" })
  again(write.write, write, '{"jsonrpc":"2.0","id":1,"result":[1]}\n{"jsonrpc":"2.0","method":"m"}\n')
  is(true, again(poller.set, poller, (s:fds()), "r", "token", s))
  is(1, again(poller.wait, poller, 1))
  local token, _, _, kind = poller:deliver()
  is("token", token)
  is("stray", kind)
  poller:set(s:fds(), "")
  write:close()
end

-- A thread that an error has ended still shows the call that raised it.
function scenarios.stream_in_threads()
  local message = '{"jsonrpc":"2.0","method":"m","params":{"a":[1,{},"text"]}}\n'
  local s <close>, out = reading("auto", message .. message)
  local threads = {}
  local function returned(ok, ...)
    if not ok then
      is(true, s:wait(0)) -- it is still there
      error((...), 0)
    end
    return ...
  end
  local function in_thread(i)
    threads[i] = coroutine.create(s.receive)
    return returned(coroutine.resume(threads[i], s))
  end
  for i = 1, 2 do is("notification", (again(in_thread, i))) end
  is(2, s:stats().received)
  out:close()
end

function scenarios.stream_closed_after_error()
  local s <close>, out = reading("line", '{"jsonrpc":"2.0","method":"m","params":{"a":[1,{},"text"]}}\n')
  local ok, message = pcall(s.receive, s)
  s:close()
  out:close()
  if not ok then error(message, 0) end
  is(0, s:queued())
end

function scenarios.stream_wait_beside()
  local poller <close> = assert(again(core.poller))
  local read, write = again(core.pipe)
  local other <close>, into = again(core.pipe)
  local stream <close> = again(core.stream, { read = read, write = 2, framing = "line" })
  is(true, again(poller.set, poller, other, "r", "other"))
  is(false, again(stream.wait, stream, 0, poller))
  again(into.write, into, "x")
  is(false, again(stream.wait, stream, nil, poller))
  again(write.write, write, '{"jsonrpc":"2.0","method":"m"}\n')
  is(true, again(stream.wait, stream, nil, poller))
  raises("pintle.poller expected", stream.wait, stream, 0, stream)
end

function scenarios.stream_tickets()
  local s <close>, out = reading("auto", 'hello\n  \n{"jsonrpc":"2.0","id":1.0,"method":"m"}\n')
  is("auto", s:framing())
  is("noise", (receive(s)))
  local kind, ticket = receive(s)
  is("request", kind)
  is("line", s:framing())
  is("1.0", tostring(ticket))
  is(true, again(s.reply, s, ticket, 1))
  flush(s)
  says('"id":1.0', out:read())
  fails("has closed", "closed", receive(s))
end

function scenarios.stream_invalid()
  local s <close>, out = reading("header", "junk\nContent-Length: 1\r\n\r\n{" ..
    'Content-Length: 15\r\n\r\n{"jsonrpc":"1"}Content-Length: 2\r\n\r\n[]Content-Length: x\r\n\r\n' ..
    'Content-Length: 9999\r\n\r\nx', { limits = { message = 100, header = 50, text = 10 } })
  is("noise", (receive(s)))
  for _, pattern in ipairs { "unfinished", 'jsonrpc is not "2.0"', "empty batch", "not a plain", "limit of 100" } do
    local kind, id, _, report = receive(s)
    is("invalid", kind)
    is(nil, id)
    says(pattern, report.message)
  end
  fails("longer than the limit", "invalid", again(s.notify, s, "m", { ("x"):rep(100) }))
  fails("params%[1%].*NaN", "invalid", again(s.notify, s, "m", { 0 / 0 }))
  fails("method: invalid UTF%-8", "invalid", again(s.notify, s, "\255"))
  is(0, s:queued())
  out:close()
end

function scenarios.stream_too_long()
  local batch = '[{"id":1,"result":"%s"},{"result":{"id":1},"id":2},{"method":"m"}]\n'
  local s <close>, out = reading("line", batch:format(("x"):rep(100))
    .. ('{"method":"%s","id":1.0}\n'):format(("y"):rep(300)), { limits = { message = 50 } })
  for i = 1, 2 do is(i, again(s.request, s, "waiter " .. i, "m")) end
  for i = 1, 2 do
    local kind, id, waiter = receive(s)
    is("invalid", kind)
    is(i, id)
    is("waiter " .. i, waiter)
  end
  is(0, s:waiting())
  local kind, id = receive(s)
  is("invalid", kind)
  is(nil, id)
  kind, id = receive(s)
  is("invalid", kind)
  is("1.0", tostring(id))
  is(false, (receive(s)))
  out:close()
end

function scenarios.stream_large()
  local a <close>, b = pair("header", { limits = { queue = 1000 } })
  local text = ("x"):rep(600 * 1024)
  is(true, again(a.notify, a, "m", { text }))
  fails("bytes wait", "full", again(a.notify, a, "m"))
  local kind, params
  repeat
    again(a.flush, a)
    local _
    kind, _, _, params = receive(b)
  until kind
  is(#text, #params[1])
end

function scenarios.stream_closed()
  local a, b = pair("line")
  is(1, (again(a.request, a, "waiter", "m")))
  b:close()
  fails("cannot write", "closed", again(a.flush, a))
  fails("", "closed", receive(a))
  a:close_output()
  fails("closed", "closed", again(a.notify, a, "m"))
  a:close()
  fails("closed", "closed", receive(a))
  is(nil, (a:fds()))
  is(1, (a:orphan()))
end

function scenarios.stream_misuse()
  raises("no 'x'", core.stream, { x = 1 })
  raises("every key", core.stream, { 1 })
  raises("framing", core.stream, { framing = "x" })
  raises("limits", core.stream, { framing = "line", limits = 1 })
  raises("from 1 to", core.stream, { framing = "line", limits = { queue = 0 } })
  raises("codec", core.stream, { framing = "line", json = { encode = print } })
  raises("ids", core.stream, { framing = "line", ids = "x" })
  raises("header", core.stream, { framing = "line", header = "x" })
  raises("extra", core.stream, { framing = "line", extra = { {} } })
  raises("read", core.stream, { framing = "line" })
  local r <close>, w = core.pipe()
  fails("cannot use", "closed", core.stream { framing = "line", read = r, write = 500 })
  is(false, r:closed())
  is(false, w:closed())
end

-- }======

-- {====== Threads ======

function scenarios.resume()
  local t = coroutine.create(function(...) error { coroutine.yield(...) } end)
  local _, a, b = assert(core.resume(t, 1, "x"))
  is(1, a)
  is("x", b)
  local ok, raised = core.resume(t, 2)
  is(false, ok)
  if is_memory(raised) then error(raised, 0) end
  is(2, raised[1])
  fails("dead", nil, nil, select(2, core.resume(t)))
  raises("thread expected", core.resume)
end

-- Where Lua's own resume has other words for it.
function scenarios.resume_many()
  local results = table.pack(core.resume(coroutine.create(function()
    return 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
  end)))
  if results[2] == "too many results to resume" then error("not enough memory", 0) end
  is(true, assert(results[1], results[2]))
  is(20, results[21])
end

function scenarios.worker()
  local thread, calls = again(function() return core.worker() end), 0
  for i = 1, 2 do
    local ok, what = core.resume(thread, function(n) calls = calls + n end, i)
    if not ok and is_memory(what) then error(what, 0) end
    is(core.idle, what)
  end
  is(3, calls)
end

function scenarios.sole()
  local sole = again(function() return core.sole end)
  local peer = { handlers = {} }
  again(sole.on, peer, "method", print)
  is(print, peer.handlers.method)
  is(nil, again(sole.connect, { command = {} }))
end

function scenarios.watch()
  local t = coroutine.create(function() while true do end end)
  is(true, again(core.watch, function(thread) error({ thread }, 0) end, 0.001))
  local ok, raised = core.resume(t)
  is(false, ok)
  if is_memory(raised) then error(raised, 0) end
  is(t, raised[1])
  is(true, again(core.watch))
  raises("function expected", core.watch, 1)
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

function scenarios.spawn_wrong()
  fails('cannot run "/nowhere"', "spawn", again(core.spawn, { command = { "/nowhere" } }))
  fails('cannot run "not%-there"', "spawn", again(core.spawn, { command = { "not-there" } }))
  fails('cannot enter "/nowhere"', "spawn", again(core.spawn, { command = { "/bin/true" }, cwd = "/nowhere" }))
  fails("connect stdin", "spawn", again(core.spawn, { command = { "/bin/true" }, stdin = 500 }))
  raises("unknown option 'x'", core.spawn, { x = 1 })
  raises("'command'", core.spawn, {})
  raises("'command': .*empty", core.spawn, { command = { "" } })
  raises("'env': '=' is no name", core.spawn, { command = { "x" }, env = { ["="] = "" } })
  raises("'env.A': string expected", core.spawn, { command = { "x" }, env = { A = 1 } })
  raises("unknown signal", core.spawn, { command = { "x" }, death_signal = "X" })
  raises("unknown limit", core.spawn, { command = { "x" }, limits = { x = 1 } })
  raises("no whole number", core.spawn, { command = { "x" }, limits = { cpu = 1.5 } })
  raises("'stdin'", core.spawn, { command = { "x" }, stdin = "x" })
end

function scenarios.signals()
  local signals <close> = assert(again(core.signals, { "USR1", "KILL", "USR2" }))
  is("USR1 USR2", table.concat(again(signals.names, signals), " "))
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
  fails("no address", "invalid", again(core.address, 0 + again(core.poller):fileno()))
  raises("no 'x'", core.connect, { x = 1 })
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

function scenarios.observe()
  local pid = again(core.getpid)
  is(true, again(core.alive, pid))
  again(core.observe, pid):close()
  fails("cannot observe", "closed", again(core.observe, 0x7FFFFFFF))
end

function scenarios.which()
  says("/cat$", (assert(again(core.which, "cat"))))
  is("/bin/cat", (again(core.which, "cat", "/nowhere:/bin")))
  fails("cannot run", "spawn", again(core.which, "not-there"))
  raises("zero byte", core.which, "a\0b")
end

function scenarios.poller()
  local poller <close> = assert(again(core.poller))
  local r <close>, w = core.pipe()
  is(true, again(poller.set, poller, r, "r", "reader"))
  is(true, again(poller.set, poller, w:fileno(), "w", "writer"))
  is(1, (again(poller.wait, poller, 1)))
  is("writer", (again(poller.next, poller)))
  is(nil, (again(poller.next, poller)))
  w:write "x"
  is(true, again(poller.set, poller, w))
  is(1, (again(poller.wait, poller, 0)))
  local token, readable, writable = poller:next()
  is("reader", token)
  is(true, readable)
  is(false, writable)
  fails("cannot watch descriptor 500", "closed", again(poller.set, poller, 500, "r", 1))
  fails("", "unsupported", again(poller.set_exit, poller, 1, "token"))
  raises("token expected", poller.set, poller, r, "r")
  raises("invalid option", poller.set, poller, r, "x", 1)
  is("number", type(poller:fileno()))
  poller:close()
  raises("closed poller", poller.wait, poller)
end

function scenarios.poller_grows()
  local poller <close> = assert(core.poller())
  local ends, watched = {}, 0
  for i = 1, 40 do
    ends[2 * i - 1], ends[2 * i] = again(core.pipe)
    is(true, again(poller.set, poller, ends[2 * i], "w", i))
  end
  is(40, (again(poller.wait, poller, 0)))
  for _ in poller.next, poller do watched = watched + 1 end
  is(40, watched)
end

-- }======

return scenarios
