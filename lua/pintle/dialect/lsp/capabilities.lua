-- What a server says it can do: told by the methods that its author has declared, and by what he says himself.

local json = require("pintle.core").json

local capabilities = {}

-- {====== What methods tell ======

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

-- Those that have to be objects.
local OBJECTS = {
  codeLensProvider = true, completionProvider = true, documentLinkProvider = true, signatureHelpProvider = true,
}

-- Methods that only add to what another one provides: to which, and what.
local ADDITIONS = {
  ["codeAction/resolve"] = { "codeActionProvider", "resolveProvider" },
  ["codeLens/resolve"] = { "codeLensProvider", "resolveProvider" },
  ["completionItem/resolve"] = { "completionProvider", "resolveProvider" },
  ["documentLink/resolve"] = { "documentLinkProvider", "resolveProvider" },
  ["inlayHint/resolve"] = { "inlayHintProvider", "resolveProvider" },
  ["textDocument/prepareRename"] = { "renameProvider", "prepareProvider" },
  ["workspaceSymbol/resolve"] = { "workspaceSymbolProvider", "resolveProvider" },
}

local FULL = 1 -- documents come as a whole

local SYNC = {
  ["textDocument/didOpen"] = { "openClose", true },
  ["textDocument/didClose"] = { "openClose", true },
  ["textDocument/didChange"] = { "change", FULL },
  ["textDocument/willSave"] = { "willSave", true },
  ["textDocument/willSaveWaitUntil"] = { "willSaveWaitUntil", true },
  ["textDocument/didSave"] = { "save", true },
}

local function add_providers(told, methods)
  for method, provider in pairs(PROVIDERS) do
    if methods[method] then told[provider] = OBJECTS[provider] and {} or true end
  end
  for method, addition in pairs(ADDITIONS) do
    local provider, member = addition[1], addition[2]
    if methods[method] and told[provider] then
      if told[provider] == true then told[provider] = {} end
      told[provider][member] = true
    end
  end
  if told.diagnosticProvider then
    local is_for_all = methods["workspace/diagnostic"] ~= nil
    told.diagnosticProvider = { interFileDependencies = false, workspaceDiagnostics = is_for_all }
  end
end

local function add_sync(told, methods)
  for method, member in pairs(SYNC) do
    if methods[method] then
      told.textDocumentSync = told.textDocumentSync or {}
      told.textDocumentSync[member[1]] = member[2]
    end
  end
end

local function add_workspace(told, methods)
  if not methods["workspace/didChangeWorkspaceFolders"] then return end
  told.workspace = { workspaceFolders = { supported = true, changeNotifications = true } }
end

local function add_commands(told, names)
  if #names == 0 then return end
  local commands = json.array(table.move(names, 1, #names, 1, {}))
  told.executeCommandProvider = { commands = commands, workDoneProgress = true }
end

-- }======

---One on top of the other; what both have as objects is merged. Neither is touched.
---@param below table
---@param above table
---@return table
function capabilities.merged(below, above)
  local all = {}
  for name, value in pairs(below) do all[name] = value end
  for name, value in pairs(above) do
    local is_merged = json.kind(value) == "object" and json.kind(all[name]) == "object"
    all[name] = is_merged and capabilities.merged(all[name], value) or value
  end
  return all
end

-- So that it is written the same way every time.
local function in_order(value)
  if json.kind(value) ~= "object" or getmetatable(value) then return value end
  local names, copy = {}, {}
  for name, member in pairs(value) do
    names[#names + 1] = name
    copy[name] = in_order(member)
  end
  table.sort(names)
  return setmetatable(copy, json.order(names))
end

---@param plugin pintle.plugin
---@param client table? what the client said of itself; nil where there is none yet
---@return table
function capabilities.of(plugin, client)
  local told = {}
  add_providers(told, plugin.methods)
  add_sync(told, plugin.methods)
  add_workspace(told, plugin.methods)
  add_commands(told, plugin.manifest.names)
  local own = plugin.manifest.dialects.lsp
  local given = own and own.capabilities
  if type(given) == "function" then given = given(client or {}) end
  return in_order(given and capabilities.merged(told, given) or told)
end

return capabilities
