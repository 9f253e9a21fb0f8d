-- The capabilities of a server: derived from the methods that its author has declared, plus what the author adds.

local json = require("pintle.core").json
local wire = require "pintle.dialect.lsp.wire"

local capabilities = {}

-- {====== Derived from methods ======

local PROVIDERS = {
  ["textDocument/codeAction"] = "codeActionProvider",
  ["textDocument/codeLens"] = "codeLensProvider",
  ["textDocument/completion"] = "completionProvider",
  ["textDocument/declaration"] = "declarationProvider",
  ["textDocument/definition"] = "definitionProvider",
  ["textDocument/diagnostic"] = "diagnosticProvider",
  ["textDocument/documentColor"] = "colorProvider",
  ["textDocument/documentHighlight"] = "documentHighlightProvider",
  ["textDocument/documentLink"] = "documentLinkProvider",
  ["textDocument/documentSymbol"] = "documentSymbolProvider",
  ["textDocument/foldingRange"] = "foldingRangeProvider",
  ["textDocument/formatting"] = "documentFormattingProvider",
  ["textDocument/hover"] = "hoverProvider",
  ["textDocument/implementation"] = "implementationProvider",
  ["textDocument/inlayHint"] = "inlayHintProvider",
  ["textDocument/inlineValue"] = "inlineValueProvider",
  ["textDocument/linkedEditingRange"] = "linkedEditingRangeProvider",
  ["textDocument/moniker"] = "monikerProvider",
  ["textDocument/prepareCallHierarchy"] = "callHierarchyProvider",
  ["textDocument/prepareTypeHierarchy"] = "typeHierarchyProvider",
  ["textDocument/rangeFormatting"] = "documentRangeFormattingProvider",
  ["textDocument/references"] = "referencesProvider",
  ["textDocument/rename"] = "renameProvider",
  ["textDocument/selectionRange"] = "selectionRangeProvider",
  ["textDocument/signatureHelp"] = "signatureHelpProvider",
  ["textDocument/typeDefinition"] = "typeDefinitionProvider",
  ["workspace/symbol"] = "workspaceSymbolProvider",
}

-- Providers that have to be objects.
local OBJECTS = {
  codeLensProvider = true, completionProvider = true, documentLinkProvider = true, signatureHelpProvider = true,
}

-- Methods that add a member to another provider.
local ADDITIONS = {
  ["codeAction/resolve"] = { "codeActionProvider", "resolveProvider" },
  ["codeLens/resolve"] = { "codeLensProvider", "resolveProvider" },
  ["completionItem/resolve"] = { "completionProvider", "resolveProvider" },
  ["documentLink/resolve"] = { "documentLinkProvider", "resolveProvider" },
  ["inlayHint/resolve"] = { "inlayHintProvider", "resolveProvider" },
  ["textDocument/prepareRename"] = { "renameProvider", "prepareProvider" },
  ["workspaceSymbol/resolve"] = { "workspaceSymbolProvider", "resolveProvider" },
}

local FULL = 1 -- the client sends the whole document on each change

local SYNC = {
  ["textDocument/didOpen"] = { "openClose", true },
  ["textDocument/didClose"] = { "openClose", true },
  ["textDocument/didChange"] = { "change", FULL },
  ["textDocument/willSave"] = { "willSave", true },
  ["textDocument/willSaveWaitUntil"] = { "willSaveWaitUntil", true },
  ["textDocument/didSave"] = { "save", true },
}

local function add_providers(derived, methods)
  for method, provider in pairs(PROVIDERS) do
    if methods[method] then derived[provider] = OBJECTS[provider] and {} or true end
  end
  for method, addition in pairs(ADDITIONS) do
    local provider, member = addition[1], addition[2]
    if methods[method] and derived[provider] then
      if derived[provider] == true then derived[provider] = {} end
      derived[provider][member] = true
    end
  end
  if derived.diagnosticProvider then
    local has_workspace = methods["workspace/diagnostic"] ~= nil
    derived.diagnosticProvider = { interFileDependencies = false, workspaceDiagnostics = has_workspace }
  end
end

local function add_sync(derived, methods)
  for method, member in pairs(SYNC) do
    if methods[method] then
      derived.textDocumentSync = derived.textDocumentSync or {}
      derived.textDocumentSync[member[1]] = member[2]
    end
  end
end

local function add_workspace(derived, methods)
  if not methods["workspace/didChangeWorkspaceFolders"] then return end
  derived.workspace = { workspaceFolders = { supported = true, changeNotifications = true } }
end

local function add_commands(derived, names)
  if #names == 0 then return end
  local commands = json.array(table.move(names, 1, #names, 1, {}))
  derived.executeCommandProvider = { commands = commands, workDoneProgress = true }
end

-- }======

-- With members in alphabetical order, so that the text is always the same.
local function sort_members(value)
  if json.kind(value) ~= "object" or getmetatable(value) then return value end
  local names, copy = {}, {}
  for name, member in pairs(value) do
    names[#names + 1] = name
    copy[name] = sort_members(member)
  end
  table.sort(names)
  return setmetatable(copy, json.order(names))
end

---@param plugin pintle.plugin
---@param client table? the params of initialize; nil before that
---@return table
function capabilities.of(plugin, client)
  local derived = {}
  add_providers(derived, plugin.methods)
  add_sync(derived, plugin.methods)
  add_workspace(derived, plugin.methods)
  add_commands(derived, plugin.manifest.names)
  local own = plugin.manifest.dialects.lsp
  local given = own and own.capabilities
  if type(given) == "function" then given = given(client or {}) end
  return sort_members(given and wire.merge(derived, given) or derived)
end

return capabilities
