rockspec_format = "3.0"
package = "pintle"
version = "scm-1"
source = {
  url = "git+https://github.com/pintle-lua/pintle.git",
}
description = {
  summary = "Write plugins and host them, over pipes, in the JSON-RPC dialects people already speak",
  detailed = [[
    A Lua 5.4 module that joins a program and its plugins. A C core does framing, an exact JSON codec,
    processes and dispatch; thin Lua layers do the host's lifecycle, operation manifests and plugin authoring.
  ]],
  homepage = "https://github.com/pintle-lua/pintle",
  issues_url = "https://github.com/pintle-lua/pintle/issues",
  license = "MIT",
  labels = { "json-rpc", "plugin", "process" },
}
supported_platforms = { "!windows" }
dependencies = {
  "lua >= 5.4, < 5.5",
  "argparse",
  "lua-cjson",
  "luafilesystem",
}
test_dependencies = {
  "busted",
}
test = {
  type = "command",
  command = "script/test",
}
build = {
  type = "make",
  build_variables = { CC = "$(CC)", LUA = "$(LUA)", LUA_INCDIR = "$(LUA_INCDIR)" },
  install_variables = {
    CC = "$(CC)", LUA = "$(LUA)", LUA_INCDIR = "$(LUA_INCDIR)",
    LUADIR = "$(LUADIR)", LIBDIR = "$(LIBDIR)", BINDIR = "$(BINDIR)",
  },
  copy_directories = { "share" },
}
