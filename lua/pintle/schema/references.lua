-- References between schemas: URIs (RFC 3986, section 5), the resources and anchors that they name, and the targets of
-- references.

local document = require "pintle.schema.document"
local errors = require "pintle.schema.errors"
local lazy = require "pintle.lazy"
local values = require "pintle.schema.values"

local drafts = lazy "pintle.schema.drafts"

---@class pintle.schema.references
local references = {}

-- {====== URIs ======

---@param text string a URI reference
---@return { scheme?: string, authority?: string, path: string, query?: string, fragment?: string }
function references.split_uri(text)
  local rest, fragment = text:match "^([^#]*)#?(.*)$"
  if not text:find("#", 1, true) then fragment = nil end
  local hierarchy, query = rest:match "^([^?]*)%?(.*)$"
  hierarchy = hierarchy or rest
  local scheme, after = hierarchy:match "^(%a[%w+.-]*):(.*)$"
  hierarchy = after or hierarchy
  local authority, path = hierarchy:match "^//([^/]*)(.*)$"
  return { scheme = scheme, authority = authority, path = path or hierarchy, query = query, fragment = fragment }
end

local function remove_dot_segments(path)
  local kept, rooted = {}, path:sub(1, 1) == "/"
  local segments = rooted and path:sub(2) or path
  local last
  for segment in (segments .. "/"):gmatch "([^/]*)/" do
    last = segment
    if segment == ".." then
      kept[#kept] = nil
    elseif segment ~= "." then
      kept[#kept + 1] = segment
    end
  end
  if last == "." or last == ".." then kept[#kept + 1] = "" end
  return (rooted and "/" or "") .. table.concat(kept, "/")
end

local function merge_uri_paths(base, reference)
  if reference.path:sub(1, 1) == "/" then return remove_dot_segments(reference.path) end
  if base.authority and base.path == "" then return remove_dot_segments("/" .. reference.path) end
  return remove_dot_segments((base.path:match "^.*/" or "") .. reference.path)
end

local function inherit_uri_parts(base, reference)
  local target = { scheme = base.scheme, authority = reference.authority, query = reference.query }
  if reference.authority then
    target.path = remove_dot_segments(reference.path)
    return target
  end
  target.authority = base.authority
  target.path = reference.path == "" and base.path or merge_uri_paths(base, reference)
  if reference.path == "" and not reference.query then target.query = base.query end
  return target
end

local function make_uri_absolute(reference)
  local opaque = not reference.authority and reference.path:sub(1, 1) ~= "/"
  local path = opaque and reference.path or remove_dot_segments(reference.path)
  return { scheme = reference.scheme, authority = reference.authority, path = path, query = reference.query }
end

local function assemble_uri(parts)
  return (parts.scheme and parts.scheme:lower() .. ":" or "")
    .. (parts.authority and "//" .. parts.authority or "")
    .. parts.path
    .. (parts.query and "?" .. parts.query or "")
end

---@param base string without a fragment; "" for none
---@param reference string
---@return string uri absolute, without the fragment
---@return string? fragment not decoded; nil if there is none
function references.resolve(base, reference)
  local parts = references.split_uri(reference)
  local target = parts.scheme and make_uri_absolute(parts) or inherit_uri_parts(references.split_uri(base), parts)
  return assemble_uri(target), parts.fragment
end

local function percent_decode_fragment(text)
  return (text:gsub("%%(%x%x)", function(digits) return string.char(tonumber(digits, 16)) end))
end

-- }======

-- {====== Resources ======

-- The documents by the URIs they were given with, and by their own ($id).
local function documents_by_uri(documents)
  local known = {}
  for name, schema in pairs(documents) do known[references.resolve("", name)] = schema end
  for _, name in ipairs(values.sorted_names(documents)) do
    local schema = documents[name]
    local id = values.is_object(schema) and schema["$id"]
    local uri = type(id) == "string" and references.resolve(references.resolve("", name), id)
    if uri and known[uri] == nil then known[uri] = schema end
  end
  return known
end

---@param registry pintle.schema.registry
---@param uri string
---@return any schema nil if it was not given
function references.find_document(registry, uri)
  registry.known = registry.known or documents_by_uri(registry.documents)
  return registry.known[uri]
end

---A new resource, for a schema that has a URI of its own.
---@param registry pintle.schema.registry
---@param id string
---@param raw table
---@param parent pintle.schema.resource
---@param path string
---@return pintle.schema.resource
function references.new_resource(registry, id, raw, parent, path)
  return {
    document = parent.document, uri = (references.resolve(parent.uri, id)),
    dialect = registry:dialect_of(raw, parent.dialect, path), anchors = {}, dynamic = {},
  }
end

local function add_resource_uri(registry, resource)
  local uri = resource.uri
  local known = registry.resources[uri]
  if known and known.document == resource.document and known.root.pointer ~= resource.root.pointer then
    errors.reject(resource.root.path .. "/$id", ("another schema has the same URI, %s"):format(uri))
  end
  registry.resources[uri] = known or resource
end

local function add_schema_anchor(node, keyword, into)
  local name = node.schema[keyword]
  if type(name) ~= "string" then return end
  if into[name] and into[name].pointer ~= node.pointer then
    errors.reject(node.path .. "/" .. keyword, ("another schema has the same anchor, %s"):format(name))
  end
  into[name] = node
end

---Records the URI and the anchors of a schema.
---@param registry pintle.schema.registry
---@param node pintle.schema.node
---@param parent pintle.schema.resource that the schema is in
function references.add_names(registry, node, parent)
  local resource = node.resource
  if resource ~= parent then add_resource_uri(registry, resource) end
  add_schema_anchor(node, "$anchor", resource.anchors)
  add_schema_anchor(node, "$dynamicAnchor", resource.anchors)
  add_schema_anchor(node, "$dynamicAnchor", resource.dynamic)
end

local function find_referenced_resource(registry, uri)
  if registry.resources[uri] then return registry.resources[uri] end
  local schema = references.find_document(registry, uri)
  if schema == nil then return nil end
  registry:add_document(uri, schema, uri .. "#")
  return registry.resources[uri]
end

---@return integer? index of the item in a Lua list
local function pointer_index(token)
  if token == "0" or token:find "^[1-9]%d*$" and #token < 16 then return tonumber(token) + 1 end
end

-- A pointer may lead into an unknown keyword. The value there is then added as a schema.
local function locate_schema(registry, resource, tokens)
  local nodes, node = resource.document.nodes, resource.root
  local at, value = node.pointer, node.raw
  for _, token in ipairs(tokens) do
    if type(value) ~= "table" then return nil end
    value = value[values.is_array(value) and pointer_index(token) or token]
    at = at .. "/" .. values.escape_token(token)
    node = nodes[at] or node
  end
  if node.pointer == at then return node end
  return value ~= nil and registry:add_schema(value, node.resource, at, node.depth + 1) or nil
end

local function find_fragment_target(registry, resource, fragment)
  if fragment == "" then return resource.root end
  local tokens = values.pointer_tokens(fragment)
  if tokens then return locate_schema(registry, resource, tokens) end
  return resource.anchors[fragment]
end

---Resolves a reference.
---@param registry pintle.schema.registry
---@param node pintle.schema.node the schema that has the keyword
---@param keyword string
---@return pintle.schema.node? target nil for the meta-schema of a draft that was not given: then `node.structures` has
---what it describes
---@return string fragment
local function follow_reference(registry, node, keyword)
  local reference, path = node.schema[keyword], node.path .. "/" .. keyword
  local uri, fragment = references.resolve(node.resource.uri, reference)
  local resource = find_referenced_resource(registry, uri)
  fragment = percent_decode_fragment(fragment or "")
  if not resource then
    local structure = (fragment == "" or fragment == "meta") and drafts.structure_of(uri)
    if structure then
      node.structures = node.structures or {}
      node.structures[keyword] = structure
      return nil, fragment
    end
    errors.reject(path, ("%s is not among the documents"):format(uri))
  end
  local target = find_fragment_target(registry, resource, fragment)
  if not target then errors.reject(path, ("%s cannot be resolved"):format(errors.quote(reference))) end
  return target, fragment
end

-- }======

-- {====== Linking ======

-- The root of a resource of draft 2019-09 with `$recursiveAnchor` is the target of dynamic references to the anchor "".
local function add_recursive_anchor(resource)
  local schema = resource.root.schema
  local is_recursive = resource.dialect.is_recursive and type(schema) == "table" and schema["$recursiveAnchor"] == true
  if is_recursive then resource.dynamic[""] = resource.root end
end

-- Keywords whose schemas are only used through references.
local REFERENCED_ONLY = { ["$defs"] = true, definitions = true, contentSchema = true }

local function each_applied_schema(node, visit)
  for _, keyword in ipairs(values.sorted_names(node.children)) do
    local child = node.children[keyword]
    if not REFERENCED_ONLY[keyword] and document.SUBSCHEMAS[keyword] == "schema" then
      visit(child)
    elseif not REFERENCED_ONLY[keyword] then
      for _, key in ipairs(values.sorted_keys(child)) do visit(child[key]) end
    end
  end
end

local function follow_static_reference(registry, node)
  if node.schema["$ref"] == nil then return nil end
  node.ref = follow_reference(registry, node, "$ref")
  return node.ref
end

local function follow_dynamic_reference(registry, node, names)
  if node.schema["$dynamicRef"] == nil then return nil end
  local target, fragment = follow_reference(registry, node, "$dynamicRef")
  node.dynamic_ref = target
  if target then add_recursive_anchor(target.resource) end
  if target and target.resource.dynamic[fragment] == target then
    node.dynamic_name = fragment
    names[fragment] = true
  end
  return target
end

local function new_node_adder(reached)
  return function(node)
    if not node or reached[node] then return end
    reached[node] = true
    reached[#reached + 1] = node
  end
end

-- `reached` is a list of nodes and a set of them. Adds the nodes that its members after the first `done` apply or refer
-- to. Returns the new value of `done`.
local function extend_reached_nodes(registry, reached, names, done)
  local add = new_node_adder(reached)
  while done < #reached do
    done = done + 1
    local node = reached[done]
    if type(node.schema) == "table" then
      add(follow_static_reference(registry, node))
      add(follow_dynamic_reference(registry, node, names))
      each_applied_schema(node, add)
    end
  end
  for _, uri in ipairs(values.sorted_names(registry.resources)) do
    local resource = registry.resources[uri]
    if names[""] then add_recursive_anchor(resource) end
    for name in pairs(names) do add(resource.dynamic[name]) end
  end
  return done
end

-- The schemas that a schema always applies to its own value.
local function each_in_place_schema(node, visit)
  if node.ref then visit(node.ref) end
  if node.dynamic_ref and not node.dynamic_name then visit(node.dynamic_ref) end
  for _, part in ipairs(node.children.allOf or {}) do visit(part) end
end

-- A schema that applies itself to the same value would be applied endlessly.
local function reject_reference_loops(reached)
  local done, open = {}, {}
  local function visit_referring_node(node)
    if done[node] then return end
    if open[node] then errors.reject(node.path, "it refers to itself without end") end
    open[node] = true
    each_in_place_schema(node, visit_referring_node)
    done[node] = true
  end
  for _, node in ipairs(reached) do visit_referring_node(node) end
end

---Resolves every reference that a validation can meet, so that compiling finds those that cannot be resolved.
---@param registry pintle.schema.registry
---@param root pintle.schema.node
---@return pintle.schema.node[] reached
---@return boolean dynamic whether a target depends on the dynamic scope
function references.link(registry, root)
  local reached, names, done = { root, [root] = true }, {}, 0
  while done < #reached do done = extend_reached_nodes(registry, reached, names, done) end
  reject_reference_loops(reached)
  return reached, next(names) ~= nil
end

-- }======

return references
