-- A tour of the examples in a checkout: script/demo. An unexpected result ends it with an error.

local core = require "pintle.core"
local lfs = require "lfs"
local pintle = require "pintle"

local here = arg[0]:match "^(.*)/" or "."

-- {====== Output ======

local has_colour = core.isatty(1) and (os.getenv "NO_COLOR" or "") == ""

local function dyed(colour, text) return has_colour and ("\27[%sm%s\27[0m"):format(colour, text) or text end

local function heading(text) print("\n" .. dyed("1", text)) end

local function note(text) print("  " .. text) end

-- Shows log messages of plugins and of the host.
local function log(entry) print(dyed("2", "    · " .. tostring(entry))) end

local function written(value)
  if type(value) ~= "table" then return type(value) == "string" and ("%q"):format(value) or tostring(value) end
  local parts = {}
  for name, member in pairs(value) do parts[#parts + 1] = ("%s = %s"):format(name, written(member)) end
  table.sort(parts)
  return #parts > 0 and "{ " .. table.concat(parts, ", ") .. " }" or "{}"
end

local function error_text(err)
  local suggestion = err.data and err.data.suggestion
  return ("error: %s%s"):format(err, suggestion and ("; did you mean %s?"):format(suggestion) or "")
end

local function described(outcome, err)
  if err then return dyed("33", error_text(err)) end
  if not outcome.success then return dyed("31", "failed: " .. outcome.error) end
  return dyed("32", outcome.message)
end

-- }======

-- A directory for the files of the plugins.
local function scratch()
  local path = os.tmpname()
  os.remove(path)
  assert(lfs.mkdir(path))
  return setmetatable({ path = path }, {
    __close = function()
      for name in lfs.dir(path) do os.remove(path .. "/" .. name) end
      lfs.rmdir(path)
    end,
  })
end

local folder <close> = scratch()
local host <close> = pintle.host { log = log }
local pids = {}

local function start(options)
  local plugin = assert(host:start(options))
  pids[#pids + 1] = plugin:pids()[1]
  return plugin
end

-- Executes an operation and shows the result. The expected result is "success", "failure", or the kind of an error.
local function execute(plugin, operation, args, expected)
  note(("%s:execute(%q, %s)"):format(plugin.name, operation, written(args)))
  local outcome, err = plugin:execute(operation, args, { timeout = "10s", workdir = folder.path })
  note("  → " .. described(outcome, err))
  local ending = err and err.kind or outcome.success and "success" or "failure"
  assert(ending == expected, ("the tour expected %s, and not %s"):format(expected, ending))
  return outcome
end

local function milliseconds(since) return ("%.0f ms"):format((core.now() - since) * 1000) end

local stations = {}

function stations.greeter()
  heading "A plugin is a program, and its operations are functions"
  local begun = core.now()
  local greeter = start { name = "greeter", command = { "lua5.4", here .. "/greeter/plugin.lua" } }
  local manifest = greeter.manifest
  note(("started in %s: %s %s, %s"):format(milliseconds(begun), manifest.name, manifest.version, manifest.description))
  execute(greeter, "greet", { name = "Ada" }, "success")
  execute(greeter, "greet", { name = "" }, "failure")
  note "Arguments that do not match the schema are not sent:"
  execute(greeter, "greet", { name = 5 }, "invalid")
  execute(greeter, "greeet", { name = "Ada" }, "invalid")
end

function stations.languages()
  heading "A plugin can be written in any language"
  for _, language in ipairs { { "python3", "py" }, { "node", "js" }, { "sh", "sh" } } do
    local interpreter, ending = language[1], language[2]
    if core.which(interpreter) then
      local greeter = start { name = interpreter, command = { interpreter, here .. "/greeter/plugin." .. ending } }
      execute(greeter, "greet", { name = "Ada" }, "success")
    else
      note(interpreter .. " is not installed: skipped")
    end
  end
end

local DIALECTS = {
  { "gevals", "as an extension of gevals" }, { "mcp", "as a tool for AI clients" },
  { "lsp", "as a command of a language server" }, { "liquid", "as a tag in a Liquid template" },
  { "reginald", "as a command of Reginald" }, { "editor", "as a method of an editor's server" },
}

function stations.dialects()
  heading "The first plugin, unchanged, in every protocol"
  for _, dialect in ipairs(DIALECTS) do
    local quiet <close> = pintle.host { dialect = dialect[1], log = false }
    local greeter = assert(quiet:start { command = { "lua5.4", here .. "/greeter/plugin.lua" } })
    local outcome = assert(greeter:execute("greet", { name = "Ada" }))
    assert(outcome.message == "Hello, Ada")
    note(("%-8s  %s  %s"):format(dialect[1], dyed("32", outcome.message), dialect[2]))
  end
end

function stations.crowd()
  heading "A thousand calls at once"
  local quiet <close> = pintle.host { log = false }
  local greeter = assert(quiet:start { command = { "lua5.4", here .. "/greeter/plugin.lua" } })
  local calls = {}
  for i = 1, 1000 do
    calls[i] = function() return assert(greeter:execute("greet", { name = "number " .. i })).message end
  end
  local begun = core.now()
  local messages = pintle.all(calls)
  note(("%d greetings in %s, the last of them: %s"):format(#messages, milliseconds(begun), messages[1000]))
  assert(messages[1000] == "Hello, number 1000")
end

function stations.supervised()
  heading "A plugin that crashes is restarted, and its host goes on"
  local fragile = start {
    name = "fragile", command = { "lua5.4", here .. "/supervised/plugin.lua" }, restart = { backoff = "50ms" },
  }
  for _, expected in ipairs { "success", "success", "closed", "success" } do execute(fragile, "work", {}, expected) end
end

function stations.sqlite()
  heading "A larger plugin: databases for gevals"
  if not core.which "sqlite3" then return note "sqlite3 is not installed: skipped" end
  local sqlite = start { name = "sqlite", command = { "lua5.4", here .. "/sqlite/plugin.lua" } }
  local script = "CREATE TABLE tea (grams); INSERT INTO tea VALUES (250)"
  execute(sqlite, "create", { database = "tea.db", script = script }, "success")
  execute(sqlite, "assert_rows", { database = "tea.db", sql = "SELECT * FROM tea", count = 1 }, "success")
  execute(sqlite, "assert_rows", { database = "tea.db", sql = "SELECT * FROM tea", count = 2 }, "failure")
  execute(sqlite, "query", { database = "tea.db", sql = "SELECT * FROM coffee" }, "failure")
end

function stations.ending()
  heading "No process is left behind"
  host:stop()
  for _, pid in ipairs(pids) do assert(not os.execute(("kill -0 %d 2> /dev/null"):format(pid)), "a plugin is left") end
  note(("%d plugins were started, and none is left"):format(#pids))
end

local ORDER = { "greeter", "languages", "dialects", "crowd", "supervised", "sqlite", "ending" }
for _, name in ipairs(ORDER) do stations[name]() end

heading "Where to go next"
note "docs/guide/first-plugin.md    your first plugin, in five minutes"
note "docs/guide/first-host.md      your first host, in another five"
note "docs/README.md                all pages, by task"
note "examples/README.md            more programs to read and to run"
note "script/test                   runs the specs"
