-- `pintle run`: a host with a prompt, driven by scripts and by keys at a real terminal.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local new_editor = require("pintle.cli.run.prompt").new_editor
local files = require "spec.support.files"
local new_keys = require("pintle.cli.run.prompt").new_keys
local lfs = require "lfs"
local split = require("pintle.cli.run.commands").split_line
local terminals = require "spec.support.terminal"

children.leave_nothing()

local PLUGIN = [[
#!/usr/bin/env lua5.4
local pintle = require "pintle"
local plugin = pintle.plugin { name = "tea", version = "1.2.3" }

plugin:operation("brew", {
  description = "Brew a cup",
  params = { type = "object", required = { "leaf" }, properties = {
    leaf = { type = "string" }, milk = { type = "boolean" }, sugar = { enum = { "none", "some" } },
  } },
}, function(args)
  if args.leaf == "none" then return nil, "no leaf" end
  return ("A cup of %s%s"):format(args.leaf, args.milk and " with milk" or "")
end)

plugin:operation("bring", {}, function(_, ctx)
  ctx:log("info", "on its way")
  ctx:sleep(600)
  local file = assert(io.open(os.getenv "NOTE", "w"))
  file:write(tostring(ctx:cancelled()))
  file:close()
end)

-- Writes to stderr as soon as a file exists.
plugin:operation("call_later", {}, function()
  pintle.task(function()
    while not io.open(os.getenv "NOTE") do pintle.sleep(0.01) end
    io.stderr:write "tea is ready\n"
  end)
  return "later"
end)

plugin:operation("die", {}, function() os.exit(4) end)

plugin:serve()
]]

-- A folder with the plugin `tea`.
local function stage()
  local folder = files.folder()
  folder.plugins, folder.note = folder.path .. "/plugins", folder.path .. "/note"
  assert(lfs.mkdir(folder.plugins))
  files.write(folder.plugins .. "/tea", PLUGIN)
  assert(os.execute("chmod +x " .. folder.plugins .. "/tea"))
  return folder
end

local function run(folder, script, ...)
  local started <close> = cli.start({ "run", "--log", "error", folder.plugins, ... }, { env = { NOTE = folder.note } })
  started:say(script)
  started.process.stdin:close()
  return { started:finish() }
end

