-- JSON values, and frames.
local core, scenarios, checks = ...
local luaopen = luaopen_pintle_core -- luacheck: globals luaopen_pintle_core
local json, null = core.json, core.json.null
local again, is, raises, fails = checks.again, checks.is, checks.raises, checks.fails

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
