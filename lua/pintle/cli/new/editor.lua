-- What a server of the editor has besides: a method, and something that it tells the client.

---@type pintle.cli.new.dialect
return {
  methods = [[

-- A method of the protocol, beside the operations: any params, any result. The client is told as well.
plugin:method("count", function(params, ctx)
  local text = type(params) == "table" and params.text
  if type(text) ~= "string" then return nil, { code = -32602, message = "Invalid params: text: a string expected" } end
  ctx:notify("counted", { characters = utf8.len(text) })
  return { bytes = #text }
end)
]],
  spec = [[

  it("counts", function()
    assert.same({ bytes = 3 }, (plugin:call("count", { text = "Ada" })))
    local result, err = plugin:call("count", {})
    assert.is_nil(result)
    assert.equal(-32602, err.code)
  end)
]],
  readme = [[

In the editor the command of the server is `/path/to/@name@/plugin.lua`. Its methods are the operations, and `count`,
which is sent `{"text": …}`, answers `{"bytes": …}` and notifies the client by `counted`.
]],
}
