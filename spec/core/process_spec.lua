-- A child that runs: its end, signals, its group, closing it.
local core = require "pintle.core"
local children = require "spec.support.children"

local lua, sh, read, run, patience = children.lua, children.sh, children.read, children.run, children.patience

local linux = children.own_pid ~= nil
local no_watch = "the system has no descriptor for the end of a process"

children.leave_nothing()

describe("a child", function()
  it("communicates over pipes", function()
    local process <close> = children.wait_for_end()
    assert.equal(5, process.stdin:write("hello"))
    assert.equal("hello", read(process.stdout, "hello"))
    assert.is_nil(process.stderr)
    process.stdin:close()
    assert.equal("", read(process.stdout))
    assert.equal(0, process:wait(patience))
  end)

  it("has a separate stderr if that is asked for", function()
    local process <close> = assert(core.spawn { command = sh "echo out; echo err >&2", stderr = "pipe" })
    assert.equal("out\n", read(process.stdout))
    assert.equal("err\n", read(process.stderr))
  end)

  it("gets its arguments unchanged, without a shell", function()
    local arguments = { "", " ", "a b", "$HOME", "*", "'", '"', "\\", "\n", "\xff", "é" }
    local said = run { command = { "printf", "%s|", table.unpack(arguments) } }
    assert.equal(table.concat(arguments, "|") .. "|", said)
  end)

  it("has a pid", function()
    local process <close> = assert(core.spawn { command = sh "echo $$" })
    assert.equal(process:pid() .. "\n", read(process.stdout))
    assert.equal(("pintle.process (%d)"):format(process:pid()), tostring(process))
    process:close()
    assert.equal(("pintle.process (%d, ended)"):format(process:pid()), tostring(process))
  end)

  it("rejects calls on other objects", function()
    local process <close> = children.wait_for_end()
    for _, method in ipairs { "pid", "fd", "wait", "kill", "close" } do
      assert.has_error(function() process[method](nil) end)
      assert.has_error(function() process[method](process.stdin) end)
    end
    assert.is_nil(process.nothing)
    assert.is_nil(process[1])
  end)
end)

describe("the end of a child", function()
  it("gives its exit code", function()
    for _, code in ipairs { 0, 1, 7, 127, 255 } do
      local process <close> = assert(core.spawn { command = sh("exit " .. code) })
      assert.same({ code }, { process:wait(patience) })
    end
  end)

  it("gives its signal", function()
    for _, name in ipairs { "KILL", "TERM", "USR1", "HUP" } do
      local process <close> = children.wait_for_end()
      assert.is_true(process:kill(name))
      assert.same({ nil, name }, { process:wait(patience) })
    end
  end)

  it("gives the number of a signal without a name", function()
    local process <close> = assert(core.spawn { command = sh "kill -40 $$" })
    assert.same({ nil, "40" }, { process:wait(patience) })
  end)

  it("can be asked for repeatedly", function()
    local process <close> = assert(core.spawn { command = sh "exit 3" })
    assert.equal(3, process:wait(patience))
    assert.equal(3, process:wait())
    process:close()
    assert.equal(3, process:wait())
    assert.equal(3, process:wait(patience))
  end)

  it("is awaited no longer than the timeout", function()
    local process <close> = children.wait_for_end()
    assert.is_false(process:wait())
    assert.is_false(process:wait(0))
    local start = core.now()
    assert.is_false(process:wait(0.1))
    local took = core.now() - start
    assert.is_true(took >= 0.1 and took < patience)
    for _, wrong in ipairs { -1, 0 / 0, "soon", {} } do
      assert.has_error(function() process:wait(wrong) end)
    end
  end)

  it("ends a wait without a timeout", function()
    local process <close> = assert(core.spawn { command = sh "read line; exit 4" })
    local other <close> = assert(core.spawn { command = sh "sleep 0.05; echo", stdout = process.stdin })
    process.stdin:close()
    assert.equal(4, process:wait(math.huge))
    assert.equal(0, other:wait(patience))
  end)

  it("makes its descriptor readable", function()
    local process <close> = children.wait_for_end()
    if not process:fd() then return pending(no_watch) end
    assert.is_false(core.poll(0, process:fd(), "r"))
    process.stdin:close()
    assert.equal("r", core.poll(patience, process:fd(), "r"))
    assert.equal(0, process:wait())
    process:close()
    assert.is_nil(process:fd())
  end)

  it("is not confused with another child's", function()
    local popen = io.popen("exit 7")
    local seven <close> = assert(core.spawn { command = sh "exit 17" })
    local process <close> = children.wait_for_end()
    assert.equal(17, seven:wait(patience))
    process:close()
    run { command = { "true" } }
    assert.same({ nil, "exit", 7 }, { popen:close() })
  end)

  it("is reported as lost if other code has reaped it", function()
    local interpreter <close> = io.open(core.which("lua5.4"))
    if interpreter:read(2) == "#!" then return pending("lua5.4 is a script, and sh waits for SIGCHLD") end
    local said = run {
      command = {
        "env", "--ignore-signal=CHLD",
        table.unpack(lua [[
          local core = require "pintle.core"
          local p = assert(core.spawn { command = { "cat" } })
          print(p:wait(0))
          p.stdin:close()
          print(select("#", p:wait(30)), select(3, p:wait(30)))
          print(p:kill("KILL"))
          print(p:kill("KILL", true))
          local q = assert(core.spawn { command = { "true" } })
          require "spec.support.children".read(q.stdout)
          local ok, message, kind
          repeat ok, message, kind = q:kill("CONT", true) until not ok
          print(kind)
          print(core.spawn { command = { "/no/such" } })
        ]]),
      },
    }
    assert.matches("^false\n3\tclosed\n"
      .. "nil\tprocess %d+ has already ended\tclosed\n"
      .. "nil\tprocess %d+ has already ended\tclosed\n"
      .. "closed\n"
      .. "nil\tcannot run \"/no/such\": No such file or directory\tspawn\t2\n$", said)
  end)
end)

