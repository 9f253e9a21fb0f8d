-- Neovim with examples/todo-lsp as its language server.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"

children.leave_nothing()

describe("Neovim", function()
  local folder

  files.give_each_a_folder(function(path) folder = path end)

  local function edit(text)
    local file = assert(io.open(folder .. "/notes.lua", "w"))
    file:write(text)
    file:close()
    local here = lfs.currentdir()
    local run_it = "luafile " .. here .. "/spec/interop/lsp_neovim.lua"
    local output, status = children.run {
      command = { "nvim", "--headless", "--clean", folder .. "/notes.lua", "-c", run_it },
      env = {
        PINTLE_SERVER = here .. "/examples/todo-lsp/plugin.lua", PINTLE_SEEN = folder .. "/seen", HOME = folder,
      },
      stdin = "null",
    }
    assert.equal(0, status, output)
    return core.json.decode(files.read(folder .. "/seen"))
  end

  it("shows diagnostics, sends changes and requests, and ends the server properly", function()
    local seen = edit "-- \u{1F600} TODO: eat\n"
    assert.is_nil(seen.problem)
    -- Neovim counts in bytes.
    assert.same({ { 0, 8, 17, 3, "TODO: eat" } }, seen.opened)
    assert.same({ { 0, 8, 18, 2, "FIXME: eat" }, { 1, 3, 13, 3, "TODO: \u{1F600}" } }, seen.edited)
    assert.equal("**FIXME**, 1 of 2 in this file", seen.hover)
    assert.equal("1 TODO, 0 FIXME", seen.count)
    assert.same({ 0, 0 }, seen.exit)
  end)
end)
