-- A plugin like july: lua5.4 spec/support/reginald/july_plugin.lua [RECORD [BEHAVIOUR…]]
local json = require("pintle.core").json
local fake_plugin = require "spec.support.reginald.fake_plugin"
local strict = require "spec.support.reginald.strict"

local behaves = fake_plugin.behaves
local entry = strict.entry(strict.JULY_TYPES)

local plugin = {
  params = {
    handshake = { protocol = "string", protocolVersion = "integer" },
    runCommand = { cmd = "string", ["config?"] = { entry }, pluginConfig = { entry } },
    runTask = { taskType = "string", config = { entry } },
    shutdown = "null",
  },
  handlers = {},
}

local function log(message, attributes)
  fake_plugin.write(('{"jsonrpc":"2.0","method":"log","params":{"time":"2025-07-06T10:00:00.123+02:00","source":'
    .. '{"function":"main.run","file":"main.go","line":7},"msg":%s,"attrs":%s,"level":"INFO"}}'):format(
    json.encode(message), json.encode(json.array(attributes))))
end

function plugin.handlers.handshake(params)
  if behaves.silent then return nil end
  if behaves.refusing or params.protocol ~= "reginald" then
    return nil, { code = -32000, message = "not that protocol" }
  end
  return '{"name":"installer","protocol":"reginald","protocolVersion":0}'
end

function plugin.handlers.runCommand(params)
  if params.cmd == "fail" then return nil, { code = -32003, message = "it failed" } end
  if params.cmd == "list" then return nil, { code = -32002, message = "not runnable" } end
  if params.cmd ~= "versions" and params.cmd ~= "list.all" then
    return nil, { code = -32001, message = "no such command" }
  end
  log("ran " .. params.cmd, { { key = "config", value = #(params.config or {}) } })
  return "{}"
end

function plugin.handlers.runTask(params)
  if params.taskType == "fail" then return nil, { code = -32003, message = "it failed" } end
  log("installed", {})
  return "{}"
end

function plugin.handlers.shutdown() return behaves.untrue and "{}" or "true" end

fake_plugin.serve(plugin)
