-- What a language server has besides: a raw method.

---@type pintle.cli.new.dialect
return {
  methods = [[

-- Methods of the protocol stand beside the operations, which are its commands; hoverProvider follows from this one.
plugin:method("textDocument/hover", function(params)
  local line = params.position.line + 1
  return { contents = { kind = "plaintext", value = ("This is line %d."):format(line) } }
end)
]],
  spec = [[

  it("tells what is hovered over", function()
    assert.is_true(plugin.told.capabilities.hoverProvider)
    local hover = assert(plugin:call("textDocument/hover", {
      textDocument = { uri = "file:///notes.txt" }, position = { line = 4, character = 0 },
    }))
    assert.equal("This is line 5.", hover.contents.value)
  end)
]],
  readme = [[

In Neovim:
```lua
vim.lsp.start { name = "@name@", cmd = { "/path/to/@name@/plugin.lua" }, root_dir = vim.fn.getcwd() }
```
Operations are commands (`workspace/executeCommand`); `textDocument/hover` is a method.
]],
}
