-- pintle check with servers of other projects: nothing hangs, and only the known problems are found.
local children = require "spec.support.children"
local verdicts_of = require "spec.support.verdicts"

children.leave_nothing()

describe("pintle check", function()
  it("finds the known problems of clangd", function()
    local verdicts, passed = verdicts_of("-d", "lsp", "clangd")
    assert.same({
      "warn bad-json", "warn invalid-request", "warn batch", "warn eof", "warn header-case", "skip outcome",
      "fail late-request", -- clangd answers requests after shutdown
      "warn orphan",
    }, verdicts)
    assert.truthy(passed >= 25, passed)
  end)

  it("finds the known problems of MCP's everything server", function()
    local verdicts, passed, status = verdicts_of("-d", "mcp", "-t", "20s", "--run", "echo", "--args",
      '{"message":"hi"}', "mcp-server-everything", "stdio")
    assert.same({
      "skip modern/handshake", "warn bad-json", "warn invalid-request", "warn batch", "warn classic/unknown-tool",
    }, verdicts)
    assert.truthy(passed >= 25 and status == 0, passed)
  end)
end)
