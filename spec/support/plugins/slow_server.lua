-- A plugin whose operations may run as tasks of MCP.
local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "slow", version = "1.0.0",
  dialects = { mcp = { limits = { tasks = 3, task_time = tonumber(os.getenv "TASK_TIME") } } },
}

local function tool(name, own, fn) plugin:operation(name, { dialects = { mcp = own } }, fn) end

local OPTIONAL = { task = "optional" }

tool("work", OPTIONAL, function(args, ctx)
  ctx:log("info", "working")
  ctx:progress(0.5, "half of it")
  local ok, err = ctx:sleep(args.seconds or 0)
  return ok and "done", err
end)

tool("plain", OPTIONAL, function(args) return { message = "plain", outputs = { n = args.n } } end)
tool("fail", { task = "required" }, function() return nil, "no luck" end)
tool("refuse", OPTIONAL, function() return nil, { code = -32050, message = "refused", data = { n = 1 } } end)
tool("raise", OPTIONAL, function() error "broken" end)

tool("ask", OPTIONAL, function(_, ctx)
  local answers, err = pintle.all {
    function() return ctx:call("elicitation/create", { message = "first" }, { key = "a" }) end,
    function() return ctx:call("elicitation/create", { message = "second" }, { key = "b" }) end,
  }
  return answers and answers[1].action .. " " .. answers[2].action, err
end)

-- Becomes a task if it takes longer; asks before that.
tool("later", { task = "optional", task_after = 0.1 }, function(args, ctx)
  local name = "nobody"
  if args.ask then
    local answer, err = ctx:call("elicitation/create", { message = "name" }, { key = "name" })
    if not answer then return nil, err end
    name = answer.content.name
  end
  ctx:sleep(args.seconds or 0)
  return "for " .. name
end)

plugin:operation("number", {
  params = { type = "object", properties = { n = { type = "integer" } } }, dialects = { mcp = OPTIONAL },
}, function() return "number" end)

plugin:on_shutdown(function() io.stderr:write "over\n" end)

plugin:serve()
