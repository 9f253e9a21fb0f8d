-- The command as a whole: its command line, exit statuses, and finding its modules.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local files = require "spec.support.files"
local lfs = require "lfs"
local main = require "pintle.cli.main"

children.leave_nothing()

describe("pintle", function()
  it("prints its version", function()
    for _, word in ipairs { "--version", "version" } do
      assert.same({ ("pintle %s\n"):format(require "pintle.version"), "", 0 }, cli.outcome { word })
    end
  end)

  it("prints an overview of all subcommands, in 80 columns, without arguments", function()
    local overview = cli.outcome {}
    assert.same({ "", 0 }, { overview[2], overview[3] })
    for _, word in ipairs { "help", "--help", "-h" } do assert.same(overview, cli.outcome { word }) end
    for _, command in ipairs(main.outline().commands) do
      assert.truthy(overview[1]:find("\n  " .. command.name .. " ", 1, true), command.name)
    end
    assert.truthy(overview[1]:find("\nExamples\n  pintle inspect ", 1, true))
    for line in overview[1]:gmatch "[^\n]+" do assert.truthy(utf8.len(line) <= 80, line) end
  end)

  it("prints the help of each subcommand", function()
    for _, command in ipairs(main.outline().commands) do
      local text, _, code = cli.run { "help", command.name }
      assert.equal(0, code)
      assert.truthy(text:find("Usage: pintle " .. command.name, 1, true), text)
      assert.equal(text, (cli.run { command.name, "--help" }))
      for line in text:gmatch "[^\n]+" do assert.truthy(utf8.len(line) <= 80, line) end
    end
    local text = cli.run { "help", "call" }
    assert.truthy(text:find("\n   -t, --timeout TIME    How long", 1, true), text)
  end)

  it("names the option that has a wrong value", function()
    for option, message in pairs {
      ["--timeout"] = 'duration "x" has', ["--config"] = "not JSON: ", ["--sandbox"] = "preset: ",
    } do
      local out, err, status = cli.run { "call", option, "x", "true", "--", "greet" }
      assert.same({ "", 64 }, { out, status })
      assert.truthy(err:find(("pintle: %s: %s"):format(option, message), 1, true), err)
    end
  end)

  it("reports usage errors, and names the help command", function()
    local missing = [[
pintle: CMD… is missing: the program to start, and its arguments
Usage: pintle inspect [-d NAME] [--json | --names] [OPTIONS] [--] CMD…
More: pintle help inspect
]]
    assert.same({ "", missing, 64 }, cli.outcome { "inspect" })
    assert.same({ "", missing, 64 }, cli.outcome { "inspect", "--" })
    assert.same({ "", [[
pintle: unknown option -v
Usage: pintle COMMAND [OPTIONS] [ARGUMENTS]
More: pintle help
]], 64 }, cli.outcome { "-v" })
  end)

  it("refuses an operation without a program before it", function()
    for _, name in ipairs { "call", "bench" } do
      local out, err, status = cli.run { name, "--", "--", "greet", "name=Ada" }
      assert.same({ "", 64 }, { out, status })
      assert.truthy(err:find("^pintle: CMD… is missing: "), err)
    end
  end)

  it("suggests the name that was meant, in one line", function()
    for message, words in pairs {
      ['no subcommand "inspct"; did you mean inspect?'] = { "inspct" },
      ['no subcommand "cal"; did you mean call?'] = { "help", "cal" },
      ["unknown option --jsn; did you mean --json?"] = { "inspect", "--jsn", "true" },
      ["unknown option --time; did you mean --timeout?"] = { "call", "--time", "5s", "true", "--", "greet" },
      ["unknown option --verison; did you mean --version?"] = { "--verison" },
      ['--log: "inf" is none of debug, info, warn, error, silent; did you mean info?'] =
        { "inspect", "--log", "inf", "true" },
      ['SHELL: "bsh" is none of bash, fish, zsh; did you mean bash?'] = { "completion", "bsh" },
      ['--dialect: "mpc" is none of editor, gevals, liquid, lsp, mcp, reginald; did you mean mcp?'] =
        { "new", "-d", "mpc", "tea" },
      ['no dialect "mpc"; did you mean mcp?'] = { "inspect", "-d", "mpc", "true" },
    } do
      assert.same({ "", ("pintle: %s\n"):format(message), 64 }, cli.outcome(words))
    end
  end)

  it("refuses an empty program name", function()
    for _, words in ipairs {
      { "inspect", "" }, { "call", "-d", "gevals", "", "--", "greet" }, { "check", "-d", "gevals", "" },
      { "bench", "", "--", "greet" }, { "trace", "" }, { "replay", "--as", "host", "nowhere.jsonl", "--", "" },
    } do
      local out, err, status = cli.run(words)
      assert.same({ "", 64 }, { out, status }, words[1])
      assert.truthy(err:find("^pintle: the name of the program is empty; [^\n]*\n$"), err)
    end
  end)

  it("suggests how to write a command that is given as one word", function()
    local function complaint(...)
      local out, err, status = cli.run { ... }
      assert.same({ "", 64 }, { out, status })
      return err:match "^pintle: ([^\n]*)"
    end
    assert.equal("the program is given as a list; write its items as words: pintle inspect lua5.4 'a file' -v",
      complaint("inspect", '["lua5.4", "a file"]', "-v"))
    assert.equal('there is no program "lua5.4 x.lua"; write its arguments as words: pintle check lua5.4 x.lua',
      complaint("check", "lua5.4 x.lua"))
  end)

  it("suggests a better command for a program that cannot be run", function()
    local folder <close> = files.folder()
    local function advice(word)
      return cli.outcome({}, { command = { lfs.currentdir() .. "/bin/pintle", "inspect", word, "-v" },
        cwd = folder.path })[2]:match "; ([^\n]*)\n"
    end
    files.write(folder.path .. "/plugin.lua", "")
    assert.equal("did you mean lua5.4 plugin.lua -v?", advice "plugin.lua")
    assert(os.execute(("chmod +x %s/plugin.lua"):format(folder.path)))
    assert.equal("did you mean ./plugin.lua -v?", advice "plugin.lua")
    assert(lfs.mkdir(folder.path .. "/all"))
    assert.equal("all is a directory; to start the plugins in it: pintle run all", advice "all")
    files.write(folder.path .. "/all/manifest.json", '{"name":"tea","executable":"plugin.lua"}')
    assert.equal("did you mean all/plugin.lua -v?", advice "all")
    assert.is_nil(advice "nothing")
  end)

  it("reports an option of pintle that was passed to a program that did not start", function()
    local _, err = cli.run(cli.words("inspect", "-d", "gevals", children.lua("os.exit(7)", "--json")))
    assert.truthy(err:find("^pintle: %-%-json was passed to the program; options of pintle come before it\n"), err)
    _, err = cli.run(cli.words("inspect", "-d", "gevals", children.lua("os.exit(7)", "--other")))
    assert.is_nil(err:find("was passed", 1, true))
  end)

  it("passes options after the program to the plugin", function()
    local code = "assert(arg[1] == '--json' and arg[2] == '-d') os.exit(7)"
    for _, dashes in ipairs { {}, { "--" } } do
      local command = cli.words("inspect", "-d", "gevals", "--log=silent", dashes, children.lua(code, "--json", "-d"))
      local _, err, status = cli.run(command)
      assert.equal(2, status)
      assert.truthy(err:find("ended with status 7", 1, true), err)
    end
  end)
end)

