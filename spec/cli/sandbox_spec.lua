-- The option --sandbox of the subcommands that start plugins, and what `pintle doctor` says about sandboxes.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"

local landlock, has_filter = core.sandbox()
local can = landlock >= 6 and has_filter

-- A plugin whose operation reads a file beside its directory.
local READER = [[
#!/usr/bin/env lua5.4
local plugin = require("pintle").plugin { name = "reader", version = "1.0.0" }
plugin:operation("look", {}, function()
  local file = io.open "%s"
  return file and file:read() or "nothing"
end)
plugin:serve()
]]

describe("--sandbox", function()
  local nothing_left, place, plugin

  before_each(function()
    nothing_left = children.stock()
    place = files.folder()
    local path = assert(core.realpath(place.path))
    os.execute("mkdir " .. path .. "/plugins")
    files.write(path .. "/secret", "the secret\n")
    plugin = path .. "/plugins/reader.lua"
    files.write(plugin, READER:format(path .. "/secret"))
    os.execute("chmod 755 " .. plugin)
  end)

  after_each(function()
    os.execute("rm -rf " .. place.path)
    nothing_left()
  end)

  local function it_restricts(name, try)
    it(name, function()
      if not can then return pending "this system has no sandbox" end
      assert.equal("the secret", try())
      assert.equal("nothing", try "strict")
      assert.equal("the secret", try "read-only")
      assert.equal("the secret", try(('{"read":[%q]}'):format(place.path)))
    end)
  end

  local function words_of(command, sandbox, ...)
    local words = { command, ... }
    if sandbox then
      table.insert(words, 2, "--sandbox")
      table.insert(words, 3, sandbox)
    end
    return words
  end

  it_restricts("restricts a plugin that `call` starts", function(sandbox)
    local out = cli.run(words_of("call", sandbox, "lua5.4", plugin, "--", "look"))
    return (out:gsub("\n$", ""))
  end)

  it_restricts("restricts the plugins that `run` starts", function(sandbox)
    local started <close> = cli.start(words_of("run", sandbox, place.path .. "/plugins"))
    started:say "reader look\n"
    started.process.stdin:close()
    return (started:finish():gsub("\n$", ""))
  end)

  it_restricts("restricts a program that `trace` runs", function(sandbox)
    local scratch <close> = files.scratch()
    local out = cli.run(words_of("trace", sandbox, "-o", scratch.path, "sh", "-c",
      'read -r line < "$0" || line=nothing; echo "$line"', place.path .. "/secret"))
    return (out:gsub("\n$", ""))
  end)

  it("restricts a plugin that `inspect` starts", function()
    if not can then return pending "this system has no sandbox" end
    local out = cli.run { "inspect", "--sandbox", "strict", "lua5.4", plugin }
    assert.truthy(out:find "^reader 1.0.0")
    local _, err, status = cli.run { "inspect", "--sandbox", '{"read":["/no/such"]}', "lua5.4", plugin }
    assert.equal(2, status)
    assert.truthy(err:find('sandbox: Landlock: cannot allow "/no/such": No such file or directory', 1, true), err)
  end)

  it("exits with 64 if its value is invalid", function()
    for wrong, message in pairs {
      lax = '--sandbox: preset: "strict" or "read-only" expected, got lax',
      ['{"reed":[]}'] = '--sandbox: no option "reed"',
      ["{"] = "--sandbox: not JSON",
    } do
      local _, err, status = cli.run { "call", "--sandbox", wrong, "lua5.4", plugin, "--", "look" }
      assert.equal(64, status)
      assert.truthy(err:find(message, 1, true), err)
    end
  end)
end)

describe("pintle doctor", function()
  local function findings(without)
    local command = { "bin/pintle", "doctor", "--json" }
    if without then
      table.insert(command, 1, without)
      table.insert(command, 2, "444")
    end
    local found = {}
    for _, finding in ipairs(core.json.decode((children.run { command = command })).findings) do
      found[finding.what] = finding
    end
    return found
  end

  it("lists the parts of sandboxes that this system has", function()
    local found = findings()
    assert.equal(tostring(landlock), found["sandbox: Landlock"].version)
    assert.equal(landlock >= 6 and "ok" or "missing", found["sandbox: Landlock"].state)
    assert.equal(has_filter and "ok" or "missing", found["sandbox: seccomp"].state)
    for _, name in ipairs { "namespaces", "processes" } do
      assert.is_false(found["sandbox: " .. name].needed)
    end
  end)

  it("reports that Landlock is missing on a system without it", function()
    if not can then return pending "this system has no sandbox" end
    local place <close> = files.folder()
    local without = place.path .. "/without"
    assert.is_true(os.execute(("${CC:-cc} -w -o %s spec/support/without.c"):format(without)))
    local found = findings(without)["sandbox: Landlock"]
    assert.same({ "missing", "0" }, { found.state, found.version })
  end)
end)
