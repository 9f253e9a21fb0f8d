-- Who is compared: a host and a plugin in the same technology each. A host is run as
--   HOST MODE SECONDS N PLUGIN…
-- and prints one figure; bench/compare/rows.lua has the modes. The C programs of bench/limit, which do no more than
-- they must, have a host a mode. `framing` is for those who speak to a plugin themselves.

local function node(name, file, framing)
  local path = "node bench/compare/node/" .. file
  return { name = name, host = path .. "_host.cjs", plugin = path .. "_echo.cjs", framing = framing }
end

-- It speaks JSON-RPC 1.0: params are a list of one, and methods belong to something.
local function to_go(text)
  return (text:gsub('"echo"', '"Peer.Echo"'):gsub('"nope"', '"Peer.Nope"'):gsub('"params":(%b{})', '"params":[%1]'))
end

return {
  {
    name = "pintle",
    host = "lua5.4 bench/peer_host.lua",
    plugin = "lua5.4 bench/peer_echo.lua",
    framing = "header",
  },
  {
    name = "C, bare",
    hosts = {
      sequential = "build/bench/sequential_host SECONDS build/bench/sequential_child",
      flight = "build/bench/flight_host SECONDS N build/bench/flight_child",
      string = "build/bench/large_host SECONDS N build/bench/large_child",
      start = "build/bench/spawn_host SECONDS build/bench/sequential_child",
    },
  },
  {
    name = "luv + lua-cjson",
    host = "lua5.4 bench/compare/luv/host.lua",
    plugin = "lua5.4 bench/compare/luv/echo.lua",
    framing = "line",
  },
  {
    name = "jsonrpc-glib",
    host = "build/compare/glib_host",
    plugin = "build/compare/glib_echo",
    framing = "header",
  },
  {
    name = "Go net/rpc/jsonrpc",
    host = "build/compare/go_host",
    plugin = "build/compare/go_echo",
    framing = "line",
    translate = to_go,
  },
  {
    name = "pylsp-jsonrpc",
    host = "PYTHON bench/compare/python/host.py",
    plugin = "PYTHON bench/compare/python/echo.py",
    framing = "header",
  },
  node("vscode-jsonrpc", "vscode", "header"),
  node("json-rpc-2.0", "json_rpc_2", "line"),
  node("MCP SDK", "mcp", "line"),
}
