-- Nothing is left at the far end, whatever ends or is cut, and nobody waits without an end.
local children = require "spec.support.children"
local core = require "pintle.core"
local engines = require "spec.support.engines"
local files = require "spec.support.files"
local link = require "spec.support.engines.link"
local pintle = require "pintle"
local processes = require "spec.support.processes"
local trials = require "spec.support.trials"
local via = require "pintle.via"

pintle.sleep(0) -- from now on, the loop has its descriptors
children.leave_nothing()

local STOP_TIMEOUTS = { eof = 0.3, term = 0.3, kill = 5 }

local count = 0

-- Starts a program by a way; to this machine if there are no words. `relay.mark` is in the environment of the program,
-- and so is `relay.lua` in that of the lead.
local function start(words, code, options)
  count = count + 1
  local mark = ("ending-%d-%d."):format(core.getpid(), count)
  local given = { keepalive = 0.5, connect_timeout = 20 }
  for i, word in ipairs(words or {}) do given[i] = word end
  for name, value in pairs(options or {}) do given[name] = value end
  local way = assert(via.check(given))
  local relay = assert(core.spawn(assert(via.relay(way, {
    command = { "sh", "-c", code }, env = { PINTLE_ENDING = mark }, stderr = "pipe",
  }, STOP_TIMEOUTS))))
  return relay, mark
end

local function wait_for(is_true)
  local deadline = core.now() + children.patience
  while not is_true() do
    assert(core.now() < deadline, "not in time")
    core.poll(0.01)
  end
end

