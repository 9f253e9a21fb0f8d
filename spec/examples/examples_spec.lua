-- Runs every example as a reader would. Examples whose program is not installed are skipped.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"

children.leave_nothing()

-- All output of a command, including stderr, and how it ends.
local function run(command, options)
  local given = { command = { "sh", "-c", 'exec "$@" 2>&1', "sh", table.unpack(command) }, stdin = "null" }
  for name, value in pairs(options or {}) do given[name] = value end
  return children.run(given)
end

local function missing(program)
  if core.which(program) then return false end
  pending(program .. " is not installed")
  return true
end

local function in_order(text, ...)
  local at = 1
  for _, part in ipairs { ... } do
    local _, stop = text:find(part, at, true)
    assert(stop, ("no %q from byte %d on in:\n%s"):format(part, at, text))
    at = stop + 1
  end
end

describe("examples/echo", function()
  it("shows the exchange with a child, and how the child ends", function()
    local output, code = run { "lua5.4", "examples/echo/host.lua" }
    assert.equal(0, code)
    in_order(output, '← [9223372036854775807,1.0,0.1,[],{},null,"naïve 😀\\u0000"]',
      "← remote: Method not found: ehco", "← closed: ", "The child ended with status 3.")
  end)
end)

describe("examples/greeter", function()
  local TEXT = [[
greeter 1.0.0
info  plugin: greeting {"name":"Ada"}
Hello, Ada
not asked: Invalid params for "greet": at /name: expected string, got integer 5
info  plugin: greeting {"name":""}
failed: nobody to greet
]]

  for interpreter, ending in pairs { ["lua5.4"] = "lua", python3 = "py", node = "js", sh = "sh" } do
    it("behaves the same in plugin. " .. ending, function()
      if missing(interpreter) then return end
      local plugin = "examples/greeter/plugin." .. ending
      local output, code = run { "lua5.4", "examples/greeter/host.lua", interpreter, plugin }
      assert.equal(TEXT, output)
      assert.equal(0, code)
    end)
  end

  it("has a host that starts the plugin beside it by default", function()
    assert.equal(TEXT, (run { "lua5.4", "examples/greeter/host.lua" }))
  end)

  it("has a host that reports what is wrong with another plugin", function()
    local output, code = run { "lua5.4", "examples/greeter/host.lua", "false" }
    assert.equal(1, code)
    assert.matches("false ended with status 1", output, 1, true)
  end)
end)

describe("examples/supervised", function()
  it("crashes and is restarted", function()
    local output, code = run { "lua5.4", "examples/supervised/host.lua" }
    assert.equal(0, code)
    in_order(output, "call 1: job 1 of this process\n", "call 2: job 2 of this process\n",
      "error fragile: ended with status 70: that was one job too many\n", "fragile: restarting in 0.0",
      "call 3: error: fragile ended with status 70: that was one job too many\n", "info  fragile: restarted\n",
      "call 4: job 1 of this process\n", "call 5: job 2 of this process\n", "error fragile: ended",
      "info  fragile: restarted\n", "call 6: job 1 of this process\n")
  end)
end)

describe("examples/far", function()
  it("counts primes with a pool over two ways", function()
    local output, code = run { "lua5.4", "examples/far/host.lua" }
    assert.equal("4 processes over 2 ways\n9592 primes below 100000\n", output)
    assert.equal(0, code)
  end)
end)