describe("a signal", function()
  local tree = [[sh -c 'echo ready; exec sleep 1000' & wait]]

  it("is TERM by default", function()
    local process <close> = children.wait_for_end()
    assert.is_true(process:kill())
    assert.same({ nil, "TERM" }, { process:wait(patience) })
  end)

  it("can be given by name", function()
    local process <close> = children.wait_for_end()
    for _, wrong in ipairs { "SIGTERM", "term", "NOPE", "", {} } do
      assert.has_error(function() process:kill(wrong) end)
    end
    assert.error_matches(function() process:kill("NOPE") end, "unknown signal 'NOPE'")
  end)

  it("reaches a grandchild in the group", function()
    local process <close> = assert(core.spawn { command = sh(tree) })
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    assert.is_true(process:kill("KILL", true))
    assert.equal("", read(process.stdout)) -- its last writer is gone
    assert.same({ nil, "KILL" }, { process:wait(patience) })
  end)

  it("reaches the group of a leader that has ended and was not reaped", function()
    local process <close> = assert(core.spawn { command = sh(tree) })
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    process:kill("KILL")
    if not process:fd() then return pending(no_watch) end
    children.await(process:fd())
    assert.is_false(process.stdout:read()) -- the grandchild lives
    assert.is_true(process:kill("TERM", true))
    assert.equal("", read(process.stdout))
  end)

  it("is not sent to a process that was reaped", function()
    local process <close> = assert(core.spawn { command = { "true" } })
    assert.equal(0, process:wait(patience))
    for _, group in ipairs { false, true } do
      local ok, message, kind = process:kill("KILL", group)
      assert.is_nil(ok)
      assert.equal(("process %d has already ended"):format(process:pid()), message)
      assert.equal("closed", kind)
    end
  end)

  it("is not sent to a group that the process does not lead", function()
    local process <close> = children.wait_for_end { group = false }
    assert.error_matches(function() process:kill("KILL", true) end, "the process does not lead a group")
  end)
end)

describe("the child's group", function()
  local function groups(options)
    options.command = { "cat", "/proc/self/stat" }
    local pid, group, session = run(options):match("^(%d+) %(.-%) %a %d+ (%d+) (%d+)")
    return group == pid, session == pid, group, session
  end

  it("is its own, in the host's session", function()
    local leads, leads_session, _, session = groups {}
    assert.is_true(leads)
    assert.is_false(leads_session)
    assert.equal(session, (select(4, groups { group = true })))
  end)

  it("is the host's if that is asked for", function()
    local leads, _, group = groups { group = false }
    assert.is_false(leads)
    assert.equal(group, (select(3, groups { group = false })))
  end)

  it("is in a new session if that is asked for", function()
    local leads, leads_session = groups { group = "session" }
    assert.is_true(leads)
    assert.is_true(leads_session)
  end)
end)

