-- Plays an MCP client, of either era, for the toolbox among the plugins.
local extension = require "spec.support.extension"
local json = require("pintle.core").json

local mcp = {}

mcp.INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",'
  .. '"capabilities":{"sampling":{},"roots":{}},"clientInfo":{"name":"spec","version":"1"}}}'

-- The `_meta` of every request in the modern era.
mcp.META = {
  ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28",
  ["io.modelcontextprotocol/clientCapabilities"] = {},
}

function mcp.start(config) return extension.plugin("toolbox", config and { "--config", json.encode(config) }) end

-- A client after the handshake.
function mcp.classic(config)
  local plugin = mcp.start(config)
  plugin:say(mcp.INITIALIZE, '{"jsonrpc":"2.0","method":"notifications/initialized"}')
  assert(plugin:line():find('"method":"notifications/message"', 1, true))
  assert(plugin:line():find('"id":1,"result"', 1, true))
  return plugin
end

function mcp.with_meta(params, meta)
  local full = { _meta = {} }
  for name, value in pairs(params or {}) do full[name] = value end
  for name, value in pairs(mcp.META) do full._meta[name] = value end
  for name, value in pairs(meta or {}) do full._meta[name] = value end
  return full
end

-- Sends a request. The next message need not be the response.
function mcp.ask(plugin, method, params) return plugin:call(method, params, 7) end

function mcp.ask_modern(plugin, method, params, meta) return plugin:call(method, mcp.with_meta(params, meta), 7) end

function mcp.call(plugin, name, args, meta)
  return mcp.ask(plugin, "tools/call", { name = name, arguments = args, _meta = meta })
end

function mcp.call_modern(plugin, name, args, meta)
  return mcp.ask_modern(plugin, "tools/call", { name = name, arguments = args }, meta)
end

return mcp
