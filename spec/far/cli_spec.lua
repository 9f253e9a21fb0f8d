-- The command with `--via`, through the engines, and `pintle lead`, which carries bytes for any other engine.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local engines = require "spec.support.engines"
local far_plugins = require "spec.support.far_plugins"
local files = require "spec.support.files"

local json = core.json
children.leave_nothing()

local PLAIN = far_plugins.plain()

-- The words that run a plugin with this variable in its environment.
local function marked(marker, command)
  return cli.words("env", "PINTLE_FAR_PLUGIN=" .. marker.PINTLE_FAR_PLUGIN, command)
end

describe("pintle --via", function()
  it("names the form that a way has", function()
    for way, complaint in pairs {
      ["shh:node7"] = 'no way "shh:node7"; did you mean ssh:node7?',
      dokcer = 'no way "dokcer"; did you mean docker?',
      ["ssh"] = "ssh:HOST expected",
      ["kubernetes:"] = "kubernetes:POD[/CONTAINER] expected",
      node7 = 'no way "node7"; there are ssh:HOST, slurm[:PARTITION], docker:NAME, podman:NAME, '
        .. "kubernetes:POD[/CONTAINER], a JSON object, and the words of a client",
      ['{"ssh":{"hots":"node7"}}'] = 'ssh: no field "hots"; there are config, host, options, port, user',
      ['{"ssh":'] = "not JSON: unfinished value at line 1, column 8",
    } do
      local output, err, status = cli.run { "call", "--via", way, "cat", "--", "greet" }
      assert.same({ "", 64 }, { output, status })
      assert.equal("pintle: --via: " .. complaint, err:match "^[^\n]*")
    end
  end)

  it("refuses what is for programs of this machine", function()
    local _, err, status = cli.run { "inspect", "--via", "ssh:node7", "--sandbox", "strict", "cat" }
    assert.equal(64, status)
    assert.matches("^pintle: option '%-%-%a+' can not be used together with option '%-%-%a+'\n", err)
    assert.same({ "", "pintle: --via is for a program: pintle run --via WAY -- CMD…\n", 64 },
      cli.outcome { "run", "--via", "ssh:node7", "examples" })
  end)

  it("names what is wrong with a way that leads nowhere", function()
    local complaint = "lua5.4 cannot be started: sh -c true: the connection has ended: sh ended with exit code 0"
    local words = cli.words("call", "--via", '["sh","-c","true"]', PLAIN, "--", "greet")
    assert.same({ "", "pintle: " .. complaint .. "\n", 2 }, cli.outcome(words))
  end)

  it("waits for a way that takes longer than a plugin may take to start", function()
    local way = json.encode { "sh", "-c", 'sleep 1; exec "$@"', "sh" }
    assert.same({ "Hello, Ada\n", "", 0 }, cli.outcome(cli.words("call", "--log", "silent", "--start-timeout", "0.8",
      "--via", way, PLAIN, "--", "greet", "name=Ada")))
  end)

  -- Words for an engine, and its options as JSON.
  local FORMS = {
    slurm = "slurm:main", docker = "docker:node", podman = "podman:node", kubectl = "kubernetes:node/side",
  }

  for _, name in ipairs { "sshd", "slurm", "docker", "podman", "kubectl" } do
    it("calls an operation through " .. name, function()
      local engine <close>, reason = engines[name]()
      if not engine then return pending(reason) end
      local marker = far_plugins.marker()
      local way = FORMS[name] or json.encode { ssh = { host = "node", config = engine.config } }
      assert.same({ "Hello, Ada\n", "info  plain: greeting\n", 0 }, cli.outcome(
        cli.words("call", "-d", "gevals", "--via", way, marked(marker, PLAIN), "--", "greet", "name=Ada"),
        { env = engine.env }))
      far_plugins.await_end(marker)
    end)
  end

  describe("ssh", function()
    local get, way, marker = engines.shared "sshd", nil, nil

    -- Skipped without ssh, which `before_each` cannot do.
    local function it_over_ssh(title, test)
      it(title, function()
        way = json.encode { ssh = { host = "node", config = get().config } }
        marker = far_plugins.marker()
        test()
        far_plugins.await_end(marker)
      end)
    end

    local function run(subcommand, ...) return cli.run(cli.words(subcommand, "--via", way, ...)) end

    it_over_ssh("takes the words of a client", function()
      local words = table.concat(get().prefix, " ")
      assert.equal("Hello, Ada\n", (cli.run(cli.words("call", "--log", "silent", "--via", words, marked(marker, PLAIN),
        "--", "greet", "name=Ada"))))
    end)

    for dialect, path in pairs {
      gevals = "examples/greeter/plugin.lua", mcp = "spec/support/plugins/catalog.lua",
      lsp = "spec/support/plugins/language.lua",
    } do
      it_over_ssh("recognises a plugin that speaks " .. dialect, function()
        local output, err, status = run("inspect", "--json", marked(marker, far_plugins.shared(path)))
        assert.same({ "", 0 }, { err, status })
        assert.equal(dialect, json.decode(output).dialect)
      end)
    end

    it_over_ssh("names what the far end does not have", function()
      local output, err, status = run("inspect", "no-such-program", "x")
      assert.same({ "", 2 }, { output, status })
      assert.equal("pintle: no-such-program cannot be started: ssh node: cannot run \"no-such-program\": "
        .. "No such file or directory\n", err)
    end)

    it_over_ssh("measures", function()
      local output, _, status = run("bench", "--json", "-n", "5", "-d", "gevals", marked(marker, PLAIN), "--", "greet")
      assert.equal(0, status)
      assert.equal(5, json.decode(output).calls)
    end)

    it_over_ssh("checks", function()
      local output, err, status = run("check", "-d", "gevals", "--only", "one-shot", "--only", "handshake",
        "--only", "stdout", "--run", "greet", "--args", '{"name":"Ada"}',
        marked(marker, far_plugins.shared "examples/greeter/plugin.lua"))
      assert.equal("", err)
      assert.matches("3 passed, 0 failed, 0 warnings, 0 skipped\n$", output)
      assert.equal(0, status)
    end)

    it_over_ssh("opens a prompt", function()
      local prompt <close> = cli.start(cli.words("run", "--log", "silent", "--via", way, "--", marked(marker, PLAIN)))
      prompt:say "greet name=Ada\nreload\ngreet name=Bob\n"
      prompt.process.stdin:close()
      assert.same({ "Hello, Ada\nHello, Bob\n", "", 0 }, { prompt:finish() })
    end)

    it_over_ssh("records", function()
      local recording <close> = files.scratch()
      local tracer = cli.words("trace", "--via", way, "-o", recording.path, marked(marker, PLAIN))
      assert.equal("Hello, Ada\n", (cli.run(cli.words("call", "-d", "gevals", "--log", "silent", "bin/pintle", tracer,
        "--", "greet", "name=Ada"))))
      assert.matches('"Hello, Ada', files.read(recording.path))
      assert.equal(127, (select(3, run("trace", "-o", recording.path, "no-such-program"))))
    end)

    it_over_ssh("cancels with Ctrl-C, and leaves nothing", function()
      local started <close> = cli.start(cli.words("call", "-d", "gevals", "--via", way, marked(marker, PLAIN), "--",
        "wait"), { stdin = "null" })
      cli.await(function() return far_plugins.is_running(marker) end)
      started.process:kill "INT"
      local _, _, status = started:finish()
      assert.equal(130, status)
    end)
  end)
end)

