-- The protocols: what each is, found by name or by the first message. Adding one is adding a file.

---One protocol, both sides of it.
---@class pintle.dialect
---@field name string
---@field framing "line"|"header"
---@field ids? "integer"|"string"
---@field extra? table<string, string|number|boolean> members of every message beside jsonrpc
---@field header? string what is written before the length
---@field codes? table<string, integer> codes of errors that have none, by their kind
---@field cancellation? pintle.cancellation|false
---@field progress? pintle.progress
---@field recognises fun(method: string, params: any, framing: string): boolean whether a first message is its own
---@field host pintle.dialect.host
---@field plugin pintle.dialect.plugin

---What a host does to speak it. Everything may wait.
---@class pintle.dialect.host
---@field open fun(session: pintle.session): table?, pintle.error? shakes hands; gives what the plugin says it is: name,
---version, description, requires, operations
---@field execute fun(session: pintle.session, operation: string, args: table, context: pintle.context):
---pintle.outcome?, pintle.error?
---@field close fun(session: pintle.session, seconds: number) asks it to end; what it says to that does not matter
---@field handlers table<string, fun(session: pintle.session, params: any, ctx: pintle.request): any, any>

---One plugin as its dialect sees it, on the side of the host.
---@class pintle.session
---@field peer pintle.peer
---@field name string
---@field config any what the plugin is configured with, if anything
---@field extensions boolean|string[] whether to offer what goes beyond the protocol; a list names more to offer
---@field handshake_timeout number seconds
---@field log fun(self: pintle.session, level: pintle.level, message: string, data: any)
---@field running table<any, pintle.context> what executes now, for the dialect to keep by whatever it tells it by
---@field state table for the dialect to keep what it likes

---@alias pintle.level "debug"|"info"|"warn"|"error"

---What an operation is executed with.
---@class pintle.context
---@field workdir? string
---@field phase? string
---@field env? table<string, string>
---@field agent? table
---@field timeout? number|false seconds that the plugin is told it has, where somebody has set a limit
---@field patience? number|false seconds that the host waits for the answer; as many unless told
---@field on_progress? fun(fraction: number, message: string?)
---@field on_part? fun(part: any)

---What became of an operation.
---@class pintle.outcome
---@field success boolean
---@field message? string
---@field error? string
---@field outputs? table

---What a plugin does to speak it. `log`, `progress` and `part` return nil and an error where something cannot be sent.
---@class pintle.dialect.plugin
---@field handlers fun(server: pintle.server): table<string, pintle.handler>
---@field manifest? fun(plugin: pintle.plugin): table what it says it is, for --manifest
---@field log fun(server: pintle.server, request: pintle.request?, level: pintle.level, message: string, data: any):
---true?, pintle.error?
---@field progress fun(server: pintle.server, request: pintle.request, fraction: number, message: string?): true?,
---pintle.error?
---@field part? fun(server: pintle.server, request: pintle.request, part: any): true?, pintle.error?

---A plugin at work, as its dialect sees it.
---@class pintle.server
---@field peer pintle.peer
---@field plugin pintle.plugin its `manifest` has name, version, description, requires, operations and their order
---@field config table what it is configured with
---@field capabilities table<string, true> what was agreed on with the host, for the dialect to set
---@field initialize fun(self: pintle.server, config: table?): true?, pintle.error? once; the first `execute` does it
---where nobody else has
---@field execute fun(self: pintle.server, operation: string, args: any, context: pintle.context,
---request: pintle.request): pintle.outcome?, pintle.error? arguments are checked; outputs are as the author gave them
---@field note fun(self: pintle.server, level: pintle.level, message: string, data: any) to stderr, for people
---@field shutdown fun(self: pintle.server, request: pintle.request?) ends all work but the request that asks for it
---@field exit fun(self: pintle.server, status: integer?) ends the process once the answers that are due are out
---@field state table for the dialect to keep what it likes

local dialects = {}

local NAMES = { "gevals" }

---The one that is meant where none is named.
dialects.DEFAULT = "gevals"

local known = {}

---Adds a dialect, or replaces one.
---@param dialect pintle.dialect
function dialects.add(dialect) known[dialect.name] = dialect end

---@return string[] the names of all
function dialects.names()
  local names = {}
  for _, name in ipairs(NAMES) do names[#names + 1] = name end
  for name in pairs(known) do
    if not dialects.is_built_in(name) then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

---@param name string
---@return boolean
function dialects.is_built_in(name)
  for _, built_in in ipairs(NAMES) do
    if built_in == name then return true end
  end
  return false
end

---@param name string
---@return pintle.dialect?, string? message
function dialects.get(name)
  if not known[name] and dialects.is_built_in(name) then known[name] = require("pintle.dialect." .. name) end
  if known[name] then return known[name] end
  return nil, ("no dialect %q; there are %s"):format(tostring(name), table.concat(dialects.names(), ", "))
end

---The dialect whose first message this is.
---@param method string
---@param params any
---@param framing string
---@return pintle.dialect?
function dialects.recognise(method, params, framing)
  for _, name in ipairs(dialects.names()) do
    local dialect = dialects.get(name)
    if dialect.recognises(method, params, framing) then return dialect end
  end
end

return dialects
