local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"

local once = extension.once

local GREET = '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"},'
  .. '"context":{"workdir":"/tmp","phase":"setup"}}}'
local HELLO = '{"jsonrpc":"2.0","id":1,"result":{"success":true,"message":"Hello, Ada"}}'
local WORKSHOP = "spec/support/plugins/workshop.lua"
local GREETER = "examples/greeter/plugin.lua"

children.leave_nothing()

describe("the command line of a plugin", function()
  it("prints help", function()
    for _, option in ipairs { "--help", "-h" } do
      local text, status, complaints = extension.run(GREETER, {}, { option })
      assert.equal(0, status)
      assert.equal("", complaints)
      assert.matches("^greeter 1.0.0: Says hello\n\nUsage: plugin.lua ", text)
      assert.matches("\n  greet: Say hello\n    name +string, required\n    times +integer, default 1\n", text)
      for _, name in ipairs { "--version", "--manifest", "--config", "--dialect", "--serve" } do
        assert.truthy(text:find(name, 1, true), name .. " is not told of")
      end
    end
  end)

  it("prints the requirements in the help", function()
    local text = extension.run("spec/support/plugins/described.lua", {}, { "--help" })
    assert.matches("\nRequires: pintle%-no%-such%-command\n", text)
  end)

  it("prints the version", function()
    local text, status = extension.run(GREETER, {}, { "--version" })
    assert.equal("greeter 1.0.0\n", text)
    assert.equal(0, status)
  end)

  it("prints the manifest as indented JSON", function()
    for _, arguments in ipairs { { "--manifest" }, { "--manifest", "gevals" }, { "--manifest=gevals" } } do
      local text, status = extension.run(GREETER, {}, arguments)
      assert.equal(0, status)
      assert.matches('^{\n  "name": "greeter",\n  "version": "1.0.0",\n  "protocolVersion": "0.0.1",\n', text)
      local manifest = core.json.decode(text)
      assert.same({ type = "integer", default = 1 }, manifest.operations.greet.params.properties.times)
    end
  end)

  it("accepts a configuration", function()
    for _, arguments in ipairs { { "--config", '{"a":[1]}' }, { '--config={"a":[1]}' } } do
      local answer, status = once("context", {}, {}, arguments)
      assert.equal('{"a":[1]}', answer.result.outputs.config)
      assert.equal(0, status)
    end
  end)

  it("refuses a wrong configuration", function()
    local cases = {
      ["{"] = "workshop: --config: expected a member name at line 1, column 2",
      ["[]"] = "workshop: --config: a JSON object expected",
      ["3"] = "workshop: --config: a JSON object expected", [""] = "workshop: --config: ",
    }
    for config, message in pairs(cases) do
      local text, status, complaints = extension.run(WORKSHOP, {}, { "--config", config })
      assert.equal(2, status)
      assert.equal("", text)
      assert.truthy(complaints:find(message, 1, true), complaints)
    end
    local _, status, complaints = extension.run(GREETER, {}, { "--config" })
    assert.equal(2, status)
    assert.equal("greeter: --config: a value is missing\n", complaints)
  end)

  it("accepts a dialect, and so does the environment", function()
    for _, arguments in ipairs { { "--dialect", "gevals" }, { "--dialect=gevals" } } do
      assert.equal(HELLO .. "\n", (extension.run(WORKSHOP, { GREET }, arguments)))
    end
    assert.equal(HELLO .. "\n", (extension.run(WORKSHOP, { GREET }, {}, { PINTLE_DIALECT = "gevals" })))
  end)

  it("refuses an unknown dialect, and lists the known ones", function()
    local function refused(where, arguments, env)
      local _, status, complaints = extension.run(GREETER, {}, arguments, env)
      assert.equal(2, status)
      assert.matches(("^greeter: %s: no dialect \"klingon\"; there are .*gevals"):format(where), complaints)
    end
    refused("%-%-dialect", { "--dialect=klingon" })
    refused("%-%-manifest", { "--manifest", "klingon" })
    refused("PINTLE_DIALECT", {}, { PINTLE_DIALECT = "klingon" })
  end)

  it("leaves all other arguments to the plugin", function()
    local arguments = { "serve", "-v", "--depth=3", "--config", "{}", "--help=me", "--", "--help" }
    local answer = once("context", {}, {}, arguments)
    assert.equal("serve -v --depth=3 --help=me --help", answer.result.outputs.arguments)
  end)
end)

describe("a plugin started in a terminal", function()
  -- The output on the terminal, and the exit status; `input` is typed.
  local function in_terminal(command, input)
    local process <close> = assert(core.spawn {
      command = { "script", "-qec", command, "/dev/null" }, stdin = "pipe", stderr = "null",
    })
    if input then assert.equal(#input, process.stdin:write(input)) end
    local text = children.read(process.stdout)
    return (text:gsub("\r", "")), process:wait(children.patience)
  end

  local has_script = core.which "script" ~= nil

  it("prints a greeting instead of waiting", function()
    if not has_script then return pending "no script(1) here" end
    local text, status = in_terminal "lua5.4 examples/greeter/plugin.lua"
    assert.matches("^greeter 1.0.0: Says hello\n\nThis is a plugin", text)
    assert.matches("plugin.lua %-%-help", text)
    assert.equal(0, status)
  end)

  it("serves with --serve", function()
    if not has_script then return pending "no script(1) here" end
    local text, status = in_terminal("lua5.4 " .. WORKSHOP .. " --serve", GREET .. "\n\4")
    assert.truthy(text:find(HELLO, 1, true), text)
    assert.equal(0, status)
  end)
end)
