-- The plugin side of the Liquid JSON-RPC protocol, in the order of the document.
local children = require "spec.support.children"
local client = require "spec.support.liquid_client"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local extension = require "spec.support.extension"
local liquid = require "pintle.dialect.liquid"
local plugins = require "pintle.plugin"

local json = core.json

local GREETER = "examples/greeter/plugin.lua"
local ENGINE = "spec/support/plugins/lua_for_liquid.lua"
local INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"version":"1.0"}}'

children.leave_nothing()

local engine, greeter, error_of = client.engine, client.greeter, client.error_of

describe("Design Principles", function()
  it("1. Liquid errors are NOT protocol errors", function()
    local self <close> = engine()
    local id, err = self:compile "return ("
    assert.is_nil(id)
    assert.equal("syntax_error", err.type)
    local output, errors = self:show
      "return 'Liquid error: no', { { type = 'argument_error', message = 'no', line = 1 } }"
    assert.equal("Liquid error: no", output)
    assert.same({ { type = "argument_error", message = "no", line = 1 } }, errors)
  end)

  it("2. all options are documented and validated", function()
    local self <close> = engine()
    local id = self:compile "return ''"
    for name, wrong in pairs { error_mode = 1, line_numbers = "yes" } do
      local err = error_of(self, "compile", { template = "", options = { [name] = wrong } })
      assert.equal(-32602, err.code)
      assert.equal("options." .. name, err.data.param)
    end
    for name, wrong in pairs {
      strict_variables = "no", strict_filters = 0, strict_errors = {}, resource_limits = "10", registers = true,
    } do
      local err = error_of(self, "render", { template_id = id, options = { [name] = wrong } })
      assert.equal(-32602, err.code)
      assert.equal("options." .. name, err.data.param)
      assert.matches("^Invalid " .. name .. ": expected %l+, got %l+$", err.message)
      assert.matches("^Expected %l+, got %l+$", err.data.message)
    end
  end)

  it("3. invalid requests explain what went wrong", function()
    local self <close> = engine()
    local err = error_of(self, "compile", { template = 7 })
    assert.same({ code = -32602, message = "Invalid template: expected string, got number",
                  data = { param = "template", message = "Expected string, got number" } }, err)
    assert.equal("Invalid params: expected object, got array",
      error_of(self, "compile", json.array { "return ''" }).message)
  end)

  it("4. time can be frozen for reproducible tests", function()
    local self <close> = engine()
    local output = self:show("local _, o = ... return o.now .. ' ' .. o.current_time", {}, {},
      { frozen_time = "2024-01-01T00:01:58Z" })
    assert.equal("1704067318 2024-01-01T00:01:58Z", output)
  end)
end)

