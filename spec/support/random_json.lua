-- Random documents that lua-cjson 2.1.0 can represent: 14 digits, no empty tables, no names that could be indices.
local random_json = {}

local pieces = { "a", "Z", " ", "\n", "\t", "\0", '"', "\\", "/", "\127", "é", "€", "😀", "\u{FFFD}", "\1", "name" }

local function text()
  local list = {}
  for i = 1, math.random(0, 12) do list[i] = pieces[math.random(#pieces)] end
  return table.concat(list)
end

local scalars = {
  text,
  text,
  function() return math.random(-10 ^ 13 // 1 | 0, 10 ^ 13 // 1 | 0) end,
  function() return math.random(-1000, 1000) end,
  function() return tonumber(("%.14g"):format((math.random() - 0.5) * 10 ^ math.random(-20, 20))) end,
  function() return math.random(2) == 1 end,
}

local function name(i)
  return "n" .. i .. text()
end

-- `null` is a parameter, so that either codec can be used; `array` marks a list.
function random_json.value(null, array, depth)
  depth = depth or 0
  local kind = math.random(10)
  if depth > 5 or kind > 5 then
    return kind == 10 and null or scalars[math.random(#scalars)]()
  end
  local table_of = {}
  for i = 1, math.random(1, depth == 0 and 80 or 4) do
    table_of[kind > 2 and name(i) or i] = random_json.value(null, array, depth + 1)
  end
  return kind > 2 and table_of or array(table_of)
end

return random_json
