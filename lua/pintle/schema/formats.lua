-- What `format` can ask of a string.

local lazy = require "pintle.lazy"
local refusal = require "pintle.schema.refusal"

local idn = lazy "pintle.schema.formats.idn"
local network = lazy "pintle.schema.formats.network"
local patterns = lazy "pintle.schema.patterns"
local pointer = lazy "pintle.schema.pointer"
local time = lazy "pintle.schema.formats.time"
local uri = lazy "pintle.schema.formats.uri"

local formats = {}

local HEX_4 = ("%x"):rep(4)
local UUID = "^" .. table.concat({ HEX_4 .. HEX_4, HEX_4, HEX_4, HEX_4, HEX_4 .. HEX_4 .. HEX_4 }, "%-") .. "$"

function formats.is_uuid(text) return text:find(UUID) ~= nil end

function formats.is_pointer(text) return pointer.tokens(text) ~= nil end

function formats.is_relative_pointer(text)
  local levels, rest = text:match "^(%d+)(.*)$"
  if not levels or levels:find "^0." then return false end
  local offset, after = rest:match "^[-+](%d+)(.*)$"
  if offset and offset:find "^0." then return false end
  rest = after or rest
  return rest == "#" or formats.is_pointer(rest)
end

-- Where the function is that knows a format, and its name there.
local PLACES = {
  date = { time, "is_date" }, time = { time, "is_time" }, ["date-time"] = { time, "is_date_time" },
  duration = { time, "is_duration" },
  email = { network, "is_email" }, ["idn-email"] = { idn, "is_email" },
  hostname = { idn, "is_ascii_hostname" }, ["idn-hostname"] = { idn, "is_hostname" },
  ipv4 = { network, "is_ipv4" }, ipv6 = { network, "is_ipv6" },
  uri = { uri, "is_uri" }, ["uri-reference"] = { uri, "is_uri_reference" }, ["uri-template"] = { uri, "is_template" },
  iri = { uri, "is_iri" }, ["iri-reference"] = { uri, "is_iri_reference" },
  uuid = { formats, "is_uuid" }, ["json-pointer"] = { formats, "is_pointer" },
  ["relative-json-pointer"] = { formats, "is_relative_pointer" },
  regex = { patterns, "is_valid" },
}

local function refuse(node, reason) refusal.raise(node.path .. "/format", reason) end

---Formats that are not known stay annotations, unless the schema's vocabulary demands that all be known.
---@param node pintle.schema.node
---@param name string
---@return (fun(text: string): boolean)? is_valid
function formats.find(node, name)
  local place = PLACES[name]
  if not place then
    if node.resource.dialect.formats then refuse(node, ("the format %s is not known"):format(name)) end
    return nil
  end
  if place[1] == patterns and not patterns.are_available() then
    refuse(node, ("the format %s needs the rock lrexlib-pcre2, which is not installed"):format(name))
  end
  return place[1][place[2]]
end

return formats