describe("the death of the host", function()
  -- A host with a child that has these options and shares its stdio; both wait.
  local function host(options)
    return assert(core.spawn {
      command = lua(([[
        local p = assert(require "pintle.core".spawn { stdin = "inherit", stdout = "inherit", %s })
        print "ready"
        p:wait(60)
      ]]):format(options)),
    })
  end

  it("kills the child", function()
    if not linux then return pending("the system has no such signal") end
    local process <close> = host [[command = { "sleep", "1000" }]]
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    process:kill("KILL")
    assert.equal("", read(process.stdout))
  end)

  it("can send the child a gentler signal", function()
    if not linux then return pending("the system has no such signal") end
    local process <close> = host [[
      death_signal = "TERM",
      command = { "sh", "-c", "sleep 1000 >&2 & trap 'echo told; kill $!; exit' TERM; echo set; wait" }
    ]]
    local said = read(process.stdout, "\n")
    while not (said:find("ready") and said:find("set")) do said = said .. read(process.stdout, "\n") end
    process:kill("KILL")
    assert.equal("told\n", read(process.stdout))
  end)

  it("can leave the child alone", function()
    local process <close> = host [[death_signal = false, command = { "cat" }]]
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    process:kill("KILL")
    assert.same({ nil, "KILL" }, { process:wait(patience) })
    process.stdin:write("still here")
    assert.equal("still here", read(process.stdout, "here"))
    process.stdin:close()
    assert.equal("", read(process.stdout))
  end)
end)

describe("closing a child", function()
  local stubborn = [[trap "" TERM HUP INT; echo ready; sleep 1000]]

  it("kills and reaps it", function()
    local process = assert(core.spawn { command = sh(stubborn) })
    assert.equal("ready\n", read(process.stdout, "ready\n"))
    local stdout = process.stdout
    process:close()
    assert.is_true(stdout:closed())
    assert.same({ nil, "KILL" }, { process:wait() })
    process:close()
  end)

  it("happens at the end of a block", function()
    local kept
    do
      local process <close> = children.wait_for_end()
      kept = process
    end
    assert.same({ nil, "KILL" }, { kept:wait() })
    assert.is_true(kept.stdin:closed())
  end)

  it("happens when it is collected", function()
    local r, w = core.pipe()
    core.spawn { command = { "sleep", "1000" }, stdout = w }
    w:close()
    collectgarbage()
    assert.equal("", read(r))
    r:close()
  end)

  it("happens at the end of the program", function()
    local said = run {
      command = lua [[
        kept = assert(require "pintle.core".spawn {
          command = { "sleep", "1000" }, stdout = "inherit", death_signal = false
        })
      ]],
    }
    assert.equal("", said)
  end)

  it("kills its group, even if it has ended itself", function()
    local r, w = core.pipe()
    local process = assert(core.spawn { command = sh "sleep 1000 & exit 5", stdout = w })
    w:close()
    local watched = process:fd() ~= nil
    if watched then children.await(process:fd()) end
    process:close()
    assert.equal("", read(r))
    if watched then assert.equal(5, process:wait()) end
    r:close()
  end)
end)

describe("a thousand children", function()
  it("can be spawned and reaped one after the other", function()
    for i = 1, 1000 do
      local process <close> = assert(core.spawn { command = { "true" }, stdin = "null", stdout = "null" })
      if process:wait(patience) ~= 0 then error("the child " .. i .. " failed") end
    end
  end)

  it("can be spawned and reaped at the same time", function()
    for _ = 1, 10 do
      local all = {}
      for i = 1, 100 do all[i] = children.wait_for_end() end
      for i = 1, 100 do all[i].stdin:close() end
      for i = 1, 100 do
        if all[i]:wait(patience) ~= 0 then error("the child " .. i .. " failed") end
        all[i]:close()
      end
    end
  end)

  it("can fail to start and leave nothing behind", function()
    for _ = 1, 1000 do
      if core.spawn { command = { "/no/such" } } then error("it is there") end
    end
  end)
end)
