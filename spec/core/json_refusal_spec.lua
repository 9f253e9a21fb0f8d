local core = require "pintle.core"
local nested = require "spec.support.nested"

local json = core.json
local decode, encode = json.decode, json.encode

local function refused(value, nesting)
  local ok, message = pcall(encode, value, nesting)
  assert.is_false(ok)
  return message
end

local function assert_refused(expected, value)
  local message = refused(value)
  assert.equal(expected, message:gsub("^%S+:%d+: ", ""))
end

describe("a value without a JSON form", function()
  it("is refused with its type", function()
    assert_refused("value: NaN has no JSON form", 0 / 0)
    assert_refused("value: an infinity has no JSON form", math.huge)
    assert_refused("value: an infinity has no JSON form", -math.huge)
    assert_refused("value: a function has no JSON form", print)
    assert_refused("value: a thread has no JSON form", coroutine.create(print))
    assert_refused("value: a userdata has no JSON form", io.stdout)
    assert_refused("value: a userdata has no JSON form", debug.upvalueid(assert_refused, 1))
  end)

  it("raises at the caller's line", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local _, message = pcall(function() encode(print) end)
    assert.matches("json_refusal_spec.lua:" .. line .. ": value", message, nil, true)
  end)

  it("is a table that contains itself", function()
    local loop = {}
    loop.me = loop
    assert_refused("value.me: a table that contains itself has no JSON form", loop)
    local list = {}
    list[1] = { list }
    assert_refused("value[1][1]: a table that contains itself has no JSON form", list)
    local below = { deep = { deeper = {} } }
    below.deep.deeper.up = below.deep
    assert_refused("value.deep.deeper.up: a table that contains itself has no JSON form", below)
  end)

  it("is a table that contains itself, reported where it recurs, at any allowed depth", function()
    for _, below in ipairs { 0, 1, 10, 14, 15, 16, 17, 40 } do
      local loop = core.json.array { nested.value(below), {} }
      loop[2][1] = loop
      for most = below + 2, below + 40 do
        local ok, message = pcall(encode, { loop }, most)
        assert.is_false(ok)
        local expected = most > 2 and "value%[1%]%[2%]%[1%]: a table that contains itself" or "nested too deeply"
        assert.matches(expected, message)
      end
    end
  end)

  it("is a deeply nested table that contains itself", function()
    for _, depth in ipairs { 2, 15, 16, 17, 18, 100, 900 } do
      local top = {}
      local bottom = top
      for _ = 2, depth do
        bottom[1] = {}
        bottom = bottom[1]
      end
      bottom[1] = top
      assert.matches("a table that contains itself", refused(top))
      bottom[1] = bottom
      assert.matches("a table that contains itself", refused(top))
    end
  end)

  it("is not a table that is used twice", function()
    local shared = { 1 }
    assert.equal("[[1],[1],[[1]]]", encode { shared, shared, { shared } })
  end)

  it("is a list with a hole", function()
    assert_refused("value[2]: a list with a hole has no JSON form", { 1, nil, 3 })
    assert_refused("value[1]: a list with a hole has no JSON form", { [2] = 1 })
    assert_refused("value.list[3]: a list with a hole has no JSON form", { list = { 1, 2, [100] = 3 } })
    assert_refused("value[1]: a list with a hole has no JSON form", json.array { [5] = 1 })
    assert_refused("value[1]: a list with a hole has no JSON form", { [math.maxinteger] = 1 })
    local list = json.array {}
    for i = 1, 100 do list[i] = i end
    list[50] = nil
    assert_refused("value[50]: a list with a hole has no JSON form", list)
  end)

  it("is a table with both items and names", function()
    local what = "a table with both items and names has no JSON form"
    assert.matches(what, refused { 1, a = 2 }, nil, true)
    assert.matches(what, refused { a = 1, [7] = 2 }, nil, true)
    assert.matches(what, refused { 1, 2, 3, a = 4, b = 5 }, nil, true)
    local marked = json.array { 1 }
    marked.name = "x"
    assert_refused("value.name: " .. what, marked)
    assert_refused("value.name: " .. what, json.array { name = "x" })
  end)

  it("is a table with a key that is neither a name nor an index", function()
    for _, key in ipairs { 0, -1, 1.5, true, false, print, {}, math.mininteger } do
      assert.matches("has no JSON form", refused { [key] = 1 })
      assert.matches("has no JSON form", refused { 1, 2, [key] = 1 })
      assert.matches("has no JSON form", refused { a = 1, [key] = 1 })
      assert.matches("has no JSON form", refused { [json.null] = 1 })
    end
    assert_refused("value[boolean]: a key that is neither a name nor an index has no JSON form", { [true] = 1 })
    assert_refused("value[0]: a key that is neither a name nor an index has no JSON form", { [0] = 1 })
    assert_refused("value[number]: a key that is neither a name nor an index has no JSON form", { [1.5] = 1 })
  end)

  it("leaves the codec ready for the next value", function()
    for _ = 1, 3 do
      refused { "half a list", ("x"):rep(1000), { print } }
      assert.equal("[1]", encode { 1 })
    end
  end)
end)

