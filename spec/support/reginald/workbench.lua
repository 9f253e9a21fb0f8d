-- A plugin with an operation for every value that Reginald can send, right or wrong.
local pintle = require "pintle"

local function object(properties, required) return { type = "object", properties = properties, required = required } end

local plugin = pintle.plugin {
  name = "workbench", version = "1.2.0", description = "Tries things",
  dialects = { reginald = {
    domain = "bench", config = object { greeting = { type = "string", default = "hi" }, depth = { type = "integer" } },
  } },
}

local initialized = 0

plugin:on_initialize(function(config, server)
  initialized = initialized + 1
  if config.greeting == "crash" then return nil, "no such greeting" end
  server:log("info", "initialized")
end)

plugin:operation("sleep", {
  description = "Sleep for a while",
  params = object { time = { type = "integer", default = 1, description = "Seconds" } },
  dialects = { reginald = { as = "command", usage = "sleep [--time N]", config = { time = { shorthand = "t" } } } },
}, function(args, ctx)
  ctx:sleep(args.time)
  return "slept for " .. args.time
end)

plugin:operation("echo", {
  params = object({ msg = { type = "string" } }, { "msg" }),
  dialects = { reginald = { as = "task", provides = { "sound" } } },
}, function(args) return args.msg end)

plugin:operation("everything", {
  params = object({
    yes = { type = "boolean", description = "Whether" },
    count = { type = "integer", minimum = 1 },
    text = { type = "string", default = "t" },
    file = { type = "string", format = "path" },
    flags = { type = "array", items = { type = "boolean" } },
    counts = { type = "array", items = { type = "integer" }, default = { 1, 2 } },
    texts = { type = "array", items = { type = "string" } },
    files = { type = "array", items = { type = "string", format = "path" } },
    nested = object {
      inner = { type = "string", default = "i" }, deep = object({ n = { type = "integer" } }, { "n" }),
    },
    factor = { type = "number", default = 1.5 },
    mixed = { type = { "string", "integer" } },
    maybe = { type = { "string", "null" } },
    colour = { enum = { "red", "green" } },
  }),
  dialects = { reginald = { positional = "texts", config = {
    yes = { flag = "yeah", shorthand = "y", envOverride = "BENCH_YES" }, count = { flag = false },
    text = { flagOnly = true },
  } } },
}, function(args) return { message = pintle.json.encode(args), outputs = { args = args } } end)

plugin:operation("wait", { params = object { ms = { type = "integer" } } }, function(args, ctx)
  ctx:log("info", "waiting")
  ctx:sleep((args.ms or 0) / 1000)
  return { message = "waited for " .. (args.ms or 0), outputs = { ms = args.ms or 0 } }
end)

plugin:operation("anything", {}, function(args) return { outputs = args } end)

plugin:operation("remote.add", {
  description = "Add one", params = object({ url = { type = "string" } }, { "url" }),
  dialects = { reginald = { as = "command", aliases = { "plus" } } },
}, function(args) return "added " .. args.url end)

plugin:operation("failure", {}, function() return nil, "it is broken" end)
plugin:operation("long-failure", {}, function()
  return nil, { message = "Condition not met", error = "Timed out", outputs = { tries = 3 } }
end)
plugin:operation("raise", {}, function() error "boom" end)
plugin:operation("code", {}, function() return nil, { code = -4, message = "refused", data = { why = "because" } } end)
plugin:operation("nothing", {}, function() end)
plugin:operation("needy", { requires = { "pintle-no-such-command" } }, function() end)
plugin:operation("bad-utf8", {}, function() return "\xff" end)
plugin:operation("bad-output", {}, function() return { outputs = { f = print } } end)

plugin:operation("log", {}, function(_, ctx)
  for _, level in ipairs { "debug", "info", "warn", "error" } do
    ctx:log(level, "at " .. level, { list = { 1 }, n = 2 })
  end
  ctx:log("info", "plain")
  ctx:log("info", "a list", { 1, 2 })
  ctx:progress(0.5, "half")
end)

plugin:operation("where", {}, function(_, ctx)
  return { message = ctx:path "x", outputs = { config = ctx.config, initialized = initialized } }
end)

plugin:operation("ask", {}, function(_, ctx)
  local _, first = ctx:call("ping", {})
  local _, second = ctx:notify("hello", {})
  local _, third = ctx.server:call "ping"
  return table.concat({ first.message, second.message, third.kind }, "; ")
end)

plugin:operation("strict", {
  params = {
    type = "object", required = { "file" }, minProperties = 2, dependentRequired = { level = { "file" } },
    anyOf = { { required = { "file" } } },
    properties = { file = { type = "string" }, level = { type = "integer", maximum = 3 } },
  },
  dialects = { reginald = { as = "task" } },
}, function() end)

plugin:method("raw", function(params) return params end)

plugin:serve()
