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

-- What is often asked for and is no tag of its own is entered, so that nobody looks any further.
local parsers = { ["else"] = false, ["elsif"] = false, when = false, liquid = false }
for _, delimiter in pairs(delimiters) do parsers[delimiter] = false end

---@alias liquid.parser fun(state: liquid.parse_state, markup: string, position: integer): function?, boolean?, boolean?

---The functions that parse tags, by name; false or nil if there is none.
---@type table<string, liquid.parser|false>
tags.parsers = setmetatable(parsers, {
  __index = function(_, name)
    local home = homes[name]
    if not home then return nil end
    local parse = require("liquid.tags." .. home)[name]
    parsers[name] = parse
    return parse
  end,
})

return tags
