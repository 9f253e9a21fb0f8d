-- Recognising the dialect of real programs, on a quiet machine and on a busy one.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"

children.leave_nothing()

local EVERYTHING = os.getenv "PINTLE_PEERS" .. "/node_modules/@modelcontextprotocol/server-everything/dist/index.js"

-- A server that reads and writes nothing for a while after its start.
local function sluggish(path)
  return { "node", "-e", ("setTimeout(() => import(%q), 3000)"):format("file://" .. path), "x", "stdio" }
end

local function inspect(...)
  local begun = core.now()
  local out, err, status = cli.run(cli.words("inspect", "--log", "silent", "--start-timeout", "60s", ...))
  assert(status == 0, err)
  return out:match "Speaks (%l+)", core.now() - begun
end

local PROGRAMS = {
  ["an MCP server by its name"] = { "mcp", { "mcp-server-everything", "stdio" } },
  ["an MCP server of any name"] = { "mcp", { "node", "spec/interop/mcp_classic_server.cjs" } },
  ["an MCP server without a handshake"] = { "mcp", { "node", "spec/interop/mcp_modern_server.cjs" } },
  ["a sluggish MCP server"] = { "mcp", sluggish(EVERYTHING) },
  ["a language server by its name"] = { "lsp", { "typescript-language-server", "--stdio" } },
  ["another language server by its name"] = { "lsp", { "bash-language-server", "start" } },
  ["a language server of any name"] = { "lsp", { "node", "spec/interop/lsp_server.cjs", "--stdio" } },
  ["clangd"] = { "lsp", { "clangd" } },
}

describe("the dialect of", function()
  for name, program in pairs(PROGRAMS) do
    it(name .. " is found out", function() assert.equal(program[1], (inspect(program[2]))) end)

    it(name .. " is found out on a busy machine", function()
      local busy <close> = assert(core.spawn { command = { "sh", "-c", "while :; do :; done" } })
      local busier <close> = assert(core.spawn { command = { "sh", "-c", "while :; do :; done" } })
      assert.equal(program[1], (inspect(program[2])))
      busy:kill "KILL"
      busier:kill "KILL"
      busy:wait(children.patience)
      busier:wait(children.patience)
    end)
  end

  it("an MCP server is recognised quickly", function()
    local command = { "mcp-server-everything", "stdio" }
    inspect(command) -- so that its files have been read
    local _, known = inspect("-d", "mcp", command)
    local _, unknown = inspect(command)
    assert.truthy(unknown < known * 1.5 + 1, ("%.2fs in place of %.2fs"):format(unknown, known))
  end)
end)
