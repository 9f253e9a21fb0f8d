-- How much Lua is parsed before the first answer, in bytes of source. A rock has compiled modules, which load eight
-- times faster; still, the time to start is the time to load, so these are limits that do not depend on the machine.
-- They may be raised for a good reason.

local children = require "spec.support.children"
local core = require "pintle.core"

local function read_whole(descriptor)
  local parts = {}
  repeat
    local text = descriptor:read()
    parts[#parts + 1] = text or nil
  until not text or text == ""
  return table.concat(parts)
end

local function await_word(process)
  assert(core.poll(children.patience, process.stdout, "r"), "no output in time")
  local word = process.stdout:read()
  if word == "" then error("it has ended: " .. read_whole(process.stderr)) end
end

-- The bytes that a program has parsed when it prints its first line, and the modules by name.
local function parsed_by(arguments, input)
  local command = table.move(arguments, 1, #arguments, 4, { "lua5.4", "-l", "spec.support.parsed" })
  local process <close> = assert(core.spawn { command = command, stderr = "pipe" })
  if input then assert(process.stdin:write(input .. "\n")) end
  await_word(process)
  local total, modules = 0, {}
  for size, name in read_whole(process.stderr):gmatch "parsed (%d+) (%S+)\n" do
    total, modules[name] = total + tonumber(size), true
  end
  return total, modules
end

local function assert_parsed(most, without, ...)
  local total, modules = parsed_by(...)
  assert.truthy(total > most // 2, ("only %d bytes are parsed, so the bound is of no use"):format(total))
  assert.truthy(total <= most, ("%d bytes are parsed"):format(total))
  for name in without:gmatch "%S+" do assert.is_nil(modules[name], name .. " is loaded") end
end

local COMPILE = [[
  local validate = assert(require "pintle.schema".compile {
    type = "object", required = { "name" },
    properties = { name = { type = "string" }, times = { type = "integer", default = 1 } },
  })
]]

local HOST = [[
  local host <close> = require "pintle".host { log = false, dialect = "%s" }
  local greeter <close> = assert(host:start { command = { "lua5.4", "spec/support/plugins/greeter.lua" } })
  assert(greeter:execute("greet", { name = "Ada" }))
]]

local ECHO = [[
  local peer = assert(require "pintle".connect { stdio = true })
  peer:on("echo", function(params) return params end)
  peer:on("wait", function() require "pintle".sleep(0) end)
  peer:join()
]]

local SAY_SO = " io.write 'done' io.flush()"

local GREETER = { "spec/support/plugins/greeter.lua" }
local INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}'
local MCP_INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
local EXECUTE = '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"}}}'

describe("the source that is parsed", function()
  it("to compile a schema", function()
    assert_parsed(28150, "pintle.schema.validation pintle.schema.references pintle.schema.errors",
      { "-e", COMPILE .. SAY_SO })
  end)

  it("to use it", function()
    assert_parsed(28150, "pintle.schema.validation pintle.schema.assertions pintle.schema.errors",
      { "-e", COMPILE .. "assert(validate { name = 'Ada' })" .. SAY_SO })
  end)

  it("by a peer that answers", function()
    assert_parsed(67900, "pintle.connect.socket pintle.process", { "-e", ECHO },
      '{"jsonrpc":"2.0","id":1,"method":"echo"}')
  end)

  it("by a plugin until it is initialized", function()
    assert_parsed(157500, [[pintle.dialect.gevals.host pintle.plugin.command pintle.plugin.folding pintle.plugin.work
      pintle.process pintle.schema.validation pintle.bytes]], GREETER, INITIALIZE)
  end)

  it("by a plugin until it is initialized by an AI client", function()
    assert_parsed(172050, [[pintle.dialect.gevals.plugin pintle.dialect.mcp.host pintle.dialect.mcp.tools
      pintle.dialect.mcp.declarations pintle.dialect.mcp.catalog pintle.dialect.mcp.questions
      pintle.dialect.mcp.notifications pintle.content pintle.plugin.command pintle.plugin.folding]],
      GREETER, MCP_INITIALIZE)
  end)

  it("by a plugin until it has executed an operation", function()
    assert_parsed(173850, "pintle.dialect.gevals.host pintle.plugin.program pintle.process",
      GREETER, EXECUTE)
  end)

  it("by the command for one subcommand, without the others", function()
    assert_parsed(96000, "pintle.cli.call pintle.cli.new pintle.cli.completion pintle.dialect",
      { "bin/pintle", "version" })
  end)

  it("by the command until it has described a plugin", function()
    assert_parsed(564000, "pintle.cli.call pintle.cli.check pintle.cli.new pintle.cli.recording pintle.cli.run",
      { "bin/pintle", "inspect", "-d", "gevals", "lua5.4", "spec/support/plugins/greeter.lua" })
  end)

  it("by a host until it has executed an operation", function()
    assert_parsed(370500, "pintle.plugin pintle.dialect.gevals.plugin pintle.host.discover",
      { "-e", HOST:format "gevals" .. SAY_SO })
  end)

  it("by a host until an MCP server has executed an operation", function()
    assert_parsed(411500, [[pintle.plugin pintle.dialect.mcp.plugin pintle.dialect.mcp.era
      pintle.dialect.mcp.declarations pintle.dialect.mcp.catalog pintle.dialect.mcp.handle
      pintle.dialect.mcp.subscriptions]],
      { "-e", HOST:format "mcp" .. SAY_SO })
  end)
end)
