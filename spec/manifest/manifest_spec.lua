local errors = require "pintle.error"
local json = require("pintle.core").json
local manifest = require "pintle.manifest"
local order = require "pintle.manifest.order"

local GREET = {
  description = "Say hello",
  params = {
    type = "object", required = { "name" },
    properties = { name = { type = "string" }, times = { type = "integer", default = 1 } },
  },
}

local function declared()
  local greeter = manifest.new { name = "greeter", version = "1.0.0" }
  greeter:add("greet", GREET)
  return greeter
end

-- Asserts that `fn` raises the message, at a line of this file.
local function assert_blames(message, fn)
  local ok, err = pcall(fn)
  assert.is_false(ok, "it did not raise")
  assert.matches("^spec/manifest/manifest_spec.lua:%d+: ", err)
  assert.equal(message, (err:gsub("^[^ ]+ ", "")))
end

describe("a declared manifest", function()
  it("has the declared members", function()
    local greeter = manifest.new {
      name = "greeter", version = "1.0.0", description = "Says hello", requires = { "sh", { command = "cat" } },
      capabilities = { "x-loud" },
    }
    greeter:add("greet", GREET)
    greeter:add("wave", { requires = { "hand" } })
    assert.equal("greeter", greeter.name)
    assert.equal("1.0.0", greeter.version)
    assert.equal("Says hello", greeter.description)
    assert.same({ { command = "sh" }, { command = "cat" } }, greeter.requires)
    assert.same({ ["x-loud"] = true }, greeter.capabilities)
    assert.same({ "greet", "wave" }, greeter.names)
    assert.equal("Say hello", greeter.operations.greet.description)
    assert.equal(GREET.params, greeter.operations.greet.params)
    assert.same({ type = "object" }, greeter.operations.wave.params)
    assert.same({ { command = "hand" } }, greeter.operations.wave.requires)
  end)

  it("raises at the author's line for a mistake", function()
    local function new(given) return function() manifest.new(given) end end
    assert_blames("plugin: a table expected, got nil", new(nil))
    assert_blames("plugin: name is missing", new { version = "1.0.0" })
    assert_blames("plugin: name is blank", new { name = " ", version = "1.0.0" })
    assert_blames("plugin: name: a string expected, got number", new { name = 1, version = "1.0.0" })
    assert_blames("plugin: version is missing", new { name = "x" })
    assert_blames('plugin: version: "1.0" is no semantic version, such as 1.0.0 or 2.1.0-rc.1',
      new { name = "x", version = "1.0" })
    assert_blames("plugin: description: a string expected, got table",
      new { name = "x", version = "1.0.0", description = {} })
    assert_blames('plugin: there is no option "nmae"', new { name = "x", version = "1.0.0", nmae = "x" })
  end)

  it("raises for wrong requirements and capabilities", function()
    local function new(given)
      given.name, given.version = "x", "1.0.0"
      return function() manifest.new(given) end
    end
    assert_blames("plugin: requires: a list of commands expected", new { requires = "sh" })
    assert_blames("plugin: requires: a list of commands expected", new { requires = { command = "sh" } })
    assert_blames("plugin: requires[2]: a command's name expected, or { command = NAME }",
      new { requires = { "sh", 1 } })
    assert_blames("plugin: requires[1]: a command's name expected, or { command = NAME }",
      new { requires = { { command = "sh", version = 1 } } })
    assert_blames("plugin: requires[1]: a command's name expected, or { command = NAME }", new { requires = { "" } })
    assert_blames("plugin: capabilities: a list of names expected", new { capabilities = { loud = true } })
    assert_blames("plugin: capabilities[1]: a name expected, got number", new { capabilities = { 1 } })
    assert_blames("plugin: dialects: tables by the names of dialects expected", new { dialects = { "lsp" } })
  end)

  it("raises for a wrong operation", function()
    local function add(name, spec) return function() declared():add(name, spec) end end
    assert_blames("operation: name is missing", add(nil, {}))
    assert_blames("operation: name is blank", add("", {}))
    assert_blames('operation "greet" is already declared', add("greet", {}))
    assert_blames('operation "x": a table expected, got nil', add "x")
    assert_blames('operation "x": there is no option "param"', add("x", { param = {} }))
    assert_blames('operation "x": description: a string expected, got boolean', add("x", { description = true }))
    assert_blames('operation "x": requires: a list of commands expected', add("x", { requires = "sh" }))
  end)

  it("raises for a wrong schema, with the location of the mistake", function()
    local ok, err = pcall(function()
      declared():add("x", { params = { type = "object", properties = { a = { type = "strin" } } } })
    end)
    assert.is_false(ok)
    assert.matches('^spec/manifest/manifest_spec.lua:%d+: operation "x": params: schema at /properties/a/type: ', err)
  end)

  it("needs a schema of objects", function()
    local message = 'operation "x": params: a schema of the type "object" expected, because arguments have names'
    for _, params in ipairs {
      { type = "string" }, { type = { "string", "null" } }, { type = {} }, { "object" }, json.array(), true, "object",
    } do
      assert_blames(message, function() declared():add("x", { params = params }) end)
    end
  end)

  it("accepts a schema without a type, or with a list of types that has object", function()
    for _, params in ipairs {
      {}, { properties = { n = { type = "integer", default = 1 } } }, { type = { "object" } },
      { type = { "object", "null" }, required = {} },
    } do
      local greeter = declared()
      greeter:add("x", { params = params })
      assert.equal(params, greeter.operations.x.params)
      assert.same({ n = 1 }, (greeter:check("x", { n = 1 })))
      assert.equal("invalid", select(2, greeter:check("x", "n")).kind)
    end
    local greeter = declared()
    greeter:add("x", { params = { properties = { n = { type = "integer", default = 1 } }, required = { "m" } } })
    assert.same({ n = 1, m = 2 }, (greeter:check("x", { m = 2 })))
    assert.equal('Invalid params for "x": property "m" is missing', select(2, greeter:check("x", {})).message)
  end)

  it("does not change if an operation is refused", function()
    local greeter = declared()
    pcall(greeter.add, greeter, "x", { params = true })
    assert.same({ "greet" }, greeter.names)
    assert.is_nil(greeter.operations.x)
  end)
end)

