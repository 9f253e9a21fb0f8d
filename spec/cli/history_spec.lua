-- The history of the prompt of `pintle run`: saving, secrets, searching.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local histories = require "pintle.cli.run.history"
local is_secret = histories.is_secret
local lfs = require "lfs"

children.leave_nothing()

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  return lines
end

describe("the history of the prompt", function()
  it("is in a file and a folder that only the owner can read", function()
    local folder <close> = files.folder()
    local path = folder.path .. "/a/b/history"
    local history = histories.new(path)
    assert.same({}, history.lines)
    history:keep_line "one"
    history:keep_line "two ü"
    assert.same({ "one", "two ü" }, lines_of(path))
    assert.equal("rw-------", lfs.attributes(path, "permissions"))
    assert.equal("rwx------", lfs.attributes(folder.path .. "/a/b", "permissions"))
    assert.same({ "one", "two ü" }, histories.new(path).lines)
  end)

  it("gets its permissions before anything is written", function()
    local folder <close> = files.folder()
    local path = folder.path .. "/history"
    files.write(path, "one\n")
    assert(os.execute("chmod 644 " .. path))
    histories.new(path):keep_line "two"
    assert.equal("rw-------", lfs.attributes(path, "permissions"))
    assert.same({ "one", "two" }, lines_of(path))
  end)

  it("leaves out repeated lines and lines with control characters", function()
    local folder <close> = files.folder()
    local path = folder.path .. "/history"
    local history = histories.new(path)
    for _, line in ipairs { "one", "one", "a\27[31m", "\xFF", ("x"):rep(5000), "two" } do history:keep_line(line) end
    assert.same({ "one", "two" }, lines_of(path))
    files.write(path, "one\na\27[31m\n\xFF\ntwo\n")
    assert.same({ "one", "two" }, histories.new(path).lines)
  end)

  it("is shared by prompts that run at the same time", function()
    local folder <close> = files.folder()
    local path = folder.path .. "/history"
    local one, other = histories.new(path), histories.new(path)
    one:keep_line "a"
    other:keep_line "b"
    one:keep_line "c"
    assert.same({ "a", "b", "c" }, histories.new(path).lines)
  end)

  it("is limited in length", function()
    local folder <close> = files.folder()
    local path = folder.path .. "/history"
    local text = {}
    for i = 1, 2001 do text[i] = "line " .. i end
    files.write(path, table.concat(text, "\n") .. "\n")
    local history = histories.new(path)
    assert.same({ 1000, "line 1002", "line 2001" }, { #history.lines, history.lines[1], history.lines[1000] })
    assert.same(history.lines, lines_of(path))
    assert.equal("rw-------", lfs.attributes(path, "permissions"))
    files.write(path, ("x"):rep(4000, "\n") .. "\n" .. (("y"):rep(4000) .. "\n"):rep(600))
    histories.new(path)
    assert.is_true(lfs.attributes(path, "size") <= 1 << 20)
    assert.is_nil(lfs.attributes(path .. ".new"))
  end)

  it("is not saved if its file cannot be created", function()
    local history = histories.new "/dev/null/nowhere/history"
    history:keep_line "one"
    assert.same({}, history.lines)
    histories.new(nil):keep_line "one"
  end)

  it("does not open or change a path that is not a regular file", function()
    local folder <close> = files.folder()
    local path = folder.path .. "/history"
    assert(os.execute("mkfifo -m 644 " .. path))
    local begun = core.now()
    local history = histories.new(path)
    history:keep_line "one" -- opening a pipe would wait for a reader
    assert.is_true(core.now() - begun < children.patience)
    assert.equal("rw-r--r--", lfs.attributes(path, "permissions"))
  end)

  it("is in the XDG directory for state by default", function()
    local function path_with(env)
      local given = { PINTLE_HISTORY = false, XDG_STATE_HOME = false, HOME = "/home/ada" }
      for name, value in pairs(env) do given[name] = value end
      local code = [[io.write(tostring(require "pintle.cli.run.history".default_path()))]]
      return (children.run { command = children.lua(code), env = given })
    end
    assert.equal("/home/ada/.local/state/pintle/history", path_with {})
    assert.equal("/s/pintle/history", path_with { XDG_STATE_HOME = "/s" })
    assert.equal("/home/ada/.local/state/pintle/history", path_with { XDG_STATE_HOME = "relative" })
    assert.equal("/x", path_with { PINTLE_HISTORY = "/x" })
    assert.equal("nil", path_with { PINTLE_HISTORY = "" })
    assert.equal("nil", path_with { HOME = false })
  end)
end)

describe("a line", function()
  it("is secret because of an argument's name, the schema, or a leading space", function()
    for _, line in ipairs {
      "db open password=x", "db open userPassword='a b'", "db open API_KEY:=5", "db open a=b access-token=x",
      'db open auth={}', "db open login='{\"token\":\"x\"}'", "db open password='not ended", " db open a=b",
    } do
      assert.is_true(is_secret(line, nil, 3), line)
    end
    for _, line in ipairs { "db open name=Ada", "db tokens", "plugins", "db open a='not ended", "db open pinned=1" } do
      assert.is_false(is_secret(line, nil, 3), line)
    end
    local properties = { code = { type = "string", format = "password" }, seed = { writeOnly = true }, name = {} }
    assert.is_true(is_secret("db open code=x", properties, 3))
    assert.is_true(is_secret("db open seed:=1", properties, 3))
    assert.is_false(is_secret("db open name=x", properties, 3))
  end)
end)

describe("a search", function()
  it("finds the newest matching line, then older ones", function()
    local search = histories.new_search { "tea one", "milk", "tea two", "tea two", "sugar" }
    assert.is_nil(search:found_line())
    search:extend_query "t"
    assert.equal("tea two", search:found_line())
    search:extend_query "ea"
    assert.equal("tea two", search:found_line())
    search:find_older()
    assert.equal("tea one", search:found_line())
    search:find_older()
    assert.equal("tea one", search:found_line())
    search:shorten_query()
    assert.equal("tea two", search:found_line())
    search:extend_query "ü"
    assert.is_nil(search:found_line())
    search:shorten_query()
    assert.same({ "te", "tea two" }, { search.query, search:found_line() })
  end)
end)
