-- The text server of examples/editor, and its client.
local children = require "spec.support.children"
local document = dofile "examples/editor/document.lua"
local editor = require "spec.support.editor"
local files = require "spec.support.files"
local json = require("pintle.core").json

children.leave_nothing()

describe("the text server's client", function()
  it("prints what its README shows", function()
    local output, status = children.run { command = { "lua5.4", "examples/editor/client.lua" } }
    assert.equal(0, status)
    local page = files.read "examples/editor/README.md"
    assert.equal(page:match "%$ script/lua examples/editor/client.lua\n(.-)```", output)
  end)
end)

describe("the text server", function()
  local server

  before_each(function()
    server = editor.start "examples/editor/server.lua"
    server:initialize()
  end)

  after_each(function() getmetatable(server).__close(server) end)

  it("opens, edits, moves and returns text", function()
    local function expected_result(message, lines, line, character)
      return { message = message, outputs = { lines = lines, cursor = { line = line, character = character } } }
    end
    assert.same(expected_result("opened a", 1, 0, 0), server:call("open", { name = "a", text = "äb" }).result)
    local changed = server:call("edit", { name = "a", from = { line = 0, character = 1 }, text = "\n" })
    assert.same({ version = "0.1", jsonrpc = "2.0", method = "changed", params = { name = "a", lines = 2 } }, changed)
    assert.same(expected_result("edited a", 2, 1, 0), json.decode(server:body()).result)
    assert.same(expected_result("moved", 2, 0, 1),
      server:call("move-cursor", { name = "a", to = { line = 0, character = 1 } }).result)
    assert.equal('{"version":"0.1","jsonrpc":"2.0","id":"2","result":"ä\\nb"}',
      server:ask '{"version":"0.1","jsonrpc":"2.0","id":"2","method":"text","params":{"name":"a"}}')
  end)

  it("reports errors", function()
    local function refused(method, params)
      local err = server:call(method, params).error
      return { err.code, err.message }
    end
    server:call("open", { name = "a" })
    assert.same({ 1, "a is open already" }, refused("open", { name = "a" }))
    assert.same({ 1, "b is not open" }, refused("text", { name = "b" }))
    local far = { line = 4294967295, character = 0 }
    assert.same({ 1, "line 4294967295 is outside of the text, whose last line is 0" },
      refused("move-cursor", { name = "a", to = far }))
    assert.same({ -32602, 'Invalid params for "move-cursor": at /to/line: UInt expected, 0 to 4294967295, got '
      .. "4294967296" }, refused("move-cursor", { name = "a", to = { line = 1 << 32, character = 0 } }))
    assert.equal(-32602, refused("edit", { name = "a", text = "x" })[1])
    assert.equal(-32602, refused("open", { name = "" })[1])
    assert.equal(-32601, refused("close", { name = "a" })[1])
  end)
end)

describe("a document", function()
  local function at(line, character) return { line = line, character = character } end

  local function edited(text, from, to, new)
    local made = document.new(text)
    local ok, message = made:replace(from, to, new)
    return ok and made:text() or message, ok and made.cursor
  end

  it("is edited at any position", function()
    for _, case in ipairs {
      { "", at(0, 0), at(0, 0), "x", "x", at(0, 1) },
      { "ab\ncd\nef", at(0, 1), at(2, 1), "-", "a-f", at(0, 2) },
      { "ab\ncd\nef", at(1, 0), at(2, 0), "", "ab\nef", at(1, 0) },
      { "ab\ncd", at(1, 2), at(1, 2), "\n\n", "ab\ncd\n\n", at(3, 0) },
      { "äöü", at(0, 1), at(0, 2), "o\nß", "äo\nßü", at(1, 1) },
      { "a\n", at(1, 0), at(1, 0), "b", "a\nb", at(1, 1) },
    } do
      local text, from, to, new, expected, cursor = table.unpack(case)
      local result, place = edited(text, from, to, new)
      assert.same({ expected, cursor }, { result, place })
    end
  end)

  it("is not changed by a position outside of it", function()
    assert.equal("line 2 is outside of the text, whose last line is 1", (edited("a\nb", at(2, 0), at(2, 0), "x")))
    assert.equal("line 3 is outside of the text, whose last line is 1", (edited("a\nb", at(0, 0), at(3, 0), "x")))
    assert.equal("character 3 is outside of line 0, which has 2", (edited("äö", at(0, 3), at(0, 3), "x")))
    assert.equal("the range ends before it begins", (edited("a\nb", at(1, 0), at(0, 1), "x")))
    assert.equal("the range ends before it begins", (edited("ab", at(0, 2), at(0, 1), "x")))
    local made = document.new "a"
    assert.is_nil((made:move(at(0, 2))))
    assert.same({ "a", at(0, 0) }, { made:text(), made.cursor })
  end)
end)
