-- The base of the Language Server Protocol 3.17, both sides: lifecycle, cancellation, progress, log messages, commands.

local lazy = require "pintle.lazy"

local function is_lsp_initialize(params)
  return type(params) == "table" and (params.capabilities ~= nil or params.processId ~= nil)
end

local function lsp_progress_fraction(value)
  if value.kind == "end" then return 1 end
  return type(value.percentage) == "number" and value.percentage / 100 or nil
end

---@type pintle.dialect
return {
  name = "lsp",
  framing = "header",
  -- The code that other dialects use for an unmet requirement means "not initialized" in this protocol.
  codes = { cancelled = -32800, requirement = -32000 },
  -- Servers create tokens, too, so the tokens of calls have a prefix.
  progress = {
    method = "$/progress",
    attach = function(params, token)
      local copy = { workDoneToken = "pintle-" .. token }
      for name, value in pairs(params or {}) do copy[name] = value end
      return copy
    end,
    report = function(params)
      local number = type(params.token) == "string" and params.token:match "^pintle%-(%d+)$"
      local value = type(params.value) == "table" and params.value or {}
      local message = type(value.message) == "string" and value.message or nil
      return math.tointeger(tonumber(number)), lsp_progress_fraction(value), message, value
    end,
  },
  recognises = function(method, params, framing)
    if framing ~= "header" then return false end
    return method == "initialize" and is_lsp_initialize(params) or "perhaps"
  end,
  host = lazy "pintle.dialect.lsp.host",
  plugin = lazy "pintle.dialect.lsp.plugin",
}