describe("initialize", function()
  it("is answered, member by member, by a plugin with an engine", function()
    local plugin <close> = extension.start(ENGINE)
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"version":"1.0","implementation":"lua-for-liquid",'
      .. '"liquid_version":"5.8.0","features":["core","runtime_drops","lax_parsing"]}}', plugin:ask(INITIALIZE))
  end)

  it("is answered by a plugin of operations, which has no features and its own version", function()
    local plugin <close> = extension.start(GREETER)
    assert.equal('{"jsonrpc":"2.0","id":1,"result":{"version":"1.0","implementation":"greeter",'
      .. '"liquid_version":"1.0.0","features":[]}}', plugin:ask(INITIALIZE))
  end)

  it("is called once when the connection starts", function()
    local self <close> = engine()
    assert.equal(-32600, error_of(self, "initialize", { version = "1.0" }).code)
  end)

  it("may be of another version, and be left out", function()
    local plugin <close> = extension.start(ENGINE, { "--dialect", "liquid" })
    assert.equal("1.0", plugin:call("initialize", { version = "2.0" }).result.version)
    local hasty <close> = client.start(ENGINE)
    assert.equal("early", hasty:show "return 'early'")
  end)

  it("is recognised without version or params by a plugin that declares an engine", function()
    for _, params in ipairs { "", ',"params":{}', ',"params":null', ',"params":{"version":null}' } do
      local line = '{"jsonrpc":"2.0","id":1,"method":"initialize"' .. params .. "}"
      local plugin <close> = extension.start(ENGINE)
      assert.matches('"version":"1.0","implementation":"lua%-for%-liquid"', plugin:ask(line), params)
      assert.matches('"template_id":"tmpl_1"',
        plugin:ask '{"jsonrpc":"2.0","id":2,"method":"compile","params":{"template":"return 1"}}')
      local named <close> = extension.start(GREETER, { "--dialect", "liquid" })
      assert.matches('"implementation":"greeter"', named:ask(line), params)
    end
  end)

  it("is recognised as another protocol by its params", function()
    local declared = { liquid = {} }
    local function recognised(params, framing)
      local dialect = dialects.recognise("initialize", params, framing or "line", nil, declared)
      return dialect and dialect.name
    end
    assert.equal("liquid", recognised(nil))
    assert.equal("liquid", recognised {})
    assert.equal("liquid", recognised { version = "1.0" })
    assert.equal("liquid", recognised { version = "draft" })
    assert.equal("gevals", recognised { protocolVersion = "0.0.1" })
    assert.equal("gevals", recognised { config = {} })
    assert.equal("gevals", recognised { protocolVersion = "soon" })
    assert.equal("mcp", recognised { protocolVersion = "2025-06-18", capabilities = {}, clientInfo = { name = "x" } })
    assert.equal("editor", recognised({ process_id = 1 }, "header"))
    assert.equal("editor", recognised({}, "header"))
    assert.equal("lsp", recognised({ capabilities = {}, processId = 1 }, "header"))
    declared = nil
    assert.equal("gevals", recognised {})
    assert.equal("gevals", recognised(nil))
    assert.equal("liquid", recognised { version = "1.0" })
  end)

  it("has a version that is text", function()
    local plugin <close> = extension.start(ENGINE, { "--dialect", "liquid" })
    assert.equal("version", plugin:call("initialize", { version = 1 }).error.data.param)
  end)

  it("is answered within the two seconds that liquid-spec waits", function()
    local self <close> = client.start(GREETER, 2)
    assert.equal("1.0", self:initialize().version)
  end)
end)

describe("Features", function()
  it("are what the engine declares; default: core and runtime_drops", function()
    local plugin = plugins.new {
      name = "x", version = "1.0.0",
      dialects = { liquid = { compile = function() end, render = function() end } },
    }
    assert.same({ "core", "runtime_drops" }, liquid.plugin.manifest(plugin).features)
    local self <close> = client.start(ENGINE)
    assert.same({ "core", "runtime_drops", "lax_parsing" }, self:initialize().features)
  end)
end)

describe("compile", function()
  it("parses a template and stores it for later rendering", function()
    local plugin <close> = extension.start(ENGINE)
    plugin:ask(INITIALIZE)
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"template_id":"tmpl_1"}}', plugin:ask
      '{"jsonrpc":"2.0","id":2,"method":"compile","params":{"template":"return \'one\'","options":{}}}')
    assert.equal("tmpl_2", plugin:call("compile", { template = "return 'two'" }, 3).result.template_id)
    assert.equal("one", plugin:call("render", { template_id = "tmpl_1" }).result.output)
    assert.equal("two", plugin:call("render", { template_id = "tmpl_2" }).result.output)
    assert.equal("one", plugin:call("render", { template_id = "tmpl_1" }).result.output)
  end)

  local function options_seen(options, filesystem)
    local self <close> = engine()
    local id = assert(self:compile("local _, _, o = ... return json.encode(o)", options, filesystem))
    return json.decode((self:render(id)))
  end

  it("takes options.error_mode; default: strict2", function()
    assert.equal("strict2", options_seen({}).error_mode)
    assert.equal("strict2", options_seen({ error_mode = json.null }).error_mode)
    for _, mode in ipairs { "strict2", "strict", "lax" } do
      assert.equal(mode, options_seen({ error_mode = mode }).error_mode)
    end
  end)

  it("takes names for errors, an addition to the protocol", function()
    assert.is_nil(options_seen({}).template_name)
    local seen = options_seen { template_name = "home", partial_path = "a/b" }
    assert.equal("home a/b", seen.template_name .. " " .. seen.partial_path)
  end)

  it("takes options.line_numbers", function()
    assert.is_nil(options_seen({}).line_numbers)
    assert.is_true(options_seen({ line_numbers = true }).line_numbers)
    assert.is_false(options_seen({ line_numbers = false }).line_numbers)
  end)

  it("takes a filesystem of texts by name", function()
    assert.same({}, options_seen({}).filesystem)
    assert.same({ ["greeting.liquid"] = "Hello {{ name }}!" },
      options_seen({}, { ["greeting.liquid"] = "Hello {{ name }}!" }).filesystem)
    local self <close> = engine()
    local err = error_of(self, "compile", { template = "", filesystem = { a = 1 } })
    assert.equal("filesystem.a", err.data.param)
  end)

  it("accepts null for a missing member", function()
    local self <close> = engine()
    assert.equal("tmpl_1", self:request("compile",
      { template = "return ''", options = json.null, filesystem = json.null }).result.template_id)
  end)

  it("returns parse errors in result.error, not as JSON-RPC errors", function()
    local plugin <close> = extension.start(ENGINE)
    plugin:ask(INITIALIZE)
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"template_id":null,"error":{"type":"syntax_error",'
      .. '"message":"Liquid syntax error (line 2): template:2: unexpected symbol near <eof>","line":2}}}', plugin:ask
      '{"jsonrpc":"2.0","id":2,"method":"compile","params":{"template":"return\\n("}}')
    local answer = plugin:call("compile", { template = "(", options = { error_mode = "lax" } })
    assert.equal("parse_error", answer.result.error.type)
  end)

  it("keeps the last 10000 templates", function()
    local self <close> = engine()
    for i = 1, 10001 do assert.equal("tmpl_" .. i, self:compile "return 'x'") end
    assert.equal("Unknown template_id 'tmpl_1'. Call compile first.", select(2, self:render "tmpl_1").message)
    assert.equal("x", (self:render "tmpl_2"))
    assert.equal("x", (self:render "tmpl_10001"))
  end)