describe("pintle run, with a script,", function()
  it("runs operations, and lists plugins", function()
    local folder <close> = stage()
    assert.same({ [[
PLUGIN  VERSION  OPERATIONS
tea     1.2.3    brew bring call_later die
A cup of assam with milk
A cup of lapsang souchong
]], "", 0 }, run(folder, "plugins\n\n# a remark\ntea brew leaf=assam milk=true\n tea  brew leaf='lapsang souchong'"))
  end)

  it("prints names without characters that change the text direction", function()
    local folder <close> = stage()
    files.write(folder.plugins .. "/tea", (PLUGIN:gsub('"bring"', '"br\\u{202E}"')))
    assert.same({ "PLUGIN  VERSION  OPERATIONS\ntea     1.2.3    brew br? call_later die\n", "", 0 },
      run(folder, "plugins"))
  end)

  it("describes a plugin, and prints help", function()
    local folder <close> = stage()
    local out = run(folder, "tea\nhelp\n")[1]
    assert.truthy(out:find "\n  brew\n    Brew a cup\n      leaf +string, required\n", out)
    assert.truthy(out:find "\nreload +stop everything", out)
  end)

  it("continues after failures, and exits with the status of the first", function()
    local folder <close> = stage()
    assert.same({ "A cup of assam\n", [[
pintle: brew failed: no leaf
pintle: Unknown operation: brow; did you mean brew?
pintle: no plugin or command coffee; try `help`
pintle: no plugin or command brew; did you mean tea brew?
pintle: help takes no arguments here; try PLUGIN inspect OPERATION
pintle: unterminated '
pintle: "leaf" is neither key=value nor key:=JSON
]], 1 }, run(folder, [[
tea brew leaf=none
tea brow
coffee
brew leaf=x
help me
tea brew leaf='assam
tea brew leaf
tea brew leaf=assam
]]))
  end)

  it("stops at quit, and reads commands from a file", function()
    local folder <close> = stage()
    files.write(folder.path .. "/script", "tea brew leaf=a\nquit\ntea brew leaf=b\n")
    local text, code = children.run {
      command = { "sh", "-c", 'exec bin/pintle run "$1" < "$2"', "sh", folder.plugins, folder.path .. "/script" },
    }
    assert.same({ "A cup of a\n", 0 }, { text, code })
    assert.same({ "", "", 0 }, run(folder, ""))
  end)

  it("searches the directory again on reload", function()
    local folder <close> = stage()
    local started <close> = cli.start({ "run", folder.plugins }, { env = { NOTE = folder.note } })
    started:say "plugins\n"
    started:read "call_later die\n"
    assert(os.execute(("cp %s/tea %s/coffee"):format(folder.plugins, folder.plugins)))
    started:say "reload\nplugins\nquit\n"
    local out, err, status = started:finish()
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:find "\ncoffee +1.2.3 .*\ntea +1.2.3 ", out)
  end)

  it("reports plugins that fail to start, and runs the others", function()
    local folder <close> = stage()
    files.write(folder.plugins .. "/bad", "#!/bin/sh\nexit 3\n")
    assert(os.execute("chmod +x " .. folder.plugins .. "/bad"))
    local out, err, status = table.unpack(run(folder, "tea brew leaf=a\n"))
    assert.same({ "A cup of a\n", 2 }, { out, status })
    assert.truthy(err:find("pintle: bad failed to start: bad ended with status 3\n", 1, true), err)
  end)

  it("reports an empty directory", function()
    local folder <close> = stage()
    os.remove(folder.plugins .. "/tea")
    assert.same({ "", ("pintle: no plugins in %s\n"):format(folder.plugins), 2 }, run(folder, ""))
    assert.same({ "", ("pintle: no dialect \"latin\"; there are editor, gevals, liquid, lsp, mcp, reginald\n"), 64 },
      run(folder, "", "-d", "latin"))
    assert.same({ "", ("pintle: %s/nowhere: No such file or directory\n"):format(folder.path), 64 },
      cli.outcome { "run", folder.path .. "/nowhere" })
  end)

  it("speaks the given dialect", function()
    local folder <close> = stage()
    assert.same({ "A cup of a\n", "", 0 }, run(folder, "tea brew leaf=a\n", "--dialect", "mcp"))
  end)

  it("cancels the operation when interrupted, stops all plugins, and exits with 130", function()
    local folder <close> = stage()
    local started <close> = cli.start({ "run", folder.plugins }, { env = { NOTE = folder.note } })
    started:say "tea bring\n"
    children.read(started.process.stderr, "on its way\n")
    local plugin = cli.await_child(started.process:pid(), "tea")
    started.process:kill "INT"
    local _, err, status = started:finish()
    assert.same({ "pintle: interrupted: the operation was cancelled\n", 130 }, { err, status })
    assert.equal("true", files.read(folder.note))
    assert.is_false(cli.is_running(plugin))
  end)
end)

