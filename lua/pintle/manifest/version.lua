-- Versions as Semantic Versioning 2.0.0 writes them.

local version = {}

local function is_number(text) return text == "0" or text:find "^[1-9]%d*$" ~= nil end

local function is_name(text) return text:find "^[%w-]+$" ~= nil end

-- Of digits alone it is a number, and those have no leading zeros.
local function is_prerelease(text) return is_name(text) and (text:find "%D" ~= nil or is_number(text)) end

local function all(text, test)
  for part in (text .. "."):gmatch "([^.]*)%." do
    if not test(part) then return false end
  end
  return true
end

---@param text string
---@return boolean
function version.is_semantic(text)
  local rest, build = text:match "^([^+]*)%+(.*)$"
  rest = rest or text
  if build and not all(build, is_name) then return false end
  local core, prerelease = rest:match "^([^-]*)%-(.*)$"
  core = core or rest
  if prerelease and not all(prerelease, is_prerelease) then return false end
  local _, dots = core:gsub("%.", "")
  return dots == 2 and all(core, is_number)
end

return version
