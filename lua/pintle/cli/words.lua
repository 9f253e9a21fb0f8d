-- Words of a command line that are not pintle's: the command of a plugin has options of its own. It begins at the first
-- word that is no option of pintle's, and goes on to the end, or to the last `--` where something else follows.

local words = {}

-- What stands for the whole command where only pintle's own words are looked at.
local PLACEHOLDER = "CMD"

-- How many words follow an option, by its name.
local function arities(parser)
  local by_name = {}
  for _, option in ipairs(parser._options) do
    for _, alias in ipairs(option._aliases) do by_name[alias] = option._maxargs end
  end
  return by_name
end

local function is_option(word) return word:sub(1, 1) == "-" and #word > 1 end

-- A cluster of short options takes what its last one takes.
local function arity_of(by_name, word)
  if word:sub(1, 2) == "--" then return by_name[word] or 0 end
  return by_name["-" .. word:sub(-1)] or 0
end

-- Where the first word stands that is neither an option nor belongs to one.
local function skip_options(parser, list, first)
  local by_name = arities(parser)
  local at = first
  while list[at] and is_option(list[at]) and list[at] ~= "--" do at = at + 1 + arity_of(by_name, list[at]) end
  return math.min(at, #list + 1)
end

local function last_dashes(list, first)
  for i = #list, first, -1 do
    if list[i] == "--" then return i end
  end
  return #list + 1
end

---Takes the command of a plugin out of the words of a subcommand, which is the first of them.
---@param parser table that of the subcommand
---@param list string[]
---@param has_more boolean whether something follows the command, behind `--`
---@return string[] own with a placeholder where the command was, string[] command
function words.split(parser, list, has_more)
  local stop = skip_options(parser, list, 2)
  local own = table.move(list, 1, stop - 1, 1, {})
  local first = list[stop] == "--" and stop + 1 or stop
  local last = has_more and last_dashes(list, first) - 1 or #list
  local command = table.move(list, first, last, 1, {})
  if #command > 0 then own[#own + 1] = PLACEHOLDER end
  table.move(list, last + 2, #list, #own + 1, own)
  return own, command
end

return words
