local core = require "pintle.core"
local cjson = require "cjson"
local deep = require "spec.support.deep"
local nested = require "spec.support.nested"

local json = core.json
local decode, encode = json.decode, json.encode

local function is_array(value)
  return getmetatable(value) == json.array_mt
end

local function again(text)
  return encode(assert(decode(text)))
end

describe("the codec", function()
  it("reads and writes the three literals", function()
    assert.is_true(decode("true"))
    assert.is_false(decode("false"))
    assert.equal(json.null, decode("null"))
    assert.equal("[true,false,null]", encode { true, false, json.null })
  end)

  it("uses the null of lua-cjson", function()
    assert.equal(cjson.null, json.null)
    assert.equal("null", encode(cjson.null))
    assert.equal("null", cjson.encode(decode("null")))
  end)

  it("writes nil as null", function()
    assert.equal("null", encode(nil))
    assert.has_error(function() encode() end)
  end)

  it("skips every kind of white space, and writes none", function()
    assert.equal('{"a":[1,{}]}', again(' \t\r\n{ \n"a" \t:\r[ 1 , { } ] } \n'))
    assert.equal("7", again("\n\n7\n"))
  end)

  it("accepts any single value", function()
    assert.equal("text", decode('"text"'))
    assert.equal(12, decode("12"))
    assert.equal(12, decode(" 12 "))
  end)

  it("rejects arguments that are not strings", function()
    for _, value in ipairs { {}, true, print } do
      assert.has_error(function() decode(value) end)
    end
    assert.has_error(function() decode() end)
  end)

  it("keeps the last of repeated names", function()
    local value = decode('{"a":1,"b":2,"a":3,"\\u0061":4}')
    assert.same({ a = 4, b = 2 }, value)
  end)

  it("keeps the last of repeated names, however far apart", function()
    for _, between in ipairs { 1, 62, 63, 64, 65, 127, 128, 129, 1000 } do
      local members = { '"twice":"first"' }
      for i = 1, between do members[#members + 1] = ('"k%d":%d'):format(i, i) end
      members[#members + 1] = '"twice":"last"'
      local value = decode("{" .. table.concat(members, ",") .. "}")
      assert.equal("last", value.twice)
      assert.equal(between, value["k" .. between])
    end
  end)
end)

describe("an array", function()
  it("is marked when it is decoded, an object is not", function()
    assert.is_true(is_array(decode("[]")))
    assert.is_true(is_array(decode("[1]")))
    assert.is_nil(getmetatable(decode("{}")))
    assert.is_nil(getmetatable(decode('{"a":1}')))
  end)

  it("stays an array when it is empty, at any depth", function()
    for _, text in ipairs { "[]", "{}", "[[]]", "[{}]", '{"a":[]}', '{"a":{}}', "[[],{},[[]],[{}]]" } do
      assert.equal(text, again(text))
    end
  end)

  it("stays an array when its last item is removed", function()
    local list = decode("[1,2]")
    table.remove(list)
    table.remove(list)
    assert.equal("[]", encode(list))
  end)

  it("is made by json.array", function()
    assert.equal("[]", encode(json.array {}))
    assert.equal("[]", encode(json.array()))
    assert.equal("[]", encode(json.array(nil)))
    local list = { 1, 2 }
    assert.equal(list, json.array(list))
    assert.equal("[1,2]", encode(list))
    assert.equal(list, json.array(list))
  end)

  it("is not made from a table that has another metatable", function()
    local other = setmetatable({}, {})
    assert.error_matches(function() json.array(other) end, "metatable")
    assert.has_error(function() json.array("list") end)
    assert.has_error(function() json.array(1) end)
  end)

  it("is any table with items; a table without items is an object", function()
    assert.equal("[1,2]", encode { 1, 2 })
    assert.equal("{}", encode {})
    assert.equal("[[1],{}]", encode { { 1 }, {} })
  end)

  it("may contain null and false", function()
    assert.equal("[null,false,null]", encode { json.null, false, json.null })
    assert.equal("[null,null]", again("[null,null]"))
  end)

  it("keeps its order however Lua stores the items", function()
    for _, n in ipairs { 1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 100 } do
      local expected = {}
      for i = 1, n do expected[i] = tostring(i) end
      local text = "[" .. table.concat(expected, ",") .. "]"
      local downwards, odd_first, shuffled, order = {}, {}, {}, {}
      for i = n, 1, -1 do downwards[i] = i end
      for i = 1, n, 2 do odd_first[i] = i end
      for i = 2, n, 2 do odd_first[i] = i end
      for i = 1, n do order[i] = i end
      for i = n, 2, -1 do
        local j = math.random(i)
        order[i], order[j] = order[j], order[i]
      end
      for _, i in ipairs(order) do shuffled[i] = i end
      assert.equal(text, encode(downwards))
      assert.equal(text, encode(odd_first))
      assert.equal(text, encode(shuffled))
      assert.equal(text, encode(json.array(shuffled)))
      assert.equal("[" .. text .. ',{"a":' .. text .. "}]", encode { downwards, { a = shuffled } })
    end
  end)

  it("is accepted again when a hole in it was filled", function()
    local list = { 1, 2, nil, 4 }
    list[3] = 3
    assert.equal("[1,2,3,4]", encode(list))
  end)

  it("may have any length", function()
    for _, n in ipairs { 1, 2, 62, 63, 64, 65, 66, 127, 128, 129, 191, 192, 193, 255, 256, 257, 1000, 5000 } do
      local list = json.array {}
      for i = 1, n do list[i] = i end
      local text = "[" .. table.concat(list, ",") .. "]"
      local value = decode(text)
      assert.equal(n, #value)
      assert.is_true(deep.equal(list, value))
      assert.equal(text, encode(value))
      local lists = ("[%s,[%s],%s]"):format(text, text, text)
      assert.equal(lists, again(lists))
    end
  end)
end)

describe("an object", function()
  it("may have any size", function()
    for _, n in ipairs { 1, 2, 31, 32, 33, 62, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1000, 5000 } do
      local expected, members = {}, {}
      for i = 1, n do
        expected["name " .. i] = i
        members[i] = ('"name %d":%d'):format(i, i)
      end
      local value = assert(decode("{" .. table.concat(members, ",") .. "}"))
      assert.is_true(deep.equal(expected, value))
      assert.is_true(deep.equal(expected, decode(encode(value))))
    end
  end)

  it("may have names of any kind", function()
    for _, name in ipairs { "", " ", "1", "\0", "é", "a\nb", '"', "\u{10FFFF}", ("x"):rep(1000) } do
      assert.is_true(deep.equal({ [name] = 1 }, decode(encode { [name] = 1 })))
    end
    assert.equal('{"":0}', again('{"":0}'))
  end)

  it("may have large members beside small ones", function()
    local items = {}
    for i = 1, 70 do items[i] = ('{"list":[%s],"i":%d}'):format(("0,"):rep(i) .. "1", i) end
    local value = decode("[" .. table.concat(items, ",") .. "]")
    for i = 1, 70 do
      assert.equal(i, value[i].i)
      assert.equal(i + 1, #value[i].list)
    end
  end)
end)

describe("raw text", function()
  it("is written unchanged", function()
    local raw = json.raw(' {"a": 1.50e+2,  "b":[ ]} ')
    assert.equal('[ {"a": 1.50e+2,  "b":[ ]} ]', encode { raw })
    assert.equal(' {"a": 1.50e+2,  "b":[ ]} ', tostring(raw))
    assert.equal(tostring(raw), encode(raw))
  end)

  it("is written without its line breaks", function()
    local raw = json.raw('{\n"a":\r\n1}')
    assert.equal('{ "a":  1}', encode(raw))
    assert.equal('{\n"a":\r\n1}', tostring(raw))
  end)

  it("keeps an escaped line break", function()
    assert.equal([["a\nb"]], encode(json.raw [["a\nb"]]))
  end)

  it("can be decoded later", function()
    assert.same({ a = { 1 } }, decode(json.raw '{"a":[1]}'))
    assert.equal(1, decode(json.raw " 1 "))
  end)

  it("must be one JSON value", function()
    for _, text in ipairs { "", " ", "{", "[1,]", "1 2", "nul", "'a'", '"\xff"', '"\\ud800"', "NaN", "[1]]" } do
      local ok, message = pcall(json.raw, text)
      assert.is_false(ok, text)
      assert.matches("line 1, column %d", message)
    end
    assert.has_error(function() json.raw {} end)
    assert.has_error(function() json.raw(nil) end)
  end)

  it("is refused with the position of the error", function()
    assert.error_matches(function() json.raw "{\n  1}" end, "line 2, column 3")
    assert.error_matches(function() json.raw "1 2" end, "line 1, column 2")
  end)

  it("may be nested as deep as other values", function()
    assert.equal(nested.text(1000), encode(json.raw(nested.text(1000))))
    assert.error_matches(function() json.raw(nested.text(1001)) end, "nested too deeply")
  end)
end)

describe("nesting", function()
  it("is allowed up to 1000 levels", function()
    for _, text in ipairs { nested.text(1000), nested.object_text(1000), nested.text(1000, "1") } do
      assert.equal(text, again(text))
    end
  end)

  it("is refused beyond 1000 levels", function()
    for _, text in ipairs { nested.text(1001), nested.object_text(1001), ("["):rep(100000) } do
      local value, message = decode(text)
      assert.is_nil(value)
      assert.matches("nested too deeply", message)
    end
    assert.is_string(encode(nested.value(1000)))
    assert.error_matches(function() encode(nested.value(1001)) end, "nested too deeply")
  end)

  it("counts depth, not brackets", function()
    assert.is_table(decode("[" .. ("[[]],"):rep(5000) .. "[]]", 3))
  end)

  it("has a limit that the caller can set", function()
    for _, depth in ipairs { 1, 2, 3, 10, 999, 1001, 5000 } do
      assert.is_table(decode(nested.text(depth), depth))
      assert.is_nil(decode(nested.text(depth + 1), depth))
      assert.is_string(encode(nested.value(depth), depth))
      assert.has_error(function() encode(nested.value(depth + 1), depth) end)
    end
    assert.equal(1, decode("1", 0))
    assert.equal("1", encode(1, 0))
    assert.is_nil(decode("[]", 0))
    assert.has_error(function() encode({}, 0) end)
  end)

  it("has an upper limit", function()
    for _, depth in ipairs { -1, 1 << 20, 1 << 40, 1.5, "deep" } do
      assert.has_error(function() decode("1", depth) end)
      assert.has_error(function() encode(1, depth) end)
    end
  end)

  it("is refused without a crash when it would fill the stack", function()
    local text = ("[" .. ("1,"):rep(60)):rep(32000)
    local value, message = decode(text, 32768)
    assert.is_nil(value)
    assert.matches("nested too deeply", message)
  end)
end)
