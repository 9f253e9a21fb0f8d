-- A plugin like june: lua5.4 spec/support/reginald/june_plugin.lua [RECORD [BEHAVIOUR…]]
local json = require("pintle.core").json
local fake_plugin = require "spec.support.reginald.fake_plugin"
local strict = require "spec.support.reginald.strict"

local behaves = fake_plugin.behaves
local entry = strict.entry(strict.JUNE_TYPES)

local plugin = {
  params = {
    handshake = { protocol = "string", protocolVersion = "integer" },
    initialize = { logging = { enabled = "boolean", level = "string" }, ["config?"] = { entry } },
    setupCommand = { name = "string", args = "null", config = { entry } },
    runCommand = { name = "string" },
    validateTask = { type = "string", config = { entry } },
    runTask = { type = "string", dir = strict.matching "^/", config = { entry } },
    shutdown = "null",
  },
  handlers = {},
}

local HELLO = '{"protocol":"rpp","protocolVersion":0,"name":"sleeper","version":"0.1.0","commands":['
  .. '{"name":"sleep","usage":"sleep [options]","configs":[{"key":"time","value":1,"type":"int",'
  .. '"flag":{"shorthand":"t","usage":"seconds"}},{"key":"deep","value":false,"type":"bool"}]},'
  .. '{"name":"fail","usage":"fail","configs":[]}],"tasks":[{"type":"echo"},{"type":"fail"}],'
  .. '"configs":[{"key":"greeting","value":"hi","type":"string"}]}'

local config, setups = nil, {}

local function log(level, message, fields)
  fake_plugin.write(json.encode {
    jsonrpc = "2.0", method = "log", params = { level = level, msg = message, fields = fields },
  })
end

local function values(list)
  local found = {}
  for _, item in ipairs(list or {}) do found[item.key] = item.value end
  return found
end

function plugin.handlers.handshake(params)
  if behaves.silent then return nil end
  if behaves.refusing or params.protocol ~= "rpp" then return nil, { code = -32602, message = "not that protocol" } end
  return HELLO
end

function plugin.handlers.initialize(params)
  if behaves.idle then return nil end
  config = values(params.config)
  log("Debug+1", "initialized", { level = params.logging.level, config = config })
  return "{}"
end

function plugin.handlers.setupCommand(params)
  if params.name ~= "sleep" and params.name ~= "fail" then return nil, { code = -32602, message = "no command" } end
  setups[params.name] = values(params.config)
  return "{}"
end

function plugin.handlers.runCommand(params)
  if behaves.asking then log("warn", fake_plugin.ask "weather") end
  if params.name == "fail" then return nil, { code = -32000, message = "it failed" } end
  log("INFO", "slept", { time = setups.sleep.time, deep = setups.sleep.deep })
  return "{}"
end

function plugin.handlers.validateTask(params)
  if params.type == "echo" and type(values(params.config).msg) ~= "string" then
    return nil, { code = -32050, message = "msg is needed" }
  end
  return "{}"
end

function plugin.handlers.runTask(params)
  if params.type == "fail" then return nil, { code = -32603, message = "it failed" } end
  log("info", values(params.config).msg, { dir = params.dir })
  return "{}"
end

function plugin.handlers.shutdown() return "null" end

fake_plugin.serve(plugin)
