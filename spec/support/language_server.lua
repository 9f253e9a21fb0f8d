-- A strict language server that does not use pintle. It exits with status 3 if its client violates the order of
-- messages. The first argument is the file to which it writes each message that it reads; the second one selects its
-- behaviour.
local pintle = require "pintle"

local heard = assert(io.open(arg[1], "w"))
local nature = arg[2] or "proper"
local peer = assert(pintle.connect { stdio = true, framing = "header" })
local stage = "new"

local function note(method, params)
  heard:write(pintle.json.encode { method, params }, "\n")
  heard:flush()
end

local function expect(wanted)
  if stage == wanted then return end
  io.stderr:write("out of order: ", stage, " instead of ", wanted, "\n")
  os.exit(3, true)
end

local ANSWERS = {
  proper = {
    capabilities = { executeCommandProvider = { commands = { "give", "fail", "refuse", "work", "sleep", "ask" } } },
    serverInfo = { name = "proper server", version = "14 (of 2022)" },
  },
  terse = { capabilities = {} },
  odd = { capabilities = { executeCommandProvider = { commands = { "a", 5, "b" } } }, serverInfo = { name = " " } },
  empty = pintle.null,
  list = { 1 },
  incapable = { serverInfo = { name = "x" } },
  deaf = { capabilities = {} },
}

peer:on("initialize", function(params)
  expect "new"
  note("initialize", params)
  if nature == "refusing" then return nil, { code = -32050, message = "not today" } end
  stage = "answered"
  return ANSWERS[nature]
end)

peer:on("initialized", function(params)
  expect "answered"
  note("initialized", params)
  stage = "open"
end)

local function work(params)
  local token = params.workDoneToken
  for _, value in ipairs {
    { kind = "begin", title = "working" }, { kind = "report", percentage = 50, message = "half" },
    { kind = "report", message = "nearly" }, { kind = "end" },
  } do
    peer:notify("$/progress", { token = token, value = value })
  end
  return { done = true }
end

local commands = { work = work }

function commands.give(params) return params.arguments[1] or pintle.null end
function commands.fail(params) return nil, { code = -32803, message = "it failed", data = params.arguments[1] } end
function commands.refuse() return nil, { code = -32602, message = "not like that" } end
function commands.ask(params) return peer:call(params.arguments[1], params.arguments[2]) end

function commands.sleep(_, ctx)
  local _, err = pintle.sleep(600)
  note("cancelled", { ctx.id })
  return nil, err
end

peer:on("workspace/executeCommand", function(params, ctx)
  expect "open"
  note("workspace/executeCommand", params)
  return commands[params.command](params, ctx)
end)

peer:on("shutdown", function(params)
  expect "open"
  note("shutdown", params)
  if nature == "deaf" then pintle.sleep(600) end
  stage = "shut"
end)

peer:on("exit", function(params)
  note("exit", params)
  os.exit(stage == "shut" and 0 or 1, true)
end)

peer:on_unknown(function(params, ctx)
  note(ctx.method, params)
  if ctx.id ~= nil then return params end
end)

peer:join()
note("the end of input", nil)
