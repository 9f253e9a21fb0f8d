-- What the programs do that run plugins on other machines, as docs/far.md says it; and that the specs' engines leave
-- nothing behind.
local children = require "spec.support.children"
local core = require "pintle.core"
local engines = require "spec.support.engines"
local lfs = require "lfs"

children.leave_nothing()

local EVERY_BYTE = {}
for byte = 0, 255 do EVERY_BYTE[byte + 1] = string.char(byte) end
EVERY_BYTE = table.concat(EVERY_BYTE)

local function start(engine, words)
  return assert(core.spawn { command = engine:command(words), env = engine.env, stderr = "pipe" })
end

-- Runs a command at the far end to its end. Returns its output, its stderr and how it ended.
local function run(engine, words, input)
  local process <close> = start(engine, words)
  if input then assert(process.stdin:write(input) == #input) end
  process.stdin:close()
  local output, complaint = children.read(process.stdout), children.read(process.stderr)
  return output, complaint, process:wait(children.patience)
end

local function has_ended(process) return process:wait(children.patience) ~= false end

-- What every engine does.
local function describe_carrier(name, get, text)
  it("passes every byte to a program and back", function()
    local output, _, status = run(get(), { "cat" }, EVERY_BYTE .. "\4\r\n~.\n" .. EVERY_BYTE)
    assert.equal(0, status)
    assert.is_true(output == EVERY_BYTE .. "\4\r\n~.\n" .. EVERY_BYTE)
  end)

  it(text and "passes every character of an argument but NUL" or "passes every byte of an argument but NUL", function()
    local word = text or EVERY_BYTE:sub(2)
    assert.is_true(run(get(), { "printf", "%s|", word, "", "a  b" }) == word .. "||a  b|", name)
  end)

  it("passes the end of the input", function()
    assert.equal("end\n", (run(get(), { "sh", "-c", "cat; echo end" })))
  end)

  it("keeps stderr apart", function()
    local output, complaint = run(get(), { "sh", "-c", "echo out; echo err >&2" })
    assert.equal("out\n", output)
    assert.equal("err\n", (complaint))
  end)

  it("passes the exit status", function()
    for _, code in ipairs { 0, 1, 2, 126, 127, 128, 137, 254 } do
      local _, _, status = run(get(), { "sh", "-c", "exit " .. code })
      assert.equal(code, status, name)
    end
  end)

  it("passes a part of a line at once", function()
    local process <close> = start(get(), { "sh", "-c", "printf half; cat" })
    assert.equal("half", children.read(process.stdout, "half"))
    process.stdin:write "x"
    assert.equal("x", children.read(process.stdout, "x"))
    process.stdin:close()
    assert.is_true(has_ended(process))
  end)
end

describe("ssh", function()
  local get = engines.shared "sshd"
  describe_carrier("ssh", get)

  local function at_host(host, ...)
    local engine = get()
    local command = { "ssh", "-F", engine.config, "-T", "-o", "BatchMode=yes", ... }
    command[#command + 1] = host
    command[#command + 1] = "echo started; cat"
    return assert(core.spawn { command = command, stderr = "pipe" })
  end

  it("ends with 255 when the program was killed by a signal", function()
    local _, _, status = run(get(), { "sh", "-c", "kill -9 $$" })
    assert.equal(255, status)
  end)

  for host, complaint in pairs {
    refused = "Connection refused", denied = "Permission denied %(publickey%)", unknown = "Could not resolve hostname",
    stranger = "Host key verification failed",
  } do
    it("ends with 255 and says: " .. complaint, function()
      local process <close> = at_host(host)
      assert.equal("", children.read(process.stdout))
      assert.matches(complaint, children.read(process.stderr))
      assert.equal(255, process:wait(children.patience))
    end)
  end

  it("ends with 255 when the server's end is killed", function()
    local process <close> = at_host "node"
    children.read(process.stdout, "started\n")
    get():cut()
    assert.equal(255, process:wait(children.patience))
  end)

  it("ends with 255 when the link is cut", function()
    local link <close> = assert(get():link())
    local process <close> = at_host(link.host)
    children.read(process.stdout, "started\n")
    link:cut()
    assert.equal(255, process:wait(children.patience))
  end)

  it("notices a stopped link by the messages that it sends itself", function()
    local link <close> = assert(get():link())
    local process <close> = at_host(link.host, "-o", "ServerAliveInterval=1", "-o", "ServerAliveCountMax=1")
    children.read(process.stdout, "started\n")
    link:stop()
    assert.equal(255, process:wait(children.patience))
    assert.matches("Timeout, server %S+ not responding", children.read(process.stderr))
  end)

  it("waits for a stopped link without an end otherwise, and the link can go on", function()
    local link <close> = assert(get():link())
    local process <close> = at_host(link.host)
    children.read(process.stdout, "started\n")
    link:stop()
    process.stdin:write "x"
    assert.is_false(core.poll(0.5, process.stdout, "r"))
    link:continue()
    assert.equal("x", children.read(process.stdout, "x"))
  end)

  for _, shell in ipairs { "bash", "dash", "csh", "fish" } do
    it("passes the exit status and the streams through the login shell " .. shell, function()
      local engine <close>, reason = engines.sshd { login_shell = shell }
      if not engine then return pending(reason) end
      local output, complaint, status = run(engine, { "sh", "-c", "cat; echo err >&2; exit 3" }, EVERY_BYTE)
      assert.is_true(output == EVERY_BYTE)
      assert.equal("err\n", complaint)
      assert.equal(3, status)
    end)
  end
end)

describe("srun", function()
  local get = engines.shared "slurm"
  describe_carrier("srun", get)
end)

local CHARACTERS = {}
for code = 1, 0x10FF do CHARACTERS[code] = utf8.char(code) end
CHARACTERS = table.concat(CHARACTERS) .. "\u{10FFFF}"

for _, name in ipairs { "docker", "podman" } do
  describe(name, function()
    local get = engines.shared(name)
    describe_carrier(name, get, CHARACTERS)

    it("changes an argument that is not UTF-8", function()
      assert.equal("caf\u{FFFD}", (run(get(), { "printf", "%s", "caf\xE9" })))
    end)
  end)
end

describe("kubectl exec", function()
  local get = engines.shared "kubectl"
  describe_carrier("kubectl", get, CHARACTERS)

  for message, words in pairs {
    ['Error from server (NotFound): pods "other" not found\n'] = { "exec", "-i", "other", "--", "cat" },
    ["Error from server (BadRequest): container other is not valid for pod node\n"] =
      { "exec", "-i", "node", "-c", "other", "--", "cat" },
    ["Error in configuration: context was not found for specified context: other\n"] =
      { "--context=other", "exec", "-i", "node", "--", "cat" },
  } do
    it("ends with 1 and says: " .. message, function()
      local engine = get()
      local process <close> = assert(core.spawn {
        command = { engine.prefix[1], table.unpack(words) }, env = engine.env, stderr = "pipe",
      })
      assert.equal(message, children.read(process.stderr))
      assert.equal(1, process:wait(children.patience))
    end)
  end

  it("adds the exit code to stderr", function()
    local _, complaint = run(get(), { "sh", "-c", "echo err >&2; exit 3" })
    assert.equal("err\ncommand terminated with exit code 3\n", complaint)
  end)

  it("ends with 0 when the connection is lost", function()
    local process <close> = start(get(), { "cat" })
    process.stdin:write "x"
    children.read(process.stdout, "x")
    get():cut(process:pid())
    assert.equal("", children.read(process.stderr))
    assert.equal(0, process:wait(children.patience))
  end)
end)

describe("an engine", function()
  -- The process ends without closing anything.
  it("ends with the process of the spec", function()
    local code = [[
      local engine = require("spec.support.engines").sshd()
      print(engine and engine.config:match "^(.*)/" or "", engine and engine.pid or 0)
      io.stdout:flush()
      io.read()
    ]]
    local process <close> = assert(core.spawn { command = children.lua(
      "package.loaded.busted = {}; package.path = package.path .. ';./?.lua'\n" .. code) })
    local path, pid = children.read(process.stdout, "\n"):match "^(.-)\t(%d+)\n$"
    if path == "" then return pending "no sshd here" end
    assert.equal("directory", lfs.attributes(path, "mode"))
    process:kill "KILL"
    process:wait(children.patience)
    local deadline = core.now() + children.patience
    while lfs.attributes(path, "mode") or core.alive(math.tointeger(pid)) do
      assert(core.now() < deadline, "the engine is still there")
      core.poll(0.01)
    end
  end)
end)
