local bytes = require "pintle.bytes"
local json = require("pintle.core").json
local schema = require "pintle.schema"

local function random(length)
  local list = {}
  for i = 1, length do list[i] = string.char(math.random(0, 255)) end
  return table.concat(list)
end

describe("bytes", function()
  it("are written as the base64 of RFC 4648", function()
    local cases = {
      [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", fooba = "Zm9vYmE=", foobar = "Zm9vYmFy",
      ["\0"] = "AA==", ["\xff\xff\xff"] = "////", ["\xfb\xef\xbe"] = "++++", ["\0\0\0\0"] = "AAAAAA==",
    }
    for data, text in pairs(cases) do
      assert.equal(('{"$bytes":"%s"}'):format(text), json.encode(bytes.new(data)))
      assert.equal(data, tostring(bytes.from_object { ["$bytes"] = text }))
    end
  end)

  it("come back unchanged, whatever their content and length", function()
    for length = 0, 200 do
      local data = random(length)
      local object = json.decode(json.encode(bytes.new(data)))
      local back = assert(bytes.from_object(object))
      assert.equal(data, tostring(back))
      assert.equal(length, #back)
    end
    for _, length in ipairs { 3071, 3072, 3073, 6144, 100000 } do
      local data = random(length)
      assert.is_true(data == tostring(bytes.new(data)), length .. " bytes came back different")
    end
  end)

  it("are equal if their content is equal", function()
    assert.is_true(bytes.new "a\0b" == bytes.new "a\0b")
    assert.is_false(bytes.new "a" == bytes.new "b")
  end)

  it("are distinguished from similar tables", function()
    assert.is_true(bytes.is(bytes.new ""))
    assert.is_false(bytes.is { ["$bytes"] = "" })
    assert.is_false(bytes.is "")
  end)

  it("are made from strings only", function()
    local ok, message = pcall(function() bytes.new(1) end)
    assert.is_false(ok)
    assert.matches("^spec/plugin/bytes_spec.lua:%d+: bytes are made of a string, got number$", message)
  end)

  it("are an object for a schema", function()
    local validate = assert(schema.compile { type = "object", required = { "$bytes" } })
    assert.is_true(validate(bytes.new "x"))
  end)

  it("refuse base64 that is not canonical", function()
    local wrong = {
      "Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm8", "Zm 8=", "Zm8=\n", "Zm9v=", "=", "====", "Zm-_", "é===",
    }
    for _, text in ipairs(wrong) do
      local value, message = bytes.from_object { ["$bytes"] = text }
      assert.is_nil(value, text .. " was taken")
      assert.equal("$bytes: is not base64", message)
    end
  end)

  it("refuse objects with more or fewer members", function()
    assert.same({ nil, "$bytes: has to be the only member" }, { bytes.from_object { ["$bytes"] = "", a = 1 } })
    assert.same({ nil, "$bytes: a string expected, got number" }, { bytes.from_object { ["$bytes"] = 1 } })
  end)
end)
