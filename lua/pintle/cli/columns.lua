-- Tables of text: columns as wide as their widest cell, two spaces between them.

local GAP = "  "

-- Columns of a terminal, as far as that can be told without knowing which characters are wide.
local function width(text) return utf8.len(text) or #text end

local function widths_of(rows)
  local widths = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do widths[i] = math.max(widths[i] or 0, width(cell)) end
  end
  return widths
end

local function pad(cell, columns, is_right)
  local space = (" "):rep(columns - width(cell))
  return is_right and space .. cell or cell .. space
end

local function line_of(row, widths, right)
  local cells = {}
  for i, cell in ipairs(row) do cells[i] = pad(cell, widths[i], right[i]) end
  return (table.concat(cells, GAP):gsub("%s+$", ""))
end

---@param heads string[]
---@param rows string[][] as many cells as there are heads
---@param right? table<integer, true> columns whose cells end at the right, as numbers do
---@return string[] lines the heads first
return function(heads, rows, right)
  local all = table.move(rows, 1, #rows, 2, { heads })
  local widths, lines = widths_of(all), {}
  for i, row in ipairs(all) do lines[i] = line_of(row, widths, right or {}) end
  return lines
end
