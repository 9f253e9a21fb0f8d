-- Documents taken apart: every schema in its place, and judged by itself.

local dialects = require "pintle.schema.dialect"
local lazy = require "pintle.lazy"
local pointer = require "pintle.schema.pointer"
local refusal = require "pintle.schema.refusal"
local shape = require "pintle.schema.shape"
local values = require "pintle.schema.values"

local resources = lazy "pintle.schema.resources"
local words = lazy "pintle.schema.words"

---A document as it was given.
---@class pintle.schema.document
---@field prefix string what the paths in it begin with
---@field nodes table<string, pintle.schema.node> by pointer

---A schema with a URI of its own, and those in it that have none.
---@class pintle.schema.resource
---@field uri string
---@field document pintle.schema.document
---@field dialect pintle.schema.dialect
---@field root pintle.schema.node
---@field anchors table<string, pintle.schema.node>
---@field dynamic table<string, pintle.schema.node> those anchors that are dynamic

---A schema in its place.
---@class pintle.schema.node
---@field raw table|boolean as it was given
---@field schema table|boolean in the keywords of 2020-12
---@field pointer string in its document
---@field path string the same as it is told to people
---@field depth integer how many schemas it is in
---@field resource pintle.schema.resource
---@field children table<string, any> keyword -> node, list of nodes, or nodes by name
---@field ref? pintle.schema.node where $ref leads
---@field dynamic_ref? pintle.schema.node where $dynamicRef leads at first
---@field dynamic_name? string the anchor to look for in the dynamic scope
---@field check? pintle.schema.check

---@class pintle.schema.library
---@field documents table<string, any> as they were given
---@field resources table<string, pintle.schema.resource> by URI
---@field keywords table<string, true> those that are anywhere
---@field limits pintle.schema.limits
---@field count integer
local library = {}
local library_mt = { __index = library }

---@param documents table<string, any>
---@param limits pintle.schema.limits
---@return pintle.schema.library
function library.new(documents, limits)
  return setmetatable({ documents = documents, resources = {}, keywords = {}, limits = limits, count = 0 }, library_mt)
end

---The dialect that a schema asks for.
---@param schema any
---@param otherwise pintle.schema.dialect
---@param path string
---@return pintle.schema.dialect
function library:dialect_of(schema, otherwise, path)
  local name = type(schema) == "table" and schema["$schema"]
  if type(name) ~= "string" then return otherwise end
  return dialects.named(name, function(uri) return resources.document(self, uri) end, path .. "/$schema")
end

local function modern(schema, dialect)
  return type(schema) == "table" and dialect.modernize and dialect.modernize(schema) or schema
end

-- The resource that a schema belongs to: its parent's, unless it has a URI of its own.
local function resource_of(self, raw, parent, path)
  local schema = modern(raw, parent.dialect)
  local id = type(schema) == "table" and schema["$id"]
  if type(id) ~= "string" then return parent end
  return resources.new(self, id, raw, parent, path)
end

local function refuse_fault(schema, dialect, path)
  local keyword, reason = shape.fault(schema, dialect.active)
  if reason then refusal.raise(keyword and path .. "/" .. pointer.escape(keyword) or path, reason) end
end

local function bound(self, depth, path)
  if #path > self.limits.path then
    refusal.raise(words.quote(path), ("the path to it is longer than %d bytes"):format(self.limits.path))
  end
  self.count = self.count + 1
  if self.count > self.limits.schemas then
    refusal.raise(path, ("there are more than %d schemas"):format(self.limits.schemas))
  end
  if depth > self.limits.nesting then
    refusal.raise(path, ("schemas are nested more than %d deep"):format(self.limits.nesting))
  end
end

local function walk_children(self, node)
  local children = node.children
  shape.each_child(node.schema, node.resource.dialect.active, function(child, keyword, key)
    local at = node.pointer .. "/" .. pointer.escape(keyword)
    if key == nil then
      children[keyword] = self:walk(child, node.resource, at, node.depth + 1)
      return
    end
    children[keyword] = children[keyword] or {}
    local token = math.type(key) == "integer" and key - 1 or key
    children[keyword][key] = self:walk(child, node.resource, at .. "/" .. pointer.escape(token), node.depth + 1)
  end)
end

-- A schema is read once: what becomes of the tables it was given in changes nothing.
local function own(self, schema)
  if type(schema) ~= "table" then return schema end
  local copy = {}
  for keyword, value in next, schema do
    self.keywords[keyword] = true
    if values.is_array(value) then value = setmetatable(table.move(value, 1, #value, 1, {}), getmetatable(value)) end
    copy[keyword] = value
  end
  return copy
end

---Takes in a schema, and those in it.
---@param raw any
---@param parent pintle.schema.resource
---@param at string pointer to it
---@param depth integer
---@return pintle.schema.node
function library:walk(raw, parent, at, depth)
  local document = parent.document
  local path = document.prefix .. at
  bound(self, depth, path)
  local resource = resource_of(self, raw, parent, path)
  local schema = modern(raw, resource.dialect)
  refuse_fault(schema, resource.dialect, path)
  schema = own(self, schema)
  local node = { raw = raw, schema = schema, pointer = at, path = path, depth = depth, resource = resource }
  node.children = {}
  document.nodes[at] = node
  resource.root = resource.root or node
  if type(schema) == "table" then
    if schema["$id"] or schema["$anchor"] or schema["$dynamicAnchor"] then resources.name(self, node, parent) end
    walk_children(self, node)
  end
  return node
end

---Takes in a whole document.
---@param uri string where it was found
---@param schema any
---@param prefix string
---@return pintle.schema.node root
function library:add(uri, schema, prefix)
  local resource = {
    document = { prefix = prefix, nodes = {} }, uri = uri, dialect = self:dialect_of(schema, dialects.STANDARD, prefix),
    anchors = {}, dynamic = {},
  }
  local root = self:walk(schema, resource, "", 1)
  if not self.resources[uri] then self.resources[uri] = root.resource end
  return root
end

return library
