-- Conversion between schemas and config entries, in both directions.
local arguments = require "pintle.dialect.reginald.arguments"
local declarations = require "pintle.dialect.reginald.declarations"
local json = require("pintle.core").json
local lfs = require "lfs"
local manifests = require "pintle.manifest"
local manifest = require "pintle.dialect.reginald.manifest"
local wire = require "pintle.dialect.reginald.wire"

local june, july = wire.releases.june, wire.releases.july

local function object(properties, required) return { type = "object", properties = properties, required = required } end

-- One entry as text.
local function entry(schema, release, given)
  return json.encode(declarations.entries(object { x = schema }, release, given)[1])
end

describe("a schema as config entries", function()
  it("uses types of both releases", function()
    for schema, expected in pairs {
      [{ type = "boolean" }] = { "false", "bool" }, [{ type = "boolean", default = true }] = { "true", "bool" },
      [{ type = "integer" }] = { "0", "int" }, [{ type = "integer", default = 7 }] = { "7", "int" },
      [{ type = "string" }] = { '""', "string" }, [{ type = "string", default = "d" }] = { '"d"', "string" },
      [{ type = { "string", "null" } }] = { '""', "string" }, [{ enum = { "a", "b" } }] = { '""', "string" },
      [{ enum = { 1, 2 }, default = 2 }] = { "2", "int" },
      [{ type = "string", default = json.null }] = { '""', "string" },
    } do
      local value, name = table.unpack(expected)
      assert.equal(('{"key":"x","value":%s,"type":"%s"}'):format(value, name), entry(schema, june))
      assert.equal(('{"value":%s,"type":"%s","key":"x"}'):format(value, name), entry(schema, july))
    end
  end)

  it("uses types that only july has; june gets JSON text in a string", function()
    local text = { type = "string" }
    for schema, expected in pairs {
      [{ type = "array", items = text }] = { "[]", "stringList", '""' },
      [{ type = "array", items = text, default = { "a" } }] = { '["a"]', "stringList", '"[\\"a\\"]"' },
      [{ type = "array", items = { type = "integer" }, default = { 1 } }] = { "[1]", "intList", '"[1]"' },
      [{ type = "array", items = { type = "boolean" } }] = { "[]", "boolList", '""' },
      [{ type = "array", items = { type = "string", format = "path" } }] = { "[]", "pathList", '""' },
    } do
      assert.equal(('{"value":%s,"type":"%s","key":"x"}'):format(expected[1], expected[2]), entry(schema, july))
      assert.equal(('{"key":"x","value":%s,"type":"string"}'):format(expected[3]), entry(schema, june))
    end
    local path = { type = "string", format = "path", default = "/" }
    assert.equal('{"value":"/","type":"path","key":"x"}', entry(path, july))
    assert.equal('{"key":"x","value":"/","type":"string"}', entry(path, june))
  end)

  it("is JSON text in a string if no release has a type", function()
    for schema, value in pairs {
      [{ type = "number" }] = '""', [{ type = "number", default = 1.5 }] = '"1.5"', [{}] = '""', [true] = '""',
      [{ type = { "string", "integer" } }] = '""', [{ default = false }] = '"false"', [{ enum = { "a", 1 } }] = '""',
      [{ type = "array", default = { 1, "a" } }] = '"[1,\\"a\\"]"', [{ type = "object" }] = '""',
      [{ type = "array", items = object { a = {} } }] = '""', [{ ["$ref"] = "#" }] = '""',
      [object { n = { type = "integer", default = 1 } }] = '""',
      [{ type = "object", properties = { a = {} }, default = { a = "A" } }] = '"{\\"a\\":\\"A\\"}"',
    } do
      assert.equal(('{"key":"x","value":%s,"type":"string"}'):format(value), entry(schema, june))
      assert.equal(('{"value":%s,"type":"string","key":"x"}'):format(value), entry(schema, july))
    end
  end)

  it("has flags for commands", function()
    local schema = { type = "integer", description = "How many" }
    assert.equal('{"key":"x","value":0,"type":"int","flag":{"name":"x","shorthand":"","usage":"How many"}}',
      entry(schema, june, {}))
    assert.equal('{"key":"x","value":0,"type":"int","flag":{"name":"many","shorthand":"m","usage":"u"},'
      .. '"envOverride":"MANY","flagOnly":true}', entry(schema, june, { x = {
        flag = "many", shorthand = "m", usage = "u", envOverride = "MANY", flagOnly = true,
      } }))
    assert.equal('{"key":"x","value":0,"type":"int"}', entry(schema, june, { x = { flag = false } }))
    assert.equal('{"key":"x","value":"","type":"string","flag":{"name":"x","shorthand":"","usage":"(JSON)"}}',
      entry({ type = "number" }, june, {}))
    assert.equal('{"value":0,"type":"int","key":"x","flag":{"name":"x","shorthand":"","description":"How many"}}',
      entry(schema, july, {}))
    assert.equal('{"value":"","type":"string","key":"x","flag":{"name":"x","shorthand":"","description":"(JSON)"}}',
      entry(object {}, july, {}))
  end)

  it("has required parameters first, and marks them in the usage", function()
    local list = declarations.entries(object({ a = { type = "string" }, b = { type = "string", description = "B" },
      c = { type = "string", default = "c" } }, { "c", "b", "b", "unknown" }), june, {})
    local usages = {}
    for i, item in ipairs(list) do usages[i] = item.key .. item.flag.usage end
    assert.same({ "c", "bB (required)", "a" }, usages)
  end)
end)

