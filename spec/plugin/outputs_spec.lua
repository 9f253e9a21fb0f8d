-- Outputs with a schema: declared, sent in the manifest, and checked.
local children = require "spec.support.children"
local extension = require "spec.support.extension"
local manifest = require "pintle.manifest"

local SCHEMA = { type = "object", required = { "count" }, properties = { count = { type = "integer" } } }

describe("the outputs of a declared operation", function()
  local function declare(outputs)
    local self = manifest.new { name = "x", version = "1.0.0" }
    self:add("count", { outputs = outputs })
    return self
  end

  it("have a schema, or none", function()
    assert.equal(SCHEMA, declare(SCHEMA).operations.count.outputs)
    assert.is_nil(declare(nil).operations.count.outputs)
  end)

  it("have names", function()
    for _, outputs in ipairs { { type = "array" }, { properties = {} }, true, "object" } do
      local ok, err = pcall(declare, outputs)
      assert.is_false(ok)
      assert.matches('operation "count": outputs: a schema of the type "object" expected, because outputs have names$',
        err)
    end
  end)

  it("have a valid schema", function()
    local ok, err = pcall(declare, { type = "object", properties = { a = { type = "strin" } } })
    assert.is_false(ok)
    assert.matches('^spec/plugin/outputs_spec.lua:%d+: operation "count": outputs: schema at /properties/a/type: ', err)
  end)

  it("are checked against it", function()
    local self = declare(SCHEMA)
    assert.is_true(self:check_outputs("count", { count = 1 }))
    assert.same({ nil, 'outputs/count: expected integer, got string "x"' },
      { self:check_outputs("count", { count = "x" }) })
    assert.same({ nil, 'outputs: property "count" is missing' }, { self:check_outputs("count", nil) })
    assert.is_true(self:check_outputs("other", { count = "x" }))
    assert.is_true(declare(nil):check_outputs("count", { "anything" }))
  end)
end)

describe("the outputs of an operation of a received manifest", function()
  local function read(outputs)
    return assert(manifest.read { name = "x", version = "1.0.0", operations = {
      count = { params = true, outputs = outputs },
    } })
  end

  it("are checked against its schema", function()
    assert.is_nil((read(SCHEMA):check_outputs("count", { count = "x" })))
    assert.is_true(read(nil):check_outputs("count", { count = "x" }))
  end)

  it("are not checked if the schema is wrong, with a warning", function()
    local self = read { type = "objekt" }
    assert.is_true(self:check_outputs("count", {}))
    assert.matches("^operations.count.outputs: schema at /type: ", self.warnings[1])
    assert.is_table(assert(self:check("count", {})))
  end)
end)

describe("a plugin that has declared outputs", function()
  children.leave_nothing()

  local function give(what)
    local plugin <close> = extension.plugin "declared"
    local answer = plugin:execute("give", { what = what })
    local _, status, complaints = plugin:finish()
    assert.equal(0, status)
    return answer, complaints
  end

  it("answers with matching outputs", function()
    assert.same({ success = true, outputs = { count = "2" } }, (give "right").result)
  end)

  it("fails with outputs that do not match, and logs an error", function()
    local message = 'operation "give" returned outputs that do not match its schema: '
      .. 'outputs/count: expected integer, got string "two"'
    local answer, complaints = give "wrong"
    assert.same({ code = -32603, message = "Internal error: " .. message }, answer.error)
    assert.matches(message, complaints, 1, true)
    assert.equal(-32603, (give "none").error.code)
  end)

  it("may omit outputs when it fails, but not return wrong ones", function()
    assert.same({ success = false, message = "no luck", error = "no luck" }, (give "failed").result)
    assert.equal(-32603, (give "failed-wrong").error.code)
  end)
end)
