-- The Model Context Protocol over stdio, from both sides and of both eras: the one that shakes hands (2024-11-05 to
-- 2025-11-25) and the one that tells everything with every request (2026-07-28).

local lazy = require "pintle.lazy"

local VERSION = "io.modelcontextprotocol/protocolVersion"

local OWN = {
  ["server/discover"] = true, ["subscriptions/listen"] = true, ["completion/complete"] = true,
  ["logging/setLevel"] = true, ping = "perhaps",
}
local FAMILIES = { tools = true, resources = true, prompts = true, notifications = "perhaps" }

local function is_new(params)
  local meta = type(params) == "table" and params._meta
  return type(meta) == "table" and meta[VERSION] ~= nil
end

-- Others begin with "initialize" as well, but with versions of another form.
local function is_handshake(params)
  if type(params) ~= "table" then return false end
  local version = params.protocolVersion
  if type(version) ~= "string" then return type(params.clientInfo) == "table" and "perhaps" end
  return version:find "^%d%d%d%d%-%d%d%-%d%d" ~= nil or type(params.clientInfo) == "table"
end

---@type pintle.dialect
return {
  name = "mcp",
  framing = "line",
  cancellation = false, -- the handshake cannot be cancelled
  declare = function(_, own) return require("pintle.dialect.mcp.identity").fault(own) end,
  recognises = function(method, params, framing)
    if framing ~= "line" then return false end
    if is_new(params) then return true end
    if method == "initialize" then return is_handshake(params) end
    return OWN[method] or FAMILIES[method:match "^(%a+)/"] or false
  end,
  host = lazy "pintle.dialect.mcp.host",
  plugin = lazy "pintle.dialect.mcp.plugin",
}
