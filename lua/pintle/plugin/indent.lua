-- JSON text broken into lines, for people.

local OPENS, CLOSES = { ["["] = true, ["{"] = true }, { ["]"] = true, ["}"] = true }

local function end_of_string(text, at)
  repeat
    at = text:find('["\\]', at + 1)
    local is_escape = text:sub(at, at) == "\\"
    if is_escape then at = at + 1 end
  until not is_escape
  return at
end

-- A string, an empty container, a single sign, or what has none of those.
local function token_at(text, at)
  if text:sub(at, at) == '"' then return text:sub(at, end_of_string(text, at)) end
  return text:match("^%[%]", at) or text:match("^{}", at) or text:match("^[%[%]{},:]", at)
    or text:match('^[^%[%]{},:"]+', at)
end

---@param text string JSON as the codec writes it
---@return string
return function(text)
  local parts, depth, at = {}, 0, 1
  local function add(part) parts[#parts + 1] = part end
  local function break_line() add("\n" .. ("  "):rep(depth)) end
  while at <= #text do
    local token = token_at(text, at)
    at = at + #token
    if CLOSES[token] then
      depth = depth - 1
      break_line()
    end
    add(token == ":" and ": " or token)
    if OPENS[token] then depth = depth + 1 end
    if OPENS[token] or token == "," then break_line() end
  end
  return table.concat(parts)
end
