-- Reads LuaLS annotations from the sources: classes with their fields and methods, and functions of modules.

local annotations = {}

---@class annotations.item what the lines before something say of it
---@field text string[]
---@field params { name: string, type: string, text: string }[]
---@field fields { name: string, type: string, text: string }[]
---@field returns string[]
---@field is_private boolean
---@field class string?
---@field parent string? several are separated by commas

-- {====== One line ======

local CLOSING = { ["("] = ")", ["{"] = "}", ["["] = "]", ["<"] = ">" }

-- The position after the bracket that closes the one at `at`.
local function skip_brackets(text, at)
  local closing = CLOSING[text:sub(at, at)]
  at = at + 1
  while at <= #text and text:sub(at, at) ~= closing do
    local skipped = CLOSING[text:sub(at, at)] and skip_brackets(text, at)
    at = skipped or at + 1
  end
  return at + 1
end

local function skip_word(text, at)
  while at <= #text and not text:find("^%s", at) do
    local sign = text:sub(at, at)
    if CLOSING[sign] then at = skip_brackets(text, at)
    elseif sign == '"' then at = text:find('"', at + 1, true) + 1
    else at = at + 1 end
  end
  return at
end

-- The position after the type that begins at `at`. The results of a function follow colons and commas.
local function skip_type(text, at)
  local first = at
  at = skip_word(text, at)
  while text:find("^[:,]%s", at - 1) and text:find("fun(", first, true) do at = skip_word(text, at + 1) end
  return at
end

-- "type description" -> type, description
local function split_type(rest)
  local stop = skip_type(rest, 1)
  return rest:sub(1, stop - 1), rest:sub(stop + 1)
end

-- "name? type description"
local function named(rest)
  local name, mark, more = rest:match "^([%w_.]+)(%??)%s+(.*)$"
  local kind, text = split_type(more)
  return { name = name, mark = mark, type = kind, text = text }
end

local TAGS = {
  class = function(item, rest)
    item.class, item.parent = rest:match "^([%w_.]+):?%s*(.*)$"
    item.class = item.class:gsub("[.:]$", "")
    if item.parent == "" then item.parent = nil end
    if item.parent and not item.parent:find "^[%w_.]+[%w_., ]*$" then
      item.text[#item.text + 1], item.parent = item.parent, nil
    end
  end,
  field = function(item, rest) item.fields[#item.fields + 1] = named(rest) end,
  param = function(item, rest) item.params[#item.params + 1] = named(rest) end,
  ["return"] = function(item, rest) item.returns[#item.returns + 1] = rest end,
  alias = function(item, rest)
    local name, more = rest:match "^([%w_.]+)%s*(.*)$"
    item.alias, item.choices = name, { more ~= "" and more or nil }
  end,
  private = function(item) item.is_private = true end,
}

-- A tag continues on the following lines.
local function unfold(lines)
  local whole, is_tag = {}, false
  for _, line in ipairs(lines) do
    if line:find "^@" or not is_tag or line == "" then whole[#whole + 1] = line
    elseif line:find "^|" then whole[#whole + 1] = line
    else whole[#whole] = whole[#whole] .. " " .. line end
    is_tag = line:find "^@" ~= nil or is_tag and line ~= ""
  end
  return whole
end

local function read_block(lines)
  local item = { text = {}, params = {}, fields = {}, returns = {}, is_private = false }
  for _, line in ipairs(unfold(lines)) do
    local tag, rest = line:match "^@(%l+)%s*(.*)$"
    if TAGS[tag] then TAGS[tag](item, rest)
    elseif item.choices and line:find "^|" then item.choices[#item.choices + 1] = line:match "^|%s*(.*)$"
    elseif not tag then item.text[#item.text + 1] = line end
  end
  return item
end

-- }======

-- {====== A file ======

local function find_pairs(file, var, code)
  for name, target in code:gmatch "([%w_]+) = ([%w_]+%.[%w_]+)" do file.same[var .. "." .. name] = target end
end

-- The code after the block, or nothing if the block stands alone.
local function read_code(file, line, item)
  local name, params = line:match "^function ([%w_.:]+)%((.-)%)"
  if not name and item and #item.params > 0 then -- a function that is made by another
    name, params = line:match "^([%w_]+%.[%w_]+) = .*%($" or line:match "^([%w_]+%.[%w_]+) = .*%)$", ""
  end
  if name then
    item = item or { text = {}, params = {}, fields = {}, returns = {}, is_missing = true }
    item.signature, item.name = params, name:gsub(":", ".")
    file.functions[#file.functions + 1] = item
    file.functions[item.name] = item
    return
  end
  local var, code = line:match "^local ([%w_]+) = (.*)$"
  if var then
    file.modules[var] = code:match 'require%s*%(?"([%w_.]+)"' or code:match 'lazy "([%w_.]+)"' or file.modules[var]
    if item and item.class then item.var = var end
    find_pairs(file, var, code)
  end
  local alias, target = line:match "^([%w_]+%.[%w_]+) = ([%w_]+%.[%w_.]+)$"
  if alias then file.same[alias], file.private[alias] = target, item and item.is_private end
  local member = item and line:match "^%s+([%w_]+) = .*,$"
  if member and file.class and #item.text > 0 then
    table.insert(file.class.fields, { name = member, mark = "", type = "", text = table.concat(item.text, " ") })
  end
end

local function close_block(file, lines, all)
  local item = read_block(lines)
  if item.class then
    all.classes[item.class] = all.classes[item.class] or item
    item.file, file.class = file, item
  elseif item.alias then
    all.aliases[item.alias] = item
  end
  return item
end

local function read_file(path, all)
  local file = { path = path, functions = {}, modules = {}, same = {}, private = {} }
  local block = {}
  for line in io.lines(path) do
    local text = line:match "^%s*%-%-%-(.*)$"
    if text then
      if #block > 0 and block[#block]:find "^@alias" and text:find "^@" then
        close_block(file, block, all)
        block = {}
      end
      block[#block + 1] = text:gsub("^%s", "")
    else
      local item = #block > 0 and close_block(file, block, all) or nil
      block = {}
      read_code(file, line, item)
    end
  end
  return file
end

-- }======

---All annotations of these files: classes and aliases by name, files by module.
---@param paths string[]
function annotations.read(paths)
  local all = { classes = {}, aliases = {}, files = {} }
  for _, path in ipairs(paths) do
    local module = path:match "lua/(.*)%.lua$":gsub("/", "."):gsub("%.init$", ""):gsub("%._meta", "")
    all.files[module] = read_file(path, all)
  end
  return all
end

-- Resolves an alias.
local function resolve(all, file, target)
  if file.functions[target] then return file.functions[target] end
  if file.same[target] then return resolve(all, file, file.same[target]) end
  local var, name = target:match "^([%w_]+)%..-([%w_]+)$"
  local other = all.files[file.modules[var]]
  if not other then return nil end
  if other.functions[target] then return other.functions[target] end
  for _, item in ipairs(other.functions) do
    if item.name:match "%.([%w_]+)$" == name then return item end
  end
end

---The functions that are members of a variable, by their names, including those of a parent class.
---@return table<string, annotations.item>
function annotations.methods(all, class)
  local found = {}
  for parent in (class.parent or ""):gmatch "[%w_.]+" do
    local inherited = all.classes[parent] and annotations.methods(all, all.classes[parent]) or {}
    for name, item in pairs(inherited) do found[name] = item end
  end
  local file, prefix = class.file, class.var and class.var .. "."
  if not prefix then return found end
  for _, item in ipairs(file.functions) do
    if item.name:sub(1, #prefix) == prefix then found[item.name:sub(#prefix + 1)] = item end
  end
  for alias, target in pairs(file.same) do
    if alias:sub(1, #prefix) == prefix then
      local name = alias:sub(#prefix + 1)
      found[name] = file.private[alias] and { is_private = true } or resolve(all, file, target) or found[name]
    end
  end
  return found
end

---The functions of a module that is not a class.
function annotations.functions(file, prefix)
  local found = {}
  for _, item in ipairs(file.functions) do
    if item.name:sub(1, #prefix + 1) == prefix .. "." and not item.name:find(".", #prefix + 2, true) then
      found[item.name:sub(#prefix + 2)] = item
    end
  end
  return found
end

return annotations
