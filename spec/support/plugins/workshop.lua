-- A plugin with an operation for every case, right or wrong.
local pintle = require "pintle"
local errors = require "pintle.error"

local plugin = pintle.plugin { name = "workshop", version = "1.0.0", capabilities = { "x-tools" } }
local seen

print("printed", "before it serves")

plugin:on_initialize(function(config, server)
  if config.fail then return nil, config.fail end
  if config.crash then error(config.crash) end
  if config.slow then require("pintle.loop").sleep(config.slow) end
  if config.log then server:log("info", config.log) end
  seen = config
end)

plugin:on_shutdown(function()
  if seen.last_words then io.stderr:write(seen.last_words, "\n") end
  if seen.crash_at_end then error "crashed at the end" end
end)

local anything = { params = { type = "object" } }

local function operation(name, fn, spec) plugin:operation(name, spec or anything, fn) end

-- {====== Results ======

operation("text", function() return "done" end)
operation("nothing", function() end)
operation("yes", function() return true end)
operation("no", function() return false end)
operation("outputs", function()
  return { message = "made", outputs = { text = "t", whole = 3, real = 0.5, float = 2.0, yes = true } }
end)
operation("failure", function() return nil, "it is broken" end)
operation("long-failure", function()
  return nil, { message = "Condition not met", error = "Timed out", outputs = { tries = 3 } }
end)
operation("short-failure", function() return nil, { error = "Timed out" } end)
operation("code", function() return nil, { code = -32050, message = "refused", data = { why = "because" } } end)
operation("error", function() return nil, errors.new("requirement", "no glue") end)
operation("raise", function() error "boom" end)
operation("raise-table", function() error { code = -32051, message = "thrown" } end)
operation("number", function() return 42 end)
operation("typo", function() return { mesage = "x" } end)
operation("bad-message", function() return { message = 1 } end)
operation("bad-error", function() return nil, 7 end)
operation("table-output", function() return { outputs = { items = { 1, 2 } } } end)
operation("function-output", function() return { outputs = { f = print } } end)
operation("null-output", function() return { outputs = { n = pintle.null } } end)
operation("list-output", function() return { outputs = { "a" } } end)
operation("bytes", function() return pintle.bytes "%PDF-" end)
operation("content", function()
  return { message = "see", content = {
    "some text", pintle.bytes "\x89PNG\r\n\x1A\n", { type = "resource_link", uri = "note:///a", name = "note" },
    { type = "resource", resource = { uri = "note:///a", text = "the note" } },
  } }
end)
operation("failed-content", function()
  return nil, { error = "broken", content = { pintle.bytes("x", "audio/wav") } }
end)
operation("bad-content", function() return { content = { "a", { type = "image", data = "?" } } } end)
operation("infinite-output", function() return { outputs = { n = math.huge } } end)
operation("bytes-output", function() return { outputs = { b = pintle.bytes "x" } } end)
operation("bad-utf8", function() return "\xff" end)
operation("big", function(args) return ("x"):rep(args.size) end)

-- }======

-- {====== Work ======

operation("sleep", function(args, ctx)
  local ok, err = ctx:sleep(args.seconds)
  if not ok then return nil, err end
  return "slept"
end)
operation("stubborn", function(args, ctx)
  ctx:sleep(args.seconds)
  return "slept anyway"
end)
operation("careless", function(args, ctx)
  if not ctx:sleep(args.seconds) then error "woken" end
end)
operation("compute", function()
  while true do end -- luacheck: ignore 542
end)
operation("print", function(args)
  print(args.text)
  io.write("written\n")
  os.execute "echo from a child"
  return "printed"
end)
operation("greet", function(args) return "Hello, " .. args.name end, {
  params = { type = "object", required = { "name" }, properties = { name = { type = "string" } } },
})
operation("tool", function() return "used" end, { params = { type = "object" }, requires = { "pintle-no-such-tool" } })
operation("context", function(_, ctx)
  return {
    outputs = {
      workdir = ctx.workdir or "none", phase = ctx.phase or "none", env = pintle.json.encode(ctx.env),
      agent = ctx.agent and ctx.agent.output or "none", operation = ctx.operation, deadline = ctx:deadline() or "none",
      config = pintle.json.encode(ctx.config), arguments = table.concat(plugin.arguments, " "),
    },
  }
end)
operation("log", function(args, ctx)
  ctx:log(args.level or "info", args.message, args.data)
  return "logged"
end)
operation("back", function(_, ctx)
  local result, err = ctx:call("question", { "life" }, { timeout = 30 })
  if result == nil then return nil, "no answer: " .. err.kind end
  return "answer: " .. result
end)
operation("stream", function(_, ctx)
  for i = 1, 3 do
    local ok, err = ctx:part { n = i }
    if not ok then return nil, err.message end
  end
  ctx:progress(0.5, "half")
  return "streamed"
end)

-- }======

plugin:method("echo", function(params, ctx)
  if params and params.log then ctx:log("info", "echoing") end
  return params
end)

plugin:serve()
