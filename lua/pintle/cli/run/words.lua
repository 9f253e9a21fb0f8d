-- The words of a line, as shells have them: quotes and backslashes keep spaces together.

-- One word, or a part of it that is written in one way.
local PARTS = {
  { "^'([^']*)'()", function(text) return text end },
  { '^"([^"\\]*)"()', function(text) return text end },
  { '^"((.-[^\\]))"()', function(text) return (text:gsub('\\(["\\])', "%1")) end, 3 },
  { "^\\(.)()", function(text) return text end },
  { "^([^%s'\"\\]+)()", function(text) return text end },
}

local function read_part(line, at)
  for _, part in ipairs(PARTS) do
    local found = table.pack(line:match(part[1], at))
    if found[1] then return part[2](found[1]), found[part[3] or 2] end
  end
end

---@param line string
---@return string[]? words, string? message
return function(line)
  local words, at = {}, line:find "%S"
  while at do
    local word = ""
    while at <= #line and not line:find("^%s", at) do
      local text, after = read_part(line, at)
      if not text then return nil, ("nothing ends the %s"):format(line:sub(at, at)) end
      word, at = word .. text, after
    end
    words[#words + 1] = word
    at = line:find("%S", at)
  end
  return words
end
