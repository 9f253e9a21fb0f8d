-- What a plugin is probed for, in each dialect.

local dialects = require "pintle.dialect"
local errors = require "pintle.error"

local framing = require "pintle.cli.check.framing"
local general = require "pintle.cli.check.general"
local watches = require "pintle.cli.check.watch"

---Something that is asked of a plugin.
---@class pintle.cli.check.probe
---@field name string
---@field rule string what is asked, as a sentence
---@field level? "fail"|"warn" what it is not to do so: a failure unless told
---@field run fun(life: pintle.cli.check.life): string? returns if all is well, perhaps with a remark
---@field is_raw? boolean whether nobody shakes hands before
---@field needs_run? boolean whether it needs an operation that may be run
---@field framing? "line"|"header" if it is for that alone
---@field variant? string of the dialect that it is for
---@field arguments? fun(context: pintle.cli.check.context): string[] that the plugin is started with besides

---One way of speaking a dialect that has several.
---@class pintle.cli.check.variant
---@field name? string where there are several
---@field greet fun(life: pintle.cli.check.life): any shakes hands; what the plugin says it is
---@field wrap? fun(params: any): any what is sent as the params of requests

---What a file pintle.cli.check.NAME has; what is marked so is pintle's own dialect's.
---@class pintle.cli.check.dialect
---@field name string (own)
---@field framing "line"|"header" (own)
---@field header? string (own)
---@field extra? table (own)
---@field ids? "integer"|"string" (own)
---@field variants pintle.cli.check.variant[]
---@field question { method: string, params: any } that is answered in any case, by whatever
---@field has_root? boolean whether the handshake tells of a workspace
---@field end_status? 0 if another status at the end of input is a failure
---@field is_null_an_error? boolean whether hosts take "error":null for a failure
---@field is_exact? boolean whether hosts do not stand members that they do not know
---@field judge_notification? fun(method: string, params: any, context: table): string?, string? problem and its level
---@field judge_request? fun(method: string, params: any): string?, string?
---@field levels? table<string, "fail"|"warn"> of probes that all dialects have, where this one sees it otherwise
---@field remarks? table<string, string> by the names of probes: which document alone asks for it
---@field most_bytes_of_line? integer with the line's end, if hosts do not read longer ones
---@field probes pintle.cli.check.probe[]

local catalog = {}

local OWN = { "name", "framing", "header", "extra", "ids" }

---@param name string
---@return pintle.cli.check.dialect?, pintle.error?
function catalog.dialect(name)
  local known, message = dialects.get(name)
  if not known then return nil, errors.new("invalid", message) end
  if not dialects.is_built_in(name) then
    return nil, errors.new("unsupported", ("there are no probes for the dialect %s"):format(name))
  end
  local dialect = {}
  for member, value in pairs(require("pintle.cli.check." .. name)) do dialect[member] = value end
  for _, member in ipairs(OWN) do dialect[member] = known[member] end
  return dialect
end

---@param probe { framing?: string, only?: string }
---@param dialect pintle.cli.check.dialect
---@return boolean
function catalog.is_for(probe, dialect)
  return (not probe.framing or probe.framing == dialect.framing) and (not probe.only or dialect[probe.only] ~= nil)
end

local function add(list, probes, dialect)
  for _, probe in ipairs(probes) do
    if catalog.is_for(probe, dialect) then list[#list + 1] = probe end
  end
  return list
end

---One for each variant.
---@param dialect pintle.cli.check.dialect
---@return pintle.cli.check.probe[]
function catalog.handshakes(dialect)
  local list = {}
  for i, variant in ipairs(dialect.variants) do
    local prefix = variant.name and variant.name .. "/" or ""
    list[i] = { name = prefix .. "handshake", rule = "it shakes hands", variant = variant.name, run = function() end }
  end
  return list
end

---All that come after the handshake, but those that only watch.
---@param dialect pintle.cli.check.dialect
---@return pintle.cli.check.probe[]
function catalog.probes(dialect)
  return add(add(add({}, general, dialect), framing, dialect), dialect.probes, dialect)
end

---All that a plugin is probed for, in order.
---@param dialect pintle.cli.check.dialect
---@return { name: string, rule: string, level: "fail"|"warn" }[]
function catalog.list(dialect)
  local list = {}
  for _, probe in ipairs(add(add(catalog.handshakes(dialect), catalog.probes(dialect), dialect), watches, dialect)) do
    list[#list + 1] = { name = probe.name, rule = probe.rule, level = catalog.level(dialect, probe) }
  end
  return list
end

---@param dialect pintle.cli.check.dialect
---@param probe pintle.cli.check.probe
---@return "fail"|"warn"
function catalog.level(dialect, probe) return dialect.levels and dialect.levels[probe.name] or probe.level or "fail" end

return catalog
