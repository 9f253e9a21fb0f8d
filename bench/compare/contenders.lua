-- The libraries that are compared: a host and a plugin in the same technology each. A host is run as
--   HOST MODE SECONDS N PLUGIN…
-- and prints one figure; bench/compare/rows.lua has the modes. `commands` has whole commands instead, by mode: those of
-- the C programs of bench/limit, and `tool` of the libraries that have tool calls. `dialect` is the protocol of these
-- calls: pintle is measured in the same one. `framing` is how bench/compare/answers.lua talks to the plugin.

local function node(name, file, framing, dialect)
  local path = "node bench/compare/node/" .. file
  return {
    name = name, host = path .. "_host.cjs", plugin = path .. "_echo.cjs", framing = framing, dialect = dialect,
    commands = { tool = dialect and ("%s_host.cjs tool SECONDS N %s_tool.cjs"):format(path, path) },
  }
end

-- It uses JSON-RPC 1.0: params are a list of one value, and a method is a service and a name.
local function to_go(text)
  return (text:gsub('"echo"', '"Peer.Echo"'):gsub('"nope"', '"Peer.Nope"'):gsub('"params":(%b{})', '"params":[%1]'))
end

return {
  {
    name = "pintle",
    host = "lua5.4 bench/peer_host.lua",
    plugin = "lua5.4 bench/peer_echo.lua",
    framing = "header",
    dialect = "mcp",
    commands = { tool = "lua5.4 bench/operation_host.lua execute DIALECT SECONDS N lua5.4 bench/operations.lua" },
  },
  {
    name = "C, bare",
    commands = {
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
  node("vscode-jsonrpc", "vscode", "header", "lsp"),
  node("json-rpc-2.0", "json_rpc_2", "line"),
  node("MCP SDK", "mcp", "line", "mcp"),
}
