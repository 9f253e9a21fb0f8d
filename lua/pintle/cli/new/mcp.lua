-- What a server for AI clients has besides: words for the model, and the lines that clients are configured with.

---@type pintle.cli.new.dialect
return {
  declaration = [[
  dialects = { mcp = { title = "@name@", instructions = "Greet people by their names." } },
]],
  spec = [[

  it("tells the model what it is for", function()
    assert.equal("Greet people by their names.", plugin.told.instructions)
  end)
]],
  readme = [[

## In a client
Operations are tools. Claude Desktop (`claude_desktop_config.json`), Cursor (`mcp.json`) and others take this:
```json
{
  "mcpServers": {
    "@name@": {
      "command": "lua5.4",
      "args": ["/path/to/@name@/plugin.lua"]
    }
  }
}
```
Claude Code: `claude mcp add @name@ -- lua5.4 /path/to/@name@/plugin.lua`
]],
}
