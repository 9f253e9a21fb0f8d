-- Asks clangd about a position in a C file: lua5.4 examples/clangd/ask.lua FILE LINE COLUMN
-- Lines and columns begin at 1, and columns are bytes, as in the messages of compilers.

local lfs = require "lfs"
local pintle = require "pintle"

local path, line, column = arg[1], tonumber(arg[2] or ""), tonumber(arg[3] or "")
if not path or not line or not column then
  io.stderr:write "usage: ask.lua FILE LINE COLUMN\n"
  os.exit(2)
end
if path:sub(1, 1) ~= "/" then path = lfs.currentdir() .. "/" .. path end
local file = assert(io.open(path))
local text = file:read "a"
file:close()
local uri = "file://" .. path:gsub("[^%w%-._~/]", function(char) return ("%%%02X"):format(char:byte()) end)

local function show(where, range, what)
  local name = where:match "[^/]+$":gsub("%%(%x%x)", function(code) return string.char(tonumber(code, 16)) end)
  print(("%s:%d:%d: %s"):format(name, range.start.line + 1, range.start.character + 1, what))
end

local SEVERITIES = { "error", "warning", "note", "hint" }
local diagnostics
local host <close> = pintle.host { dialect = "lsp", verbosity = "warn" }
local clangd = assert(host:start {
  command = { "clangd", "--log=error" },
  handlers = {
    ["textDocument/publishDiagnostics"] = function(params) diagnostics = params.diagnostics end,
  },
  options = { capabilities = { offsetEncoding = { "utf-8" }, general = { positionEncodings = { "utf-8" } } } },
})

clangd:notify("textDocument/didOpen", {
  textDocument = { uri = uri, languageId = "c", version = 1, text = text },
})
local place = { textDocument = { uri = uri }, position = { line = line - 1, character = column - 1 } }

local hover = assert(clangd:call("textDocument/hover", place, { timeout = "30s" }))
print(hover ~= pintle.null and hover.contents.value or "nothing to say of this place")
local definitions = assert(clangd:call("textDocument/definition", place))
for _, found in ipairs(definitions) do show(found.uri, found.range, "defined here") end

for _ = 1, 300 do -- wait for the diagnostics, which clangd sends when they are ready
  if diagnostics then break end
  pintle.sleep(0.1)
end
for _, found in ipairs(diagnostics or {}) do
  show(uri, found.range, (SEVERITIES[found.severity] or "error") .. ": " .. found.message)
end
