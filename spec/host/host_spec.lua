local core = require "pintle.core"
local children = require "spec.support.children"
local files = require "spec.support.files"
local hosts = require "pintle.host"
local lfs = require "lfs"
local logged_host = require "spec.support.logged_host"
local tasks = require "pintle.task"

local function plugin(behaviour, ...)
  return { "lua5.4", "spec/support/bad_plugin.lua", behaviour, ... }
end

-- Asserts that `fn` raises, at this line of this file.
local function raises(fn, pattern)
  local ok, message = pcall(fn)
  assert.is_false(ok)
  assert.matches(pattern, message)
end

describe("a host", function()
  local host, entries, check_stock, directory

  local function said(pattern) return logged_host.find(entries, pattern) end

  files.give_each_a_folder(function(path) directory = path end)

  logged_host.start_first()

  before_each(function()
    check_stock = children.stock()
    host, entries = logged_host.open()
  end)

  after_each(function()
    host:stop()
    check_stock()
  end)

  describe("is created", function()
    it("keeps the order of members if it is asked to", function()
    local command = { "lua5.4", "examples/greeter/plugin.lua" }
    local greeter = assert(host:start { command = command, ordered = true })
    assert.matches('^{"name":"greeter","version":"1%.0%.0",.*"operations":{"greet":{"description":',
      core.json.encode(greeter.raw_manifest))
  end)

  it("with known options only", function()
      raises(function() hosts { dialcet = "gevals" } end, 'host_spec.lua:%d+: no option "dialcet"')
      raises(function() hosts { dialect = "gevlas" } end, 'host_spec.lua:%d+: dialect: no dialect "gevlas"')
      raises(function() hosts { verbosity = "loud" } end, "host_spec.lua:%d+: verbosity")
    end)

    it("and raises for wrong options of a plugin, at the line of the caller", function()
      raises(function() host:start {} end, "host_spec.lua:%d+: command")
      raises(function() host:start { command = "ls" } end, "host_spec.lua:%d+: command")
      raises(function() host:start { command = { "ls" }, pol = 1 } end, 'host_spec.lua:%d+: no option "pol"')
      raises(function() host:start { command = { "ls" }, timeout = "soon" } end,
        "host_spec.lua:%d+: timeout")
      raises(function() host:start { command = { "ls" }, restart = { maxx = 1 } } end,
        'host_spec.lua:%d+: restart: no option "maxx"')
      raises(function() host:start { command = { "ls" }, stop_timeouts = { trem = 1 } } end,
        'host_spec.lua:%d+: stop_timeouts: no option "trem"')
    end)
  end)

  describe("starts", function()
    it("a plugin, and stops it when it goes out of scope", function()
      local pid
      do
        local good <close> = assert(host:start { command = plugin "good" })
        assert.equal("bad", good.manifest.name)
        assert.equal("bad_plugin", good.name)
        pid = good:pids()[1]
        assert.truthy(pid)
        assert.is_true(assert(good:execute("go", {})).success)
      end
      assert.is_nil(io.open(("/proc/%d/stat"):format(pid)))
      assert.is_nil(host.plugins.bad_plugin)
    end)

    it("many at once, not one after the other", function()
      local list = {}
      for i = 1, 8 do list[i] = { command = plugin "pid", name = "p" .. i } end
      list[9] = { command = plugin "crash_before", name = "p9" }
      local started, failed = host:start_all(list)
      assert.equal(8, #started)
      assert.same({ code = 3 }, failed.p9.exit)
      assert.is_nil(failed.p1)
    end)

    it("two plugins without a name under different names, and refuses a name that is in use", function()
      local one, two = assert(host:start { command = plugin "good" }), assert(host:start { command = plugin "good" })
      assert.same({ "bad_plugin", "bad_plugin-2" }, { one.name, two.name })
      local third, err = host:start { command = plugin "good", name = "bad_plugin" }
      assert.is_nil(third)
      assert.equal("invalid", err.kind)
    end)

    it("a lazy plugin when it is first used", function()
      local path = directory .. "/lives"
      local lazy = assert(host:start { command = plugin("mortal", path, "1"), lazy = true })
      assert.is_nil(lfs.attributes(path))
      assert.is_nil(lazy.manifest)
      assert.is_true(assert(lazy:execute("go", {})).success)
      assert.equal("x", files.read(path))
      assert.equal("bad", lazy.manifest.name)
    end)

    it("only a file with the right SHA-256", function()
      local path = directory .. "/plugin"
      files.write(path, "#!/bin/sh\nexec lua5.4 spec/support/bad_plugin.lua good\n", "755")
      local sum = children.run { command = { "sha256sum", path } }:match "^%x+"
      assert(host:start { command = { path }, sha256 = sum:upper() }):stop()
      files.write(path, "#!/bin/sh\nexec lua5.4 spec/support/bad_plugin.lua pid\n", "755")
      local started, err = host:start { command = { path }, sha256 = sum }
      assert.is_nil(started)
      assert.equal("invalid", err.kind)
      assert.matches("SHA%-256", err.message)
      assert.is_nil((host:start { command = plugin "good", sha256 = { [path] = sum } }))
    end)

    it("only a file with the right SHA-256 in the directory of the plugin", function()
      local path = directory .. "/script/lua"
      assert(lfs.mkdir(directory .. "/script"))
      files.write(path, "#!/bin/sh\nexit 3\n", "755")
      local sum = children.run { command = { "sha256sum", "script/lua" } }:match "^%x+"
      local _, err = host:start { command = { "script/lua" }, cwd = directory, sha256 = sum }
      assert.equal("invalid", err.kind)
      sum = children.run { command = { "sha256sum", path } }:match "^%x+"
      _, err = host:start { command = { "script/lua" }, cwd = directory, sha256 = sum }
      assert.same({ code = 3 }, err.exit)
    end)

    it("a plugin in its own directory and environment", function()
      local env = { GREETING = "hello", HOME = false }
      local code = 'io.stderr:write(os.getenv "GREETING", " ", tostring(os.getenv "HOME"), "\\n")'
      host:start { command = children.lua(code), env = env, cwd = directory, name = "env" }
      assert.truthy(said "env stderr| hello nil")
    end)
  end)

  describe("runs operations", function()
    it("several at once on one plugin, and returns to each its own answer", function()
      local good = assert(host:start { command = plugin "pid" })
      local calls = {}
      for i = 1, 20 do calls[i] = function() return assert(good:execute("go", {})).message end end
      local results = tasks.all(calls)
      for i = 1, 20 do assert.equal(tostring(good:pids()[1]), results[i]) end
    end)

    it("on the least busy process of a pool", function()
      local pool = assert(host:start { command = plugin "pid", pool = 3 })
      assert.equal(3, #pool:pids())
      local calls, seen = {}, {}
      for i = 1, 3 do calls[i] = function() return assert(pool:execute("go", { sleep = 0.2 })).message end end
      for _, pid in ipairs(tasks.all(calls)) do seen[pid] = true end
      for _, pid in ipairs(pool:pids()) do assert.truthy(seen[tostring(pid)]) end
    end)

    it("and raises for wrong arguments of the call", function()
      local good = assert(host:start { command = plugin "good" })
      raises(function() good:execute() end, "host_spec.lua:%d+: operation")
      raises(function() good:execute("go", 5) end, "host_spec.lua:%d+: args")
      raises(function() good:execute("go", {}, { timout = 1 }) end, 'host_spec.lua:%d+: no option "timout"')
      raises(function() good:execute("go", {}, { timeout = "soon" }) end, "host_spec.lua:%d+: timeout")
    end)

    it("and any other method", function()
      local good = assert(host:start { command = plugin "good" })
      assert.same({ success = true, message = "done" }, good:call("whatever", {}))
      assert.is_true(good:notify("shutdown", {}))
    end)

    it("none after the plugin was stopped", function()
      local good = assert(host:start { command = plugin "good" })
      good:stop()
      local outcome, err = good:execute("go", {})
      assert.is_nil(outcome)
      assert.equal("closed", err.kind)
      good:stop()
    end)
  end)

  describe("supervises plugins:", function()
    local quick = { max = 3, within = 60, backoff = 0.01, jitter = 0 }

    it("restarts a plugin that died, and logs it", function()
      local path = directory .. "/lives"
      local mortal = assert(host:start { command = plugin("mortal", path, "2"), name = "mortal", restart = quick })
      local outcome, err = mortal:execute("go", {})
      assert.is_nil(outcome)
      assert.same({ code = 9 }, err.exit)
      assert.equal("life 2", assert(mortal:execute("go", {})).message)
      assert.truthy(said "error mortal: ended with status 9: life 1 is over")
      assert.truthy(said "restarting in 0.01s")
      assert.truthy(said "restarted")
    end)

    it("runs an idempotent operation again", function()
      local path = directory .. "/lives"
      local mortal = assert(host:start { command = plugin("mortal", path, "3"), restart = quick })
      assert.equal("life 3", assert(mortal:execute("go", {}, { idempotent = true })).message)
    end)

    it("restarts a plugin that runs but has closed its input", function()
      local aloof = assert(host:start { command = plugin("aloof", directory .. "/lives"), name = "aloof",
        restart = quick })
      assert.equal("done", assert(aloof:execute("go", {}, { idempotent = true, timeout = children.patience })).message)
      assert.truthy(said "error aloof: cannot write: Broken pipe")
      assert.truthy(said "restarted")
    end)

    it("gives up when the restart budget is spent, and logs it", function()
      local path = directory .. "/lives"
      local mortal = assert(host:start { command = plugin("mortal", path, "99"), name = "mortal", restart = quick })
      local outcome, err = mortal:execute("go", {}, { idempotent = true })
      assert.is_nil(outcome)
      assert.matches("mortal was given up after 3 restarts within 60s", err.message, 1, true)
      assert.same({ code = 9 }, err.exit)
      assert.equal("xxxx", files.read(path))
      assert.truthy(said "given up after 3 restarts")
      assert.equal(err, select(2, mortal:execute("go", {})))
    end)

    it("does not restart a plugin without `restart`", function()
      local path = directory .. "/lives"
      local mortal = assert(host:start { command = plugin("mortal", path, "2") })
      mortal:execute("go", {})
      local outcome, err = mortal:execute("go", {})
      assert.is_nil(outcome)
      assert.same({ code = 9 }, err.exit)
      assert.equal("x", files.read(path))
    end)
  end)

  describe("discovers plugins in a directory", function()
    local function by_name(found)
      local names = {}
      for _, item in ipairs(found) do names[#names + 1] = item.name end
      return table.concat(names, " ")
    end

    it("and finds programs, and directories with a manifest", function()
      files.write(directory .. "/one.sh", "#!/bin/sh\nexec lua5.4 spec/support/bad_plugin.lua good\n", "755")
      lfs.mkdir(directory .. "/two")
      files.write(directory .. "/two/manifest.json", '{"name":"second","executable":"run"}')
      files.write(directory .. "/two/run", "#!/bin/sh\nexec lua5.4 spec/support/bad_plugin.lua good\n", "755")
      local found, skipped = host:discover(directory)
      assert.equal("one second", by_name(found))
      assert.same({}, skipped)
      local started = host:start_all(found)
      assert.equal(2, #started)
    end)

    it("and reports what it skips, with the reason", function()
      files.write(directory .. "/notes.txt", "not a program")
      files.write(directory .. "/open", "#!/bin/sh\n", "777")
      files.write(directory .. "/.hidden", "#!/bin/sh\n", "755")
      for name, manifest in pairs {
        a = '{"name":"a"', b = '{"executable":5}', c = '{"executable":"../run"}', d = '{"executable":"missing"}',
        e = "[",
      } do
        lfs.mkdir(directory .. "/" .. name)
        files.write(directory .. "/" .. name .. "/manifest.json", manifest)
      end
      lfs.mkdir(directory .. "/empty")
      local found, skipped = host:discover(directory)
      assert.same({}, found)
      local reasons = {}
      for _, item in ipairs(skipped) do reasons[item.path:match "[^/]+$"] = item.reason end
      assert.matches("not executable", reasons["notes.txt"], 1, true)
      assert.matches("is world-writable", reasons.open, 1, true)
      assert.is_nil(reasons[".hidden"])
      assert.matches("line 1, column", reasons.a, 1, true)
      assert.matches("executable: a string expected", reasons.b, 1, true)
      assert.matches("inside the plugin's directory", reasons.c, 1, true)
      assert.matches("missing", reasons.d, 1, true)
      assert.matches("no manifest.json", reasons.empty, 1, true)
      assert.truthy(said "skipped .*notes.txt")
      assert.equal("open", by_name((host:discover(directory, { allow_world_writable = true }))))
    end)

    it("unless it is world-writable or missing", function()
      assert(os.execute(("chmod 777 '%s'"):format(directory)))
      local found, err = host:discover(directory)
      assert.is_nil(found)
      assert.matches("is world-writable", err.message, 1, true)
      assert.is_nil((host:discover(directory .. "/nowhere")))
    end)
  end)

  it("stops all its plugins at once", function()
    local list = {}
    for i = 1, 4 do
      list[i] = { command = plugin "stubborn", name = "p" .. i, stop_timeouts = { request = 1.5, eof = 0, term = 5 } }
    end
    assert.equal(4, #host:start_all(list))
    local started = core.now()
    host:stop()
    assert.truthy(core.now() - started < 4 * 1.5) -- one after the other takes as long
  end)
end)
