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
  license = "MIT",
  labels = { "json-rpc", "plugin", "process" },
}
supported_platforms = { "!windows" }
dependencies = {
  "lua >= 5.4, < 5.5",
  "lua-cjson",
  "luafilesystem",
}
build = {
  type = "builtin",
  modules = {
    ["pintle"] = "lua/pintle/init.lua",
    ["pintle.core"] = {
      sources = {
        "csrc/core.c",
        "csrc/early.c",
        "csrc/fd.c",
        "csrc/frame.c",
        "csrc/header.c",
        "csrc/io.c",
        "csrc/json.c",
        "csrc/lbatch.c",
        "csrc/lbuf.c",
        "csrc/lclassify.c",
        "csrc/ldecode.c",
        "csrc/lencode.c",
        "csrc/lenvelope.c",
        "csrc/lescape.c",
        "csrc/lfd.c",
        "csrc/ljson.c",
        "csrc/lmisuse.c",
        "csrc/lnames.c",
        "csrc/lopen.c",
        "csrc/lorder.c",
        "csrc/lplan.c",
        "csrc/lpoll.c",
        "csrc/lprocess.c",
        "csrc/lreceive.c",
        "csrc/lresume.c",
        "csrc/lsend.c",
        "csrc/lsha256.c",
        "csrc/lsignals.c",
        "csrc/lsocket.c",
        "csrc/lstream.c",
        "csrc/lwait.c",
        "csrc/lwriter.c",
        "csrc/number.c",
        "csrc/pending.c",
        "csrc/poll.c",
        "csrc/poll_epoll.c",
        "csrc/poll_kqueue.c",
        "csrc/poll_poll.c",
        "csrc/powers.c",
        "csrc/process.c",
        "csrc/sha256.c",
        "csrc/signals.c",
        "csrc/socket.c",
        "csrc/spawn.c",
        "csrc/spawn_child.c",
        "csrc/tick.c",
      },
    },
  },
}
