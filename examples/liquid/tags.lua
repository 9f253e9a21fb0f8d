-- The tags, by name. Each is a function that parses it and gives its node; they are loaded when a template uses them.
--
-- A tag gives its node (nil for one that does nothing), whether it puts out nothing but space, and whether a break or
-- continue may come out of it.

local tags = {}

local homes = {
  assign = "assign", capture = "assign", case = "case", comment = "verbatim", ["#"] = "verbatim", doc = "verbatim",
  raw = "verbatim", cycle = "cycle", echo = "echo", ["for"] = "for", ["if"] = "if", unless = "if",
  ifchanged = "ifchanged", increment = "counters", decrement = "counters", include = "include", render = "render",
  tablerow = "tablerow", ["break"] = "interrupts", continue = "interrupts",
}

local parsers = {}

---@param name string
---@return boolean
function tags.known(name)
  return homes[name] ~= nil
end

---@param state liquid.parse_state
---@param name string
---@param markup string
---@param position integer of the markup
---@return function? node, boolean? blank, boolean? interrupts
function tags.parse(state, name, markup, position)
  local parse = parsers[name]
  if not parse then
    parse = require("liquid.tags." .. homes[name])[name]
    parsers[name] = parse
  end
  return parse(state, markup, position)
end

return tags
