-- lua-cjson as the independent judge.
local core = require "pintle.core"
local cjson = require "cjson"
local random_json = require "spec.support.random_json"

local json = core.json

-- cjson has no integers and no marks: numbers are compared by value.
local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

describe("lua-cjson", function()
  it("reads what the codec writes", function()
    for _ = 1, 1000 do
      local value = random_json.value(json.null, json.array)
      local text = json.encode(value)
      assert.is_true(same(value, cjson.decode(text)), text)
    end
  end)

  it("writes what the codec reads", function()
    for _ = 1, 1000 do
      local value = random_json.value(cjson.null, function(list) return list end)
      local text = cjson.encode(value)
      assert.is_true(same(value, json.decode(text)), text)
    end
  end)

  it("encodes values decoded by the codec, and vice versa", function()
    for _ = 1, 300 do
      local text = json.encode(random_json.value(json.null, json.array))
      local ours, theirs = json.decode(text), cjson.decode(text)
      assert.is_true(same(ours, theirs), text)
      assert.is_true(same(ours, cjson.decode(cjson.encode(ours))), text)
      assert.is_true(same(theirs, json.decode(json.encode(theirs))), text)
    end
  end)
end)