describe("examples/sqlite", function()
  local hosts = require "pintle.host"
  local json = core.json
  local folder

  files.give_each_a_folder(function(path) folder = path end)

  -- Runs a few operations one after the other in one plugin.
  local function with_plugin(fn)
    if missing "sqlite3" then return end
    local host <close> = hosts { log = false }
    local plugin = assert(host:start {
      command = { "lua5.4", lfs.currentdir() .. "/examples/sqlite/plugin.lua" }, cwd = folder,
    })
    fn(function(operation, args) return assert(plugin:execute(operation, args)) end, plugin)
  end

  local TEA = "CREATE TABLE tea (id INTEGER PRIMARY KEY, name TEXT, grams REAL, leaf BLOB);"
    .. "INSERT INTO tea VALUES (1, 'assam', 250.5, NULL), (2, 'darjeeling', 100, x'00ff');"

  it("creates a database from a script or a file, and replaces one only with an option", function()
    with_plugin(function(execute)
      assert.equal("Created tea.db", execute("create", { database = "tea.db", script = TEA }).message)
      local outcome = execute("create", { database = "tea.db", script = "SELECT 1" })
      assert.same({ false, "tea.db is there already" }, { outcome.success, outcome.error })
      files.write(folder .. "/other.sql", "CREATE TABLE other (x)")
      outcome = execute("create", { database = "tea.db", file = "other.sql", replace = true })
      assert.is_true(outcome.success)
      assert.is_true(execute("query", { database = "tea.db", sql = "SELECT * FROM other" }).success)
      assert.matches("No such file", execute("create", { database = "x.db", file = "none.sql" }).error, 1, true)
    end)
  end)

  it("changes nothing if a script fails", function()
    with_plugin(function(execute)
      execute("create", { database = "tea.db", script = TEA })
      local outcome = execute("create", { database = "tea.db", replace = true, script = "DROP TABLE none" })
      assert.matches("no such table: none", outcome.error, 1, true)
      assert.equal("1 row", execute("query", { database = "tea.db", sql = "SELECT 1 FROM tea LIMIT 1" }).message)
      local names = {}
      for name in lfs.dir(folder) do names[name] = true end
      assert.same({ ["."] = true, [".."] = true, ["tea.db"] = true }, names)
    end)
  end)

  it("returns the rows of a query as JSON, with columns by name", function()
    with_plugin(function(execute)
      execute("create", { database = "tea.db", script = TEA })
      local outcome = execute("query", { database = "tea.db", sql = "SELECT name, grams, id FROM tea ORDER BY id" })
      assert.equal("2", outcome.outputs.count)
      assert.equal('[{"grams":250.5,"id":1,"name":"assam"},{"grams":100.0,"id":2,"name":"darjeeling"}]',
        outcome.outputs.rows)
      assert.same({ count = "0", rows = "[]" },
        execute("query", { database = "tea.db", sql = "SELECT 1 WHERE 0 -- none" }).outputs)
    end)
  end)

  it("checks rows", function()
    with_plugin(function(execute)
      execute("create", { database = "tea.db", script = TEA })
      local function check(args)
        args.database, args.sql = "tea.db", "SELECT id, name, NULL AS leaf FROM tea ORDER BY id"
        local outcome = execute("assert_rows", args)
        return outcome.success or outcome.error
      end
      assert.is_true(check { count = 2 })
      assert.equal("2 rows, not 3", check { count = 3 })
      assert.is_true(check { rows = { { name = "assam", leaf = json.null }, { id = 2 } } })
      assert.equal('row 1: name is "assam", not "oolong"', check { rows = { { name = "oolong" }, {} } })
      assert.equal("2 rows, not 1", check { rows = { { name = "assam" } } })
    end)
  end)

  it("cannot write in a query, nor run commands of the shell", function()
    with_plugin(function(execute)
      execute("create", { database = "tea.db", script = TEA })
      for sql, message in pairs {
        ["DELETE FROM tea"] = "readonly",
        [".shell touch gone"] = "cannot run .shell in safe mode",
        ["ATTACH 'other.db' AS other"] = "cannot run ATTACH in safe mode",
        ["SELECT writefile('gone', 'x')"] = "safe mode",
        ["SELECT 1; SELECT 2"] = "no rows of one SELECT",
        ["SELECT leaf FROM tea"] = "hex() makes text of blobs",
        ["SELECT hex(randomblob(20000))"] = "too many for an output",
        ["SELECT hex(randomblob(1000000))"] = "too many",
      } do
        local outcome = execute("query", { database = "tea.db", sql = sql })
        assert.is_false(outcome.success)
        assert.matches(message, outcome.error, 1, true)
      end
      assert.is_nil(lfs.attributes(folder .. "/gone"))
      assert.equal("no database other.db", execute("query", { database = "other.db", sql = "SELECT 1" }).error)
    end)
  end)

  it("ends a query at its timeout, and continues", function()
    with_plugin(function(execute, plugin)
      execute("create", { database = "tea.db", script = TEA })
      local endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
      local outcome, err = plugin:execute("query", { database = "tea.db", sql = endless }, { timeout = "300ms" })
      assert.is_nil(outcome)
      assert.equal("timeout", err.kind)
      assert.is_true(execute("query", { database = "tea.db", sql = "SELECT 1" }).success)
    end)
  end)

  it("reports a missing sqlite3", function()
    local host <close> = hosts { log = false }
    local lua = core.which "lua5.4"
    local plugin = assert(host:start { command = { lua, "examples/sqlite/plugin.lua" }, env = { PATH = folder } })
    local outcome, err = plugin:execute("query", { database = "x.db", sql = "SELECT 1" })
    assert.is_nil(outcome)
    assert.equal(-32002, err.code)
    assert.matches("sqlite3", err.message, 1, true)
  end)

  -- The commands and output in its README.
  local function transcript()
    local file <close> = assert(io.open "examples/sqlite/README.md")
    local text = file:read("a"):match "```\n(%$ .-)```"
    local commands, shown = {}, {}
    for line in text:gmatch "[^\n]*\n" do
      local command = line:match "^%$ (.*)$"
      if command then commands[#commands + 1] = command else shown[#shown + 1] = line end
    end
    return table.concat(commands), table.concat(shown)
  end

  it("does what its README shows", function()
    if missing "sqlite3" then return end
    local commands, shown = transcript()
    local private = folder .. "/tea.db"
    assert.equal((shown:gsub("/tmp/tea%.db", private):gsub('"bytes":%d+', "")),
      (run({ "sh", "-c", (commands:gsub("/tmp/tea%.db", private)) }):gsub('"bytes":%d+', "")))
  end)
end)

describe("the tour", function()
  local folder

  files.give_each_a_folder(function(path) folder = path end)

  -- With a PATH that has only these.
  local function tour(programs)
    for _, name in ipairs(programs) do
      assert(os.execute(("ln -s '%s' '%s/%s'"):format(core.which(name), folder, name)))
    end
    return run({ "lua5.4", "examples/tour.lua" }, { env = { PATH = folder } })
  end

  it("visits all examples, and succeeds", function()
    local output, code = run { "lua5.4", "examples/tour.lua" }
    assert.equal(0, code)
    in_order(output, "→ Hello, Ada\n", "→ failed: nobody to greet\n", "→ error: Invalid params",
      "; did you mean greet?\n", "1000 greetings in ", "fragile: restarted\n", "→ job 1 of this process\n",
      "and none is left\n", "Where to go next\n")
    assert.is_nil(output:find("\27", 1, true))
  end)

  it("skips what is not installed", function()
    local output, code = tour { "lua5.4", "sh", "sed", "tr" }
    assert.equal(0, code)
    in_order(output, "python3 is not installed", "node is not installed", "sh:execute", "sqlite3 is not installed",
      "and none is left\n")
  end)

  it("fails if a step fails", function()
    files.write(folder .. "/python3", "#!/bin/sh\nexit 3\n", "755")
    local output, code = tour { "lua5.4", "sh", "sed", "tr" }
    assert.equal(1, code)
    assert.matches("python3 ended with status 3", output, 1, true)
  end)

  it("leaves no file behind", function()
    local place = folder .. "/scratch"
    files.write(folder .. "/init.lua", ("os.tmpname = function() return %q end"):format(place))
    local env = { LUA_INIT_5_4 = "@" .. folder .. "/init.lua" }
    local output, code = run({ "lua5.4", "examples/tour.lua" }, { env = env })
    assert.equal(0, code, output)
    assert.is_nil(lfs.attributes(place))
  end)
end)

describe("examples/cjson", function()
  it("sends with lua-cjson what pintle's codec refuses", function()
    local output, code = run { "lua5.4", "examples/cjson/host.lua" }
    assert.equal("pintle: invalid: params[2]: NaN has no JSON form\nlua-cjson: 21.5 °C, no reading, 22.5 °C\n", output)
    assert.equal(0, code)
  end)
end)

describe("examples/luv", function()
  it("shows pintle's loop driven by luv's", function()
    local output, code = run { "lua5.4", "examples/luv/host.lua" }
    assert.equal(0, code)
    if output:find("needs luv", 1, true) then return pending "luv is not installed" end
    assert.equal("the plugin says hello\nthe plugin says from\nthe plugin says luv\nand luv's timer ticked meanwhile\n",
      output)
  end)
end)