describe("pintle run, with one program,", function()
  local function run_program(script, ...)
    local started <close> = cli.start(cli.words("run", "--log", "error", ...))
    started:say(script)
    started.process.stdin:close()
    return { started:finish() }
  end

  it("runs its operations without a plugin's name, with words or JSON", function()
    assert.same({ "Hello, Ada\nHello, B C\nHello, D\n", "", 0 }, run_program(
      'greet name=Ada\ngreet {"name": "B C"}\ngreet \'{"name": "D"}\'\n', "--", cli.GREETER))
  end)

  it("calls methods, and sends notifications", function()
    assert.same({ '"Hello, Ada"\n', "", 0 }, run_program(
      'notify $/setTrace {"value":"off"}\n'
        .. 'call workspace/executeCommand {"command":"greet","arguments":[{"name":"Ada"}]}',
      "-d", "lsp", "--", cli.GREETER))
    assert.same({ "", "pintle: Method not found: nonsense (code -32601)\n", 2 },
      run_program("call nonsense", "-d", "lsp", "--", cli.GREETER))
  end)

  it("lists and prints resources and prompts", function()
    local folder <close> = files.folder()
    files.write(folder.path .. "/tea.md", "# Tea\nSencha\n")
    local out, err, status = table.unpack(run_program(
      "resources\nread note:///tea\nprompts\nprompt summarize name=tea\n", "-d", "mcp", "--", "lua5.4",
      "examples/notes-mcp/plugin.lua", folder.path))
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:find "RESOURCES\n  note:///tea\n.*# Tea\nSencha\n.*PROMPTS\n  summarize.*user: ", out)
  end)

  it("shows the whole page, or one operation", function()
    local out = run_program("inspect\ninspect greet\nhelp greet\n", "--", cli.GREETER)[1]
    assert.truthy(out:find "^greeter 1.0.0\nSays hello\n", out)
    assert.equal(3, select(2, out:gsub("  greet\n    Say hello\n", "")))
  end)

  it("reports that resources and prompts need MCP", function()
    local out, err = table.unpack(run_program("resources\nprompt summarize\n", "-d", "gevals", "--", cli.GREETER))
    assert.same({ "", [[
pintle: no resources in gevals; to start an MCP server: pintle run -d mcp -- CMD…
pintle: no prompt in gevals; to start an MCP server: pintle run -d mcp -- CMD…
]] }, { out, err })
  end)

  it("suggests operations and commands for misspelt ones", function()
    assert.same({ "", [[
pintle: no operation or command gret; did you mean greet?
pintle: no operation or command cal; did you mean call?
pintle: no operation or command xyzzy; try `help`
pintle: Invalid params for "greet": property "name" is missing; did you mean name instead of nam?
pintle: no operation gret; did you mean greet?
]], 64 }, run_program("gret\ncal x\nxyzzy\ngreet nam=x\nhelp gret\n", "--", cli.GREETER))
    assert.same({ "", "pintle: no operation or command tools/list; did you mean call tools/list?\n", 64 },
      run_program("tools/list\n", "-d", "mcp", "--", cli.GREETER))
    assert.same({ "", "pintle: Method not found: workspace/excuteCommand; did you mean workspace/executeCommand? "
      .. "(code -32601)\n", 2 }, run_program("call workspace/excuteCommand\n", "-d", "lsp", "--", cli.GREETER))
  end)

  it("starts the program again on reload", function()
    local folder <close> = stage()
    local started <close> = cli.start({ "run", "--log", "silent", "--", folder.plugins .. "/tea" })
    started:say "die\nbrew leaf=a\nreload\nbrew leaf=b\n"
    started.process.stdin:close()
    local out, err = started:finish()
    assert.equal("A cup of b\n", out)
    assert.truthy(err:find("pintle: tea ended with status 4; `reload` restarts it\n", 1, true), err)
  end)

  it("prints the correct command when -- or the directory is missing", function()
    assert.same({ "", "pintle: lua5.4 is no directory; to start a program: pintle run -- lua5.4 x.lua\n", 64 },
      cli.outcome { "run", "lua5.4", "x.lua" })
    assert.same({ "", "pintle: a directory or a program expected: pintle run DIR, or pintle run -- CMD…\n", 64 },
      cli.outcome { "run" })
    assert.equal(64, cli.outcome { "run", "--" }[3])
    local folder <close> = files.folder()
    files.write(folder.path .. "/manifest.json", '{"name":"tea","executable":"brew"}')
    assert.same({ "", ("pintle: %s is a plugin, not a directory of plugins; to start it: pintle run -- %s/brew\n")
      :format(folder.path, folder.path), 64 }, cli.outcome { "run", folder.path })
    assert.equal(64, cli.outcome { "run", "--config", "{}", "spec" }[3])
  end)
end)