describe("pintle lead", function()
  local marker

  before_each(function() marker = far_plugins.marker() end)
  after_each(function() far_plugins.await_end(marker) end)

  local function start(...) return cli.start(cli.words("lead", ...), { env = marker }) end

  -- Runs it with this input to its end.
  local function run(input, ...)
    local started <close> = start(...)
    started:say(input)
    started.process.stdin:close()
    return started:finish()
  end

  it("passes every byte both ways, and keeps stderr apart", function()
    local bytes = {}
    for byte = 0, 255 do bytes[byte + 1] = string.char(byte) end
    local input = table.concat(bytes):rep(100)
    local output, err, status = run(input, "sh", "-c", "cat; echo err >&2; exit 3")
    assert.is_true(output == input)
    assert.same({ "err\n", 3 }, { err, status })
  end)

  it("ends with the signal of the program", function()
    assert.equal("SEGV", (select(3, run("", "sh", "-c", "ulimit -c 0; kill -SEGV $$"))))
  end)

  it("says what cannot be started", function()
    local output, err, status = run("", "--", "no-such-program")
    assert.same({ "", 127 }, { output, status })
    assert.equal('pintle: lead: cannot run "no-such-program": No such file or directory\n', err)
  end)

  it("ends a program that ignores the end of its input", function()
    assert.equal("TERM", (select(3, run("", "--eof-timeout", "0.1", "sleep", "1000"))))
  end)

  it("kills a program that ignores SIGTERM as well, with its children", function()
    local output, _, status = run("", "--eof-timeout", "0.1", "--term-timeout", "0.1", "sh", "-c",
      "trap 'echo term' TERM; sleep 1000 & while :; do sleep 0.05; done")
    assert.same({ "term\n", "KILL" }, { output, status })
  end)

  it("lets a program that ends by itself do so", function()
    assert.same({ "end\n", "", 0 }, { run("", "sh", "-c", "cat; sleep 0.1; echo end") })
  end)

  it("forwards signals", function()
    local started <close> = start("sh", "-c", "trap 'exit 7' TERM; echo on; while :; do sleep 0.05; done")
    started:read "on\n"
    started.process:kill "TERM"
    assert.equal(7, (select(3, started:finish())))
  end)

  it("sets limits", function()
    assert.same({ "64\n", "", 0 }, { run("", "--limit", "files=64", "sh", "-c", "ulimit -n") })
    local _, err, status = run("", "--limit", "flies=64", "true")
    assert.equal(64, status)
    assert.matches("^pintle: %-%-limit: memory, cpu, files, processes or core, = and a number expected", err)
  end)

  it("ends the program when it is killed itself", function()
    local started <close> = start("sleep", "1000")
    cli.await(function() return far_plugins.is_running(marker) end)
    started.process:kill "KILL"
    started:finish()
  end)

  it("carries a plugin for a host that knows nothing of it", function()
    assert.same({ "Hello, Ada\n", "", 0 }, cli.outcome(cli.words("call", "-d", "gevals", "--log", "silent",
      "bin/pintle", "lead", marked(marker, PLAIN), "--", "greet", "name=Ada")))
  end)
end)
