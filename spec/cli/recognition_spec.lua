-- Recognising the dialect of a plugin, with dialects that only this spec has.
local children = require "spec.support.children"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local lfs = require "lfs"
local loop = require "pintle.loop"
local recognition = require "pintle.cli.recognition"
local tasks = require "pintle.task"

children.leave_nothing()

-- A dialect whose handshake is `method`, with any answer.
local function add(name, framing, method, hints)
  dialects.add {
    name = name, framing = framing, recognises = function() return false end, plugin = {},
    host = {
      hints = hints,
      handlers = {},
      open = function(session)
        local told, err = session.peer:call(method, {}, { timeout = session.handshake_timeout })
        if err then return nil, err end
        session:log("info", "opened by " .. name)
        return { name = told.name, version = false, operations = {} }
      end,
      close = function() end,
      execute = function() return nil, errors.new("invalid", "nothing to do") end,
    },
  }
end

add("aa-lines", "line", "hello-lines")
add("bb-header", "header", "hello-header")
add("cc-lines", "line", "hello-lines", { command = { "^speaks%-cc" }, output = { "speaking cc" } })

-- A plugin that has these methods; it writes to stderr when it starts.
local function plugin(framing, delay, ...)
  local code = [[
    local pintle = require "pintle"
    local peer = assert(pintle.connect { stdio = true, framing = arg[1] })
    io.stderr:write "begun\n"
    for i = 3, #arg do
      peer:on(arg[i], function() pintle.sleep(tonumber(arg[2])) return { name = arg[i] } end)
    end
    peer:join()
  ]]
  return children.lua(code, framing, tostring(delay), ...)
end