describe("pintle run, at a terminal,", function()
  local try = core.which "script" and it or pending -- `script` makes terminals

  local function at_terminal(folder, ...)
    local terminal = terminals.start({ "bin/pintle", "run", folder.plugins, ... }, { env = {
      TERM = "xterm", NO_COLOR = "1", NOTE = folder.note, XDG_STATE_HOME = folder.path .. "/state",
      PINTLE_HISTORY = false,
    } })
    terminal:expect "pintle> "
    return terminal
  end

  -- A spec at the prompt, whose keys have to end the command with status 0.
  local function at_prompt(type_keys)
    return function()
      local folder <close> = stage()
      local terminal <close> = at_terminal(folder)
      type_keys(terminal, folder)
      assert.equal(0, terminal:finish())
    end
  end

  try("completes plugins, operations and arguments on Tab", at_prompt(function(terminal)
    terminal:say "t\t"
    terminal:expect "pintle> tea "
    terminal:say "br\t\t"
    terminal:expect "\r\nbrew  bring\r\n"
    terminal:say "e\t"
    terminal:expect "pintle> tea brew "
    terminal:say "\t"
    terminal:expect "leaf=  milk=true  milk=false  sugar=none  sugar=some\r\n"
    terminal:say "l\tassam mi\tt\t\n"
    terminal:expect "pintle> tea brew leaf=assam milk=true"
    terminal:expect "A cup of assam with milk\r\n"
    terminal:say "\4"
  end))

  try("welcomes the user, and completes operations, methods, resources and prompts of one program", function()
    local folder <close> = files.folder()
    files.write(folder.path .. "/tea.md", "# Tea\n")
    local terminal <close> = terminals.start({ "bin/pintle", "run", "--no-history", "-d", "mcp", "--", "lua5.4",
      "examples/notes-mcp/plugin.lua", folder.path }, { env = { TERM = "xterm", NO_COLOR = "1" } })
    terminal:expect "notes 1.0.0 speaks mcp, and has "
    terminal:expect " operations. Tab completes"
    terminal:expect "pintle> "
    terminal:say "sea\t"
    terminal:expect "pintle> search "
    terminal:say "\21call resources/r\t"
    terminal:expect "pintle> call resources/read "
    terminal:say "\21prompt s\tn\t"
    terminal:expect "pintle> prompt summarize name="
    terminal:say "\21quit\n"
    assert.equal(0, terminal:finish())
  end)

  try("does not complete names with control characters", function()
    local folder <close> = stage()
    files.write(folder.plugins .. "/tea", (PLUGIN:gsub('"bring"', '"br\\u{202E}"')))
    local terminal <close> = at_terminal(folder)
    terminal:say "tea br\t"
    terminal:expect "pintle> tea brew "
    terminal:say "\21\4"
    assert.equal(0, terminal:finish())
  end)

  try("edits the line, and walks through the history", at_prompt(function(terminal)
    terminal:say "brew leaf=grün\1tea \n"
    terminal:expect "A cup of grün\r\n"
    terminal:say "tea brew leaf=xass\27[D\27[D\27[D\27[D\27[3~\5am\127\127amm\127\n"
    terminal:expect "A cup of assam\r\n"
    terminal:say "nonsense\3"
    terminal:expect "^C\r\n"
    terminal:say "\27[A\27[A\n"
    terminal:expect "A cup of grün\r\n"
    terminal:say "\16\16\14\14half\21\27OA\27OB\23quit\n"
  end))

  try("keeps the history for the next run, except secrets", function()
    local folder <close> = stage()
    local path = folder.path .. "/state/pintle/history"
    local first <close> = at_terminal(folder)
    first:say "tea brew leaf=assam\n"
    first:expect "A cup of assam\r\n"
    first:say "tea brew leaf=sencha token=x\n tea brew leaf=oolong\n\ntea brew leaf=assam\n"
    first:expect "A cup of sencha\r\n"
    first:expect "A cup of oolong\r\n"
    first:expect "A cup of assam\r\n"
    first:say "\16\16\16"
    first:expect "pintle> tea brew leaf=sencha token=x"
    first:say "\21quit\n"
    assert.equal(0, first:finish())
    assert.equal("tea brew leaf=assam\nquit\n", files.read(path))
    assert.equal("rw-------", lfs.attributes(path, "permissions"))
    local second <close> = at_terminal(folder)
    second:say "\16\16\n"
    second:expect "A cup of assam\r\n"
    second:say "\4"
    assert.equal(0, second:finish())
  end)

  try("saves no history with --no-history", function()
    local folder <close> = stage()
    local terminal <close> = at_terminal(folder, "--no-history")
    terminal:say "tea brew leaf=assam\n"
    terminal:expect "A cup of assam\r\n"
    terminal:say "\16\n"
    terminal:expect "A cup of assam\r\n"
    terminal:say "\4"
    assert.equal(0, terminal:finish())
    assert.is_nil(lfs.attributes(folder.path .. "/state"))
  end)

  try("searches the history on Ctrl-R", at_prompt(function(terminal)
    terminal:say "tea brew leaf=assam\ntea brew leaf=sencha\n"
    terminal:expect "A cup of sencha\r\n"
    terminal:say "half\18l"
    terminal:expect "search l> tea brew leaf=sencha"
    terminal:say "\18"
    terminal:expect "search l> tea brew leaf=assam"
    terminal:say "\7"
    terminal:expect "pintle> half"
    terminal:say "\18assa\1\5 milk=true\n"
    terminal:expect "A cup of assam with milk\r\n"
    terminal:say "\4"
  end))

  try("places the cursor by the width of characters", at_prompt(function(terminal)
    terminal:say "tea brew leaf=日本茶\2\2"
    terminal:expect "pintle> tea brew leaf=日本茶\27[4D"
    terminal:say "\n"
    terminal:expect "A cup of 日本茶\r\n"
    terminal:say "\4"
  end))

  try("prints the log above the line", at_prompt(function(terminal, folder)
    terminal:say "tea call_later\n"
    terminal:expect "later\r\n"
    terminal:say "tea brew leaf=ass"
    terminal:expect "leaf=ass"
    files.write(folder.note, "")
    terminal:expect "\r\27[Kinfo  tea stderr| tea is ready\r\n\r\27[Kpintle> tea brew leaf=ass"
    terminal:say "am\n"
    terminal:expect "A cup of assam\r\n"
    terminal:say "\4"
  end))

  try("cancels the operation on Ctrl-C, and continues", at_prompt(function(terminal, folder)
    terminal:say "tea bring\n"
    terminal:expect "on its way\r\n"
    terminal:say "\3"
    terminal:expect "pintle: interrupted: the operation was cancelled\r\n"
    terminal:expect "pintle> "
    cli.await(function() return lfs.attributes(folder.note, "size") == 4 end)
    terminal:say "tea brew leaf=assam\n"
    terminal:expect "A cup of assam\r\n"
    terminal:say "\4"
  end))

  try("restarts a dead plugin on reload, which can be interrupted", at_prompt(function(terminal)
    terminal:say "reload\n\3"
    terminal:expect "pintle: interrupted: the operation was cancelled\r\n"
    terminal:say "reload\n"
    terminal:expect "reload\r\n"
    terminal:say "tea brew leaf=assam\n"
    terminal:expect "A cup of assam\r\n"
    terminal:say "tea die\n"
    terminal:expect "tea ended with status 4; `reload` restarts it\r\n"
    terminal:say "reload\ntea brew leaf=sencha\n"
    terminal:expect "A cup of sencha\r\n"
    terminal:say "\4"
  end))

  try("keeps input that arrives during an operation", at_prompt(function(terminal)
    terminal:say "tea bring\n"
    terminal:expect "on its way\r\n"
    terminal:say "tea brew leaf=assam\n\3"
    terminal:expect "A cup of assam\r\n"
    terminal:say "\4"
  end))

  try("restores the terminal, even if it is terminated", function()
    local folder <close> = stage()
    local shell = ([[stty -g > D/before; sh -c 'echo $$ > D/pid; exec bin/pintle run D/plugins'; stty -g > D/after]])
      :gsub("D/", folder.path .. "/")
    for _, ending in ipairs { "\4", "TERM" } do
      local terminal <close> = terminals.start({ "sh", "-c", shell }, { env = { TERM = "xterm", PINTLE_HISTORY = "" } })
      terminal:expect "pintle> "
      local pid = math.tointeger(tonumber((files.read(folder.path .. "/pid"))))
      local plugin = cli.await_child(pid, "tea")
      if ending == "TERM" then os.execute("kill " .. pid) else terminal:say(ending) end
      terminal:finish()
      assert.is_false(cli.is_running(plugin))
      assert.equal(files.read(folder.path .. "/before"), files.read(folder.path .. "/after"))
    end
  end)

  try("shows the part of a long line around the cursor", at_prompt(function(terminal)
    terminal:say("tea brew leaf=" .. ("x"):rep(100))
    terminal:expect("pintle> " .. ("x"):rep(71))
    terminal:say "\1"
    terminal:expect("pintle> tea brew leaf=" .. ("x"):rep(57) .. "\27[71D")
    terminal:say "\n"
    terminal:expect("A cup of " .. ("x"):rep(100) .. "\r\n")
    terminal:say "\4"
  end))
end)