end)

describe("render", function()
  it("renders a compiled template with environment variables", function()
    local self <close> = engine()
    local id = self:compile "local env = ... return 'Hello ' .. env.name:upper() .. '!' .. #env.items"
    local _, line = self:request("render", {
      template_id = id, environment = { name = "World", items = { 1, 2, 3 } }, options = {},
    })
    assert.equal('{"jsonrpc":"2.0","id":3,"result":{"output":"Hello WORLD!3","errors":[]}}', line)
  end)

  local function options_seen(options, more)
    local self <close> = engine()
    return json.decode((self:show("local _, o = ... return json.encode(o)", {}, options, more)))
  end

  it("needs no environment and no options", function()
    local self <close> = engine()
    local id = self:compile "local env, o = ... return json.encode { env, o }"
    assert.equal("[{},{}]", self:request("render", { template_id = id }).result.output)
    local nothing = { template_id = id, environment = json.null, options = json.null, frozen_time = json.null }
    assert.equal("[{},{}]", self:request("render", nothing).result.output)
  end)

  it("takes options.strict_variables, strict_filters and strict_errors", function()
    local given = { strict_variables = true, strict_filters = false, strict_errors = true }
    assert.same(given, options_seen(given))
    assert.same({ strict_filters = true }, options_seen { strict_filters = true })
  end)

  it("takes resource_limits and registers as they are", function()
    local given = {
      resource_limits = { render_score_limit = 10, cumulative_render_score_limit = 20 }, registers = { a = { 1 } },
    }
    assert.same(given, options_seen(given))
  end)

  it("takes the time from the registers, where the later version has it", function()
    local seen = options_seen({ registers = { current_time = "2024-01-01T00:01:58Z" } })
    assert.equal(1704067318, seen.now)
    assert.equal("2024-01-01T00:01:58Z", seen.current_time)
    seen = options_seen({ registers = { current_time = "2024-01-02T00:00:00Z" } }, { frozen_time = "1999-01-01" })
    assert.equal("2024-01-02T00:00:00Z", seen.current_time)
  end)

  it("always succeeds for a valid template_id, and returns render errors beside the output", function()
    local self <close> = engine()
    local id = self:compile [[
      local message = "cannot sort values of incompatible types"
      return "Liquid error (line 1): " .. message, { { type = "argument_error", message = message, line = 1 } }]]
    local _, line = self:request("render", { template_id = id, environment = {} })
    assert.equal('{"jsonrpc":"2.0","id":3,"result":{'
      .. '"output":"Liquid error (line 1): cannot sort values of incompatible types","errors":['
      .. '{"type":"argument_error","message":"cannot sort values of incompatible types","line":1}]}}', line)
  end)

  it("returns a failed render as an error with a code of its own", function()
    local self <close> = engine()
    local id = self:compile
      "return nil, { type = 'zero_division_error', message = 'Liquid error (line 1): divided by 0', line = 1 }"
    local _, line = self:request("render", { template_id = id, options = { strict_errors = true } })
    assert.equal('{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"Liquid error (line 1): divided by 0",'
      .. '"data":{"type":"zero_division_error","line":1}}}', line)
    local _, err = self:show "return nil, 'no'"
    assert.same({ code = -32001, message = "no", data = { type = "render_error" } }, err)
  end)

  it("is an internal error if the engine raises or returns an invalid value, and the next one works", function()
    local self <close> = engine()
    assert.equal(-32603, select(2, self:show "error 'broken'").code)
    assert.matches("broken", select(2, self:show "error 'broken'").message)
    assert.matches("output is a table", select(2, self:show "return {}").message)
    assert.equal("fine", (self:show "return 'fine'"))
  end)

  it("gives the engine a context for logging", function()
    local self <close> = engine()
    assert.equal("render", (self:show
      "local _, _, _, ctx = ... ctx:log('info', 'at it') ctx:progress(1) return ctx.method"))
    assert.equal("lua-for-liquid: info: at it\n", self.plugin:complaints "\n")
  end)
end)

