-- One plugin, unchanged, in every dialect: it recognises the dialect of its host.
local children = require "spec.support.children"
local dialects = require "pintle.dialect"
local exit_status = require "spec.support.exit_status"
local extension = require "spec.support.extension"
local hosts = require "pintle.host"
local json = require("pintle.core").json

local NAMES = { "editor", "gevals", "liquid", "lsp", "mcp", "reginald" }

children.leave_nothing()

-- The greeter of the examples, and the log of its host.
local function start(name, options)
  local said = {}
  local host = hosts { dialect = name, verbosity = "debug", log = function(entry) said[#said + 1] = entry end }
  local status_file = os.tmpname()
  local spec = { command = exit_status.wrap({ "lua5.4", "examples/greeter/plugin.lua" }, status_file) }
  for option, value in pairs(options or {}) do spec[option] = value end
  return host, assert(host:start(spec)), said, status_file
end

local function find(said, message)
  for _, entry in ipairs(said) do
    if entry.message:find(message, 1, true) then return entry end
  end
end

describe("the names of all dialects", function()
  it("are listed", function()
    for _, name in ipairs(NAMES) do assert.is_true(dialects.is_built_in(name), name) end
  end)
end)

for _, name in ipairs(NAMES) do
  describe("the greeter, driven by a host that speaks " .. name, function()
    local function check(options)
      local _ <close>, greeter, said, status_file = start(name, options)
      local outcome = assert(greeter:execute("greet", { name = "Ada", times = 2 }))
      assert.same({ true, "Hello, Ada" }, { outcome.success, outcome.message })
      outcome = assert(greeter:execute("greet", { name = "" }))
      assert.same({ false, "nobody to greet" }, { outcome.success, outcome.error })
      for _, asked in ipairs { { "greet", { name = 5 } }, { "greet", {} }, { "leave", {} } } do
        local err
        outcome, err = greeter:execute(asked[1], asked[2])
        assert.is_nil(outcome, asked[1])
        assert.truthy(err.kind == "invalid" or err.kind == "remote", tostring(err))
      end
      outcome = assert(greeter:execute("greet", { name = "Grace" }))
      assert.equal("Hello, Grace", outcome.message)
      greeter:stop()
      assert.equal(0, exit_status.read(status_file))
      os.remove(status_file)
      assert.truthy(find(said, "greeting"), "its log is not heard")
    end

    it("executes operations when it recognises the dialect", function() check() end)

    it("executes operations when the dialect is set", function() check { env = { PINTLE_DIALECT = name } } end)
  end)
end

describe("arguments whose schema has no type, or a list of types", function()
  local UNTYPED = "spec/support/plugins/untyped.lua"
  local N = '"properties":{"n":{"type":"integer"'

  local function published(dialect)
    local text, status, complaints = extension.run(UNTYPED, {}, { "--manifest", "--dialect", dialect })
    assert.same({ 0, "" }, { status, complaints })
    return json.encode(json.decode(text, nil, true))
  end

  local function assert_published(dialect, ...)
    local text = published(dialect)
    for _, part in ipairs { ... } do assert.truthy(text:find(part, 1, true), text) end
  end

  it("are described as objects, and as they were declared", function()
    assert_published("gevals", '"bare":{"params":{}}', '"typeless":{"params":{' .. N,
      '"listed":{"params":{"type":["object"],' .. N)
    assert_published("editor", '{"name":"bare","params":{}}', '{"name":"typeless","params":{' .. N,
      '{"name":"listed","params":{"type":["object"],' .. N)
  end)

  it("are described with the type object by MCP, which requires it", function()
    assert_published("mcp", '{"name":"bare","inputSchema":{"type":"object"}}',
      '{"name":"typeless","inputSchema":{"type":"object",' .. N,
      '{"name":"listed","inputSchema":{"type":"object",' .. N)
  end)

  for _, name in ipairs(NAMES) do
    it("are accepted and completed by " .. name, function()
      local host <close> = hosts { dialect = name, log = false }
      local plugin = assert(host:start { command = { "lua5.4", UNTYPED } })
      local function said(...) return assert(plugin:execute(...)).message end
      assert.equal("n is 3", said("bare", { n = 3 }))
      assert.equal("n is 7", said "typeless")
      assert.equal("n is 4", said("listed", { n = 4 }))
      assert.is_nil((plugin:execute("listed", { n = "four" })))
    end)
  end
end)
