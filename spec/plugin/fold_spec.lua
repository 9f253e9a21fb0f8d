-- Lines of stderr that are too long for a host are folded.
local children = require "spec.support.children"
local july_host = require "spec.support.reginald.july_host"
local june_host = require "spec.support.reginald.june_host"
local folding = require "pintle.plugin.folding"

describe("a text", function()
  local function folded(text, column, most)
    local result, last = folding.fold(text, column, most)
    return result:gsub("\n", "|"), last
  end

  it("is cut where a line is too long, also a line that began earlier", function()
    for _, case in ipairs {
      { "", 0, 4, "", 0 }, { "abcd", 0, 4, "abcd", 4 }, { "abcde", 0, 4, "abcd|e", 1 }, { "abc", 2, 4, "ab|c", 1 },
      { "abc\n", 2, 4, "ab|c|", 0 }, { "abc", 4, 4, "|abc", 3 }, { "ab\ncdefgh\ni", 0, 4, "ab|cdef|gh|i", 1 },
      { "abcd\n", 0, 4, "abcd|", 0 }, { "\n\nabcdefghij", 3, 4, "||abcd|efgh|ij", 2 }, { "ab\nc", 1, 9, "ab|c", 1 },
    } do
      local text, column, most, expected, last = table.unpack(case)
      local result, after = folded(text, column, most)
      assert.same({ expected, last }, { result, after })
    end
  end)

  it("is not cut inside a character", function()
    assert.equal("abä|ö", (folded("abäö", 0, 5)))
    assert.equal("abc|ä", (folded("abcä", 0, 4)))
    assert.equal("|€", (folded("€", 2, 4)))
    assert.equal("\x80\x80\x80\x80|\x80\x80", (folded(("\x80"):rep(6), 0, 4)))
  end)

  it("has the same characters as before", function()
    for _ = 1, 200 do
      local parts = {}
      for i = 1, math.random(40) do parts[i] = ({ "a", "ä", "€", "😀", "\n", "\xff" })[math.random(6)] end
      local text, column, most = table.concat(parts), math.random(0, 9), math.random(9, 20)
      local result, last = folding.fold(text, column, most)
      assert.equal(text:gsub("\n", ""), result:gsub("\n", ""))
      local line = ("x"):rep(column) .. result
      for one in line:gmatch "[^\n]*" do assert.truthy(#one <= most, ("%q"):format(line)) end
      assert.equal(#line:match "[^\n]*$", last)
    end
  end)
end)

describe("what a plugin writes to stderr", function()
  local nothing_left, path

  before_each(function()
    nothing_left = children.stock()
    path = os.tmpname()
  end)

  after_each(function()
    os.remove(path)
    nothing_left()
  end)

  -- Each writes 200000 bytes in one line, or in parts of it.
  local WAYS = {
    'print(("p"):rep(200000))', 'io.write(("w"):rep(200000), "\\n")', 'io.stdout:write(("o"):rep(200000), "\\n")',
    'io.stderr:write(("e"):rep(200000), "\\n")', 'for i = 1, 20000 do io.stderr:write(1234567890) end',
    'for i = 1, 2000 do io.write(("a"):rep(50)) io.stdout:flush() io.stderr:write(("b"):rep(50)) end',
    'warn "@on" warn(("l"):rep(199987))', 'ctx.server:note("info", ("n"):rep(200000))', 'error(("r"):rep(200000))',
    'print(("x"):rep(100000), 2) print(nil)',
  }

  local function code_of(way)
    return ([[
      local plugin = require("pintle").plugin { name = "writer", version = "1.0.0" }
      plugin:operation("go", {}, function(args, ctx) %s end)
      plugin:serve()
    ]]):format(way)
  end

  -- The bytes that `way` writes to stderr.
  local function written(start, hello, run, way, ...)
    local command = children.lua(code_of(way), ...)
    local host <close> = start { "sh", "-c", 'exec 2> "$0"; exec "$@"', path, table.unpack(command) }
    assert(host:call("handshake", hello))
    host:call("runCommand", run)
    host:call "shutdown"
    host:notify "exit"
    host:finish()
    local file <close> = assert(io.open(path))
    return file:read "a"
  end

  local function longest(text)
    local most = 0
    for line in text:gmatch "[^\n]*" do most = math.max(most, #line) end
    return most
  end

  local HOSTS = {
    { june_host, '{"protocol":"rpp","protocolVersion":0}', '{"name":"go"}' },
    { july_host, '{"protocol":"reginald","protocolVersion":0}', '{"cmd":"go"}' },
  }

  it("has no line of 64 KiB for Reginald, however Lua writes it", function()
    for i, way in ipairs(WAYS) do
      local start, hello, run = table.unpack(HOSTS[i % 2 + 1])
      local text = written(start, hello, run, way)
      assert.truthy(#text >= 100000, way)
      assert.truthy(longest(text) < 65536, way)
    end
    assert.equal(("p"):rep(200000), (written(june_host, HOSTS[1][2], HOSTS[1][3], WAYS[1]):gsub("\n", "")))
    assert.truthy(longest(written(june_host, HOSTS[1][2], HOSTS[1][3], WAYS[1], "--dialect", "reginald")) < 65536)
  end)

  it("does not change in other files, or in short lines", function()
    local other = os.tmpname()
    local way = ([[
      local f <close> = io.open(%q, "w")
      f:write(("f"):rep(100000), 1, 2.5)
      print("a", 1, nil)
      io.write("b", 2, 1.0, 0.1, "\n")
      assert(io.write "" == io.stdout and io.stderr:write "" == io.stderr)
      assert(not pcall(io.write, {}))
    ]]):format(other)
    local number <close> = io.tmpfile()
    number:write(1.0)
    number:seek "set"
    assert.equal("a\t1\tnil\nb2" .. number:read "a" .. "0.1\n", written(june_host, HOSTS[1][2], HOSTS[1][3], way))
    local file <close> = assert(io.open(other))
    assert.equal(("f"):rep(100000) .. "12.5", file:read "a")
    os.remove(other)
  end)

  it("does not change for other hosts", function()
    local process <close> = assert(require("pintle.core").spawn {
      command = { "sh", "-c", 'exec 2> "$0"; exec "$@"', path, table.unpack(children.lua(code_of(WAYS[1]))) },
    })
    assert(process.stdin:write('{"jsonrpc":"2.0","id":1,"method":"execute","params":'
      .. '{"operation":"go","args":{},"context":{}}}\n'))
    process.stdin:close()
    children.read(process.stdout)
    process:wait(children.patience)
    local file <close> = assert(io.open(path))
    assert.truthy(longest(file:read "a") >= 200000)
  end)
end)