local function find(command, start_timeout)
  local heard = {}
  local found, dialect = tasks.run(recognition.recognise, {
    start = { command = command, stop_timeouts = { request = 0.5, eof = 5 } }, start_timeout = start_timeout or 20,
    verbosity = "info",
    log = function(entry) heard[#heard + 1] = entry.message end,
  })
  if found then
    local name = found.manifest.name
    found:stop()
    tasks.run() -- waits until the processes of the other dialects are stopped
    return dialect, name, heard
  end
  tasks.run()
  return nil, dialect
end

describe("a plugin whose dialect is not given", function()
  it("is recognised", function()
    local dialect, name, heard = find(plugin("header", 0, "hello-header"))
    assert.same({ "bb-header", "hello-header" }, { dialect, name })
    assert.same({ "begun", "opened by bb-header" }, heard)
  end)

  it("gets the first dialect that fits in order, even if a later one is answered earlier", function()
    assert.equal("aa-lines", (find(plugin("line", 0.1, "hello-lines"))))
  end)

  it("is refused with the result of each dialect when none fits", function()
    local dialect, err = find(plugin("line", 0, "nothing"), 0.5)
    assert.is_nil(dialect)
    assert.equal("protocol", err.kind)
    for _, name in ipairs { "gevals", "aa-lines", "cc-lines" } do
      local pattern = ("\n[^\n]* %s[:,] [^\n]*Method not found"):format((name:gsub("-", "%%-")))
      assert.truthy(err.message:find(pattern), err.message)
    end
    assert.matches("\n[^\n]* bb%-header: its messages do not use header framing\n", err.message)
  end)

  it("is refused with the system's error when the program cannot be run", function()
    local dialect, err = find({ "no-such-program" }, 0.5)
    assert.is_nil(dialect)
    assert.same({ "spawn", 'cannot run "no-such-program": No such file or directory' }, { err.kind, err.message })
  end)

  it("is stopped when the search is cancelled", function()
    local task = tasks.start(recognition.recognise, {
      start = { command = plugin("line", 0, "nothing"), stop_timeouts = { request = 0.5, eof = 0.5 } },
      start_timeout = 20,
      verbosity = "info", log = function() end,
    })
    task:cancel "enough"
    local found, err = task:await()
    assert.is_nil(found)
    assert.equal("cancelled", err.kind)
    tasks.run()
  end)
end)

describe("a plugin that serves one dialect only", function()
  local code = [[
    local plugin = require "pintle".plugin { name = "single", version = "1.0.0" }
    plugin:operation("greet", {}, function() return "hello" end)
    plugin:serve { dialect = %q }
  ]]
  for _, name in ipairs { "editor", "gevals", "liquid", "lsp", "mcp", "reginald" } do
    it("is recognised: " .. name, function() assert.equal(name, (find(children.lua(code:format(name)), 5))) end)
  end
end)

describe("a plugin that serves all dialects", function()
  local function dialect_of(options, more)
    return (find(children.lua(([[
      local plugin = require "pintle".plugin { name = "all", version = "1.0.0", %s }
      plugin:operation("greet", {}, function() return "hello" end)
      %s
      plugin:serve()
    ]]):format(options, more)), 5))
  end

  it("is recognised as speaking the one that it declares something for", function()
    assert.equal("mcp", dialect_of("", 'plugin:prompt("ask", {}, function() return "why?" end)'))
    assert.equal("liquid", dialect_of("dialects = { liquid = {} }", ""))
    assert.equal("lsp", dialect_of("dialects = { lsp = {} }", ""))
    assert.equal("mcp", dialect_of("",
      'plugin:operation("slow", { dialects = { mcp = { task = "optional" } } }, function() return "" end)'))
  end)

  it("is not started again before the first process has ended", function()
    local path = os.tmpname()
    local code = [[
      local function note(text)
        local file <close> = assert(io.open(%q, "a"))
        file:write(text, " ")
      end
      note "begin"
      local plugin = require "pintle".plugin { name = "all", version = "1.0.0", dialects = { liquid = {} } }
      plugin:on_shutdown(function() note "end" end)
      plugin:serve()
    ]]
    assert.equal("liquid", (find(children.lua(code:format(path)), 5)))
    local file <close> = assert(io.open(path))
    assert.equal("begin end begin end ", file:read "a")
    os.remove(path)
  end)

  it("is recognised as speaking the default one if it declares nothing", function()
    assert.equal("gevals", dialect_of("dialects = { unknown = {} }", ""))
  end)
end)

-- A program with the given behaviour. It logs its process id and each method, and answers only `knows`.
local PROGRAM = [[
  local pintle = require "pintle"
  local ways = load("return " .. arg[1])()
  local function note(text)
    local file <close> = assert(io.open(ways.notes, "a"))
    file:write(text, "\n")
  end
  local pid = require "pintle.core".getpid()
  note(pid .. " started")
  if ways.ends then os.exit(3) end
  if ways.says then io.stderr:write(ways.says, "\n") end
  pintle.sleep(ways.slow or 0)
  local peer = assert(pintle.connect { stdio = true, framing = ways.framing })
  if ways.greets then peer:notify("greeting", {}) end
  local is_first, is_deaf, is_sour = true, false, false
  peer:on_unknown(function(_, ctx)
    note(pid .. " " .. ctx.method)
    local is_right = ctx.method == ways.knows
    if not is_right and ways.dies then os.exit(4) end
    is_deaf = is_deaf or ways.goes_deaf and is_first and not is_right
    is_sour = is_sour or ways.turns_sour and is_first and not is_right
    if ways.answers_once and not is_first then pintle.sleep(1e6) end
    is_first = false
    if is_deaf or not is_right and ways.ignores then pintle.sleep(1e6) end
    if is_sour then return nil, { code = -32000, message = "Not after that" } end
    if is_right then return { name = "found" } end
    return nil, { code = -32601, message = "Method not found" }
  end)
  peer:join()
]]

describe("a program on which dialects are tried", function()
  local notes

  before_each(function() notes = os.tmpname() end)
  after_each(function() os.remove(notes) end)

  local function quoted(ways)
    local parts = { ("notes = %q"):format(notes) }
    for name, value in pairs(ways) do parts[#parts + 1] = ("%s = %q"):format(name, value) end
    return "{ " .. table.concat(parts, ", ") .. " }"
  end

  local function program(ways, ...) return children.lua(PROGRAM, quoted(ways), ...) end

  -- The methods that it received, as a list for each process.
  local function asked()
    local by_process, count = {}, 0
    for line in io.lines(notes) do
      local pid, method = line:match "^(%d+) (.*)$"
      if method == "started" then
        by_process[pid], count = {}, count + 1
      else
        table.insert(by_process[pid], method)
      end
    end
    return by_process, count
  end

  local function process_that_heard(method)
    for _, methods in pairs((asked())) do
      for _, heard in ipairs(methods) do
        if heard == method then return methods end
      end
    end
  end

  -- The maximum number of children of this process while the function runs.
  local function count_children(fn)
    local most, timer = 0, nil
    local function look()
      local file <close> = assert(io.open "/proc/thread-self/children")
      local _, count = file:read("a"):gsub("%d+", "")
      most = math.max(most, count)
      timer = loop.after(0.002, look)
    end
    look()
    fn()
    loop.cancel(timer)
    return most
  end

  it("receives the next dialects on the process that refused the first one", function()
    assert.equal("aa-lines", (find(program { framing = "line", knows = "hello-lines" })))
    assert.same({ "initialize", "server/discover", "initialize" },
      table.move(process_that_heard "hello-lines", 1, 3, 1, {}))
  end)

  it("has at most two processes, however it behaves", function()
    for _, ways in ipairs {
      { framing = "header", knows = "hello-header", slow = 0.6 }, { framing = "line", knows = "nothing" },
      { framing = "line", knows = "hello-lines", dies = true }, { framing = "line", knows = "x", goes_deaf = true },
      { ends = true },
    } do
      assert.truthy(count_children(function() find(program(ways), 0.5) end) <= 2)
    end
  end)

  it("is reported as not recognised if it refuses the first message and ignores all others", function()
    local found, err = find(program { framing = "line", knows = "nothing", answers_once = true }, 0.3)
    assert.is_nil(found)
    assert.equal("protocol", err.kind)
  end)

  it("has one process if it answers at once", function()
    local count = 3
    for _ = 1, 10 do -- a busy machine may be too slow at times
      if count == 1 then break end
      os.remove(notes)
      assert.equal("cc-lines", (find(program({ framing = "line", knows = "hello-lines" }, "speaks-cc"))))
      _, count = asked()
    end
    assert.equal(1, count)
  end)

  for what, ways in pairs {
    ["ends at a message that it does not know"] = { dies = true },
    ["refuses everything after a first message that it does not know"] = { turns_sour = true },
  } do
    for _, framing in ipairs { "line", "header" } do
      it(("is recognised although it %s: %s"):format(what, framing), function()
        ways.framing = framing
        ways.knows = framing == "line" and "hello-lines" or "hello-header"
        assert.equal(framing == "line" and "aa-lines" or "bb-header", (find(program(ways))))
      end)
    end
  end

  for what, ways in pairs {
    ["goes deaf at a first message that it does not know"] = { goes_deaf = true },
    ["ignores messages that it does not know"] = { ignores = true },
  } do
    it("is recognised although it " .. what, function()
      ways.framing, ways.knows = "line", "hello-lines"
      assert.equal("aa-lines", (find(program(ways), 4)))
    end)
  end

  it("is given the whole start timeout for its first answer", function()
    for _, framing in ipairs { "line", "header" } do
      local knows = framing == "line" and "hello-lines" or "hello-header"
      assert.equal(framing == "line" and "aa-lines" or "bb-header",
        (find(program { framing = framing, knows = knows, slow = 1.2 }, 20)))
    end
  end)

  it("is asked first in the dialect that its command makes likely", function()
    local command = program({ framing = "line", knows = "hello-lines" }, "bin/speaks-cc-2.1")
    assert.equal("cc-lines", (find(command)))
    assert.same({ "hello-lines" }, process_that_heard "hello-lines")
  end)

  it("is asked at once in the dialect that its stderr makes likely", function()
    local ways = { framing = "line", knows = "hello-lines", ignores = true, says = "Speaking CC now" }
    assert.equal("cc-lines", (find(program(ways), 600)))
  end)

  it("is recognised by messages in the other framing", function()
    local dialect, err = find(program { framing = "header", knows = "nothing", greets = true }, 20)
    assert.is_nil(dialect)
    for _, name in ipairs { "gevals", "mcp", "aa%-lines" } do
      assert.matches(("\n[^\n]* %s[:,] [^\n]*its messages do not use line framing\n"):format(name), err.message)
    end
  end)

  it("is reported as not recognised in time if it never answers", function()
    local begun = loop.now()
    local dialect, err = find({ "sleep", "1000" }, 0.5)
    assert.is_nil(dialect)
    assert.matches('no answer to "initialize" within 0.5s', err.message, 1, true)
    assert.truthy(loop.now() - begun < children.patience)
  end)

  it("is reported as not recognised at once if it exits at once", function()
    local dialect, err = find(program { ends = true }, 600)
    assert.is_nil(dialect)
    assert.equal("lua5.4 ended with status 3", err.message)
  end)
end)

describe("a command", function()
  -- The first method sent to a program of that name.
  local function first_dialect(...)
    local directory = os.tmpname()
    os.remove(directory)
    assert(lfs.mkdir(directory))
    local words = { ... }
    local path = directory .. "/" .. words[1]
    local file <close> = assert(io.open(path, "w"))
    file:write "#!/bin/sh\nhead -c 1 > /dev/null\n"
    file:close()
    assert(os.execute("chmod +x " .. path))
    words[1] = path
    local _, err = find(words, 600)
    os.remove(path)
    lfs.rmdir(directory)
    return err.message:match "\n  ([%w-]+)"
  end

  it("makes a dialect likely by its words", function()
    for words, dialect in pairs {
      ["clangd"] = "lsp", ["clangd-19 --log=error"] = "lsp", ["typescript-language-server --stdio"] = "lsp",
      ["lua-language-server"] = "lsp", ["gopls"] = "lsp", ["npx -y @modelcontextprotocol/server-everything"] = "mcp",
      ["mcp-server-git"] = "mcp", ["npx server-filesystem /tmp"] = "mcp", ["uvx my_mcp"] = "mcp",
      ["node node_modules/@modelcontextprotocol/server-memory/dist/index.js"] = "mcp", ["reginald-go"] = "reginald",
      ["ruby liquid-server.rb"] = "liquid", ["mcpchecker-tool"] = "gevals", ["anything else"] = "gevals",
    } do
      local list = {}
      for word in words:gmatch "%S+" do list[#list + 1] = word end
      assert.equal(dialect, first_dialect(table.unpack(list)), words)
    end
  end)
end)