describe("pintle, when stdout cannot be written,", function()
  local function outcome(redirection, ...)
    local script = ('exec bin/pintle "$@" %s'):format(redirection)
    local started <close> = cli.start({}, { command = cli.words("sh", "-c", script, "sh", ...), stdin = "null" })
    return select(2, started:finish())
  end

  it("reports the error, and does not exit with 0", function()
    local full = "pintle: cannot write to stdout: No space left on device\n"
    for _, words in ipairs {
      { "manual" }, { "doctor", "--json" }, { "check", "--list" }, { "inspect", "-d", "gevals", cli.GREETER },
      { "check", "-d", "gevals", "--only", "manifest", cli.GREETER },
      { "call", "-d", "gevals", "--log", "silent", "--json", cli.GREETER, "--", "greet", "name=Ada" },
    } do
      assert.same({ full, 2 }, { outcome(">/dev/full", words) }, words[1])
    end
    assert.same({ "pintle: cannot write to stdout: Bad file descriptor\n", 2 }, { outcome(">&-", "manual") })
  end)

  it("ignores a closed pipe", function()
    assert.same({ "", 0 }, { outcome("| true", "inspect", "-d", "gevals", cli.GREETER) })
  end)
end)

describe("pintle, finding its modules,", function()
  local folder

  files.give_each_a_folder(function(path) folder = path end)

  -- An environment without the variables that script/lua sets.
  local function bare(env)
    for _, name in ipairs { "LUA_PATH", "LUA_CPATH", "LUA_PATH_5_4", "LUA_CPATH_5_4" } do env[name] = false end
    return env
  end

  it("finds them, through a link and from another directory, for itself and for its plugins", function()
    assert(lfs.link(lfs.currentdir() .. "/bin/pintle", folder .. "/linked", true))
    local greeter = lfs.currentdir() .. "/examples/greeter/plugin.lua"
    for _, command in ipairs { folder .. "/linked", "./linked" } do
      assert.same({ "Hello, Ada\n", "", 0 }, cli.outcome({}, {
        command = { command, "call", "--log", "silent", "lua5.4", greeter, "--", "greet", "name=Ada" },
        cwd = folder, env = bare { PWD = folder },
      }))
    end
  end)

  it("asks the user to build the C core if it is not built", function()
    assert(os.execute(("mkdir %s/bin && cp bin/pintle %s/bin && cp -r lua %s"):format(folder, folder, folder)))
    local env = bare { PINTLE_BUILD = false }
    assert.same({ "", "pintle: the C core is not built: run `make` in the checkout\n", 2 },
      cli.outcome({}, { command = { folder .. "/bin/pintle", "inspect", "true" }, env = env }))
    local out, err, status = cli.run({}, { command = { folder .. "/bin/pintle", "doctor" }, env = env })
    assert.same({ "", 1 }, { err, status })
    assert.truthy(out:find "\npintle.core +missing ", out)
    assert.truthy(out:find("\nFor pintle.core: run `make` in a checkout, or luarocks make\n", 1, true), out)
  end)

  it("reports a missing argparse, and still runs the doctor", function()
    files.write(folder .. "/argparse.lua", "error 'broken on purpose'")
    local env = { LUA_PATH = folder .. "/?.lua;" .. os.getenv "LUA_PATH" }
    local _, err, status = cli.run({ "inspect", "true" }, { env = env })
    assert.equal(2, status)
    assert.truthy(err:find("argparse is missing", 1, true), err)
    local out
    out, err, status = cli.run({ "doctor", "--json" }, { env = env })
    assert.same({ "", 1 }, { err, status })
    assert.truthy(out:find('"state": "broken"', 1, true), out)
  end)
end)
