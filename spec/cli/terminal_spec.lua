-- Output on a terminal: colours, progress bars, and no control sequences of plugins.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"

-- The output of the command when stdout and stderr are a terminal.
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

local try = core.which "script" and it or pending -- `script` makes terminals

describe("on a terminal", function()
  try("headings are bold, unless NO_COLOR is set", function()
    local inspection = cli.words("inspect", cli.GREETER)
    local plain = cli.run(inspection)
    local text, code = on_terminal(inspection)
    assert.equal(0, code)
    assert.truthy(text:find("\27[1mgreeter 1.0.0\27[0m\nSays hello\n", 1, true), text)
    assert.equal(plain, (text:gsub("\27%[%d*m", "")))
    assert.equal(plain, (on_terminal(inspection, { NO_COLOR = "1" })))
    assert.equal(plain, (on_terminal(inspection, { TERM = "dumb" })))
  end)

  try("a progress bar is shown, and erased when the operation is done", function()
    local calling = cli.words("call", cli.GREETER, "--", "greet", "name=Ada", "times=2")
    local text, code = on_terminal(calling)
    assert.equal(0, code)
    assert.truthy(text:find("greeter greet [############............]  50%", 1, true), text)
    assert.truthy(text:find("greeter greet [########################] 100%\r\27[KHello, Ada\n", 1, true), text)
    assert.is_nil((on_terminal(cli.words("call", "--log", "silent", cli.GREETER, "--", "greet", "name=Ada"))):find "%%")
  end)

  try("a program that is silent for a second is named, until it is given up", function()
    local text, code = on_terminal(cli.words("inspect", "-d", "gevals", "--start-timeout", "1.2s", cli.bad "silent"))
    assert.equal(3, code)
    local line = "^\r\27%[Kwaiting for an answer of lua5.4 [^\r]*silent …\r\27%[Kpintle: bad_plugin: no answer"
    assert.truthy(text:find(line), text)
  end)

  try("output of a plugin has no control sequences, and is unchanged in a pipe", function()
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

  -- U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
  local TURNING = { "\xD8\x9C", "\xE2\x80[\x8E\x8F\xAA-\xAE]", "\xE2\x81[\xA6-\xA9]" }

  local function turns(text)
    for _, pattern in ipairs(TURNING) do
      if text:find(pattern) then return true end
    end
    return false
  end

  -- A plugin that has these characters everywhere in its output.
  local TURNER = [[
    local B = "\u{202E}\u{2066}\u{200F}\u{61C}"
    local plugin = require "pintle".plugin { name = "p" .. B, version = "1.0.0", description = B }
    plugin:on_initialize(function() io.stderr:write("tea\u{202E}", B, "\n") end)
    plugin:operation("say" .. B, {}, function() return "tea" end)
    plugin:operation("say", { description = B, params = {
      properties = { a = { description = B, enum = { B, "b" }, default = B } } } }, function(_, ctx)
      ctx:log("info", B, { [B] = B })
      ctx:progress(0.5, B)
      return { message = "tea\u{202E}", outputs = { [B] = B, c = B } }
    end)
    plugin:operation("fail", {}, function() return nil, { message = B, error = "tea\u{202E}" } end)
    plugin:operation("refuse", {}, function() return nil, { code = 7, message = "tea\u{202E}", data = B } end)
    plugin:operation("die", {}, function() io.stderr:write("tea\u{202E}\n") os.exit(3) end)
    plugin:serve()
  ]]

  try("output of a plugin cannot change the text direction", function()
    local plugin = { "-d", "gevals", "lua5.4", "-e", TURNER }
    for _, words in ipairs {
      { "inspect", "--log", "debug", plugin }, { "inspect", "--json", plugin },
      { "call", "--log", "debug", plugin, "--", "say" }, { "call", "--json", plugin, "--", "say" },
      { "call", plugin, "--", "fail" }, { "call", plugin, "--", "refuse" }, { "call", plugin, "--", "die" },
      { "check", "--strict", "--run", "say", plugin }, { "check", "--json", "--only", "hand*", plugin },
    } do
      local text = on_terminal(cli.words(table.unpack(words)))
      assert.is_false(turns(text), text)
      assert.truthy(text:find "%?" or words[1] == "check", text)
    end
    assert.is_true(turns((cli.run(cli.words("call", plugin, "--", "say")))))
  end)

  try("recorded text cannot change the text direction", function()
    local path = os.tmpname()
    local request = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"0.0.1"}}'
    local tracing = ("printf '%%s\\n' '%s' | bin/pintle trace -o %s -- lua5.4 -e '%s'"):format(request, path, TURNER)
    local text = children.run { command = { "script", "-qec", tracing, "/dev/null" }, env = { TERM = "xterm" } }
    assert.truthy(text:find("tea?????\r\n", 1, true) and text:find('"name":"p????"', 1, true), text)
    assert.is_false(turns(text), text)
    assert.is_true(turns(files.read(path)))
    for _, words in ipairs { { "show", path }, { "show", "--json", path }, { "replay", "--as", "host", path } } do
      text = on_terminal(words)
      assert.is_false(turns(text), text)
      assert.truthy(text:find("tea?", 1, true) or words[1] == "replay", text)
    end
    assert.is_true(turns((cli.run { "show", "--json", path })))
    os.remove(path)
  end)

  try("`trace` and `replay` explain that they wait for a host", function()
    local path, waiting = os.tmpname(), "pintle: waiting for messages on stdin: a host has to start this command"
    assert.truthy((on_terminal(cli.words("trace", "-o", path, cli.GREETER))):find(waiting, 1, true))
    assert.is_nil(files.read(path):find("waiting", 1, true))
    local _, err = cli.run(cli.words("trace", "-o", path, cli.GREETER))
    assert.equal("", err)
    assert.truthy((on_terminal { "replay", "--timeout", "0.1s", path }):find(waiting, 1, true))
    os.remove(path)
  end)

  try("`view` names the page that it made", function()
    local path, page = os.tmpname(), os.tmpname()
    cli.run(cli.words("trace", "-o", path, cli.GREETER))
    assert.same({ ("pintle: saved %s\n"):format(page), 0 }, { on_terminal { "view", "-o", page, path } })
    assert.same({ "", "", 0 }, cli.outcome { "view", "-o", page, path })
    os.remove(path)
    os.remove(page)
  end)

  try("the doctor's report has colours", function()
    local text = on_terminal { "doctor" }
    assert.truthy(text:find("\27[32mok\27[0m", 1, true), text)
    assert.equal((cli.run { "doctor" }), (text:gsub("\27%[%d*m", "")))
  end)
end)
