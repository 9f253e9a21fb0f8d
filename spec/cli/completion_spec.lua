-- Completion, tested in the shells themselves; and the manual page, rendered by man.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"
local main = require "pintle.cli.main"
local terminals = require "spec.support.terminal"

children.leave_nothing()

local DIALECTS = "editor gevals liquid lsp mcp reginald"
local LEVELS = "debug error info silent warn"

local function where(program) return core.which(program) and it or pending end

-- The lines that a command prints, as sorted words.
local function offers(command, cwd, env)
  local text = children.run { command = command, cwd = cwd, stdin = "null", env = env }
  local words = {}
  for line in text:gmatch "[^\n]+" do words[#words + 1] = line:match "^[^\t]*" end
  table.sort(words)
  return table.concat(words, " ")
end

local function script_for(shell, folder)
  local path = folder.path .. "/_pintle"
  files.write(path, (cli.run { "completion", shell }))
  return path
end

-- A folder with files to complete.
local function stage()
  local folder = files.folder()
  files.write(folder.path .. "/talk.jsonl", "")
  files.write(folder.path .. "/a file", "")
  assert(os.execute("mkdir " .. folder.path .. "/inner"))
  return folder
end

-- The words before the cursor, as readline splits them, and the expected candidates.
local CASES = {
  { { "pintle", "ins" }, "inspect" },
  { { "pintle", "--v" }, "--version" },
  { { "pintle", "help", "re" }, "replay" },
  { { "pintle", "inspect", "--dialect", "" }, DIALECTS },
  { { "pintle", "inspect", "-d", "m" }, "mcp" },
  { { "pintle", "call", "--log", "" }, LEVELS },
  { { "pintle", "call", "--sta" }, "--start-timeout" },
  { { "pintle", "call", "--timeout", "" }, "" },
  { { "pintle", "call", "lua5.4", "--p" }, "" },
  { { "pintle", "call", "-d", "mcp", "lua5.4", "ta" }, "talk.jsonl" },
  { { "pintle", "show", "" }, "a file inner talk.jsonl" },
  { { "pintle", "show", "talk.jsonl", "--me" }, "--method" },
  { { "pintle", "replay", "--as", "" }, "host plugin" },
  { { "pintle", "new", "call", "--dia" }, "--dialect" },
  { { "pintle", "completion", "" }, "bash fish zsh" },
  { { "pintle", "run", "" }, "inner" },
  { { "pintle", "run", "inner", "-d", "ed" }, "editor" },
}

local BASH = [[
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
compopt() { :; } # it works in a completion only
_pintle
printf '%s\n' "${COMPREPLY[@]}"
]]

describe("completion in bash", function()
  local function bash(folder, words)
    local command = { "bash", "-c", BASH, "bash", script_for("bash", folder) }
    local text = offers(table.move(words, 1, #words, #command + 1, command), folder.path,
      { PATH = lfs.currentdir() .. "/bin:" .. os.getenv "PATH" })
    return (text:gsub("_pintle ?", ""):gsub(" $", ""))
  end

  for _, case in ipairs(CASES) do
    local words, expected = table.unpack(case)
    where "bash"("of " .. table.concat(words, " "), function()
      local folder <close> = stage()
      assert.equal(expected, bash(folder, words))
    end)
  end

  where "bash"("of values behind =, and of programs", function()
    local folder <close> = stage()
    assert.equal("debug", bash(folder, { "pintle", "call", "--log", "=", "de" }))
    assert.equal(LEVELS, bash(folder, { "pintle", "call", "--log", "=" }))
    assert.truthy((" " .. bash(folder, { "pintle", "inspect", "lua" }) .. " "):find " lua5.4 ")
    assert.truthy((" " .. bash(folder, { "pintle", "inspect", "--", "lua" }) .. " "):find " lua5.4 ")
  end)

  where "bash"("of operations and parameters after --, for which the plugin is started", function()
    local folder <close> = stage()
    local greeter = lfs.currentdir() .. "/examples/greeter/plugin.lua"
    local function after(...) return bash(folder, { "pintle", "call", ... }) end
    assert.equal("greet", after("lua5.4", greeter, "--", ""))
    assert.equal("greet", after("-d", "mcp", "--log=error", "-t", "9", "--", "lua5.4", greeter, "--", "gr"))
    assert.equal("", after("lua5.4", greeter, "--", "x"))
    assert.equal("name= times=", after("lua5.4", greeter, "--", "greet", ""))
    assert.equal("times=", after("lua5.4", greeter, "--", "greet", "name=Ada", ""))
    assert.equal("name=", bash(folder, { "pintle", "bench", "lua5.4", greeter, "--", "greet", "na" }))
    assert.truthy((" " .. bash(folder, { "pintle", "run", "--", "lua" }) .. " "):find " lua5.4 ")
  end)

  where "bash"("neither offers nor runs names that a shell would expand", function()
    local folder <close> = stage()
    local path = folder.path .. "/evil.lua"
    files.write(path, [[
      local plugin = require "pintle".plugin { name = "evil", version = "1.0.0" }
      for _, name in ipairs { "$(touch pwned)", "`touch pwned`", "a;b", "good" } do
        plugin:operation(name, {}, print)
      end
      plugin:serve()
    ]])
    assert.equal("good", bash(folder, { "pintle", "call", "lua5.4", path, "--", "" }))
    assert.is_nil(lfs.attributes(folder.path .. "/pwned"))
  end)

  where "script"("at a real prompt", function()
    local folder <close> = stage()
    local terminal <close> = terminals.start({ "bash", "--norc", "--noprofile", "-i" }, { cwd = folder.path })
    terminal:say(("PS1='> '; source %s; echo rea''dy\n"):format(script_for("bash", folder)))
    terminal:expect "ready\r\n"
    terminal:say "echo pintle; : pintle && pintle call --log=sil\t"
    terminal:expect "--log=silent"
    terminal:say "\21pintle trace -o tal\t"
    terminal:expect "talk.jsonl"
    terminal:say(("\21PATH=%s/bin:$PATH\n"):format(lfs.currentdir()))
    terminal:say(("pintle call lua5.4 %s/examples/greeter/plugin.lua -- gr\t"):format(lfs.currentdir()))
    terminal:expect "-- greet "
    terminal:say "n\t"
    terminal:expect "name="
    terminal:say "\21exit\n"
    assert.equal(0, terminal:finish())
  end)
end)

describe("completion in fish", function()
  local function quote(word) return word:find "^[%w.-]+$" and word or "'" .. word .. "'" end

  local function fish(folder, words)
    local line = {}
    for i, word in ipairs(words) do line[i] = i == #words and word or quote(word) end
    local code = "source $argv[1]; complete -C $argv[2]"
    local env = { HOME = folder.path, XDG_CONFIG_HOME = folder.path, XDG_DATA_HOME = folder.path .. "/inner" }
    local text = offers({ "fish", "-N", "-c", code, script_for("fish", folder), table.concat(line, " ") },
      folder.path, env)
    return (text:gsub("_pintle ?", ""):gsub("fish/ ?", ""):gsub(" $", ""):gsub("inner/", "inner"))
  end

  for _, case in ipairs(CASES) do
    local words, expected = table.unpack(case)
    where "fish"("of " .. table.concat(words, " "), function()
      local folder <close> = stage()
      assert.equal(expected, fish(folder, words))
    end)
  end
end)

describe("completion in zsh", function()
  where "zsh"("is read without complaint", function()
    local folder <close> = stage()
    local text, code = children.run { command = { "zsh", "-n", script_for("zsh", folder) }, stdin = "null" }
    assert.same({ "", 0 }, { text, code })
  end)

  where "zsh"("works when it is sourced, too", function()
    local folder <close> = stage()
    local code = 'autoload -U compinit; compinit -u -D; source "$1"; echo $_comps[pintle]'
    assert.equal("_pintle", offers({ "zsh", "-f", "-c", code, "zsh", script_for("zsh", folder) }, folder.path))
  end);

  (core.which "zsh" and where "script" or pending)("at a real prompt", function()
    local folder <close> = stage()
    script_for("zsh", folder)
    local terminal <close> = terminals.start({ "zsh", "-f", "-i" }, { cwd = folder.path })
    terminal:say("unsetopt zle_bracketed_paste; PS1='> '; fpath=($PWD $fpath); autoload -U compinit; "
      .. "compinit -u -D; echo rea''dy\n")
    terminal:expect "ready\r\n"
    for _, pair in ipairs {
      { "pintle ins\t", "pintle inspect" }, { "pintle call --log=sil\t", "silent" },
      { "pintle inspect -d mc\t", "mcp" }, { "pintle show tal\t", "talk.jsonl" },
      { "pintle replay --as ho\t", "host" }, { "pintle inspect -d mcp lua5.4 tal\t", "talk.jsonl" },
    } do
      terminal:say("\21" .. pair[1])
      terminal:expect(pair[2])
    end
    terminal:say "\21exit\n"
    terminal:finish()
  end)
end)

describe("pintle completion", function()
  it("refuses other shells", function()
    assert.equal(64, (select(3, cli.run { "completion", "csh" })))
    assert.equal(64, (select(3, cli.run { "completion" })))
  end)
end)

describe("the manual page", function()
  local try = core.which "col" and where "man" or pending

  try("is rendered without a warning, and has every command and option", function()
    local scratch <close> = files.scratch()
    files.write(scratch.path, (cli.run { "manual" }))
    local text, code = children.run {
      command = { "sh", "-c", 'exec 2>&1; man --warnings=all -l "$1" | col -bx', "sh", scratch.path }, stdin = "null",
      env = { LC_ALL = "C.UTF-8", MANWIDTH = "100", MANPAGER = "cat", MANROFFOPT = "-c" },
    }
    assert.equal(0, code)
    assert.is_nil(text:find "warning:", text)
    for _, command in ipairs(main.outline().commands) do
      assert.truthy(text:find("\n   pintle " .. command.name, 1, true), command.name)
      for _, option in ipairs(command.options) do assert.truthy(text:find(option.names[1], 1, true)) end
    end
    assert.truthy(text:find "CMD… +is a program", text)
  end)

  it("is plain ASCII, and lists all exit statuses", function()
    local page = cli.run { "manual" }
    assert.is_nil(page:find "[\x80-\xFF]")
    for _, number in pairs(require "pintle.cli.status") do
      if math.type(number) == "integer" then assert.truthy(page:find("\\fB" .. number .. "\\fR", 1, true)) end
    end
  end)
end)

describe("the files in share", function()
  for path, words in pairs {
    ["bash-completion/completions/pintle"] = { "completion", "bash" },
    ["fish/vendor_completions.d/pintle.fish"] = { "completion", "fish" },
    ["zsh/site-functions/_pintle"] = { "completion", "zsh" },
    ["man/man1/pintle.1"] = { "manual" },
  } do
    it("are up to date: " .. path, function()
      assert.equal((cli.run(words)), files.read("share/" .. path), "script/share writes it anew")
    end)
  end
end)
