local children = require "spec.support.children"
local logger = require "pintle.host.log"

local function gather(verbosity)
  local entries = {}
  return logger.new(function(entry) entries[#entries + 1] = entry end, verbosity), entries
end

local function say(log, level, message, fields)
  fields = fields or {}
  log:add(fields.plugin or "greeter", fields.source or "log", level, message, fields.data)
end

describe("the logger of a host", function()
  it("passes on entries of the verbosity and above", function()
    local levels = { "debug", "info", "warn", "error" }
    for rank, verbosity in ipairs { "debug", "info", "warn", "error", "silent" } do
      local log, entries = gather(verbosity)
      for _, level in ipairs(levels) do say(log, level, level) end
      assert.equal(5 - rank, #entries)
    end
  end)

  it("makes entries with level, plugin, source, message, data and time, which print as a line", function()
    local log, entries = gather "info"
    say(log, "info", "greeting", { data = { name = "Ada" } })
    local entry = entries[1]
    assert.same({ "info", "greeter", "log", "greeting" }, { entry.level, entry.plugin, entry.source, entry.message })
    assert.same({ name = "Ada" }, entry.data)
    assert.near(os.time(), entry.time, 60)
    assert.equal('info  greeter: greeting {"name":"Ada"}', tostring(entry))
  end)

  it("marks lines of stderr and output that is no message", function()
    local log, entries = gather "info"
    say(log, "info", "oops", { source = "stderr" })
    say(log, "warn", "not JSON", { source = "stdout" })
    assert.equal("info  greeter stderr| oops", tostring(entries[1]))
    assert.equal("warn  greeter stdout| not JSON", tostring(entries[2]))
  end)

  it("treats an unknown level as info", function()
    local log, entries = gather "debug"
    say(log, "fatal", "x")
    assert.equal("info", entries[1].level)
  end)

  it("removes control characters", function()
    local log, entries = gather "info"
    say(log, "info", "\27[2Jgone\r\n\u{9B}31m", { data = { x = "\27[31m" }, plugin = "\27[1mgreeter" })
    assert.is_nil(tostring(entries[1]):find "[\27\r\n]")
    assert.is_nil(tostring(entries[1]):find("\u{9B}", 1, true))
    say(log, "info", "\u{202A}a\u{202E}\u{2066}b\u{2069}\u{200E}c\u{200F}\u{61C} \u{2013}\u{2065}\u{61B}")
    assert.equal("info  greeter: ?a??b??c?? \u{2013}\u{2065}\u{61B}", tostring(entries[2]))
    assert.matches("gone", tostring(entries[1]), 1, true)
  end)

  it("cuts long data", function()
    local log, entries = gather "info"
    say(log, "info", "x", { data = ("y"):rep(100000) })
    assert.truthy(#tostring(entries[1]) < 3000)
  end)

  it("survives a log function that raises", function()
    local log = logger.new(function() error "full" end, "info")
    assert.has_no_error(function() say(log, "info", "x") end)
  end)

  local TOUR = [[
    local log = require "pintle.host.log".new(nil, "info")
    log:add("greeter", "log", "warn", "careful", { n = 1 })
    if log.has_bar then log.terminal.progress("greeter", "greet", 0.5, "half") end
    log:add("greeter", "log", "info", "go on")
    if log.has_bar then log.terminal.progress("greeter", "greet", 1) end
  ]]

  it("prints plain lines and no bar without a terminal", function()
    local text = children.run { command = { "sh", "-c", 'exec lua5.4 -e "$1" 2>&1', "sh", TOUR } }
    assert.equal('warn  greeter: careful {"n":1}\ninfo  greeter: go on\n', text)
  end)

  it("prints colours and a bar on a terminal", function()
    local command = ("lua5.4 -e '%s'"):format(TOUR)
    local text = children.run {
      command = { "script", "-qec", command, "/dev/null" },
      env = { TERM = "xterm", NO_COLOR = false, SHELL = "/bin/sh" },
    }
    assert.matches("\27%[33mwarn", text)
    assert.matches("greeter greet [############............]  50% half", text, 1, true)
    assert.matches("greeter greet [########################] 100%", text, 1, true)
  end)

  it("removes the bar, also a full one, and cuts it to the width of the terminal", function()
    local code = [[
      local log = require "pintle.host.log".new(nil, "info")
      if log.has_bar then log.terminal.progress("greeter", "greet", 1e300, ("\u{E4}"):rep(500)) end
      if log.has_bar then log.terminal.progress("greeter", "greet", -1, "\27[2J") end
      if log.has_bar then log.terminal.progress("server", ("z"):rep(99), 0.5) end
      log.terminal.clear()
      log.terminal.clear()
    ]]
    local text = children.run {
      command = { "script", "-qec", ("stty cols 60; lua5.4 -e '%s'"):format(code), "/dev/null" },
      env = { TERM = "xterm", SHELL = "/bin/sh" },
    }
    local full, empty, long, rest = text:match(("^" .. ("\r\27%[K([^\r]*)"):rep(3) .. "\r\27%[K(.*)$"))
    assert.equal(59, utf8.len(full))
    assert.equal("greeter greet [........................]   0% ?[2J", empty)
    assert.equal("server zzzzzzzzzzzzzzzzzzzz [############............]  50%", long)
    assert.equal("", rest)
  end)

  it("shows a bar while the operation runs", function()
    local code = [[
      local host = require "pintle.host" { extensions = true }
      local chatty <close> = assert(host:start { command = { "lua5.4", "spec/support/plugins/chatty.lua" } })
      assert(chatty:execute "give_up")
      print "done"
    ]]
    local text = children.run {
      command = { "script", "-qec", ("lua5.4 -e '%s'"):format(code), "/dev/null" },
      env = { TERM = "xterm", SHELL = "/bin/sh" },
    }
    assert.equal("\r\27[Kchatty give_up [############............]  50%\r\27[Kdone\r\n", text)
  end)

  it("prints no bar and no colours on a dumb terminal", function()
    local command = ("TERM=dumb lua5.4 -e '%s'"):format(TOUR)
    local text = children.run {
      command = { "script", "-qec", command, "/dev/null" }, env = { NO_COLOR = "1", SHELL = "/bin/sh" },
    }
    assert.equal('warn  greeter: careful {"n":1}\r\ninfo  greeter: go on\r\n', text)
    assert.equal(text, (children.run {
      command = { "script", "-qec", command, "/dev/null" }, env = { NO_COLOR = false, SHELL = "/bin/sh" },
    }))
  end)

  it("prints no colours with NO_COLOR", function()
    local command = ("lua5.4 -e '%s'"):format(TOUR)
    local text = children.run {
      command = { "script", "-qec", command, "/dev/null" }, env = { NO_COLOR = "1", SHELL = "/bin/sh" },
    }
    assert.is_nil(text:find "\27%[33m")
  end)
end)
