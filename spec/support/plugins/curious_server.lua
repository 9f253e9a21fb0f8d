-- A plugin that asks its MCP client.
local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "curious", version = "1.0.0",
  dialects = { mcp = { limits = { questions = 2, question_time = tonumber(os.getenv "QUESTION_TIME") } } },
}

local runs = 0

local function ask_name(ctx, options)
  return ctx:call("elicitation/create", { message = "Your name?", requestedSchema = { type = "object" } }, options)
end

local function greet(ctx, options)
  local answer, err = ask_name(ctx, options)
  if not answer then return nil, err end
  return "Hello, " .. (answer.content and answer.content.name or answer.action)
end

plugin:operation("greet", {}, function(_, ctx)
  runs = runs + 1
  ctx:progress(0.5)
  local text, err = greet(ctx)
  ctx:progress(1)
  return text and ("%s (run %d)"):format(text, runs), err
end)

plugin:operation("named", {}, function(_, ctx) return greet(ctx, { key = "name" }) end)

plugin:operation("twice", {}, function(_, ctx)
  local first, err = greet(ctx, { key = "name" })
  if not first then return nil, err end
  local second
  second, err = greet(ctx, { key = "name" })
  return second and first .. "; " .. second, err
end)

plugin:operation("parallel", {}, function(_, ctx)
  local answers, err = pintle.all {
    function() return ask_name(ctx) end,
    function() return ctx:call("sampling/createMessage", { messages = {}, maxTokens = 1 }) end,
    function() return ctx:call("roots/list") end,
  }
  if not answers then return nil, err end
  return ("%s, %s, %d roots"):format(answers[1].content.name, answers[2].content.text, #answers[3].roots)
end)

plugin:operation("link", {}, function(_, ctx)
  local answer, err = ctx:call("elicitation/create", { mode = "url", message = "Go", url = "https://example.org" })
  return answer and answer.action, err
end)

plugin:operation("soon", {}, function(_, ctx)
  local answer, err = ask_name(ctx, { timeout = 0.05 })
  return answer and "answered", err
end)

plugin:operation("custom", {}, function(_, ctx)
  local answer, err = ctx:call("custom/thing", {})
  return answer and "answered", err
end)

plugin:operation("unsendable", {}, function(_, ctx)
  local _, err = ctx:call("elicitation/create", { message = print })
  return err.kind
end)

-- Asks in a task that outlives the handler.
plugin:operation("leave", {}, function(_, ctx)
  pintle.task(function()
    local _, err = ask_name(ctx)
    io.stderr:write(err and err.kind or "answered", "\n")
  end)
  return "left"
end)

plugin:resource("greeting:///me", {}, function(_, ctx) return greet(ctx) end)
plugin:resource_template("list:///{name}", { list = function(ctx) return ask_name(ctx) end }, function() end)
plugin:prompt("greeting", { arguments = { "tone" } }, function(args, ctx)
  local text, err = greet(ctx)
  return text and text .. (args.tone or "."), err
end)

plugin:serve()
