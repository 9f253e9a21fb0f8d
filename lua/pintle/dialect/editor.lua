-- The client-server protocol of an editor, version 0.1, both sides. docs/dialects/editor.md lists the decisions where
-- the protocol document says nothing.

local lazy = require "pintle.lazy"

local MEMBERS = { process_id = true, client_info = true, root_path = true, initialize_options = true }

-- Whether all params are members of this protocol; other protocols spell theirs differently.
local function has_editor_params(params)
  if type(params) ~= "table" or next(params) == nil then return "perhaps" end
  for name in pairs(params) do
    if not MEMBERS[name] then return false end
  end
  return true
end

---@type pintle.dialect
return {
  name = "editor",
  framing = "header",
  ids = "string",
  extra = { version = "0.1" },
  header = 'content-type: "application/vscode-jsonrpc;charset=utf-8"\r\ncontent-length: ',
  cancellation = false,
  -- The protocol has no progress messages, so no token is attached.
  progress = { method = "", attach = function(params) return params end, report = function() end },
  recognises = function(method, params, framing, others)
    if framing ~= "header" then return false end
    if others and others.version ~= nil then return true end
    return method == "initialize" and has_editor_params(params)
  end,
  host = lazy "pintle.dialect.editor.host",
  plugin = lazy "pintle.dialect.editor.plugin",
}
