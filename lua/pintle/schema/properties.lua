-- Unicode properties by the names that ECMA-262 knows them by, as PCRE2 knows them.

local properties = {}

-- Short name, then the long ones.
local CATEGORIES = [[
C Other
Cc Control cntrl
Cf Format
Cn Unassigned
Co Private_Use
Cs Surrogate
L Letter
L& LC Cased_Letter
Ll Lowercase_Letter
Lm Modifier_Letter
Lo Other_Letter
Lt Titlecase_Letter
Lu Uppercase_Letter
M Mark Combining_Mark
Mc Spacing_Mark
Me Enclosing_Mark
Mn Nonspacing_Mark
N Number
Nd Decimal_Number digit
Nl Letter_Number
No Other_Number
P Punctuation punct
Pc Connector_Punctuation
Pd Dash_Punctuation
Pe Close_Punctuation
Pf Final_Punctuation
Pi Initial_Punctuation
Po Other_Punctuation
Ps Open_Punctuation
S Symbol
Sc Currency_Symbol
Sk Modifier_Symbol
Sm Math_Symbol
So Other_Symbol
Z Separator
Zl Line_Separator
Zp Paragraph_Separator
Zs Space_Separator
]]

local category = {}
for line in CATEGORIES:gmatch "[^\n]+" do
  local short = line:match "^%S+"
  for name in line:gmatch "%S+" do category[name] = short end
end
category["L&"] = nil

local OPPOSITE = { p = "P", P = "p" }

-- Where PCRE2 has no word of its own: letter and name that mean the same.
local function binary(letter, name)
  if name == "Assigned" then return ("\\%s{Cn}"):format(OPPOSITE[letter]) end
  if name == "ASCII" then return letter == "p" and [[\x{0}-\x{7f}]] or [[\x{80}-\x{10ffff}]] end
  if name:find "^X%l%l$" then return nil end
  return ("\\%s{%s}"):format(letter, name)
end

local function valued(letter, property, value)
  if property == "General_Category" or property == "gc" then
    return category[value] and ("\\%s{%s}"):format(letter, category[value])
  end
  if property == "Script" or property == "sc" then return ("\\%s{sc:%s}"):format(letter, value) end
  if property == "Script_Extensions" or property == "scx" then return ("\\%s{%s}"):format(letter, value) end
end

---@param letter "p"|"P"
---@param text string what stands in the braces
---@return string? class the inside of a class; nil for what is no property here
function properties.class(letter, text)
  local property, value = text:match "^([%a_]+)=([%w_]+)$"
  if property then return valued(letter, property, value) or nil end
  if not text:find "^[%w_]+$" then return nil end
  return category[text] and ("\\%s{%s}"):format(letter, category[text]) or binary(letter, text)
end

return properties
