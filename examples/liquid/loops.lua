-- The objects that tell a body where its loop is: forloop and tablerowloop.

local values = require "liquid.values"

local loops = {}

local forloop_metatable = { __name = "liquid.forloop" }
local tablerow_metatable = { __name = "liquid.tablerowloop" }

local shared = {
  length = function(loop) return loop.count end,
  index = function(loop) return loop.at + 1 end,
  index0 = function(loop) return loop.at end,
  rindex = function(loop) return loop.count - loop.at end,
  rindex0 = function(loop) return loop.count - loop.at - 1 end,
  first = function(loop) return loop.at == 0 end,
  last = function(loop) return loop.at == loop.count - 1 end,
}

local of_for = setmetatable({
  name = function(loop) return loop.label end,
  parentloop = function(loop) return loop.outer end,
}, { __index = shared })

local of_tablerow = setmetatable({
  col = function(loop) return loop.column end,
  col0 = function(loop) return loop.column - 1 end,
  col_first = function(loop) return loop.column == 1 end,
  col_last = function(loop) return loop.column == loop.columns end,
  row = function(loop) return loop.line end,
}, { __index = shared })

local function protocol(kind, getters, class_name)
  return {
    kind = kind,
    get = function(loop, key)
      local getter = getters[key]
      if getter then return getter(loop) end
      return nil, nil, true
    end,
    to_s = function() return class_name end,
    -- Its methods are there for the filters of these names as well.
    first = shared.first, last = shared.last,
  }
end

values.register(forloop_metatable, protocol("forloop", of_for, "Liquid::ForloopDrop"))
values.register(tablerow_metatable, protocol("tablerowloop", of_tablerow, "Liquid::TablerowloopDrop"))

---@param label string
---@param count integer
---@param outer? table the loop around it
---@return table
function loops.forloop(label, count, outer)
  return setmetatable({ label = label, count = count, outer = outer, at = 0 }, forloop_metatable)
end

---@param count integer
---@param columns integer
---@return table
function loops.tablerow(count, columns)
  return setmetatable({ count = count, columns = columns, at = 0, column = 1, line = 1 }, tablerow_metatable)
end

---Goes on to the next cell.
---@param loop table
function loops.next_cell(loop)
  loop.at = loop.at + 1
  if loop.column == loop.columns then
    loop.column, loop.line = 1, loop.line + 1
  else
    loop.column = loop.column + 1
  end
end

return loops
