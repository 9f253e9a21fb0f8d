-- unevaluatedItems and unevaluatedProperties: what everything else in the schema has left alone.

local members = require "pintle.schema.members"
local run = require "pintle.schema.run"

local fail, gather, pay, within, site_of = run.fail, run.gather, run.pay, run.within, run.site

local unevaluated = {}

local function items(node, context)
  local child = node.children.unevaluatedItems
  local check, forbidden = context.one(node, child), child.schema == false
  local is_array = node.is_array
  local site = site_of("unevaluatedItems", node.path, function(i) return ("item %d is not allowed"):format(i - 1) end)
  return function(value, state, seen)
    if not is_array(value) then return true end
    pay(state, site, #value)
    for i = 1, #value do
      if not (seen[0] or seen[i]) then
        if forbidden then return fail(state, site, i) end
        if not check(value[i], state) then return within(state, i - 1) end
      end
    end
    seen[0] = true
    return true
  end
end

local function last_checks(node, context)
  local active, schema = node.resource.dialect.active, node.schema
  local checks = {}
  if active.unevaluatedItems and schema.unevaluatedItems ~= nil then checks[1] = items(node, context) end
  if active.unevaluatedProperties and schema.unevaluatedProperties ~= nil then
    checks[#checks + 1] = members.unevaluatedProperties(node, context)
  end
  return checks
end

---Puts the two keywords after a check, if the schema has them: what the check sees is gathered for them, and is
---told further out together with what they have seen.
---@param node pintle.schema.node
---@param context pintle.schema.context
---@param check pintle.schema.check
---@return pintle.schema.check
function unevaluated.around(node, context, check)
  local checks = last_checks(node, context)
  if #checks == 0 then return check end
  local keyword = node.schema.unevaluatedProperties ~= nil and "unevaluatedProperties" or "unevaluatedItems"
  local site = site_of(keyword, node.path)
  return function(value, state, seen)
    if type(value) ~= "table" then return check(value, state) end
    local mine = {}
    if not check(value, state, mine) then return false end
    for i = 1, #checks do
      if not checks[i](value, state, mine) then return false end
    end
    if seen then gather(state, site, seen, mine) end
    return true
  end
end

return unevaluated
