-- A member that most messages repeat is decoded once while its text stays the same.
local wire = require "spec.support.wire"

describe("a repeated member", function()
  local stream, far

  local function open(options)
    options.framing = "line"
    stream, far = wire.open(options)
  end

  after_each(function()
    stream:close()
    far:close()
  end)

  local function params_of(text)
    wire.write(far, ('{"jsonrpc":"2.0","method":"m","params":%s}\n'):format(text))
    local kind, _, _, params = wire.next(stream)
    assert.equal("notification", kind)
    return params
  end

  it("is the same table while its text stays the same", function()
    open { repeated = "_meta" }
    local first = params_of '{"a":1,"_meta":{"x":[1,{"y":2}]},"b":2}'
    assert.same({ a = 1, b = 2, _meta = { x = { 1, { y = 2 } } } }, first)
    local second = params_of '{"_meta":{"x":[1,{"y":2}]},"c":3}'
    assert.same({ c = 3, _meta = { x = { 1, { y = 2 } } } }, second)
    assert.equal(first._meta, second._meta)
  end)

  it("is another table when its text changes", function()
    open { repeated = "_meta" }
    local first = params_of '{"_meta":{"x":1}}'
    local second = params_of '{"_meta":{"x":2}}'
    local third = params_of '{"_meta":{"x":2} }'
    assert.same({ x = 1 }, first._meta)
    assert.same({ x = 2 }, second._meta)
    assert.equal(second._meta, third._meta)
    assert.same({ _meta = { x = 2, y = 3 } }, params_of '{"_meta":{"x":2,"y":3}}')
  end)

  it("is decoded each time without the option, under another name, and deeper inside", function()
    open {}
    assert.not_equal(params_of('{"_meta":{"x":1}}')._meta, params_of('{"_meta":{"x":1}}')._meta)
    stream:close()
    far:close()
    open { repeated = "_meta" }
    local first = params_of '{"_meta":{"x":1},"other":{"x":1},"deep":{"_meta":{"x":1}},"list":[{"x":1}]}'
    local second = params_of '{"_meta":{"x":1},"other":{"x":1},"deep":{"_meta":{"x":1}},"list":[{"x":1}]}'
    assert.same(first, second)
    assert.not_equal(first.other, second.other)
    assert.not_equal(first.other, first._meta)
    assert.not_equal(first.deep._meta, second.deep._meta)
    assert.not_equal(first.list[1], second.list[1])
  end)

  it("may be any value, and params may be a list", function()
    open { repeated = "_meta" }
    for _, text in ipairs { '{"_meta":null}', '{"_meta":[1]}', '{"_meta":"{}"}', '[1,{"x":1}]', '["_meta",{"x":1}]' } do
      assert.same(params_of(text), params_of(text))
    end
    assert.same({ "_meta", { x = 1 } }, params_of '["_meta",{"x":1}]')
    assert.same({ 5, { x = 1 } }, params_of '[5,{"x":1}]')
    assert.same({ _meta = {} }, params_of '{"_meta":{}}')
  end)

  it("counts in the limit of values each time", function()
    open { repeated = "_meta", limits = { values = 6 } }
    assert.same({ _meta = { a = 1, b = 2 } }, params_of '{"_meta":{"a":1,"b":2}}')
    assert.same({ c = 3, _meta = { a = 1, b = 2 } }, params_of '{"c":3,"_meta":{"a":1,"b":2}}')
    wire.write(far, '{"jsonrpc":"2.0","method":"m","params":{"c":3,"d":4,"e":5,"_meta":{"a":1,"b":2}}}\n')
    assert.equal("invalid", (wire.next(stream)))
  end)

  it("is dropped after malformed JSON", function()
    open { repeated = "_meta" }
    wire.write(far, '{"jsonrpc":"2.0","method":"m","params":{"_meta":{"x":1\n')
    assert.equal("invalid", (wire.next(stream)))
    assert.same({ y = {}, _meta = { x = 1 } }, params_of '{"y":{},"_meta":{"x":1}}')
    assert.same({ _meta = { x = 1 } }, params_of '{"_meta":{"x":1}}')
  end)

  it("is decoded again when the form of values changes", function()
    open { repeated = "_meta" }
    local first = params_of '{"_meta":{"b":1,"a":2}}'
    assert.is_true(stream:set_envelope { ordered = true })
    local second = params_of '{"_meta":{"b":1,"a":2}}'
    assert.not_equal(first._meta, second._meta)
    assert.is_nil(getmetatable(first._meta))
    assert.is_table(getmetatable(second._meta))
  end)

  it("is refused if it is not a short name", function()
    for _, name in ipairs { "", ("x"):rep(23), 5 } do
      assert.has_error(function() open { repeated = name } end)
    end
    open {}
  end)

  it("may be long, but then it is not shared", function()
    open { repeated = "_meta" }
    local text = ('{"_meta":{"x":"%s"}}'):format(("x"):rep(5000))
    assert.not_equal(params_of(text)._meta, params_of(text)._meta)
  end)
end)
