-- Colours and bars are for terminals, and for those who want them.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"

-- What the command prints where both outputs are a terminal.
local function on_terminal(words, env)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = "'" .. word:gsub("'", "'\\''") .. "'" end
  local given = { TERM = "xterm", NO_COLOR = false }
  for name, value in pairs(env or {}) do given[name] = value end
  local text, code = children.run {
    command = { "script", "-qec", "bin/pintle " .. table.concat(quoted, " "), "/dev/null" }, env = given,
  }
  return (text:gsub("\r\n", "\n")), code
end

local try = core.which "script" and it or pending -- it makes terminals

describe("on a terminal", function()
  try("heads are bold, unless NO_COLOR says no", function()
    local inspection = cli.words("inspect", cli.GREETER)
    local plain = cli.run(inspection)
    local text, code = on_terminal(inspection)
    assert.equal(0, code)
    assert.truthy(text:find("\27[1mgreeter 1.0.0: Says hello\27[0m\n", 1, true), text)
    assert.equal(plain, (text:gsub("\27%[%d*m", "")))
    assert.equal(plain, (on_terminal(inspection, { NO_COLOR = "1" })))
    assert.equal(plain, (on_terminal(inspection, { TERM = "dumb" })))
  end)

  try("progress is a bar", function()
    local calling = cli.words("call", cli.GREETER, "--", "greet", "name=Ada", "times=2")
    local text, code = on_terminal(calling)
    assert.equal(0, code)
    assert.truthy(text:find("plugin greet [############............]  50%", 1, true), text)
    assert.truthy(text:find("plugin greet [########################] 100%\n", 1, true), text)
    assert.truthy(text:find "Hello, Ada\n", text)
    assert.is_nil((on_terminal(cli.words("call", "--log", "silent", cli.GREETER, "--", "greet", "name=Ada"))):find "%%")
  end)

  try("nothing that a plugin says steers it, and a pipe gets it as it is", function()
    local code = [[
      local plugin = require "pintle".plugin { name = "p", version = "1.0.0" }
      plugin:operation("say", {}, function() return "a\27[31mb\u{9b}32mc\nd\té" end)
      plugin:serve()
    ]]
    for _, options in ipairs { {}, { "--json" } } do
      local calling = cli.words("call", "-d", "gevals", "lua5.4", "-e", code, "--", "say", options)
      assert.is_nil((on_terminal(calling):find "\27%[31m"), "ESC")
      assert.is_nil((on_terminal(calling):find "\u{9b}"), "CSI")
      assert.truthy((cli.run(calling):find "\u{9b}"))
    end
    local calling = cli.words("call", "-d", "gevals", "lua5.4", "-e", code, "--", "say")
    assert.equal("a?[31mb?32mc\nd\té\n", (on_terminal(calling)))
    assert.equal("a\27[31mb\u{9b}32mc\nd\té\n", (cli.run(calling)))
  end)

  try("the doctor's findings have colours, and the same text", function()
    local text = on_terminal { "doctor" }
    assert.truthy(text:find("\27[32mok\27[0m", 1, true), text)
    assert.equal((cli.run { "doctor" }), (text:gsub("\27%[%d*m", "")))
  end)
end)
