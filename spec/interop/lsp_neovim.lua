-- Run by Neovim, which has a Lua of its own: opens a file with the server that PINTLE_SERVER names, edits it, sends
-- requests, and writes the results to the file that PINTLE_SEEN names.
-- luacheck: globals vim
local seen = {}

local function wait_for(what, condition)
  if not vim.wait(20000, condition, 10) then error("Neovim has waited in vain for " .. what) end
end

local function shown(buffer)
  local list = {}
  for i, found in ipairs(vim.diagnostic.get(buffer)) do
    list[i] = { found.lnum, found.col, found.end_col, found.severity, found.message }
  end
  return list
end

local function run()
  local buffer = vim.api.nvim_get_current_buf()
  local client_id = vim.lsp.start_client {
    name = "todo", cmd = { "lua5.4", vim.env.PINTLE_SERVER }, root_dir = vim.fn.getcwd(),
    on_exit = function(code, signal) seen.exit = { code, signal } end,
  }
  assert(vim.lsp.buf_attach_client(buffer, client_id))
  wait_for("diagnostics", function() return #vim.diagnostic.get(buffer) == 1 end)
  seen.opened = shown(buffer)
  seen.pid = vim.fn.getpid()

  vim.api.nvim_buf_set_text(buffer, 0, 8, 0, 12, { "FIXME" })
  vim.api.nvim_buf_set_lines(buffer, 1, 1, false, { "-- TODO: \u{1F600}" })
  wait_for("the edit", function() return #vim.diagnostic.get(buffer) == 2 end)
  seen.edited = shown(buffer)

  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = { line = 0, character = 7 },
  }
  local answers = vim.lsp.buf_request_sync(buffer, "textDocument/hover", params, 20000)
  seen.hover = answers[client_id].result.contents.value
  answers = vim.lsp.buf_request_sync(buffer, "workspace/executeCommand",
    { command = "todo.count", arguments = { { path = vim.api.nvim_buf_get_name(buffer) } } }, 20000)
  seen.count = answers[client_id].result

  vim.lsp.stop_client(client_id)
  wait_for("the end of the server", function() return seen.exit end)
end

local ok, problem = pcall(run)
seen.problem = not ok and tostring(problem) or nil
vim.fn.writefile({ vim.fn.json_encode(seen) }, vim.env.PINTLE_SEEN)
vim.cmd "qall!"
