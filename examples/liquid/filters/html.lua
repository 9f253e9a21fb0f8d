-- Filters for HTML.

local text = require "liquid.text"

local to_s = text.to_s
local find, gsub, sub, match = string.find, string.gsub, string.sub, string.match

local entities = { ["&"] = "&amp;", [">"] = "&gt;", ["<"] = "&lt;", ['"'] = "&quot;", ["'"] = "&#39;" }

local function escape(ctx, input)
  if input == nil then return nil end
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  if not find(shown, "[&<>\"']") then return shown end
  return (gsub(shown, "[&<>\"']", entities))
end

-- What is an entity already stays one.
local function escape_once(ctx, input)
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  return (gsub(shown, "()([&<>\"'])", function(at, character)
    if character == "&" and (match(shown, "^%a+;", at + 1) or match(shown, "^#%d+;", at + 1)) then return "&" end
    return entities[character]
  end))
end

local blocks = {
  { "<script", "</script>" }, { "<!--", "-->" }, { "<style", "</style>" },
}

-- The block that begins first, and ends: its first and last byte.
local function next_block(shown, from, missing)
  local first, last
  for i, marks in ipairs(blocks) do
    local at = not missing[i] and find(shown, marks[1], from, true)
    if at and (not first or at < first) then
      local _, stop = find(shown, marks[2], at + #marks[1], true)
      if stop then first, last = at, stop else missing[i] = true end
    elseif not at then
      missing[i] = true
    end
  end
  return first, last
end

local function has_block(shown)
  return find(shown, "<s", 1, true) or find(shown, "<!--", 1, true)
end

local function without_blocks(shown)
  if not has_block(shown) then return shown end
  local pieces, at, missing = {}, 1, {}
  while true do
    local first, last = next_block(shown, at, missing)
    if not first then break end
    pieces[#pieces + 1], at = sub(shown, at, first - 1), last + 1
  end
  pieces[#pieces + 1] = sub(shown, at)
  return table.concat(pieces)
end

local function strip_html(ctx, input)
  local shown, err = to_s(input, ctx)
  if err then return nil, err end
  if not find(shown, "<", 1, true) then return shown end
  return (gsub(without_blocks(shown), "<[^>]*>", ""))
end

return function(define)
  define("escape", 0, 0, escape)
  define("h", 0, 0, escape)
  define("escape_once", 0, 0, escape_once)
  define("strip_html", 0, 0, strip_html)
end
