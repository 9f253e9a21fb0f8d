-- Follows every reference that a validation can come by, so that what is missing is told when compiling.

local refusal = require "pintle.schema.refusal"
local resources = require "pintle.schema.resources"
local shape = require "pintle.schema.shape"
local values = require "pintle.schema.values"

---@class pintle.schema.link
local link = {}

-- Keywords that hold schemas for others to refer to; by themselves they are no part of a validation.
local SHELVES = { ["$defs"] = true, definitions = true, contentSchema = true }

local function each_part(node, visit)
  for _, keyword in ipairs(values.sorted_names(node.children)) do
    local child = node.children[keyword]
    if not SHELVES[keyword] and shape.HOLDS[keyword] == "schema" then
      visit(child)
    elseif not SHELVES[keyword] then
      for _, key in ipairs(values.sorted_keys(child)) do visit(child[key]) end
    end
  end
end

local function follow_static(library, node)
  if node.schema["$ref"] == nil then return nil end
  node.ref = resources.follow(library, node, "$ref")
  return node.ref
end

local function follow_dynamic(library, node, names)
  if node.schema["$dynamicRef"] == nil then return nil end
  local target, fragment = resources.follow(library, node, "$dynamicRef")
  node.dynamic_ref = target
  if target and target.resource.dynamic[fragment] == target then
    node.dynamic_name = fragment
    names[fragment] = true
  end
  return target
end

local function adder(reached)
  return function(node)
    if not node or reached[node] then return end
    reached[node] = true
    reached[#reached + 1] = node
  end
end

-- Adds to `reached`, which is a list and a set, what can be come to from its members after the first `done`.
-- Returns how many of them are done then.
local function spread(library, reached, names, done)
  local reach = adder(reached)
  while done < #reached do
    done = done + 1
    local node = reached[done]
    if type(node.schema) == "table" then
      reach(follow_static(library, node))
      reach(follow_dynamic(library, node, names))
      each_part(node, reach)
    end
  end
  for _, uri in ipairs(values.sorted_names(library.resources)) do
    for name in pairs(names) do reach(library.resources[uri].dynamic[name]) end
  end
  return done
end

-- Schemas that are always applied to the same value as the one that has them.
local function each_same(node, visit)
  if node.ref then visit(node.ref) end
  if node.dynamic_ref and not node.dynamic_name then visit(node.dynamic_ref) end
  for _, part in ipairs(node.children.allOf or {}) do visit(part) end
end

-- A schema that applies itself to the same value would never come to an end.
local function refuse_loops(reached)
  local done, open = {}, {}
  local function visit(node)
    if done[node] then return end
    if open[node] then refusal.raise(node.path, "it refers to itself without end") end
    open[node] = true
    each_same(node, visit)
    done[node] = true
  end
  for _, node in ipairs(reached) do visit(node) end
end

---@param library pintle.schema.library
---@param root pintle.schema.node
---@return pintle.schema.node[] reached
---@return boolean dynamic whether any reference depends on the way by which it is come to
function link.reach(library, root)
  local reached, names, done = { root, [root] = true }, {}, 0
  while done < #reached do done = spread(library, reached, names, done) end
  refuse_loops(reached)
  return reached, next(names) ~= nil
end

return link
