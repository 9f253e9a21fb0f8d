-- The tags, by name. Each is a function that parses it and gives its node; they are loaded when a template uses them.
--
-- A tag gives its node, whether it puts out nothing but space, and whether a break or
-- continue may come out of it.

local tags = {}

local homes = {
  assign = "assign", capture = "assign", case = "case", comment = "verbatim", ["#"] = "verbatim", doc = "verbatim",
  raw = "verbatim", cycle = "cycle", echo = "echo", ["for"] = "for", ["if"] = "if", unless = "if",
  ifchanged = "ifchanged", increment = "counters", decrement = "counters", include = "include", render = "render",
  tablerow = "tablerow", ["break"] = "interrupts", continue = "interrupts",
}

-- What ends a block.
local delimiters = {}
for name in pairs(homes) do delimiters[name] = "end" .. name end

---@type table<string, string>
tags.delimiters = delimiters

local parsers = {}

---The function that parses a tag; nil if there is none of that name.
---@param name string
---@return (fun(state: liquid.parse_state, markup: string, position: integer): function?, boolean?, boolean?)?
function tags.parser(name)
  local parse = parsers[name]
  if parse then return parse end
  local home = homes[name]
  if not home then return nil end
  parse = require("liquid.tags." .. home)[name]
  parsers[name] = parse
  return parse
end

return tags