describe("received config entries", function()
  local schema = object({
    yes = { type = "boolean" }, count = { type = "integer", minimum = 1 }, text = { type = "string", default = "t" },
    name = { type = "string" }, file = { type = "string", format = "path" },
    texts = { type = "array", items = { type = "string" } }, factor = { type = "number" },
    nested = object { inner = { type = "integer" } },
  }, { "name" })

  local function read(text, release, of)
    return arguments.values("config", json.decode(text), of or schema, release or july)
  end

  local function refused(text, release, of)
    local values, message = read(text, release, of)
    assert.is_nil(values)
    return message
  end

  it("become arguments", function()
    assert.same({ yes = true, count = 2, text = "x", name = "n", file = "/", texts = { "a" }, factor = 0.5,
      nested = { inner = 3 } }, read [[[
        {"key":"yes","value":true,"type":"bool"}, {"key":"count","value":2,"type":"int"},
        {"key":"text","value":"x","type":"string"}, {"key":"name","value":"n"},
        {"key":"file","value":"/","type":"path"}, {"key":"texts","value":["a"],"type":"stringList"},
        {"key":"factor","value":"0.5","type":"string"},
        {"key":"nested","value":"{\"inner\":3}","type":"string"} ]
    ]])
    assert.same({ texts = { "a" }, nested = { inner = 3 }, factor = 2 }, read([[[
      {"key":"texts","value":"[\"a\"]","type":"string"}, {"key":"nested","value":"{\"inner\":3}","type":"string"},
      {"key":"factor","value":2,"type":"int"} ]
    ]], june))
    assert.same({ count = 2 }, read '[{"key":"count","value":2.0,"type":"int"}]')
    assert.same({}, (arguments.values("config", nil, schema, june)))
    assert.same({}, (arguments.values("config", json.null, schema, june)))
  end)

  it("are left out if they are not set", function()
    assert.same({ text = "", name = "" }, read [[[
      {"key":"yes","value":false,"type":"bool"}, {"key":"count","value":0,"type":"int"},
      {"key":"text","value":"","type":"string"}, {"key":"name","value":"","type":"string"},
      {"key":"file","value":"","type":"path"}, {"key":"texts","value":[],"type":"stringList"},
      {"key":"factor","value":"","type":"string"}, {"key":"nested","value":"","type":"string"} ]
    ]])
    assert.same({}, read '[{"key":"name","value":null,"type":"string"}]')
  end)

  it("are refused with their keys", function()
    assert.equal('config: key "count": int expected, got string',
      refused '[{"key":"count","value":"2","type":"string"}]')
    assert.equal('config: key "count": int expected, got string', refused '[{"key":"count","value":"2","type":"int"}]')
    assert.equal('config: key "texts": stringList expected, got array',
      refused '[{"key":"texts","value":[1],"type":"stringList"}]')
    assert.matches('^config: key "factor": JSON text expected: .*line 1',
      refused '[{"key":"factor","value":"half","type":"string"}]')
    assert.matches('^config: key "nope": there is no such key; there are count, factor,', refused '[{"key":"nope"}]')
  end)

  it("are skipped if they are the settings of a command, of any type", function()
    local commands = { sub = true }
    for _, name in ipairs { '"configs"', '"map"', '"int"', "7", "null" } do
      local list = json.decode('[{"key":"sub","value":[{"key":"x","value":1,"type":"int"}],"type":' .. name .. "},"
        .. '{"key":"count","value":2,"type":"int"}]')
      assert.same({ count = 2 }, (arguments.values("config", list, schema, july, commands)))
      assert.same({ count = 2 }, (arguments.values("config", list, { type = "object" }, july, commands)))
      local _, message = arguments.values("config", list, schema, july)
      assert.matches('^config: key "sub": there is no such key', message)
    end
  end)

  it("leave out an optional path of july that is the plugin's working directory", function()
    local here = lfs.currentdir()
    local of = object({
      file = { type = "string", format = "path" }, text = { type = "string" },
      needed = { type = "string", format = "path" }, root = { type = "string", format = "path", default = "/" },
    }, { "needed" })
    local function list(path)
      local entry_of = '{"key":"%s","value":' .. json.encode(path):gsub("%%", "%%%%") .. ',"type":"%s"}'
      return "[" .. table.concat({ entry_of:format("file", "path"), entry_of:format("text", "string"),
        entry_of:format("needed", "path"), entry_of:format("root", "path") }, ",") .. "]"
    end
    assert.same({ text = here, needed = here, root = here }, read(list(here), july, of))
    assert.same({ text = here .. "/", needed = here .. "/", root = here .. "/" }, read(list(here .. "/"), july, of))
    assert.equal(here .. "/x", read(list(here .. "/x"), july, of).file)
    assert.equal("/", read(list "/", july, of).file)
    assert.equal(here, read(list(here):gsub('"path"', '"string"'), june, of).file)
  end)

  it("may have any key that the schema allows", function()
    local list = '[{"key":"a","value":"[1]","type":"string"},{"key":"b","value":[1],"type":"intList"},'
      .. '{"key":"c","value":true},{"key":"d","value":[{"key":"e","value":1,"type":"int"}],"type":"configs"}]'
    local expected = { a = "[1]", b = { 1 }, c = true, d = { e = 1 } }
    assert.same(expected, read(list, july, { type = "object" }))
    local open = object {}
    assert.matches("no such key$", refused(list, july, open))
    open.additionalProperties = true
    assert.same(expected, read(list, july, open))
    assert.equal('config: key "a": float expected, got number',
      refused('[{"key":"a","value":1.5,"type":"float"}]', july, { type = "object" }))
  end)
end)

