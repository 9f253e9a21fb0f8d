-- What a host says of itself to a server.

local core = require "pintle.core"
local errors = require "pintle.error"
local json = core.json
local lazy = require "pintle.lazy"
local lfs = require "lfs"
local uri = require "pintle.dialect.lsp.uri"

local capabilities = lazy "pintle.dialect.lsp.capabilities"

local client = {}

local OPTIONS = { root = true, capabilities = "table", settings = "table", process_id = "boolean" }

---@class pintle.lsp.options
---@field root? string|false the folder that is worked on, as a path or a file URI; that of the process unless told
---@field capabilities? table what the user can do beyond what is handled here; on top of it
---@field settings? table what workspace/configuration is answered from; told at the beginning, too
---@field process_id? boolean false keeps it from the server, which may live where it means nothing: in a container, say

---@param options pintle.lsp.options
---@return true?, pintle.error?
function client.check(options)
  for name, value in pairs(options) do
    local expected = OPTIONS[name]
    if not expected then return nil, errors.new("invalid", ("options: there is no %q"):format(tostring(name))) end
    if expected ~= true and type(value) ~= expected then
      return nil, errors.new("invalid", ("options.%s: %s expected, got %s"):format(name, expected, type(value)))
    end
  end
  local root = options.root
  if root == nil or root == false or type(root) == "string" then return true end
  return nil, errors.new("invalid", "options.root: a path expected, or false, got " .. type(root))
end

-- {====== Folders ======

local function absolute(path)
  if path:sub(1, 1) == "/" then return path end
  return path == "." and lfs.currentdir() or lfs.currentdir() .. "/" .. path
end

-- As URI and path; nil for none.
local function root_of(session)
  local root = session.options.root
  if root == false then return nil end
  if root and root:find "^%a[%w+.-]*://" then return root, uri.path(root) end
  local path = absolute(root or session.cwd or ".")
  return uri.of(path), path
end

local function folders_of(root, path)
  if not root then return json.null end
  local name = (path or root):match "([^/]+)/*$" or root
  return json.array { { uri = root, name = name } }
end

-- }======

local PARAMS = json.order {
  "processId", "clientInfo", "rootPath", "rootUri", "capabilities", "initializationOptions", "workspaceFolders",
}

-- What is answered here, or by a handler of the user's.
local function capabilities_of(session)
  local handlers = session.handlers or {}
  local own = {
    window = { workDoneProgress = true, showDocument = handlers["window/showDocument"] and { support = true } },
    workspace = {
      applyEdit = handlers["workspace/applyEdit"] and true, configuration = true, workspaceFolders = true,
      executeCommand = {}, didChangeConfiguration = {},
    },
    textDocument = {
      synchronization = { didSave = true },
      publishDiagnostics = handlers["textDocument/publishDiagnostics"] and {},
    },
  }
  return capabilities.merged(own, session.options.capabilities or {})
end

---The params of initialize.
---@param session pintle.session
---@return table
function client.params(session)
  local root, path = root_of(session)
  session.state.folders = folders_of(root, path)
  return setmetatable({
    processId = session.options.process_id == false and json.null or core.getpid(),
    clientInfo = { name = "pintle" },
    rootPath = path or json.null,
    rootUri = root or json.null,
    capabilities = capabilities_of(session),
    initializationOptions = session.config,
    workspaceFolders = session.state.folders,
  }, PARAMS)
end

return client
