-- What a plugin can do: its capabilities as words, and the methods that follow from them.

local jsonrpc = require "pintle.jsonrpc"
local lazy = require "pintle.lazy"

local lsp = lazy "pintle.dialect.lsp.plugin"

local capabilities = {}

local function is_offered(value) return value ~= nil and value ~= false and type(value) ~= "userdata" end

local function object(value) return jsonrpc.is_object(value) and value or {} end

local function sorted_names(map)
  local names = {}
  for name in pairs(map) do
    if type(name) == "string" then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

local function with_details(word, details)
  return #details > 0 and ("%s (%s)"):format(word, table.concat(details, ", ")) or word
end

-- {====== Language servers ======

local LSP_WORDS = {
  callHierarchyProvider = "call hierarchy", codeActionProvider = "code actions", codeLensProvider = "code lenses",
  colorProvider = "colours", completionProvider = "completion", declarationProvider = "go to declaration",
  definitionProvider = "go to definition", diagnosticProvider = "diagnostics on request",
  documentFormattingProvider = "formatting", documentHighlightProvider = "highlights",
  documentLinkProvider = "links", documentOnTypeFormattingProvider = "formatting while typing",
  documentRangeFormattingProvider = "formatting of a selection", documentSymbolProvider = "symbols of a document",
  executeCommandProvider = "commands", foldingRangeProvider = "folding", hoverProvider = "hover",
  implementationProvider = "go to implementation", inlayHintProvider = "inlay hints",
  inlineCompletionProvider = "inline completion", inlineValueProvider = "inline values",
  linkedEditingRangeProvider = "linked editing", monikerProvider = "monikers", notebookDocumentSync = "notebooks",
  referencesProvider = "find references", renameProvider = "rename", selectionRangeProvider = "selection ranges",
  semanticTokensProvider = "semantic tokens", signatureHelpProvider = "signature help",
  typeDefinitionProvider = "go to type definition", typeHierarchyProvider = "type hierarchy",
  workspaceSymbolProvider = "symbols of the workspace",
}

-- "astProvider" is "ast", "inactiveRegionsProvider" is "inactive regions".
local function split_name(name) return (name:gsub("Provider$", ""):gsub("(%l)(%u)", "%1 %2"):lower()) end

local function strings_in(value)
  local list = {}
  for _, item in ipairs(type(value) == "table" and value or {}) do
    if type(item) == "string" then list[#list + 1] = item end
  end
  return list
end

local function triggers(value)
  local characters = strings_in(object(value).triggerCharacters)
  return #characters > 0 and { "after " .. table.concat(characters, " ") } or {}
end

local LSP_DETAILS = {
  completionProvider = triggers, signatureHelpProvider = triggers,
  codeActionProvider = function(value) return strings_in(object(value).codeActionKinds) end,
}

local SYNC = { "by whole documents", "by changes" }

local LSP_SPECIAL = {}

function LSP_SPECIAL.textDocumentSync(value)
  local how = SYNC[type(value) == "number" and value or object(value).change]
  return with_details("open documents", { how })
end

function LSP_SPECIAL.positionEncoding(value)
  return type(value) == "string" and "positions in " .. value:upper() or nil
end

function LSP_SPECIAL.workspace(value)
  local details = {}
  for _, name in ipairs(sorted_names(object(value))) do details[#details + 1] = split_name(name) end
  return #details > 0 and "workspace: " .. table.concat(details, ", ") or nil
end

function LSP_SPECIAL.experimental(value)
  local names = sorted_names(object(value))
  return #names > 0 and "experimental: " .. table.concat(names, ", ") or nil
end

local function lsp_word(name, value)
  if LSP_SPECIAL[name] then return LSP_SPECIAL[name](value) end
  local details = LSP_DETAILS[name] and LSP_DETAILS[name](value) or {}
  return with_details(LSP_WORDS[name] or split_name(name), details)
end

-- }======

-- {====== MCP ======

local MCP_DETAILS = { listChanged = "announces changes", subscribe = "subscriptions" }

local function mcp_word(name, value)
  local details = {}
  for _, detail in ipairs(sorted_names(object(value))) do
    if is_offered(value[detail]) then details[#details + 1] = MCP_DETAILS[detail] or detail end
  end
  return with_details(name, details)
end

-- }======

local WORDS = { lsp = lsp_word, mcp = mcp_word }

-- Names of capabilities in gevals.
local NAMES = { bytes = "binary data", cancel = "cancelling", parts = "partial results", progress = "progress" }

---@param dialect string
---@param raw any the manifest as it was received
---@return table capabilities of the protocol
local function sent(dialect, raw) return WORDS[dialect] and object(object(raw).capabilities) or {} end

---@param dialect string
---@param manifest pintle.manifest
---@param raw any the manifest as it was received
---@return string[]
function capabilities.words(dialect, manifest, raw)
  local words, word_of, offered = {}, WORDS[dialect], sent(dialect, raw)
  for _, name in ipairs(sorted_names(offered)) do
    words[#words + 1] = is_offered(offered[name]) and word_of(name, offered[name]) or nil
  end
  for name in pairs(manifest.capabilities) do words[#words + 1] = NAMES[name] or name end
  table.sort(words)
  return words
end

-- {====== Methods ======

local METHODS = {
  gevals = { "execute" }, liquid = { "compile", "render" }, lsp = { "workspace/executeCommand" }, mcp = { "ping" },
}

local MCP_METHODS = {
  tools = { "tools/call", "tools/list" }, logging = { "logging/setLevel" }, completions = { "completion/complete" },
  prompts = { "prompts/get", "prompts/list" },
  resources = {
    "resources/list", "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe",
  },
}

local NOTIFICATIONS = {
  lsp = {
    "textDocument/didChange", "textDocument/didClose", "textDocument/didOpen", "textDocument/didSave",
    "workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles",
  },
  mcp = { "notifications/roots/list_changed" },
}

---The methods that a plugin is likely to answer.
---@param dialect string
---@param raw any the manifest as it was received
---@return string[]
function capabilities.methods(dialect, raw)
  local offered = sent(dialect, raw)
  local methods = table.move(METHODS[dialect] or {}, 1, #(METHODS[dialect] or {}), 1, {})
  for method, provider in pairs(dialect == "lsp" and lsp.PROVIDERS or {}) do
    if is_offered(offered[provider]) then methods[#methods + 1] = method end
  end
  for name, list in pairs(dialect == "mcp" and MCP_METHODS or {}) do
    if is_offered(offered[name]) then table.move(list, 1, #list, #methods + 1, methods) end
  end
  table.sort(methods)
  return methods
end

---The notifications that a plugin is likely to use.
---@param dialect string
---@return string[]
function capabilities.notifications(dialect) return NOTIFICATIONS[dialect] or {} end

-- }======

return capabilities
