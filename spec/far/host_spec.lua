-- Plugins that a host starts through the engines, and what it says of ways that lead nowhere.
local children = require "spec.support.children"
local core = require "pintle.core"
local engines = require "spec.support.engines"
local far_plugins = require "spec.support.far_plugins"
local logged_host = require "spec.support.logged_host"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

children.leave_nothing()

local QUICK = { max = 3, within = 60, backoff = 0.01, jitter = 0 }

describe("a host", function()
  local host, entries, marker

  local function said(pattern) return logged_host.find(entries, pattern) end

  before_each(function()
    host, entries = logged_host.open { extensions = true }
    marker = far_plugins.marker()
  end)

  after_each(function() host:stop() end)

  local function start(way, more)
    local given = { command = far_plugins.plain(), name = "plain", via = way, env = marker }
    for name, value in pairs(more or {}) do given[name] = value end
    return host:start(given)
  end

  local function describe_plugins(get_way)
    for _, dialect in ipairs { "gevals", "mcp" } do
      it("calls, cancels and stops a plugin that speaks " .. dialect, function()
        local plain, fractions = assert(start(get_way(), { dialect = dialect })), {}
        local function on_progress(fraction) fractions[#fractions + 1] = fraction end
        local outcome = assert(plain:execute("greet", { name = "Ada" }, { on_progress = on_progress }))
        assert.equal("Hello, Ada", outcome.message)
        assert.same({ 0.5 }, fractions)
        turn_until(function() return said "^info  plain: greeting$" end)
        local waiting = tasks.start(plain.execute, plain, "wait", {}, { on_progress = on_progress })
        turn_until(function() return #fractions == 2 end)
        waiting:cancel "changed my mind"
        local _, err = waiting:await()
        assert.equal("changed my mind", err.message)
        turn_until(function() return said "stderr| cancelled %d+$" end)
        assert.is_true(far_plugins.is_running(marker))
        plain:stop()
        far_plugins.await_end(marker)
      end)
    end

    it("reports how a plugin has ended, and starts it again", function()
      local plain = assert(start(get_way(), { restart = QUICK }))
      local _, err = plain:execute "crash"
      assert.same({ "closed", "plain ended with status 5: plain: a bad day", { code = 5 }, "plain: a bad day" },
        { err.kind, err.message, err.exit, err.stderr[#err.stderr] })
      assert.equal("Hello, Ada", assert(plain:execute("greet", { name = "Ada" })).message)
    end)

    it("stops a plugin that ignores its end of input and SIGTERM", function()
      local code = far_plugins.plain()
      code[3] = code[3] .. "\nos.execute [[trap '' TERM; sleep 1000 & wait; sleep 1000]]"
      local quickly = { request = 0.1, eof = 0.1, term = 0.1 }
      local plain = assert(start(get_way(), { command = code, stop_timeouts = quickly }))
      assert.is_true(plain:execute("greet", { name = "Ada" }).success)
      plain:stop()
      assert.is_false(far_plugins.is_running(marker))
    end)
  end

  describe("without a client", function()
    describe_plugins(function() return {} end)

    it("does not name its process and its directory to a language server", function()
      local code = [[local pintle = require "pintle"
        local function capabilities(client)
          return { experimental = { client.processId == pintle.null, client.rootUri } }
        end
        pintle.plugin { name = "p", version = "1.0.0", dialects = { lsp = { capabilities = capabilities } } }:serve()]]
      local command = { far_plugins.shared("script/lua")[2], "-e", code }
      local server = assert(start({}, { command = command, dialect = "lsp" }))
      assert.same({ true, core.json.null }, server.raw_manifest.capabilities.experimental)
      server = assert(start({}, { command = command, dialect = "lsp", cwd = "/usr", name = "other" }))
      assert.same({ true, "file:///usr" }, server.raw_manifest.capabilities.experimental)
    end)
  end)

  -- A way that leads nowhere, and the complaint of its client.
  local NOWHERE = {
    sshd = { { ssh = "unknown.invalid" }, "Could not resolve hostname" },
    slurm = { { slurm = { partition = "other" } }, "Invalid partition name specified" },
    docker = { { docker = "other" }, "No such container: other" },
    podman = { { podman = "other" }, "no container with name or ID \"other\" found" },
    kubectl = { { kubernetes = "other" }, 'pods "other" not found' },
  }

  for _, name in ipairs { "sshd", "slurm", "docker", "podman", "kubectl" } do
    describe("via " .. name, function()
      local get = engines.shared(name)
      describe_plugins(function() return far_plugins.way(name, get()) end)

      it("names what is wrong with a way that leads nowhere", function()
        local way, complaint = table.unpack(NOWHERE[name])
        way.env = get().env
        local plain, err = start(way)
        assert.is_nil(plain)
        assert.equal("spawn", err.kind)
        assert.is_truthy(err.message:find(complaint, 1, true), err.message)
      end)
    end)
  end

  describe("via slurm, whose job waits in the queue", function()
    local get = engines.shared "slurm"

    local function way(connect_timeout)
      return { slurm = { options = { "--begin=now+1hour" } }, env = get().env, connect_timeout = connect_timeout }
    end

    local function await_jobs(count)
      turn_until(function() return #get():jobs() == count end)
    end

    it("removes the job when it is stopped", function()
      local starting = tasks.start(start, way())
      await_jobs(1)
      host:stop()
      assert.equal("closed", select(2, starting:await()).kind)
      await_jobs(0)
    end)

    it("removes the job when it has waited too long", function()
      local plain, err = start(way "2s")
      assert.is_nil(plain)
      assert.matches("^plain cannot be started: slurm: no connection in 2 seconds", err.message)
      await_jobs(0)
    end)

    it("removes the job when it is killed", function()
      local code = [[require("pintle").host { log = false }:start {
        command = { "lua5.4" }, via = { slurm = { options = { "--begin=now+1hour" } } } }]]
      local doomed <close> = assert(core.spawn { command = children.lua(code), env = get().env, stderr = "null" })
      await_jobs(1)
      doomed:kill "KILL"
      await_jobs(0)
    end)
  end)

  describe("via ssh", function()
    local get = engines.shared "sshd"

    local function way(more)
      local given = far_plugins.way("sshd", get())
      for field, value in pairs(more or {}) do given[field] = value end
      return given
    end

    local function at_host(name) return way { ssh = { host = name, config = get().config } } end

    it("starts a plugin made with pintle", function()
      local greeter = assert(start(way(), { command = far_plugins.shared "examples/greeter/plugin.lua" }))
      assert.equal("Hello, Ada", assert(greeter:execute("greet", { name = "Ada" })).message)
    end)

    it("starts a plugin with its environment and directory", function()
      local env = { PINTLE_FAR_PLUGIN = marker.PINTLE_FAR_PLUGIN, PATH = false, WORD = "a 'b' $c" }
      local plain = assert(start(way(), { env = env, cwd = "/usr" }))
      assert.equal(env.WORD, plain:execute("where", { variable = "WORD" }).message)
      assert.equal("", plain:execute("where", { variable = "PATH" }).message)
      assert.equal("/usr", plain:execute("where", { variable = "PWD" }).message)
    end)

    it("does not look for requirements in the PATH of this machine", function()
      local code = [[local pintle = require "pintle"
        pintle.plugin { name = "needy", version = "1.0.0", requires = { { command = "no-such-program" } } }:serve()]]
      local root = far_plugins.shared("script/lua")[2]
      assert(start(way(), { command = { root, "-e", code }, dialect = "gevals" }))
      assert.is_nil(said "no%-such%-program, which is not in the PATH")
    end)

    it("tells an operation to work in its own directory", function()
      local code = [[local pintle = require "pintle"
        local plugin = pintle.plugin { name = "p", version = "1.0.0" }
        plugin:operation("dir", {}, function(_, ctx) return ctx.workdir end)
        plugin:serve()]]
      local root = far_plugins.shared("script/lua")[2]
      local p = assert(start(way(), { command = { root, "-e", code } }))
      assert.equal(".", p:execute("dir").message)
      assert.equal("sub", p:execute("dir", {}, { workdir = "sub" }).message)
      p = assert(start(way(), { command = { root, "-e", code }, cwd = "/usr", name = "other" }))
      assert.equal("/usr", p:execute("dir").message)
    end)

    it("ends calls in time", function()
      local plain = assert(start(way()))
      local _, err = plain:execute("wait", {}, { timeout = 0.1 })
      assert.equal("timeout", err.kind)
    end)

    it("starts a plugin again after the link was cut", function()
      local link <close> = assert(get():link())
      local plain = assert(start(at_host(link.host), { restart = QUICK }))
      local has_begun = false
      local waiting = tasks.start(plain.execute, plain, "wait", {}, { on_progress = function() has_begun = true end })
      turn_until(function() return has_begun end)
      link:cut()
      local _, err = waiting:await()
      assert.same({ "closed", nil }, { err.kind, err.exit })
      assert.matches("^plain was lost: ssh link%d+: the connection has ended: ssh ended with exit code 255$",
        err.message)
      assert.equal("Hello, Ada", assert(plain:execute("greet", { name = "Ada" })).message)
      assert.is_truthy(said "plain: restarted via ssh link%d+$")
      plain:stop()
      far_plugins.await_end(marker)
    end)

    it("gives up a plugin whose budget is spent", function()
      local link <close> = assert(get():link())
      local plain = assert(start(at_host(link.host), { restart = QUICK }))
      link:close()
      turn_until(function() return said "given up" end)
      local _, err = plain:execute("greet", { name = "Ada" })
      assert.matches("^plain was given up after 3 restarts within 60s: plain cannot be started: ssh link%d+: ",
        err.message)
      assert.matches("Connection refused", err.message)
    end)

    for name, complaint in pairs {
      refused = "Connection refused", denied = "Permission denied", unknown = "Could not resolve hostname",
      stranger = "Host key verification failed",
    } do
      it("names what is wrong with a host: " .. complaint, function()
        local plain, err = start(at_host(name))
        assert.is_nil(plain)
        assert.equal("spawn", err.kind)
        assert.matches("^plain cannot be started: ssh " .. name .. ": ", err.message)
        assert.matches(complaint, err.message)
      end)
    end

    it("names what is missing there", function()
      for message, more in pairs {
        ["there is no Lua 5.3 or newer"] = { via = way { lua = "no-such-lua" } },
        ['cannot run "no-such-program": No such file or directory'] = { command = { "no-such-program", "x" } },
        ['cannot run "/etc/passwd": Permission denied'] = { command = { "/etc/passwd" } },
        ['cannot enter "/no/such/directory"'] = { cwd = "/no/such/directory" },
      } do
        local plain, err = start(way(), more)
        assert.is_nil(plain)
        assert.same({ "spawn", "plain cannot be started: ssh node: " .. message }, { err.kind, err.message })
      end
    end)

    it("does not count the time of the way as time of the handshake", function()
      local slow = { "sh", "-c", 'sleep 0.5; exec "$@"', "sh" }
      assert(start(slow, { handshake_timeout = 0.4 }))
    end)

    it("gives up a way that leads nowhere in time", function()
      local plain, err = start { "sh", "-c", "sleep 1000", connect_timeout = 0.2 }
      assert.is_nil(plain)
      assert.same({ "spawn", "plain cannot be started: sh -c sleep 1000: no connection in 0.2 seconds" },
        { err.kind, err.message })
    end)

    it("stops a plugin whose connection is not there yet", function()
      local starting = tasks.start(start, { "sh", "-c", "sleep 1000", env = marker })
      turn_until(function() return far_plugins.is_running(marker) end)
      host:stop()
      local plain, err = starting:await()
      assert.is_nil(plain)
      assert.equal("closed", err.kind)
    end)
  end)

end)