describe("quit", function()
  it("gracefully shuts down the server, without a response", function()
    local plugin <close> = extension.start(ENGINE)
    plugin:ask(INITIALIZE)
    plugin:say '{"jsonrpc":"2.0","method":"quit"}'
    assert.equal(0, plugin.process:wait(children.patience))
    assert.equal("", children.read(plugin.process.stdout))
  end)

  it("may be followed at once by the end of input", function()
    local self <close> = engine()
    assert.equal("x", (self:show "return 'x'"))
    self:quit()
  end)

  it("may be a request", function()
    local plugin <close> = extension.start(ENGINE)
    plugin:ask(INITIALIZE)
    assert.equal('{"jsonrpc":"2.0","id":2,"result":null}',
      plugin:ask '{"jsonrpc":"2.0","id":2,"method":"quit","params":{}}')
    assert.equal(0, plugin.process:wait(children.patience))
  end)

  it("is optional: the end of input is enough", function()
    local _, status = extension.run(ENGINE, { INITIALIZE })
    assert.equal(0, status)
  end)
end)

describe("Protocol Errors", function()
  local function code_of(line)
    local plugin <close> = extension.start(ENGINE)
    plugin:ask(INITIALIZE)
    local answer = json.decode(plugin:ask(line))
    return answer.error.code, answer.id, answer.error
  end

  it("-32700: invalid JSON received", function()
    local code, id = code_of '{"jsonrpc":"2.0",'
    assert.same({ -32700, json.null }, { code, id })
    assert.equal(-32700, (code_of "hello"))
  end)

  it("-32600: missing required fields", function()
    assert.equal(-32600, (code_of '{"jsonrpc":"2.0","id":5}'))
    assert.equal(-32600, (code_of '{"id":5,"method":"compile"}'))
  end)

  it("-32601: unknown method name", function()
    local code, id, err = code_of '{"jsonrpc":"2.0","id":5,"method":"parse"}'
    assert.same({ -32601, 5, "Method not found: parse" }, { code, id, err.message })
  end)

  it("-32602: parameter validation failed, with its name and the reason", function()
    local code, _, err = code_of
      '{"jsonrpc":"2.0","id":5,"method":"compile","params":{"template":"","options":{"error_mode":"invalid"}}}'
    assert.equal(-32602, code)
    assert.same({ param = "options.error_mode", message = "Expected 'strict' or 'lax', got 'invalid'" }, err.data)
  end)
end)

describe("Error Handling", function()
  it("1. parse errors prevent compilation, and are returned in result.error", function()
    local self <close> = engine()
    local result = self:request("compile", { template = "return (" }).result
    assert.equal(json.null, result.template_id)
    assert.matches("^Liquid syntax error %(line 1%): ", result.error.message)
    assert.equal("Unknown template_id 'tmpl_1'. Call compile first.", select(2, self:render "tmpl_1").message)
  end)

  it("2. render errors are rendered inline, captured in result.errors, and NOT raised", function()
    local self <close> = greeter()
    local id = self:compile "{% greet %}"
    local message = self:request("render", { template_id = id, environment = { name = "" } })
    assert.is_nil(message.error)
    assert.same({ output = "Liquid error (line 1): nobody to greet",
                  errors = { { type = "render_error", message = "nobody to greet", line = 1 } } }, message.result)
  end)

  it("3. the output always reflects what Liquid would actually produce", function()
    local self <close> = engine()
    local text = " a\tb \n\0 \u{1F600} Liquid error (line 1): x "
    assert.equal(text, (self:show(("return %q, { 'x', 'y' }"):format(text))))
  end)
end)

