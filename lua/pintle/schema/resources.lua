-- Schemas that can be referred to: by their URIs, by anchors, by pointers.

local dialects = require "pintle.schema.dialect"
local pointer = require "pintle.schema.pointer"
local refusal = require "pintle.schema.refusal"
local uris = require "pintle.schema.uri"
local values = require "pintle.schema.values"
local words = require "pintle.schema.words"

---@class pintle.schema.resources
local resources = {}

-- Documents by the URIs they were given with, and by those they give themselves.
local function by_uri(documents)
  local known = {}
  for name, schema in pairs(documents) do known[uris.resolve("", name)] = schema end
  for _, name in ipairs(values.sorted_names(documents)) do
    local schema = documents[name]
    local id = values.is_object(schema) and schema["$id"]
    local uri = type(id) == "string" and uris.resolve(uris.resolve("", name), id)
    if uri and known[uri] == nil then known[uri] = schema end
  end
  return known
end

---@param library pintle.schema.library
---@param uri string
---@return any schema nil if nobody gave it
function resources.document(library, uri)
  library.known = library.known or by_uri(library.documents)
  return library.known[uri]
end

---The resource that a schema begins which has a URI of its own.
---@param library pintle.schema.library
---@param id string
---@param raw table
---@param parent pintle.schema.resource
---@param path string
---@return pintle.schema.resource
function resources.new(library, id, raw, parent, path)
  return {
    document = parent.document, uri = (uris.resolve(parent.uri, id)),
    dialect = library:dialect_of(raw, parent.dialect, path), anchors = {}, dynamic = {},
  }
end

local function add_uri(library, resource)
  local uri = resource.uri
  local known = library.resources[uri]
  if known and known.document == resource.document and known.root.pointer ~= resource.root.pointer then
    refusal.raise(resource.root.path .. "/$id", ("another schema has the URI %s, too"):format(uri))
  end
  library.resources[uri] = known or resource
end

local function add_anchor(node, keyword, into)
  local name = node.schema[keyword]
  if type(name) ~= "string" then return end
  if into[name] and into[name].pointer ~= node.pointer then
    refusal.raise(node.path .. "/" .. keyword, ("another schema has the anchor %s, too"):format(name))
  end
  into[name] = node
end

---Notes the names that a schema gives itself.
---@param library pintle.schema.library
---@param node pintle.schema.node
---@param parent pintle.schema.resource what it is in
function resources.name(library, node, parent)
  local resource = node.resource
  if resource ~= parent then add_uri(library, resource) end
  add_anchor(node, "$anchor", resource.anchors)
  add_anchor(node, "$dynamicAnchor", resource.anchors)
  add_anchor(node, "$dynamicAnchor", resource.dynamic)
end

local function find_resource(library, uri)
  if library.resources[uri] then return library.resources[uri] end
  local schema = resources.document(library, uri)
  if schema == nil then return nil end
  library:add(uri, schema, uri .. "#")
  return library.resources[uri]
end

-- What a pointer leads to may be no part of any keyword that is known; it is a schema all the same.
local function locate(library, resource, tokens)
  local nodes, node = resource.document.nodes, resource.root
  local at, value = node.pointer, node.raw
  for _, token in ipairs(tokens) do
    if type(value) ~= "table" then return nil end
    value = value[values.is_array(value) and pointer.index(token) or token]
    at = at .. "/" .. pointer.escape(token)
    node = nodes[at] or node
  end
  if node.pointer == at then return node end
  return value ~= nil and library:walk(value, node.resource, at, node.depth + 1) or nil
end

local function find_fragment(library, resource, fragment)
  if fragment == "" then return resource.root end
  local tokens = pointer.tokens(fragment)
  if tokens then return locate(library, resource, tokens) end
  return resource.anchors[fragment]
end

---Follows a reference.
---@param library pintle.schema.library
---@param node pintle.schema.node the schema that has it
---@param keyword string
---@return pintle.schema.node? target nil where it is the meta-schema and nobody gave it
---@return string fragment
function resources.follow(library, node, keyword)
  local reference, path = node.schema[keyword], node.path .. "/" .. keyword
  local uri, fragment = uris.resolve(node.resource.uri, reference)
  local resource = find_resource(library, uri)
  fragment = uris.decoded(fragment or "")
  if not resource and uri == dialects.URI and (fragment == "" or fragment == "meta") then return nil, fragment end
  if not resource then refusal.raise(path, ("%s is not among the documents"):format(uri)) end
  local target = find_fragment(library, resource, fragment)
  if not target then refusal.raise(path, ("%s leads to nothing"):format(words.quote(reference))) end
  return target, fragment
end

return resources
