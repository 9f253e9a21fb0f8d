-- Run by Neovim, which has a Lua of its own: runs the code of README.md with the files in the folder that
-- PINTLE_FOLDER names, and writes its output to the file `seen` there.
-- luacheck: globals vim print
local folder, seen = vim.env.PINTLE_FOLDER, {}

-- Neovim before 0.8 has only the function below it.
vim.lsp.start = vim.lsp.start or function(config) vim.lsp.buf_attach_client(0, vim.lsp.start_client(config)) end

function print(text) seen[#seen + 1] = tostring(text) end

local function is_ready()
  local client = (vim.lsp.get_clients or vim.lsp.get_active_clients)()[1]
  return client and client.server_capabilities ~= nil and next(vim.lsp.buf_get_clients(0)) ~= nil
end

local ok, problem = pcall(function()
  dofile(folder .. "/start.lua")
  assert(vim.wait(20000, is_ready, 10), "the server is not ready")
  dofile(folder .. "/call.lua")
  vim.wait(20000, function() return #seen > 0 end, 10)
end)
if not ok then seen[#seen + 1] = tostring(problem) end
vim.fn.writefile({ vim.fn.json_encode(seen) }, folder .. "/seen")
vim.cmd "qall!"
