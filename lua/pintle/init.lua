-- The module `pintle` has only names. Each one loads its module on first use, so that a plugin starts without the code
-- for hosts, and a host without the code for plugins.

---@class pintle
---@field plugin fun(declaration: pintle.declaration): pintle.plugin declare a plugin
---@field host fun(options?: pintle.host.options): pintle.host make a host
---@field connect fun(options: pintle.connect.options): pintle.peer?, pintle.error? open a conversation
---@field listen fun(options: pintle.connect.options, on_peer: fun(peer: pintle.peer)): pintle.listener?, pintle.error?
---@field pair fun(one?: pintle.peer.options, other?: pintle.peer.options): pintle.peer, pintle.peer
---@field task fun(fn: function, ...): pintle.task run concurrently
---@field all fun(list: (pintle.task|function)[], timeout?: number): table?, pintle.error? wait for all of them
---@field any fun(list: (pintle.task|function)[], timeout?: number): integer?, any wait for the first of them
---@field run fun(fn?: function, ...): any turn the loop until it has returned, or no task is left
---@field sleep fun(seconds: number): true?, pintle.error?
---@field loop pintle.loop to run it from another loop
---@field bytes fun(data: string, mime_type?: string): pintle.bytes binary data
---@field dialect pintle.dialects the protocols, and how to add one
---@field schema table JSON Schema 2020-12
---@field duration table "1h30m" both ways
---@field json table the wire codec by itself
---@field null lightuserdata the value that stands for JSON's null; it is `cjson.null`
---@field array fun(list?: table): table marks a list, so that it is sent as `[…]` even when it is empty
---@field test pintle.test for the specs of plugins
---@field raw fun(text: string): pintle.raw a value kept as JSON text, and sent unchanged
local pintle = {}

local PREFIX = "pintle."

-- The place of each name: a module, or a member of a module.
local PLACES = {
  plugin = "plugin.new", host = "host", connect = "connect.open", listen = "connect.listen", pair = "connect.pair",
  task = "task.start", all = "task.all", any = "task.any", run = "task.run", sleep = "loop.sleep", loop = "loop",
  bytes = "bytes.new", dialect = "dialect", schema = "schema", duration = "duration", json = "core.json",
  null = "core.json.null", array = "core.json.array", raw = "core.json.raw", test = "test",
}

local function load_name(_, name)
  if not PLACES[name] then return nil end
  local module, path = PLACES[name]:match "(%l+)(.*)"
  local value = require(PREFIX .. module)
  for member in path:gmatch "%l+" do value = value[member] end
  pintle[name] = value
  return value
end

return setmetatable(pintle, { __index = load_name })
