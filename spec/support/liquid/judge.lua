-- Whether what came out of a render is what a conformance case expects.

local judge = {}

-- \d{4} and the like, as a pattern of Lua.
local function as_pattern(regexp)
  local pattern = regexp:gsub("^%(%?m%)", ""):gsub("%-", "%%-"):gsub("\\d", "%%d")
  pattern = pattern:gsub("(%%?[%w%]])(%b{})", function(item, count) return item:rep(tonumber(count:sub(2, -2))) end)
  return (pattern:gsub("%[([^%]]*)%%%-([^%]]*)%]", "[%1-%2]"))
end

local function has_all(text, patterns)
  text = text:lower()
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
  return result.output ~= nil and result.output:find(as_pattern(case.expected_pattern)) ~= nil
end

---What a case asks for that its line does not say: errors without a place come from templates without line numbers.
---@param case table
---@return boolean
function judge.line_numbers(case)
  local expected = case.expected or ""
  return not (expected:find("Liquid error: ", 1, true) or expected:find("Liquid syntax error: ", 1, true))
end

return judge
