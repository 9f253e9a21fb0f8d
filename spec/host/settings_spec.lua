local dialects = require "pintle.dialect"
local hosts = require "pintle.host"
local settings = require "pintle.host.settings"

-- Asserts that `fn` raises, at a line of this file.
local function raises(message, fn)
  local ok, raised = pcall(fn)
  assert.is_false(ok)
  local blamed, rest = raised:match "^(.-):%d+: (.*)$"
  assert.equal("spec/host/settings_spec.lua", blamed)
  assert.equal(message, rest)
end

local DIGITS = ("0"):rep(64)

describe("the options of a host", function()
  it("are checked when it is created", function()
    for message, given in pairs {
      ['no option "dialcet"'] = { dialcet = "gevals" },
      ['dialect: no dialect "gevlas"; there are ' .. table.concat(dialects.names(), ", ")] = { dialect = "gevlas" },
      ["verbosity: debug, info, warn, error or silent expected, got loud"] = { verbosity = "loud" },
      ["log: function expected, got boolean"] = { log = true },
      ['timeout: duration "soon" has something else where a number is due'] = { timeout = "soon" },
      ["timeout: a span of time cannot be negative, got -1"] = { timeout = -1 },
      ["timeout: a span of time has to end, got inf"] = { timeout = math.huge },
      ["timeout: a span of 1e+10 seconds is too long"] = { timeout = 1e10 },
      ['handshake_timeout: seconds or a duration such as "1m30s" are needed, got boolean'] =
        { handshake_timeout = false },
      ["extensions: a list expected, got string"] = { extensions = "bytes" },
      ['stop_timeouts: no option "trem"'] = { stop_timeouts = { trem = 1 } },
      ['stop_timeouts: term: seconds or a duration such as "1m30s" are needed, got boolean'] = {
        stop_timeouts = { term = false },
      },
      ['restart: no option "maxx"'] = { restart = { maxx = 1 } },
      ["restart: max: an integer of 0 or more expected, got 1.5"] = { restart = { max = 1.5 } },
      ["restart: factor: a number from 1 to 1000 expected, got 0"] = { restart = { factor = 0 } },
      ["restart: jitter: a number from 0 to 1 expected, got nan"] = { restart = { jitter = math.abs(0 / 0) } },
      ['limits: no option "mesage"'] = { limits = { mesage = 1 } },
      ["limits: message: an integer of 1 or more expected, got 0"] = { limits = { message = 0 } },
      ["via: ssh: port: an integer expected"] = { via = { ssh = { host = "node7", port = "22" } } },
    } do
      raises(message, function() hosts(given) end)
    end
    raises("table expected, got string", function() hosts "gevals" end)
  end)
end)