describe("Time Handling", function()
  local wire = require "pintle.dialect.liquid.wire"

  it("counts from the epoch", function()
    for text, seconds in pairs {
      ["2024-01-01T00:01:58Z"] = 1704067318, ["1970-01-01T00:00:00Z"] = 0, ["1969-12-31T23:59:59Z"] = -1,
      ["2000-02-29T12:00:00+00:00"] = 951825600, ["2024-03-01T01:30:00+01:30"] = 1709251200,
      ["2024-02-29T19:00:00-0500"] = 1709251200, ["2024-02-29 23:00:00 -01"] = 1709251200, ["2024-03-01"] = 1709251200,
      ["2024-03-01T00:00"] = 1709251200, ["2024-03-01 00:00:00 UTC"] = 1709251200, ["0001-01-01"] = -62135596800,
    } do
      assert.equal(seconds, wire.seconds(text), text)
      assert.equal("integer", math.type(wire.seconds(text)), text)
    end
    assert.equal(1704067318.25, wire.seconds "2024-01-01T00:01:58.25Z")
  end)

  it("agrees with the C library for every day of a long period", function()
    for days = -20000, 60000, 7 do
      assert.equal(days * 86400, wire.seconds(os.date("!%Y-%m-%dT%H:%M:%SZ", days * 86400)))
    end
  end)

  it("refuses what is not a timestamp", function()
    for _, text in ipairs {
      "", "now", "2024", "2024-13-01", "2024-02-30", "2023-02-29", "1900-02-29", "2024-01-00", "2024-01-01T25:00:00Z",
      "2024-01-01T00:60:00Z", "2024-01-01Z00:00:00", "2024-01-01T00:00:00+1", "2024-01-01T00:00:00 Mars", "2024-01-01T",
    } do assert.is_nil(wire.seconds(text), text) end
    local self <close> = engine()
    local id = self:compile "return ''"
    assert.equal("frozen_time", error_of(self, "render", { template_id = id, frozen_time = "tomorrow" }).data.param)
    assert.equal("options.registers.current_time",
      error_of(self, "render", { template_id = id, options = { registers = { current_time = "x" } } }).data.param)
  end)
end)

describe("Type Coercion", function()
  it("distinguishes null, booleans, integers, floats, strings, arrays and objects, and returns each", function()
    local self <close> = engine()
    local id = self:compile "return json.encode((...))"
    for _, text in ipairs {
      '{"x":null}', '{"x":true}', '{"x":false}', '{"x":1}', '{"x":1.0}', '{"x":-0.5}', '{"x":9223372036854775807}',
      '{"x":"1"}', '{"x":[]}', '{"x":{}}', '{"x":[1,1.0,"1",[],{},null]}',
    } do
      local params = { template_id = id, environment = json.raw(text) }
      assert.equal(text, self:request("render", params).result.output)
    end
    assert.equal("integer float", (self:show("local e = ... return math.type(e.i) .. ' ' .. math.type(e.f)",
      { i = 1, f = 1.0 })))
  end)
end)