describe("the declaration of a command", function()
  -- Declared by a plugin with this schema, and read by a host: what the host sends for these values.
  local function round(schema, values, release)
    local list = json.decode(json.encode(declarations.entries(schema, release, {})))
    local holder = assert(manifests.read {
      name = "x", version = false, operations = { x = { params = manifest.schema(list) } },
    })
    local checked, err = holder:check("x", values)
    if not checked then return nil, err.message end
    local sent = json.encode(assert(manifest.write(checked, list, release)))
    return arguments.values("config", json.decode(sent), schema, release)
  end

  it("accepts the values that the schema accepts", function()
    local schema = object({
      name = { type = "string" }, count = { type = "integer", default = 1 }, half = { type = "number" },
      any = {}, list = { type = "array", items = { type = "integer" } }, nested = object { a = { type = "string" } },
    }, { "name", "half" })
    local all = { name = "n", half = 2, count = 5, any = { 1, "a" }, list = { 3 }, nested = { a = "b" } }
    for _, release in pairs(wire.releases) do
      local function refused(values) return select(2, round(schema, values, release)) end
      assert.same({ name = "n", half = 0.5, count = 1 }, round(schema, { name = "n", half = 0.5 }, release))
      assert.same(all, round(schema, all, release))
      assert.equal('Invalid params for "x": property "name" is missing', refused { half = 1 })
      assert.equal('Invalid params for "x": property "half" is missing', refused { name = "" })
      assert.matches("at /count: expected integer", refused { name = "", half = 1, count = "1" })
    end
  end)

  it("is used as far as it is valid", function()
    assert.equal(true, manifest.schema(json.null))
    assert.equal(true, manifest.schema(json.array { 1, { key = 2 } }))
    local schema =
      manifest.schema(json.decode '[{"key":"a","value":"x","type":"int"},{"key":"b","type":"odd"},{"key":"c"}]')
    assert.same({ a = { type = "integer" }, b = {} }, schema.properties)
    schema = manifest.schema(json.decode [[[{"key":"a","value":"","type":"string","flag":{"usage":"(required)"}},
      {"key":"a","value":1,"type":"int","flag":{"usage":"(required)"}}, {"key":"b","value":[],"type":"configs"},
      {"key":"e","value":"","type":"string"}, {"key":"f","value":"[1]","type":"string"},
      {"key":"g","value":"hi","type":"string"}, {"alternatives":[1,{"key":"h","type":"int"}],"description":"H"},
      {"key":"i","keyType":"path","values":[]}, {"alternatives":[]}, {"keyType":"path"},
      {"key":"c","value":"false","type":"string","flag":{"usage":"(JSON)"}},
      {"key":"d","value":5,"type":"string","flag":{"usage":"(JSON)"}}] ]])
    assert.same({ "a" }, schema.required)
    assert.same({
      a = { type = "string", description = "(required)" }, b = {},
      e = { type = { "string", "array", "object" }, default = "" },
      f = { type = { "string", "array", "object" }, default = "[1]" }, g = { type = "string", default = "hi" },
      h = { description = "H" }, i = {},
      c = { default = false, description = "(JSON)" }, d = { description = "(JSON)" },
    }, schema.properties)
    schema = manifest.schema(json.decode [[[{"key":"a","type":"int","flag":{"description":"A"},"description":"B"},
      {"key":"b","type":"int","flag":null,"description":"B"}, {"key":"c","type":"int","flag":{"usage":""}}] ]])
    assert.same({ "A", "B" }, { schema.properties.a.description, schema.properties.b.description })
    assert.is_nil(schema.properties.c.description)
    local sent, err = manifest.write({ a = print }, nil, june)
    assert.is_nil(sent)
    assert.equal("invalid", err.kind)
  end)
end)