describe("semantic versions", function()
  it("follow the grammar of 2.0.0", function()
    local right = {
      "0.0.4", "1.2.3", "10.20.30", "1.1.2-prerelease+meta", "1.1.2+meta", "1.1.2+meta-valid", "1.0.0-alpha",
      "1.0.0-alpha.beta.1", "1.0.0-alpha.0valid", "1.0.0-rc.1+build.1", "2.0.0+build.1848", "1.2.3----RC-SNAPSHOT.12.9",
      "1.0.0+0.build.1-rc.10000aaa-kk-0.1", "99999999999999999999.0.0", "1.0.0-0A.is.legal", "1.0.0+001",
    }
    for _, text in ipairs(right) do assert.is_true(manifest.is_semantic(text), text .. " is refused") end
  end)

  it("are not any other text", function()
    local wrong = {
      "", "1", "1.2", "1.2.3.4", "v1.2.3", "1.2.3-", "1.2.3+", "1.2.3-01", "1.2.3-a..b", "01.1.1", "1.01.1", "1.1.01",
      "1.2.3-é", "1.2.3+a+b", "+invalid", "-1.0.0", "1.2.3 ", "1.2.3\n", "alpha", "1.2.-3", "1.0.0-a_b", "1..0",
    }
    for _, text in ipairs(wrong) do assert.is_false(manifest.is_semantic(text), text .. " is taken") end
  end)
end)