describe("the path to a refused value", function()
  it("has names, indices and quotes where they are needed", function()
    assert_refused("value.items[3].when: a function has no JSON form", { items = { 1, 2, { when = print } } })
    assert_refused('value["a b"]: a function has no JSON form', { ["a b"] = print })
    assert_refused('value[""]: a function has no JSON form', { [""] = print })
    assert_refused('value["1a"]: a function has no JSON form', { ["1a"] = print })
    assert_refused("value._a1.B: NaN has no JSON form", { _a1 = { B = 0 / 0 } })
    assert_refused("value[1][2][1]: an infinity has no JSON form", { { 0, { math.huge } } })
    assert_refused('value["é"]: a function has no JSON form', { ["é"] = print })
  end)

  it("has the index in a list, wherever Lua stores the items", function()
    local list = {}
    for i = 10, 1, -1 do list[i] = i end
    list[7] = print
    assert_refused("value[7]: a function has no JSON form", list)
  end)

  it("leads to a string that is not UTF-8", function()
    assert_refused("value.a[2]: invalid UTF-8", { a = { "fine", "\xff" } })
    assert.matches("invalid UTF-8", refused { a = { ["\xff"] = 1 } }, nil, true)
    assert.matches("^value%.a%[", (refused { a = { ["\xff"] = 1 } }))
  end)

  it("leads down to the value that is nested too deeply", function()
    local value = {}
    for _ = 1, 3 do value = { a = value } end
    assert.matches("value.a.a: nested too deeply", refused(value, 2), nil, true)
  end)

  it("is found after thousands of good values", function()
    local list = {}
    for i = 1, 5000 do list[i] = { name = "x", list = { 1, 2, 3 } } end
    list[4321].list[2] = print
    assert_refused("value[4321].list[2]: a function has no JSON form", list)
  end)
end)

describe("a text that is not JSON", function()
  local function assert_message(expected, text, nesting)
    local value, message = decode(text, nesting)
    assert.is_nil(value, text)
    assert.equal(expected, message, text)
  end

  it("is refused with the reason and the position", function()
    assert_message("unfinished value at line 1, column 1", "")
    assert_message("unfinished value at line 1, column 4", "   ")
    assert_message("unfinished value at line 1, column 2", "[")
    assert_message("unfinished value at line 1, column 3", "[1")
    assert_message("unfinished value at line 1, column 4", "[1,")
    assert_message("expected ',' or ']' at line 1, column 4", "[1 2]")
    assert_message("expected ',' or ']' at line 1, column 3", "[1}")
    assert_message("expected ',' or '}' at line 1, column 7", '{"a":1]')
    assert_message("expected ',' or '}' at line 1, column 8", '{"a":1 "b":2}')
    assert_message("invalid value at line 1, column 4", "[1,]")
    assert_message("invalid value at line 1, column 2", "[,1]")
    assert_message("expected a member name at line 1, column 2", "{1:2}")
    assert_message("expected a member name at line 1, column 8", '{"a":1,}')
    assert_message("expected a member name at line 1, column 2", "{")
    assert_message("expected a member name at line 1, column 2", "{'a':1}")
    assert_message("expected ':' at line 1, column 5", '{"a"}')
    assert_message("expected ':' at line 1, column 6", '{"a" 1}')
    assert_message("expected ':' at line 1, column 5", '{"a"')
    assert_message("unfinished value at line 1, column 6", '{"a":')
    assert_message("invalid value at line 1, column 6", '{"a":}')
    assert_message("invalid value at line 1, column 1", "tru")
    assert_message("invalid value at line 1, column 1", "True")
    assert_message("invalid value at line 1, column 1", "nil")
    assert_message("invalid value at line 1, column 1", "undefined")
    assert_message("invalid number at line 1, column 2", "[01]")
    assert_message("invalid value at line 1, column 1", "\0")
    assert_message("invalid value at line 1, column 1", "\u{FEFF}1")
    assert_message("unexpected text after the value at line 1, column 3", "1 2")
    assert_message("unexpected text after the value at line 1, column 3", "[]]")
    assert_message("unexpected text after the value at line 1, column 5", "truex")
    assert_message("unexpected text after the value at line 1, column 2", "1\0")
    assert_message("nested too deeply at line 1, column 3", "[[[]]]", 2)
  end)

  it("is refused with the line number", function()
    assert_message("invalid value at line 3, column 3", '{\n"a": [\n  oops]}')
    assert_message("unfinished value at line 2, column 1", "[\n")
    assert_message("control character in string at line 2, column 3", '[1,\n"a\nb"]')
    assert_message("invalid value at line 1001, column 1", ("\n"):rep(1000) .. "?")
    assert_message("invalid value at line 2, column 2", "\r\n\r?")
  end)

  it("is refused wherever it is cut", function()
    local text = '{"a":[1,-2.5e3,"x\\n\\ud83d\\ude00é"],"b":{"c":null,"d":[true,false,[]]},"e":{}}'
    assert.is_table(decode(text))
    for n = 0, #text - 1 do
      local value, message = decode(text:sub(1, n))
      assert.is_nil(value)
      assert.matches(" at line 1, column %d+$", message)
    end
  end)
end)

describe("the path in an error message", function()
  it("is valid text whatever the keys are", function()
    for key, shown in pairs { ["\xff"] = "\\xff", ['a"b'] = "a\\x22b", ["tab\t"] = "tab\\x09", ["größe"] = "größe" } do
      local ok, message = pcall(core.json.encode, { [key] = print })
      assert.is_false(ok)
      assert.truthy(message:find('value["' .. shown .. '"]: ', 1, true), message)
      assert.truthy(utf8.len(message))
    end
  end)
end)
