-- Servers of other people, judged by pintle check: nothing hangs, and what is found is what is known of them.
local children = require "spec.support.children"
local verdicts_of = require "spec.support.verdicts"

children.leave_nothing()

describe("pintle check", function()
  it("judges clangd", function()
    local verdicts, passed = verdicts_of("-d", "lsp", "clangd")
    assert.same({
      "warn bad-json", "warn invalid-request", "warn batch", "warn eof", "warn header-case", "skip outcome",
      "fail late-request", -- it goes on answering after shutdown
      "warn orphan",
    }, verdicts)
    assert.truthy(passed >= 25, passed)
  end)

  it("judges the everything server of MCP", function()
    local verdicts, passed, status = verdicts_of("-d", "mcp", "-t", "20s", "--run", "echo", "--args",
      '{"message":"hi"}', "mcp-server-everything", "stdio")
    assert.same({
      "skip modern/handshake", "warn bad-json", "warn invalid-request", "warn batch", "warn classic/unknown-tool",
    }, verdicts)
    assert.truthy(passed >= 25 and status == 0, passed)
  end)
end)