describe("a received manifest", function()
  local function sent_manifest(changes)
    local object = json.decode [[{
      "name": "kubernetes", "version": "1.2.0", "protocolVersion": "0.0.1", "description": "Resources",
      "requires": [{"command": "kubectl"}], "capabilities": ["cancel"], "later": {},
      "operations": {"apply": {"description": "Apply it", "params": {"type": "object", "required": ["file"]}}}
    }]]
    for name, value in pairs(changes or {}) do object[name] = value end
    return object
  end

  it("has the received members", function()
    local read = assert(manifest.read(sent_manifest()))
    assert.equal("kubernetes", read.name)
    assert.equal("1.2.0", read.version)
    assert.equal("Resources", read.description)
    assert.equal("kubectl", read.requires[1].command)
    assert.is_true(read.capabilities.cancel)
    assert.same({ "apply" }, read.names)
    assert.equal("Apply it", read.operations.apply.description)
    assert.same({}, read.warnings)
  end)

  it("is refused without name, version or operations", function()
    local function refused(changes)
      local read, err = manifest.read(sent_manifest(changes))
      assert.is_nil(read)
      assert.equal("protocol", err.kind)
      return err.message
    end
    assert.equal("its manifest: name is missing", refused { name = json.null })
    assert.equal("its manifest: name is blank", refused { name = "" })
    assert.equal("its manifest: name: a string expected, got number", refused { name = 1 })
    assert.equal("its manifest: version: a string expected, got number", refused { version = 1.0 })
    assert.equal("its manifest: operations are missing", refused { operations = json.null })
    for _, operations in ipairs { "x", { "x" } } do
      local message = refused { operations = operations }
      assert.equal("its manifest: operations: an object expected, with a member for each", message)
    end
    assert.equal("its manifest: an object expected, got string", select(2, manifest.read "x").message)
  end)

  it("gets a warning for a mistake that does not prevent its use", function()
    local read = assert(manifest.read(sent_manifest {
      version = "one", description = 3, requires = { 1, { package = "later" } }, capabilities = { cancel = {} },
    }))
    assert.same({
      'version: "one" is no semantic version', "description: a string expected, got number",
      "requires[1]: a command's name expected, or { command = NAME }",
      "requires[2]: a command's name expected, or { command = NAME }", "capabilities: a list of names expected",
    }, read.warnings)
    assert.equal("one", read.version)
    assert.is_nil(read.description)
  end)

  it("may have operations that it does not list, and no version", function()
    local read = assert(manifest.read { name = "x", version = false, is_open = true, operations = {} })
    assert.is_nil(read.version)
    assert.same({ a = 1 }, (read:check("anything", { a = 1 })))
  end)

  it("may have null for a missing member", function()
    local read = assert(manifest.read(sent_manifest {
      description = json.null, requires = json.null, capabilities = json.null,
    }))
    assert.same({}, read.warnings)
    assert.same({}, read.requires)
  end)

  it("keeps an operation whose schema is not understood, and does not check its arguments", function()
    local read = assert(manifest.read(sent_manifest {
      operations = {
        bad = { params = { type = "objekt" } }, worse = 1, open = {},
        good = { params = { type = "object", properties = { n = { default = 1 } } } },
      },
    }))
    assert.same({ "bad", "good", "open", "worse" }, read.names)
    assert.matches("^operations.bad.params: schema at /type: ", read.operations.bad.problem)
    assert.same({ n = 1 }, read:check("good", {}))
    assert.same({ a = 1 }, read:check("open", { a = 1 }))
    assert.same({ a = 1 }, read:check("bad", { a = 1 }))
    assert.same({ a = 1 }, read:check("worse", { a = 1 }))
    assert.equal("operations.worse: an object expected, got number", read.operations.worse.problem)
    assert.equal(3, #read.warnings)
    assert.matches("^operations.bad.params: schema at /type: .*; arguments are not checked$", read.warnings[1])
  end)
end)

describe("arguments", function()
  it("get defaults, in a new table", function()
    local given = { name = "Ada" }
    local args = declared():check("greet", given)
    assert.same({ name = "Ada", times = 1 }, args)
    assert.same({ name = "Ada" }, given)
    local complete = { name = "Ada", times = 2 }
    args = declared():check("greet", complete)
    assert.same(complete, args)
    assert.are_not.equal(complete, args)
  end)

  it("may be left out", function()
    local greeter = declared()
    greeter:add("wave", {})
    assert.same({}, greeter:check "wave")
  end)

  it("are refused with the location in arguments and schema, and the reason", function()
    local args, err = declared():check("greet", { name = "Ada", times = "x" })
    assert.is_nil(args)
    assert.is_true(errors.is(err))
    assert.equal("invalid", err.kind)
    assert.equal(-32602, err.code)
    assert.equal('Invalid params for "greet": at /times: expected integer, got string "x"', err.message)
    assert.same({
      path = "/times", reason = 'expected integer, got string "x"', schema = "/properties/times/type",
    }, err.data)
  end)

  it("are refused as a whole, too", function()
    local _, err = declared():check("greet", {})
    assert.equal('Invalid params for "greet": property "name" is missing', err.message)
    assert.same({ path = "", reason = 'property "name" is missing', schema = "/required" }, err.data)
    for _, args in ipairs { { "Ada" }, json.array {}, "Ada", 1 } do
      _, err = declared():check("greet", args)
      assert.equal(-32602, err.code)
      assert.matches('^Invalid params for "greet": expected object, got ', err.message)
    end
  end)

  it("of an unknown operation are an error that suggests the most similar name", function()
    local cluster = manifest.new { name = "k", version = "1.0.0" }
    for _, name in ipairs { "apply", "condition", "delete" } do cluster:add(name, {}) end
    local args, err = cluster:check("appply", {})
    assert.is_nil(args)
    assert.equal("Unknown operation: appply", err.message)
    assert.equal(-32601, err.code)
    assert.same({ suggestion = "apply" }, err.data)
    err = select(2, cluster:check("frobnicate", {}))
    assert.equal("Unknown operation: frobnicate", err.message)
    assert.is_nil(err.data)
  end)
end)

describe("a schema that is sent", function()
  it("has an empty array where the schema needs one", function()
    assert.equal('{"type":"object","properties":{"a":{"type":"array","default":[]},"b":{"type":"object","default":{}}},'
      .. '"required":[]}', json.encode(order {
      type = "object", required = {}, properties = {
        a = { type = "array", default = {} }, b = { type = "object", default = {} },
      },
    }))
  end)

  it("keeps a list of items, as older drafts have it", function()
    local items = order { items = { { minimum = 1, type = "integer" }, true } }.items
    assert.equal('[{"type":"integer","minimum":1},true]', json.encode(items))
  end)
end)

describe("the most similar name", function()
  local function nearest_of(name, names)
    local read = assert(manifest.read { name = "x", version = "1.0.0", operations = {} })
    read.names = names
    return read:nearest(name)
  end

  it("is the one with the fewest different letters", function()
    local names = { "apply", "condition", "create-namespace", "get", "set" }
    local cases = {
      appply = "apply", aply = "apply", Apply = "apply", APPLY = "apply", paply = "apply", conditoin = "condition",
      ["create-namespce"] = "create-namespace", ["create_namespace"] = "create-namespace", gett = "get", st = "set",
    }
    for name, nearest in pairs(cases) do assert.equal(nearest, nearest_of(name, names), name) end
  end)

  it("is nil if none is similar", function()
    for _, name in ipairs { "", "x", "delete", "application", ("apply"):rep(1000000) } do
      assert.is_nil(nearest_of(name, { "apply", "y", "" }), name:sub(1, 20))
    end
  end)
end)