describe("the words of a line", function()
  it("are separated by spaces outside of quotes", function()
    assert.same({ "a", "b=c d", 'e"f', "g\\h i", "", "j k" }, split [[ a b='c d'  e\"f "g\\h i" '' j\ k ]])
    assert.same({}, split "  ")
    assert.same({ 'say "hi"' }, split [["say \"hi\""]])
    assert.same({ nil, "unterminated \"" }, { split 'a "b' })
    assert.same({ nil, "unterminated \\" }, { split "a \\" })
  end)
end)

describe("keys", function()
  local function names(bytes)
    local reader, list = new_keys(), {}
    for byte in bytes:gmatch "." do
      local key, character = reader:feed_byte(byte)
      list[#list + 1] = key or character
    end
    return table.concat(list, " ")
  end

  it("are read as names or as characters", function()
    assert.equal("a ü € 😀 left up delete home end enter interrupt",
      names "aü€😀\27[D\27OA\27[3~\27[1~\27[F\r\3")
    assert.equal("word-left word-right word-left word-right kill-next-word kill-word yank search give-up",
      names "\27b\27f\27[1;5D\27[1;5C\27d\27\127\25\18\7")
  end)

  it("are ignored if they are unknown, and do not affect the next one", function()
    assert.equal("a b c d", names "a\27[15~b\27[1;9Zc\27xd")
    assert.equal("a b", names "a\xFF\xFF\xFF\xFFb")
    assert.equal("enter", names "\xC3\n")
  end)
end)

describe("the line editor", function()
  it("handles every key at every position, at whole characters", function()
    local editor = new_editor()
    local all = {
      "left", "right", "home", "end", "backspace", "delete", "kill", "kill-back", "kill-word", "up", "down",
      "word-left", "word-right", "kill-next-word", "yank",
    }
    math.randomseed(7)
    for _ = 1, 3000 do
      local n = math.random(#all + 6)
      if all[n] then editor:press_key(all[n]) else editor:insert_text(({ "a", "ü", "€", " " })[math.random(4)]) end
      if math.random(40) == 1 then editor:enter_line() end
      assert.truthy(utf8.len(editor.left) and utf8.len(editor.right))
    end
  end)

  it("moves by words, and inserts deleted text again", function()
    local editor = new_editor()
    editor:insert_text "tea brew  leaf=grün"
    local function press(...)
      for _, key in ipairs { ... } do editor:press_key(key) end
      return editor.left .. "|" .. editor.right
    end
    assert.equal("tea brew  |leaf=grün", press "word-left")
    assert.equal("|tea brew  leaf=grün", press("word-left", "word-left", "word-left"))
    assert.equal("tea brew|  leaf=grün", press("word-right", "word-right"))
    assert.equal("tea |  leaf=grün", press "kill-word")
    assert.equal("tea   leaf=grünbrew|", press("end", "yank"))
    assert.equal("| leaf=grünbrew", press("home", "kill-next-word", "delete", "delete"))
    assert.equal("tea| leaf=grünbrew", press "yank")
  end)

  it("restores the draft after walking through the history", function()
    local editor = new_editor()
    for _, line in ipairs { "one", "two", "two", "  " } do
      editor:insert_text(line)
      editor:enter_line()
    end
    assert.same({ "one", "two" }, editor.history)
    editor:insert_text "draft"
    for _, expected in ipairs { "two", "one", "one" } do
      editor:press_key "up"
      assert.equal(expected, editor:line_text())
    end
    for _, expected in ipairs { "two", "draft", "draft" } do
      editor:press_key "down"
      assert.equal(expected, editor:line_text())
    end
  end)
end)