-- The relay has the mark in its settings.
local function assert_gone(relay, mark)
  wait_for(function() return #processes.marked(mark, relay:pid()) == 0 end)
end

-- The processes of the lead on this machine, by role.
local function lead_processes(relay)
  local roles = {}
  local function look(pid)
    for _, child in ipairs(link.children(pid)) do
      local command = (processes.read(child, "cmdline") or ""):gsub("%z", " ")
      local role = command:match "/dev/null (%l+) $"
      if role then roles[role] = child end
      look(child)
    end
  end
  look(relay:pid())
  return roles
end

local DEAF = "trap '' TERM HUP INT; trap 'echo here' USR1; echo on; while :; do sleep 0.05; done"

describe("the end of the far end", function()
  for _, role in ipairs { "read", "pump", "run", "watch", "tell" } do
    it("ends all when the process " .. role .. " of the lead is killed", function()
      local relay <close>, mark = start(nil, DEAF)
      children.read(relay.stdout, "on\n")
      relay:kill "USR1"
      children.read(relay.stdout, "here\n") -- the lead knows the program
      wait_for(function() return lead_processes(relay)[role] end)
      local roles = lead_processes(relay)
      link.signal("KILL", { roles[role] })
      assert.equal("", children.read(relay.stdout))
      local complaint = children.read(relay.stderr)
      local code, signal = relay:wait(children.patience)
      assert.is_true(code == 255 or signal == "KILL", complaint) -- KILL if that could be seen
      assert_gone(relay, mark)
      for name, pid in pairs(roles) do
        wait_for(function() return not core.alive(pid) end)
        assert.is_string(name)
      end
    end)
  end

  it("kills what the program has started, and does not wait for it", function()
    local relay <close>, mark = start(nil, "sleep 1000 & echo on; exit 3")
    assert.equal("on\n", children.read(relay.stdout))
    assert.equal(3, relay:wait(children.patience))
    assert_gone(relay, mark)
  end)

  it("takes the stop steps when the relay is killed", function()
    local relay <close>, mark = start(nil, DEAF)
    children.read(relay.stdout, "on\n")
    relay:kill "KILL"
    relay:wait(children.patience)
    assert_gone(relay, mark)
  end)

  it("closes the input first, then sends SIGTERM", function()
    local name = os.tmpname()
    local relay <close>, mark = start(nil, ([[
      trap 'echo term >> %s; exit' TERM
      echo on; exec 2> /dev/null; cat > /dev/null; echo eof >> %s; while :; do sleep 0.01; done]]):format(name, name))
    children.read(relay.stdout, "on\n")
    relay:kill "KILL"
    relay:wait(children.patience)
    assert_gone(relay, mark)
    assert.equal("eof\nterm\n", files.read(name))
    os.remove(name)
  end)

  it("ends the program when the near end is stopped", function()
    local relay <close>, mark = start({ "sh", "-c", '"$@"', "sh" }, DEAF)
    children.read(relay.stdout, "on\n")
    relay:kill "STOP"
    assert_gone(relay, mark)
    relay:kill "CONT"
    children.read(relay.stdout)
    local code, signal = relay:wait(children.patience)
    assert.is_true(code == 255 or signal == "KILL")
  end)

  it("lives on when the near end is stopped for a shorter time", function()
    local relay <close> = start(nil, "echo on; cat", { keepalive = 1.5 })
    children.read(relay.stdout, "on\n")
    relay:kill "STOP"
    core.poll(1.5)
    relay:kill "CONT"
    relay.stdin:write "x"
    assert.equal("x", children.read(relay.stdout, "x"))
  end)
end)

describe("a signal", function()
  it("ends the relay before there is a connection", function()
    local relay <close> = start({ "sh", "-c", "echo waiting; exec sleep 1000", "sh" }, "cat")
    children.read(relay.stdout, "waiting\n")
    relay:kill "TERM"
    local code, signal = relay:wait(children.patience)
    assert.is_nil(code)
    assert.equal("TERM", signal)
  end)

  it("lets the client undo what it has done", function()
    local client = "trap 'echo undone; exit' TERM; echo on; while :; do sleep 0.05; done"
    local relay <close> = start({ "sh", "-c", client, "sh" }, "cat")
    children.read(relay.stdout, "on\n")
    relay:kill "INT"
    assert.equal("undone\n", children.read(relay.stdout))
    local _, signal = relay:wait(children.patience)
    assert.equal("INT", signal)
  end)

  it("ends the program at any moment of its start", function()
    for i = 1, 12 do
      local relay <close>, mark = start(nil, "exec sleep 1000")
      core.poll(i * 0.008)
      relay:kill "TERM"
      local _, signal = relay:wait(children.patience)
      assert.equal("TERM", signal)
      assert_gone(relay, mark)
    end
  end)

  it("reaches the program twice", function()
    local relay <close> = start(nil, [[
      n=0; trap 'n=$((n + 1)); echo $n; [ $n -lt 2 ] || exit 9' USR1
      echo on; while :; do sleep 0.01; done]])
    children.read(relay.stdout, "on\n")
    relay:kill "USR1"
    children.read(relay.stdout, "1\n")
    relay:kill "USR1"
    assert.equal("2\n", children.read(relay.stdout))
    assert.equal(9, relay:wait(children.patience))
  end)
end)

describe("a link", function()
  local get = engines.shared "sshd"

  local function start_behind(way, code, options)
    local engine = get()
    return start({ "ssh", "-F", engine.config, "-T", "-o", "BatchMode=yes", way.host }, code, options)
  end

  it("that is cut ends the relay at once, and the program", function()
    local way <close> = assert(get():link())
    local relay <close>, mark = start_behind(way, DEAF)
    children.read(relay.stdout, "on\n")
    way:cut()
    assert.matches("the connection has ended: ssh ended with exit code 255\n$", children.read(relay.stderr))
    assert.equal(255, relay:wait(children.patience))
    assert_gone(relay, mark)
  end)

  it("that is stopped ends both", function()
    local way <close> = assert(get():link())
    local relay <close>, mark = start_behind(way, DEAF)
    children.read(relay.stdout, "on\n")
    way:stop()
    assert.matches("no answer in 2 seconds\n$", children.read(relay.stderr))
    assert.equal(255, relay:wait(children.patience))
    assert_gone(relay, mark)
  end)

  it("that is stopped for a while does no harm", function()
    local way <close> = assert(get():link())
    local relay <close> = start_behind(way, "echo on; cat", { keepalive = 2 })
    children.read(relay.stdout, "on\n")
    way:stop()
    core.poll(2)
    way:continue()
    relay.stdin:write "x"
    assert.equal("x", children.read(relay.stdout, "x"))
  end)

  it("that is stopped at the beginning is given up", function()
    local way <close> = assert(get():link())
    way:stop()
    local relay <close> = start_behind(way, "cat", { connect_timeout = 0.5 })
    assert.matches("no connection in 0.5 seconds\n$", children.read(relay.stderr))
    assert.equal(255, relay:wait(children.patience))
  end)

  it("that is cut at some moment leaves nothing, in 24 trials with the seed 20", function()
    get()
    local engine, reason = trials.engine()
    if not engine then return pending(reason) end
    local list, problems, workers, taken = trials.list(24, 20), {}, {}, 0
    local function work()
      while taken < #list do
        taken = taken + 1
        problems[#problems + 1] = trials.try(engine, list[taken])
      end
    end
    for i = 1, 12 do workers[i] = pintle.task(work) end
    assert(pintle.all(workers))
    engine:close()
    assert.equal("", table.concat(problems, "\n"))
  end)
end)

-- Starts a program whose lead has the mark in its environment, too.
local function start_marked(engine, prefix)
  local given = { env = { PINTLE_ENDING = "" } }
  for name, value in pairs(engine.env) do given.env[name] = value end
  given.env.PINTLE_ENDING = ("lead-%d-%d."):format(core.getpid(), count)
  for i, word in ipairs(prefix) do prefix[i] = word:gsub("MARK", given.env.PINTLE_ENDING) end
  local relay, mark = start(prefix, DEAF, given)
  children.read(relay.stdout, "on\n")
  return relay, mark, given.env.PINTLE_ENDING
end

local PREFIXES = {
  slurm = function(engine) return { table.unpack(engine.prefix) } end,
  docker = function(engine) return { "docker", "exec", "-i", "-e", "PINTLE_ENDING=MARK", engine.container } end,
  podman = function(engine) return { "podman", "exec", "-i", "-e", "PINTLE_ENDING=MARK", engine.container } end,
}

for name, prefix in pairs(PREFIXES) do
  describe("the end via " .. name, function()
    local get = engines.shared(name)

    for what, kill in pairs {
      client = function(relay) link.signal("KILL", link.children(relay:pid())) end,
      relay = function(relay) relay:kill "KILL" end,
    } do
      it("leaves nothing when the " .. what .. " is killed", function()
        local relay <close>, mark, lead_mark = start_marked(get(), prefix(get()))
        kill(relay)
        local code, signal = relay:wait(children.patience)
        assert.is_true(code == 255 or signal == "KILL")
        assert_gone(relay, mark)
        wait_for(function() return #processes.marked(lead_mark) == 0 end)
      end)
    end
  end)
end

for _, name in ipairs { "docker", "podman" } do
  describe("a container of " .. name .. " without an init", function()
    local get = engines.shared(name)

    it("has no zombie after programs have ended", function()
      local engine = get()
      for i = 1, 3 do
        local relay <close> = start(engine.prefix, "echo on; exec cat", { env = engine.env, keepalive = 0.1 })
        children.read(relay.stdout, "on\n")
        core.poll(0.3) -- some messages of the keepalive
        if i == 3 then relay:kill "KILL" else relay.stdin:close() end
        relay:wait(children.patience)
      end
      local code = [[local n = 0
        for pid = 1, 2000 do
          local file = io.open("/proc/" .. pid .. "/stat")
          if file and file:read "l":find "%) Z" then n = n + 1 end
        end
        io.write(n)]]
      wait_for(function() return engine:run("exec", engine.container, "lua5.4", "-e", code) == "0" end)
    end)
  end)
end

describe("the end via kubectl", function()
  local get = engines.shared "kubectl"

  it("is not taken for success when the connection is lost", function()
    local engine = get()
    local relay <close>, mark = start(engine.prefix, DEAF, { env = engine.env })
    children.read(relay.stdout, "on\n")
    engine:cut(link.children(relay:pid())[1])
    assert.matches("the connection has ended: %S+ ended with exit code 0\n$", children.read(relay.stderr))
    assert.equal(255, relay:wait(children.patience))
    assert_gone(relay, mark)
  end)

  it("has nothing of kubectl in the program's stderr", function()
    local engine = get()
    local relay <close> = start(engine.prefix, "exit 3", { env = engine.env })
    assert.equal("", children.read(relay.stderr))
    assert.equal(3, relay:wait(children.patience))
  end)
end)

describe("a job of Slurm", function()
  local get = engines.shared "slurm"

  local function jobs() return #get():jobs() end

  for signal, what in pairs { TERM = "ended", KILL = "killed" } do
    it("that waits in the queue leaves it when the relay is " .. what, function()
      local engine = get()
      wait_for(function() return jobs() == 0 end)
      local prefix = { table.unpack(engine.prefix) }
      prefix[#prefix + 1] = "--exclusive"
      local holder <close> = start(prefix, "echo on; cat", { env = engine.env })
      children.read(holder.stdout, "on\n")
      local relay <close> = start(prefix, "cat", { env = engine.env, keepalive = 0.1 })
      wait_for(function() return jobs() == 2 end)
      relay:kill(signal)
      relay:wait(children.patience)
      wait_for(function() return jobs() == 1 end)
      holder.stdin:close()
      assert.equal(0, holder:wait(children.patience))
    end)
  end
end)
