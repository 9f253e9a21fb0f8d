-- What a plugin of gevals has besides: nothing.

---@type pintle.cli.new.dialect
return {
  readme = [[

The protocol works in a pipe, too:
```sh
echo '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"}}}' | ./plugin.lua
```
]],
}
