-- The examples of the Language Server Protocol, run as an editor and a shell user would.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"
local lfs = require "lfs"
local pintle = require "pintle"
local turn_until = require "spec.support.turning"

children.leave_nothing()

local TODO = "examples/todo-lsp/plugin.lua"
local URI = "file:///notes.lua"

local function in_scratch_file(text, fn)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local ok, err = pcall(fn, path)
  os.remove(path)
  if not ok then error(err, 0) end
end

describe("examples/todo-lsp", function()
  local host, server, published

  before_each(function()
    published = {}
    host = pintle.host { dialect = "lsp", log = false }
    server = assert(host:start {
      command = { "lua5.4", TODO },
      handlers = {
        ["textDocument/publishDiagnostics"] = function(params) published[#published + 1] = params end,
      },
    })
  end)

  after_each(function() host:stop() end)

  -- The diagnostics in the next message, as "line:from-to severity message".
  local function diagnostics(method, params)
    local before = #published
    server:notify(method, params)
    turn_until(function() return #published > before end)
    local list = {}
    for i, found in ipairs(published[#published].diagnostics) do
      local from, to = found.range.start, found.range["end"]
      assert.equal(from.line, to.line)
      list[i] = ("%d:%d-%d %d %s"):format(from.line, from.character, to.character, found.severity, found.message)
    end
    return list
  end

  local function open(text)
    return diagnostics("textDocument/didOpen", {
      textDocument = { uri = URI, languageId = "lua", version = 1, text = text },
    })
  end

  local function position(line, character) return { line = line, character = character } end

  local function change(from, to, text)
    return diagnostics("textDocument/didChange", {
      textDocument = { uri = URI, version = 2 },
      contentChanges = { { range = { start = from, ["end"] = to }, text = text } },
    })
  end

  local function hover(line, character)
    local shown = assert(server:call("textDocument/hover", {
      textDocument = { uri = URI }, position = position(line, character),
    }))
    return shown ~= pintle.null and shown.contents.value or nil
  end

  it("announces its capabilities", function()
    assert.same({
      executeCommandProvider = { commands = { "todo.count" }, workDoneProgress = true },
      hoverProvider = true,
      textDocumentSync = { openClose = true, change = 2 },
    }, server.raw_manifest.capabilities)
  end)

  it("finds marks only in comments", function()
    assert.same({
      "0:3-19 3 TODO: eat, drink", "2:9-14 2 FIXME", "3:3-9 3 TODO x", "4:5-11 3 TODO y", "6:4-10 3 TODO z",
    }, open(table.concat({
      "-- TODO: eat, drink", "local TODO = 5", "f() // a FIXME", "/* TODO x */", "<!-- TODO y -->",
      "-- TODOS and AUTODO", " ## TODO z  ",
    }, "\n")))
    assert.same({}, open "")
  end)

  it("counts columns in UTF-16", function()
    assert.same({ "0:6-13 3 TODO 😀" }, open "-- ä😀TODO 😀")
    assert.same({ "0:3-10 3 TODO 😀" }, change(position(0, 3), position(0, 6), ""))
    open "-- 😀😀 x"
    assert.same({ "0:5-11 3 TODO x" }, change(position(0, 5), position(0, 8), "TODO "))
    assert.same({ "0:5-13 3 TODO 😀x" }, change(position(0, 10), position(0, 10), "😀"))
    assert.same({ "0:5-11 3 TODO x" }, change(position(0, 10), position(0, 12), ""))
  end)

  it("moves a column inside a character to its start, and one past the end to the end", function()
    open "-- 😀\n-- b"
    assert.same({ "0:3-9 3 TODO😀" }, change(position(0, 4), position(0, 4), "TODO"))
    change(position(1, 99), position(1, 99), " FIXME")
    assert.same({ "0:3-9 3 TODO😀", "1:4-9 2 FIXME" }, change(position(1, 3), position(1, 5), ":"))
    assert.same({ "0:3-9 3 TODO😀", "1:4-9 2 FIXME", "2:3-7 3 TODO" },
      change(position(9, 9), position(9, 9), "\n-- TODO"))
  end)

  it("accepts the line breaks of all systems", function()
    assert.same({ "1:3-7 3 TODO", "2:3-8 2 FIXME", "3:3-7 3 TODO" }, open "x\r\n-- TODO\r-- FIXME\n-- TODO")
    assert.same({ "1:3-7 3 TODO", "2:3-7 3 TODO" }, change(position(1, 7), position(2, 8), ""))
  end)

  it("accepts a whole document", function()
    open "-- TODO"
    assert.same({ "1:3-8 2 FIXME" }, diagnostics("textDocument/didChange", {
      textDocument = { uri = URI, version = 3 }, contentChanges = { { text = "\n-- FIXME" } },
    }))
    assert.equal(3, published[#published].version)
  end)

  it("drops a closed document", function()
    open "-- TODO"
    assert.same({}, diagnostics("textDocument/didClose", { textDocument = { uri = URI } }))
    assert.is_nil(hover(0, 4))
  end)

  it("shows the mark in a hover", function()
    open "-- TODO a\n-- FIXME b"
    assert.equal("**TODO**, 1 of 2 in this file", hover(0, 3))
    assert.equal("**FIXME**, 2 of 2 in this file", hover(1, 10))
    assert.is_nil(hover(0, 2))
    assert.is_nil(hover(7, 0))
  end)

  it("counts marks, in any dialect", function()
    in_scratch_file("-- TODO a\n# FIXME b\n-- TODO c\n", function(path)
      assert.equal("2 TODO, 1 FIXME", assert(server:execute("todo.count", { path = path })).message)
      local answer = extension.run(TODO, { extension.execution("todo.count", { path = path }) })
      assert.equal('{"jsonrpc":"2.0","id":1,"result":{"success":true,"message":"2 TODO, 1 FIXME"}}\n', answer)
    end)
    in_scratch_file("-- \xFF", function(path)
      assert.equal(path .. " is not UTF-8", assert(server:execute("todo.count", { path = path })).error)
    end)
    assert.matches("No such file", assert(server:execute("todo.count", { path = "/nowhere" })).error)
  end)
end)

describe("examples/clangd", function()
  local C = "int twice(int x) {\n  return x * 2;\n}\n\nint main(void) {\n"
    .. '  const char *s = "ä"; return twice(y);\n}\n'

  local function run(...) return children.run { command = { ... }, stdin = "null" } end

  it("prints what clangd knows about a position", function()
    if not core.which "clangd" then return pending "clangd is not here" end
    local folder = os.tmpname()
    os.remove(folder)
    assert(lfs.mkdir(folder))
    local path = folder .. "/a b.c"
    local file = assert(io.open(path, "w"))
    file:write(C)
    file:close()
    local output, code = run("lua5.4", "examples/clangd/ask.lua", path, "6", "32")
    os.remove(path)
    lfs.rmdir(folder)
    assert.matches("^function twice\n", output)
    assert.matches("int twice(int x)\na b.c:1:5: defined here\n", output, 1, true)
    assert.matches("a b.c:6:38: error: [Uu]se of undeclared identifier 'y'", output)
    assert.equal(0, code)
  end)

  it("prints its usage", function()
    local output, code = run("sh", "-c", "lua5.4 examples/clangd/ask.lua x.c 2>&1")
    assert.same({ "usage: ask.lua FILE LINE COLUMN\n", 2 }, { output, code })
  end)
end)
