local children = require "spec.support.children"
local core = require "pintle.core"
local in_process = require "spec.support.in_process"
local loop = require "pintle.loop"
local pintle = require "pintle"
local tasks = require "pintle.task"

children.leave_nothing()

-- Starts a plugin whose one operation is `fn`.
local function serve(fn, capabilities)
  local plugin = pintle.plugin { name = "x", version = "1.0.0" }
  plugin:operation("x", {}, fn)
  local conversation = in_process.serve(plugin)
  conversation:initialize(capabilities, { depth = 3 })
  return conversation
end

-- The results of `fn(args, ctx)` as an operation, and the messages received meanwhile.
local function within(fn, context, capabilities)
  local values
  local conversation <close> = serve(function(...)
    values = table.pack(fn(...))
  end, capabilities)
  local result, err = conversation:execute("x", {}, context)
  assert(values, err and err.message)
  return values, conversation, result, err
end

local function raised_by(fn)
  return within(function(_, ctx)
    local ok, message = pcall(fn, ctx)
    assert(not ok, "it did not raise")
    return message
  end)[1]
end

describe("the context of an operation", function()
  it("has the values that the host sent", function()
    within(function(_, ctx)
      assert.equal("x", ctx.operation)
      assert.equal("execute", ctx.method)
      assert.equal("/tasks", ctx.workdir)
      assert.equal("verify", ctx.phase)
      assert.same({ A = "1" }, ctx.env)
      assert.equal("Done", ctx.agent.output)
      assert.same({ depth = 3 }, ctx.config)
      assert.is_true(ctx:deadline() > 200 and ctx:deadline() <= 300)
      assert.is_false(ctx:cancelled())
    end, { workdir = "/tasks", phase = "verify", env = { A = "1" }, agent = { output = "Done" }, timeout = "5m" })
  end)

  it("has defaults for values that the host did not send", function()
    within(function(_, ctx)
      assert.is_nil(ctx.workdir)
      assert.is_nil(ctx.phase)
      assert.same({}, ctx.env)
      assert.is_nil(ctx.agent)
      assert.is_nil(ctx:deadline())
    end)
  end)

  it("makes paths relative to the workdir", function()
    within(function(_, ctx)
      assert.equal("/tasks/a/b", ctx:path "a/b")
      assert.equal("/tasks/a", ctx:path "./a")
      assert.equal("/tasks/../a", ctx:path "../a")
      assert.equal("/etc/hosts", ctx:path "/etc/hosts")
      assert.equal("/tasks", ctx:path ".")
      assert.equal("/tasks", ctx:path "")
    end, { workdir = "/tasks" })
    within(function(_, ctx) assert.equal("/a", ctx:path "a") end, { workdir = "/" })
    within(function(_, ctx) assert.equal("a", ctx:path "a") end)
    assert.matches("context_spec.lua:%d+: path: a string expected, got nil$", raised_by(function(ctx) ctx:path() end))
  end)
end)

