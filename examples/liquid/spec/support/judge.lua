-- Whether what came out of a render is what a conformance case expects.

local judge = {}

-- \d{4} and the like, as a pattern of Lua: for where there is no PCRE2.
local function as_pattern(regexp)
  local pattern = regexp:gsub("^%(%?m%)", ""):gsub("%-", "%%-"):gsub("\\([dsw])", "%%%1")
  pattern = pattern:gsub("(%%?[%w%]])(%b{})", function(item, count) return item:rep(tonumber(count:sub(2, -2))) end)
  return (pattern:gsub("%[([^%]]*)%%%-([^%]]*)%]", "[%1-%2]"))
end

-- The expressions are Ruby's: to them ^ and $ stand at lines, and (?m) lets a dot be a newline.
local function matches(text, regexp)
  local has_rex, rex = pcall(require, "rex_pcre2")
  if not has_rex then return text:find(as_pattern(regexp)) ~= nil end
  return rex.find(text, "(?m)" .. regexp:gsub("^%(%?(%l*)m", "(?%1s")) ~= nil
end

local function has_all(text, patterns)
  text = text:lower()
  if type(patterns) == "string" then patterns = { patterns } end
  for _, pattern in ipairs(patterns) do
    if not text:find(pattern:lower(), 1, true) then return false end
  end
  return true
end

local function fault(result, kind)
  local err = result[kind]
  if not err then return nil end
  return (err.class or "") .. " " .. err.message
end

local function meets_error(expected, result)
  for kind, patterns in pairs(expected) do
    if kind == "output" then
      if not result.output or not has_all(result.output, patterns) then return false end
    elseif kind ~= "line" then
      local text = fault(result, kind)
      if not text or not has_all(text, patterns) then return false end
      if expected.line and result[kind].line ~= expected.line then return false end
    end
  end
  return true
end

---@param case table
---@param result table `output`, or `parse_error` or `render_error` with `message`, `class` and `line`
---@return boolean
function judge.passes(case, result)
  if case.errors then return meets_error(case.errors, result) end
  if case.expected then return result.output == case.expected end
  if type(case.expected_pattern) ~= "string" or not result.output then return false end
  return matches(result.output, case.expected_pattern)
end

return judge
