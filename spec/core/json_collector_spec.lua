local core = require "pintle.core"
local deep = require "spec.support.deep"
local haunting = require "spec.support.haunting"

local json = core.json
local decode, encode = json.decode, json.encode

-- Larger than what is decoded with the collector running.
local function large_text(tail)
  return '{"list":[' .. ('{"name":"something","value":[1,2,3]},'):rep(5000) .. "0]" .. (tail or "}")
end

describe("the garbage collector", function()
  after_each(function() collectgarbage("restart") end)

  it("runs again after a large text was decoded", function()
    assert.equal(5001, #decode(large_text()).list)
    assert.is_true(collectgarbage("isrunning"))
  end)

  it("runs again after a large text was refused", function()
    for _, tail in ipairs { "", "]", "}}", ',"\xff":1}', ',"a":1e999}' } do
      assert.is_nil((decode(large_text(tail))))
      assert.is_true(collectgarbage("isrunning"))
    end
    assert.is_nil((decode(large_text(), 2)))
    assert.is_true(collectgarbage("isrunning"))
  end)

  it("stays stopped if it was stopped", function()
    collectgarbage("stop")
    decode(large_text())
    assert.is_false(collectgarbage("isrunning"))
    decode(large_text("oops"))
    assert.is_false(collectgarbage("isrunning"))
  end)

  it("keeps its mode", function()
    collectgarbage("generational")
    decode(large_text())
    assert.equal("generational", collectgarbage("incremental"))
    decode(large_text())
    assert.equal("incremental", collectgarbage("incremental"))
  end)

  it("keeps up with a series of large texts", function()
    local text = large_text()
    decode(text)
    collectgarbage()
    local before = collectgarbage("count")
    for _ = 1, 100 do decode(text) end
    assert.is_true(collectgarbage("count") < 3 * before + 10 * 1024)
  end)

  it("frees everything that was decoded", function()
    local function use()
      for _ = 1, 3 do
        encode(decode(large_text()))
        decode(large_text("]"))
        pcall(encode, { ("x"):rep(1 << 20), print })
      end
    end
    use()
    collectgarbage()
    local before = collectgarbage("count")
    for _ = 1, 5 do use() end
    collectgarbage()
    assert.is_true(collectgarbage("count") < before + 100)
  end)
end)

describe("a finalizer", function()
  after_each(haunting.stop)

  local text = '{"list":[' .. ('{"name":"some\\nthing","value":[1,2.5,[],{}]},'):rep(300) .. "0]}"
  local value = decode(text)

  local function use_codec()
    assert(encode(decode('[1,{"a":"b\\n"}]')) == '[1,{"a":"b\\n"}]')
    assert(not decode("[[[[oops"))
    assert(encode { a = { ("y"):rep(1000) } } == '{"a":["' .. ("y"):rep(1000) .. '"]}')
    assert(not pcall(encode, { "half", print }))
  end

  it("that uses the codec does not disturb decoding", function()
    haunting.start(use_codec)
    haunting.drive(10, function() assert(deep.equal(value, decode(text))) end)
  end)

  it("that uses the codec does not disturb encoding", function()
    local expected = encode(value)
    haunting.start(use_codec)
    haunting.drive(10, function() assert(encode(value) == expected) end)
  end)

  it("that uses the codec does not disturb a refusal", function()
    haunting.start(use_codec)
    haunting.drive(10, function()
      local name = "name" .. haunting.runs()
      local _, message = pcall(encode, { [name] = { ("z"):rep(100), print } })
      assert(message == "value." .. name .. "[2]: a function has no JSON form", message)
      assert(encode { 1, name } == '[1,"' .. name .. '"]')
    end)
  end)

  it("that decodes a large text leaves the collector running or stopped as it was", function()
    local large = large_text()
    haunting.start(function() assert(#decode(large).list == 5001) end)
    haunting.drive(3, function()
      decode(large)
      collectgarbage("step", 1000)
    end)
    assert.is_true(collectgarbage("isrunning"))
  end)
end)