describe("a hash", function()
  it("keeps the order of its members in the environment, the options and the values of drops", function()
    local self <close> = engine()
    local text = '{"zebra":1,"apple":{"d":1,"c":{},"b":[{"y":1,"x":2}]},"mango":null,"fig":2.0,"kiwi":"","date":[]}'
    local id = self:compile [[
      local env, o = ...
      local names = {}
      for name in pairs(env.h) do names[#names + 1] = name end
      return table.concat(names, " ") .. json.encode { env.h, o.registers, env.drop:get "x" }]]
    self.drops.d = { get = { x = json.raw(text) } }
    local output = self:request("render", {
      template_id = id, environment = { h = json.raw(text), drop = { _rpc_drop = "d" } },
      options = { registers = json.raw(text) },
    }).result.output
    assert.equal(("zebra apple mango fig kiwi date[%s,%s,%s]"):format(text, text, text), output)
  end)
end)

describe("Common Mistakes", function()
  it("1. rendering unknown template_id", function()
    local self <close> = engine()
    local err = error_of(self, "render", { template_id = "tmpl_999" })
    assert.equal(-32602, err.code)
    assert.equal("Unknown template_id 'tmpl_999'. Call compile first.", err.message)
    assert.equal("template_id", err.data.param)
  end)

  it("2. missing required parameter", function()
    local self <close> = engine()
    for _, given in ipairs { {}, { template = json.null } } do
      local err = error_of(self, "compile", given)
      assert.equal(-32602, err.code)
      assert.equal("Missing required parameter 'template' in compile request", err.message)
    end
    assert.equal("Missing required parameter 'template' in compile request", error_of(self, "compile").message)
    assert.equal("Missing required parameter 'template_id' in render request", error_of(self, "render", {}).message)
  end)

  it("3. invalid option value", function()
    local self <close> = engine()
    local err = error_of(self, "compile", { template = "", options = { error_mode = "foo" } })
    assert.equal(-32602, err.code)
    assert.equal("Invalid error_mode: expected 'strict' or 'lax', got 'foo'", err.message)
  end)
end)

describe("Transport Limitations", function()
  it("names are strings, and a hash with others has a marker that is left to the engine", function()
    local self <close> = engine()
    local template = "for name, value in pairs((...).hash) do return type(name) .. ' ' .. name .. '=>' .. value end"
    assert.equal("string foo=>bar", (self:show(template, { hash = { foo = "bar" } })))
    local marker = { _ruby_type = "Hash", inspect = '{:foo=>"bar"}', data = { foo = "bar" } }
    assert.equal('{:foo=>"bar"}', (self:show("return (...).hash.inspect", { hash = marker })))
  end)

  it("invalid UTF-8 in binary data is replaced", function()
    local self <close> = engine()
    assert.equal("\u{FFFD}\u{FFFD}", (self:show "return '\\xff\\xff'"))
    local _, err = self:show "return nil, { message = 'bad \\xff', line = 1 }"
    assert.equal("bad \u{FFFD}", err.message)
  end)

  it("each invalid sequence is replaced once, and the rest is unchanged", function()
    local valid_text = require("pintle.dialect.liquid.wire").valid_text
    for given, expected in pairs {
      [""] = "", ["plain ä"] = "plain ä", ["\u{10FFFF}"] = "\u{10FFFF}", ["a\xffb"] = "a?b", ["\xe2\x82"] = "?",
      ["\xe2\x82x"] = "?x", ["\xf0\x9f\x98"] = "?", ["\xf0\x9f\x98\x80"] = "\xf0\x9f\x98\x80", ["\xc0\xaf"] = "??",
      ["\xed\xa0\x80"] = "???", ["\xe0\x80\xaf"] = "???", ["\xf4\x90\x80\x80"] = "????", ["\x80ä\x80"] = "?ä?",
      ["\xc3"] = "?", ["\xc3\xc3\xa4"] = "?ä",
    } do assert.equal((expected:gsub("%?", "\u{FFFD}")), valid_text(given)) end
    for _ = 1, 2000 do
      local bytes = {}
      for i = 1, math.random(12) do bytes[i] = math.random(0, 255) | math.random(0, 1) * 0x80 end
      local text = valid_text(string.char(table.unpack(bytes)))
      assert.truthy(utf8.len(text))
      assert.truthy(json.encode(text))
    end
  end)
end)

describe("a plugin of operations", function()
  it("has its operations as tags, with the environment as arguments", function()
    local self <close> = greeter()
    for _, template in ipairs { "{% greet %}", "{%greet%}", "{%- greet -%}", "{%-  greet%}", " {%- greet -%}\n" } do
      assert.equal("Hello, Ada", (self:show(template, { name = "Ada" })), template)
    end
    assert.equal(" Hello, Ada\n", (self:show(" {% greet %}\n", { name = "Ada" })))
  end)

  it("refuses other templates, and lists its tags", function()
    local self <close> = greeter()
    local function refusal(template)
      local id, err = self:compile(template)
      assert.is_nil(id)
      assert.equal("syntax_error", err.type)
      return err.message, err.line
    end
    assert.equal("Liquid syntax error (line 1): Unknown tag 'foo'; there is {% greet %}", refusal "{% foo %}")
    assert.equal("Liquid syntax error (line 1): Unknown tag 'foo'; there is {% greet %}", refusal "{%-foo-%}")
    assert.equal("Liquid syntax error (line 3): Unknown tag 'foo'; there is {% greet %}", refusal "a\n\n{% foo x %}")
    assert.equal(3, select(2, refusal "a\n\n{% foo x %}"))
    local alone = "Liquid syntax error (line 1): Syntax Error in 'greet' - it stands alone, and its arguments are the "
      .. "environment: {% greet %}"
    for _, template in ipairs { "{% greet 'Ada' %}", "{% greet %}!", "{% greet %}{% greet %}", "{% greet" } do
      assert.equal(alone, refusal(template))
    end
    for _, template in ipairs { "", "Hello {{ name }}", "{%" } do
      assert.equal("Liquid syntax error (line 1): Only a tag can be rendered; there is {% greet %}", refusal(template))
    end
  end)

  it("renders the error of an operation that failed, or fails the render", function()
    local self <close> = greeter()
    local id = self:compile "\n{% greet %}"
    local output, errors = self:render(id, { name = "" })
    assert.equal("\nLiquid error (line 2): nobody to greet", output)
    assert.same({ { type = "render_error", message = "nobody to greet", line = 2 } }, errors)
    assert.equal(output, (self:render(id, { name = "" }, { strict_errors = false })))
    local _, err = self:render(id, { name = "" }, { strict_errors = true })
    assert.same({ code = -32001, message = "Liquid error (line 2): nobody to greet",
                  data = { type = "render_error", line = 2 } }, err)
  end)

  it("refuses invalid arguments by their place in the environment", function()
    local self <close> = greeter()
    local _, err = self:show("{% greet %}", { name = 7 })
    assert.equal(-32602, err.code)
    assert.equal("environment.name", err.data.param)
    assert.equal("expected string, got integer 7", err.data.message)
    _, err = self:show("{% greet %}", {})
    assert.equal("environment", err.data.param)
  end)

  it("may also have an engine: operations take precedence", function()
    local self <close> = engine()
    local id = self:compile "{% double %}"
    local message = self:request("render", { template_id = id, environment = { n = 21 } })
    assert.same({ output = "42", errors = {}, outputs = { doubled = 42 } }, message.result)
    local _, err = self:compile "{% render %}"
    assert.matches("unexpected symbol", err.message)
  end)
end)

describe("a plugin with an engine", function()
  it("has the operation render for hosts of other protocols", function()
    local plugin <close> = extension.start(ENGINE)
    local manifest = plugin:call("initialize", { protocolVersion = "0.0.1" }).result
    assert.same({ "template" }, manifest.operations.render.params.required)
    local function render(args) return plugin:execute("render", args).result end
    assert.same({ success = true, message = "Hello Ada" },
      render { template = "return 'Hello ' .. (...).name", environment = { name = "Ada" } })
    assert.same({ success = false, message = "no", error = "no" },
      render { template = "return nil, { message = 'no' }" })
    assert.matches("^Liquid syntax error %(line 1%)", render { template = "return (" }.error)
    assert.same({ success = true, message = "x", outputs = { errors = '[{"type":"a","message":"b"}]' } },
      render { template = "return 'x', { { type = 'a', message = 'b' } }" })
    assert.equal("1704067318 lax", render {
      template = "local _, o, c = ... return o.now .. ' ' .. c.error_mode", frozen_time = "2024-01-01T00:01:58Z",
      error_mode = "lax",
    }.message)
    local text = '{"zebra":{"d":1,"c":[]},"apple":2,"mango":3.0}'
    local printed = render { template = "return json.encode((...).h)", environment = { h = json.raw(text) } }.message
    assert.equal(text, printed)
    assert.matches("is not a timestamp", render { template = "return ''", frozen_time = "x" }.error)
    assert.equal(-32602, plugin:execute("render", {}).error.code)
  end)

  it("is refused with compile or render alone", function()
    local function nothing() end
    for _, own in ipairs { { compile = nothing }, { render = nothing }, { compile = nothing, render = "x" } } do
      local ok, message = pcall(function()
        local plugin = plugins.new { name = "x", version = "1.0.0", dialects = { liquid = own } }
        return plugin
      end)
      assert.is_false(ok)
      assert.matches("plugin_spec.lua:%d+: plugin: dialects.liquid: compile and render", message)
    end
  end)
end)