describe("ctx:log", function()
  it("sends a log message to the host", function()
    local _, conversation = within(function(_, ctx)
      ctx:log("debug", "one")
      ctx:log("info", "two", { a = { 1 } })
      ctx:log("warn", "three", {})
      ctx:log("error", "four", "text")
    end)
    assert.same({
      { level = "debug", message = "one" },
      { level = "info", message = "two", data = { a = { 1 } } },
      { level = "warn", message = "three", data = {} },
      { level = "error", message = "four", data = { value = "text" } },
    }, conversation:of "log")
  end)

  it("raises at the author's line for wrong arguments", function()
    local function raised(...)
      local arguments = table.pack(...)
      return raised_by(function(ctx) ctx:log(table.unpack(arguments, 1, arguments.n)) end)
    end
    local place = "^spec/plugin/context_spec.lua:%d+: "
    assert.matches(place .. "log: level: debug, info, warn or error expected, got trace$", raised("trace", "x"))
    assert.matches(place .. "log: level: debug, info, warn or error expected, got nil$", raised())
    assert.matches(place .. "log: message: a string expected, got nil$", raised "info")
    assert.matches(place .. "log: .*function", raised("info", "x", { f = print }))
    assert.matches(place .. ".*UTF%-8", raised("info", "\xff"))
  end)

  it("waits for a host that reads slowly", function()
    local plugin = pintle.plugin { name = "x", version = "1.0.0" }
    local most = 0
    plugin:operation("x", {}, function(_, ctx)
      for _ = 1, 2000 do
        ctx:log("info", ("x"):rep(10000))
        most = math.max(most, ctx.request.peer.stream:queued())
      end
    end)
    local conversation <close> = in_process.serve(plugin)
    conversation:initialize()
    conversation:execute "x"
    assert.equal(2000, #conversation.heard)
    assert.is_true(most > 1 << 19 and most <= 1 << 20, most)
  end)
end)

describe("ctx:progress", function()
  it("is a log message without the extension", function()
    local _, conversation = within(function(_, ctx)
      ctx:progress(0)
      ctx:progress(0.5, "half")
    end)
    assert.same({
      { level = "debug", message = "progress", data = { progress = 0 } },
      { level = "debug", message = "half", data = { progress = 0.5 } },
    }, conversation:of "log")
  end)

  it("has the id of its request with the extension", function()
    local _, conversation = within(function(_, ctx)
      ctx:progress(0.5, "half")
      ctx:progress(1)
    end, {}, { "progress" })
    assert.same({}, conversation:of "log")
    assert.same({ { id = 2, value = 0.5, message = "half" }, { id = 2, value = 1 } }, conversation:of "progress")
  end)

  it("raises for wrong arguments", function()
    for _, value in ipairs { -0.1, 1.1, 0 / 0, math.huge, "0.5" } do
      local message = raised_by(function(ctx) ctx:progress(value) end)
      assert.matches("context_spec.lua:%d+: progress: a number from 0 to 1 expected, got ", message)
    end
    assert.matches("progress: message: a string expected, got table$", raised_by(function(ctx) ctx:progress(1, {}) end))
  end)
end)

describe("ctx:part", function()
  it("sends parts of the result before the rest", function()
    local function send(_, ctx) return ctx:part { n = 1 }, (ctx:part "two") end
    local values, conversation = within(send, {}, { "parts" })
    assert.same({ true, true, n = 2 }, values)
    assert.same({ { id = 2, part = { n = 1 } }, { id = 2, part = "two" } }, conversation:of "part")
  end)

  it("is an error if the host does not accept parts", function()
    local values, conversation = within(function(_, ctx) return ctx:part {} end)
    assert.is_nil(values[1])
    assert.equal("invalid", values[2].kind)
    assert.equal("the host takes no parts of a result", values[2].message)
    assert.same({}, conversation.heard)
  end)

  it("may have bytes only if the host accepts bytes", function()
    local function send(_, ctx) return ctx:part { file = { pintle.bytes "\0" } } end
    local values = within(send, {}, { "parts" })
    assert.equal("the part has bytes at /file/0, which the host does not take", values[2].message)
    local _, conversation = within(send, {}, { "parts", "bytes" })
    assert.same({ file = { { ["$bytes"] = "AA==" } } }, conversation:of("part")[1].part)
  end)
end)

describe("ctx:call", function()
  it("calls the host from an operation", function()
    local conversation <close> = serve(function(_, ctx) return assert(ctx:call("question", { 6, 7 })) end)
    conversation.peer:on("question", function(params) return ("%d"):format(params[1] * params[2]) end)
    assert.equal("42", conversation:execute("x").message)
  end)

  it("takes the name of a question, which only MCP has", function()
    local conversation <close> = serve(function(_, ctx) return assert(ctx:call("question", {}, { key = "name" })) end)
    conversation.peer:on("question", function() return "answer" end)
    assert.equal("answer", conversation:execute("x").message)
  end)
end)

describe("a cancelled request", function()
  local CANCELLED = { code = -32003, message = "Cancelled" }

  local function cancelled(fn, is_working)
    local conversation <close> = serve(fn, { "cancel" })
    local call = conversation.peer:begin("execute", { operation = "x", args = {} })
    while not is_working() do loop.step(0.01) end
    conversation.peer:notify("cancel", { id = call.id, reason = "changed my mind" })
    local result, err = call:wait()
    assert.is_nil(result)
    return { code = err.code, message = err.message }
  end

  it("is noticed by its handler, and answered as cancelled", function()
    local works, before, after
    assert.same(CANCELLED, cancelled(function(_, ctx)
      works, before = true, ctx:cancelled()
      local ok, err = ctx:sleep(60)
      after = table.pack(ctx:cancelled())
      assert(ok == nil and err == after[2])
      return "slept well"
    end, function() return works end))
    assert.is_false(before)
    assert.is_true(after[1])
    assert.equal("cancelled", after[2].kind)
  end)

  it("is stopped if it computes without waiting", function()
    if not core.watchdog then return pending "what computes cannot be reached yet" end
    local works
    assert.same(CANCELLED, cancelled(function(_, ctx)
      works = true
      ctx:sleep(0.05)
      while true do end -- luacheck: ignore 542
    end, function() return works end))
  end)

  it("is not stopped without the extension", function()
    local works
    local conversation <close> = serve(function(_, ctx)
      works = true
      return ctx:sleep(0.1) and "slept"
    end)
    local call = conversation.peer:begin("execute", { operation = "x", args = {} })
    while not works do loop.step(0.01) end
    conversation.peer:notify("cancel", { id = call.id })
    assert.equal("slept", call:wait().message)
  end)
end)

describe("ctx:run", function()
  local function run(options, context)
    local values = within(function(_, ctx) return ctx:run(options) end, context)
    return values[1], values[2]
  end

  it("runs a program and returns its output", function()
    local result = run { "sh", "-c", "echo out; echo err >&2; exit 3" }
    assert.same({
      success = false, code = 3, stdout = "out\n", stderr = "err\n", stdout_bytes = 4, stderr_bytes = 4,
    }, result)
    result = run { "true" }
    assert.is_true(result.success)
    assert.equal("", result.stdout)
    result = run { "sh", "-c", "kill -9 $$" }
    assert.equal("KILL", result.signal)
    assert.is_false(result.success)
  end)

  it("writes its input, however long, whether the program reads it or not", function()
    local input = ("0123456789\n"):rep(50000)
    assert.equal(input, run({ "cat", input = input }).stdout)
    assert.is_true(run({ "true", input = input }).success)
    assert.equal("", run({ "cat" }).stdout)
    assert.equal("", run({ "cat", input = "" }).stdout)
  end)

  it("runs it in the directory and environment of the request", function()
    local context = { workdir = "/usr", env = { A = "task", B = "task" } }
    local result = run({ "sh", "-c", 'pwd; echo "$A $B $C"', env = { B = "own", C = "own" } }, context)
    assert.equal("/usr\ntask own own\n", result.stdout)
    assert.equal("/usr/bin\n", run({ "pwd", cwd = "bin" }, context).stdout)
    assert.equal("/\n", run({ "pwd", cwd = "/" }, context).stdout)
  end)

  it("keeps at most `keep` bytes of its output, and returns the length of all output", function()
    local result = run { "sh", "-c", "head -c 100000 /dev/zero; echo 1234567890 >&2", keep = 5 }
    assert.equal("\0\0\0\0\0", result.stdout)
    assert.equal("12345", result.stderr)
    assert.is_true(result.truncated)
    assert.equal(100000, result.stdout_bytes)
    assert.equal(11, result.stderr_bytes)
    assert.equal(1 << 20, #run({ "head", "-c", "2000000", "/dev/zero" }).stdout)
  end)

  it("is an error with the reason if it cannot be started", function()
    local result, err = run { "pintle-no-such-command" }
    assert.is_nil(result)
    assert.equal("spawn", err.kind)
    assert.matches("pintle%-no%-such%-command", err.message)
    result, err = run({ "true" }, { workdir = "/no/such/directory" })
    assert.is_nil(result)
    assert.equal("spawn", err.kind)
    assert.matches("/no/such/directory", err.message)
    result, err = run { "sh", "-c", "true", env = { PATH = "/no/such/directory" } }
    assert.is_nil(result)
    assert.matches("sh", err.message)
  end)

  it("kills it with all its children when its timeout is over", function()
    local start = loop.now()
    local result, err = run { "sh", "-c", "sleep 600 & sleep 600", timeout = 0.1 }
    assert.is_nil(result)
    assert.equal("timeout", err.kind)
    assert.equal("sh has not ended within 0.1s", err.message)
    assert.is_true(loop.now() - start < 20)
  end)

  it("kills it when the operation times out or is cancelled", function()
    local _, _, _, err = within(function(_, ctx) return ctx:run { "sleep", "600" } end, { timeout = "100ms" })
    assert.equal('Operation "x" timed out after 100ms', err.message)
    local conversation <close> = serve(function(_, ctx) return ctx:run { "sleep", "600" } end, { "cancel" })
    local call = conversation.peer:begin("execute", { operation = "x", args = {} })
    loop.step(0.05)
    conversation.peer:notify("cancel", { id = call.id })
    assert.equal(-32003, select(2, call:wait()).code)
  end)

  it("does not wait for child processes that it leaves, and kills them", function()
    local start = loop.now()
    local result = run { "sh", "-c", "sleep 600 & echo done" }
    assert.equal("done\n", result.stdout)
    assert.is_true(loop.now() - start < 20)
  end)

  it("does not wait for an output that other processes hold open", function()
    if not core.which "setsid" then return pending "no setsid(1) here" end
    local start = loop.now()
    local result = run { "sh", "-c", [[
      exec 3>&1
      (setsid sh -c "echo away; exec sleep 20 >&3" &) | { read -r line; echo "$line"; }
    ]] }
    assert.equal("away\n", result.stdout)
    assert.is_true(loop.now() - start < 15)
  end)

  it("lets other tasks run", function()
    local conversation <close> = serve(function(args, ctx)
      if not args.seconds then return "quick" end
      return ctx:run({ "sleep", args.seconds }).success and "slow"
    end)
    local results = tasks.all({
      function() return conversation:execute("x", { seconds = "0.3" }).message .. #conversation.heard end,
      function()
        local message = conversation:execute("x").message
        conversation.heard[1] = message
        return message
      end,
    }, children.patience)
    assert.same({ "slow1", "quick", n = 2 }, results)
  end)

  it("raises for wrong arguments", function()
    local function raised(options) return (raised_by(function(ctx) ctx:run(options) end):gsub("^[^ ]+ ", "")) end
    assert.equal("run: a table expected, got string", raised "ls")
    assert.equal('run: a command expected, such as { "ls", "-l" }', raised {})
    assert.equal("run: 2: a string expected, got number", raised { "ls", 1 })
    assert.equal('run: there is no option "shell"', raised { "ls", shell = true })
    assert.equal("run: env: A: a string expected, got number", raised { "ls", env = { A = 1, B = false } })
    assert.equal("run: timeout: a number expected, got string", raised { "ls", timeout = "5s" })
  end)

  it("does not start a program for a cancelled request", function()
    local values = within(function(_, ctx)
      ctx:sleep(60)
      return ctx:run { "sh", "-c", "exit 1" }
    end, { timeout = "50ms" })
    assert.is_nil(values[1])
    assert.equal("timeout", values[2].kind)
  end)
end)