describe("random input", function()
  local WORDS = {
    "int", "bool", "string", "path", "configs", "stringList", "intList", "pathList", "List", "odd", "x", "", "(JSON)",
    "(required)", "{}", "1", "INFO", "message", "greet",
  }
  local NAMES = {
    "key", "value", "type", "flag", "usage", "name", "config", "configs", "commands", "tasks", "taskType", "level",
    "msg", "fields", "attrs", "request", "outcome", "outputs", "protocol", "alternatives", "keyType", "values",
  }

  local function random(depth)
    local choice = math.random(depth > 4 and 6 or 12)
    if choice == 1 then return json.null end
    if choice == 2 then return math.random(3) end
    if choice == 3 then return math.random() end
    if choice == 4 then return math.random(2) == 1 end
    if choice <= 6 then return WORDS[math.random(#WORDS)] end
    local made = choice <= 9 and json.array() or {}
    for i = 1, math.random(0, 8) do made[choice <= 9 and i or NAMES[math.random(#NAMES)]] = random(depth + 1) end
    return made
  end

  local function entry_like()
    return { key = random(5), value = random(2), type = random(5), flag = { usage = random(5) } }
  end

  local SCHEMA = object({
    x = { type = "integer" }, int = { type = "array", items = { type = "string" } }, odd = object { x = {} },
    ["1"] = {},
  }, { "x" })

  it("is read or refused without an error", function()
    for _ = 1, 500 do
      local list = json.array { entry_like(), entry_like(), entry_like(), random(0) }
      local release = math.random(2) == 1 and june or july
      local found = manifest.operations({ commands = list, tasks = random(0) }, "taskType")
      assert(manifests.read { name = "x", version = false, operations = found.operations })
      assert(manifests.read { name = "x", version = false, operations = { x = { params = manifest.schema(list) } } })
      local values, message = arguments.values("config", list, SCHEMA, release)
      assert.truthy(values or message)
      local written, err = manifest.write({ x = random(0), int = random(0) }, list, release)
      assert.truthy(written or err)
      wire.read_log(random(0))
      local fields = { outcome = random(0), outputs = random(0) }
      wire.read_outcome("m", fields)
      wire.read_failure { message = "m", data = fields }
      manifest.discovery.manifest {
        name = "x", executable = "y", config = list, commands = random(0), tasks = random(0),
      }
    end
  end)
end)

describe("a level of the log", function()
  it("is a name with an offset", function()
    for text, number in pairs {
      TRACE = -8, trace = -8, Debug = -4, INFO = 0, ["info+2"] = 2, ["WARN-4"] = 0, warn = 4, ERROR = 8,
      ["ERROR+100"] = 108,
    } do
      assert.equal(number, wire.level_number(text))
    end
    for _, text in ipairs { "", "LOUD", "INFO+", "INFO+x", "+2", "INFO 2", 3, "INFO+99999999999999999999" } do
      assert.is_nil(wire.level_number(text))
    end
  end)

  it("is one of four levels of pintle", function()
    local names = {}
    for _, number in ipairs { -8, -1, 0, 3, 4, 7, 8, 100 } do names[#names + 1] = wire.level_name(number) end
    assert.equal("debug debug info info warn warn error error", table.concat(names, " "))
  end)
end)
