local core = require "pintle.core"

local encode = core.json.encode

-- A list with all items in the hash part of its table, where they have no order: a constructor with keys makes one.
local function list_in_hash(n)
  local parts = {}
  for i = n, 1, -1 do parts[#parts + 1] = ("[%d]=%d"):format(i, i) end
  return load("return {" .. table.concat(parts, ",") .. "}")()
end

local function first_out_of_order(list)
  local expected = 0
  for index in next, list do
    expected = expected + 1
    if index ~= expected then return index end
  end
end

local function sequence(n)
  local items = {}
  for i = 1, n do items[i] = i end
  return "[" .. table.concat(items, ",") .. "]"
end

describe("a list whose items are in the hash of its table", function()
  it("is written in order", function()
    local was_out_of_order = false
    for n = 1, 200 do
      local list = list_in_hash(n)
      was_out_of_order = was_out_of_order or first_out_of_order(list) ~= nil
      assert.equal(sequence(n), encode(list))
      assert.equal(sequence(n), encode(core.json.array(list)))
    end
    assert.is_true(was_out_of_order)
  end)

  it("is written in order when it is nested", function()
    local outer = list_in_hash(64)
    outer[20] = list_in_hash(32)
    outer[40] = { inner = list_in_hash(48) }
    local text = sequence(64):gsub(",20,", "," .. sequence(32) .. ",")
    text = text:gsub(",40,4", ',{"inner":' .. sequence(48) .. "},4")
    assert.equal(text, (encode(outer)))
  end)

  it("is refused if it has a hole, with the index of the hole", function()
    local list = list_in_hash(64)
    list[33] = nil
    local ok, message = pcall(encode, { items = list })
    assert.is_false(ok)
    assert.matches("value.items%[33%]: a list with a hole", message)
  end)

  it("is refused if it also has names", function()
    local list = list_in_hash(64)
    list.name = true
    local ok, message = pcall(encode, list)
    assert.is_false(ok)
    assert.matches("both items and names", message)
  end)

  it("is not confused with an object whose names are digits", function()
    local ok, message = pcall(encode, load 'return {[1]=1, [2]=2, ["3"]=3, [4]=4}' ())
    assert.is_false(ok)
    assert.matches("both items and names", message)
  end)
end)