describe("the options of a plugin", function()
  local host = hosts { log = false }

  it("are checked when it is started", function()
    raises('command: no program in it; write { "lua5.4", "plugin.lua" }',
      function() host:start { command = { " " } } end)
    for message, given in pairs {
      ['no option "pol"'] = { command = { "ls" }, pol = 1 },
      ["command: the program and its arguments are missing"] = {},
      ['command: a list expected, got string; write { "lua5.4", "plugin.lua" }'] = { command = "ls -l" },
      ['command: no program in it; write { "lua5.4", "plugin.lua" }'] = { command = {} },
      ['command: 2: string expected, got number; write { "lua5.4", "plugin.lua" }'] =
        { command = { "ls", 1 } },
      ["name: a name expected, got  "] = { command = { "ls" }, name = " " },
      ["env: HOME: string expected, got number"] = { command = { "ls" }, env = { HOME = 1 } },
      ["env: names expected, got 1"] = { command = { "ls" }, env = { "HOME" } },
      ["inherit: a list expected, without holes and names"] = { command = { "ls" }, inherit = { HOME = true } },
      ["cwd: string expected, got boolean"] = { command = { "ls" }, cwd = true },
      ['process_limits: no option "memroy"'] = { command = { "ls" }, process_limits = { memroy = 1 } },
      ["process_limits: memory: an integer of 0 or more expected, got 1e+30"] =
        { command = { "ls" }, process_limits = { memory = 1e30 } },
      ["sha256: 64 hexadecimal digits expected, got 0g"] = { command = { "ls" }, sha256 = "0g" },
      ["sha256: ls: 64 hexadecimal digits expected, got 0"] = { command = { "ls" }, sha256 = { ls = "0" } },
      ["pool: an integer of 1 or more expected, got 0"] = { command = { "ls" }, pool = 0 },
      ["pool: size: an integer of 1 or more expected, got 0"] = { command = { "ls" }, pool = { size = 0 } },
      ["pool: size or via expected"] = { command = { "ls" }, pool = {} },
      ['pool: no option "count"'] = { command = { "ls" }, pool = { count = 2 } },
      ["pool: via: 2: ssh: host expected"] = {
        command = { "ls" }, pool = { via = { { ssh = "node7" }, { ssh = {} } } },
      },
      ["either via or pool.via"] = { command = { "ls" }, via = { ssh = "a" }, pool = { via = { ssh = "b" } } },
      ['via: no field "shh"; there are docker, kubernetes, podman, slurm, ssh'] =
        { command = { "ls" }, via = { shh = "node7" } },
      ["via: a table expected, got string"] = { command = { "ls" }, via = "ssh node7" },
      ["sandbox cannot be used with via: it is for programs of this machine"] =
        { command = { "ls" }, via = { ssh = "node7" }, sandbox = "strict" },
      ["sha256 cannot be used with via: it is for programs of this machine"] =
        { command = { "ls" }, pool = { via = { ssh = "node7" } }, sha256 = DIGITS },
      ["lazy: boolean expected, got string"] = { command = { "ls" }, lazy = "yes" },
      ["handlers: ask: function expected, got boolean"] = { command = { "ls" }, handlers = { ask = true } },
      ["handlers: log: the dialect gevals has a handler of its own"] =
        { command = { "ls" }, handlers = { log = print } },
    } do
      raises(message, function() host:start(given) end)
      raises(message, function() host:start_all { { command = { "ls" } }, given } end)
    end
    assert.is_nil(next(host.plugins))
    raises("table expected, got nil", function() host:start() end)
  end)

  it("default to the host's", function()
    local of_host = settings.host({
      log = false, timeout = "5s", stop_timeouts = { eof = "1s" }, restart = true, extensions = true,
    }, 1)
    local function spec_of(given)
      given.command = { "ls" }
      return settings.plugin(of_host, given, 1)
    end
    local spec = spec_of {}
    assert.same({ 5.0, { eof = 1.0 }, true, true }, { spec.timeout, spec.stop_timeouts, spec.restart, spec.extensions })
    spec = spec_of {
      timeout = false, stop_timeouts = { term = 3 }, restart = false, sha256 = DIGITS, extensions = false,
    }
    assert.same({ false, { term = 3 }, false, false },
      { spec.timeout, spec.stop_timeouts, spec.restart, spec.extensions })
  end)

  it("have no sandbox of the host at the far end of a way", function()
    local far, strict = hosts { log = false, via = { ssh = "node7" } }, hosts { log = false, sandbox = "strict" }
    raises("sandbox cannot be used with via: it is for programs of this machine",
      function() far:start { command = { "ls" }, sandbox = "strict" } end)
    raises("sandbox cannot be used with via: it is for programs of this machine; sandbox = false starts the plugin "
      .. "without it", function() strict:start { command = { "ls" }, via = { ssh = "node7" } } end)
    assert(far:start { command = { "ls" }, sandbox = "strict", via = false, lazy = true })
    assert(strict:start { command = { "ls" }, sandbox = false, via = { ssh = "node7" }, lazy = true })
    far:stop()
    strict:stop()
  end)

  it("are not changed", function()
    local given = { command = { "ls" }, stop_timeouts = { eof = "1s" }, env = { A = "1" }, lazy = true }
    assert(host:start(given))
    assert.same({ command = { "ls" }, stop_timeouts = { eof = "1s" }, env = { A = "1" }, lazy = true }, given)
    assert.is_nil(getmetatable(given.stop_timeouts))
    host:stop()
  end)

  it("default to a name made of the command", function()
    for name, command in pairs {
      ls = { "/bin/ls", "-l" },
      greeter = { "lua5.4", "-W", "examples/greeter.lua" },
      main = { "python3.11", "-u", "/opt/x/main.py" },
      tool = { "env", "LANG=C", "tool" },
      sh = { "sh", "-c", "exec /usr/bin/whatever --now" },
      lua = { "lua", "-e", "print(1)" },
      ["lua-language-server"] = { "lua-language-server", "--stdio" },
      node = { "node" },
    } do
      assert.equal(name, assert(host:start { command = command, lazy = true }).name)
    end
    host:stop()
  end)
end)

describe("the options of an operation", function()
  local host = hosts { log = false }
  local plugin = assert(host:start { command = { "ls" }, lazy = true })

  it("are checked before anything is sent", function()
    for message, given in pairs {
      ['no option "timout"'] = { timout = 1 },
      ["workdir: string expected, got number"] = { workdir = 1 },
      ["phase: string expected, got boolean"] = { phase = true },
      ["env: table expected, got string"] = { env = "A=1" },
      ["agent: table expected, got string"] = { agent = "x" },
      ["idempotent: boolean expected, got string"] = { idempotent = "yes" },
      ["on_progress: function expected, got table"] = { on_progress = {} },
      ["on_part: function expected, got table"] = { on_part = {} },
    } do
      raises(message, function() plugin:execute("x", {}, given) end)
    end
    raises("operation: string expected, got nil", function() plugin:execute() end)
    raises("args: table expected, got number", function() plugin:execute("x", 5) end)
  end)

  it("are checked for other calls as well", function()
    raises("method: string expected, got nil", function() plugin:call() end)
    raises("method: string expected, got table", function() plugin:notify {} end)
    raises('no option "phase"', function() plugin:call("x", {}, { phase = "setup" }) end)
    raises('no option "all"', function() host:discover(".", { all = true }) end)
  end)
end)
