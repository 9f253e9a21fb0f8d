-- pintle new: begins a plugin: a directory with one that runs, its spec, and what its dialect needs.

local lazy = require "pintle.lazy"

local columns = require "pintle.cli.columns"
local dialects = require "pintle.dialect"
local errors = lazy "pintle.error"
local files = lazy "pintle.cli.new.files"
local status = require "pintle.cli.status"
local template = lazy "pintle.cli.new.template"

local new = { name = "new", summary = "Begin a plugin: a directory with one that runs, and its spec." }

function new.define(parser)
  parser:argument("folder", "What it is called; a path makes it elsewhere, and its last part is the name.")
    :argname "NAME"
  parser:option("-d --dialect", "The protocol whose needs are seen to.", "gevals"):argname "NAME"
    :choices(dialects.names())
end

-- Hosts make words of commands, files and keys of it.
local function name_of(path)
  local name = path:match "([^/]*)/*$"
  if name:find "^%a[%w_-]*$" then return name end
  return nil, errors.new("invalid",
    ("%q is no name for a plugin: a letter, then letters, digits, dashes and underscores"):format(name))
end

local function tell(folder, name, dialect, made, console)
  console:print(("Made %s, a plugin for hosts that speak %s:"):format(name, dialect))
  local rows = {}
  for i, file in ipairs(made) do rows[i] = { "  " .. folder .. "/" .. file.path, file.meaning } end
  local lines = columns({ "", "" }, rows)
  for i = 2, #lines do console:print(lines[i]) end
  console:print "Next:"
  console:print("  cd " .. folder)
  console:print(("  pintle call -d %s ./plugin.lua -- greet name=Ada"):format(dialect))
  console:print "  busted --lua=lua5.4"
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function new.run(args, console)
  local name, err = name_of(args.folder)
  if not name then return nil, err end
  local folder = args.folder:gsub("/+$", "")
  local list = template.files(name, args.dialect)
  local ok, message = files.make(folder, list)
  if not ok then return nil, errors.new("invalid", message .. "; nothing was made") end
  tell(folder, name, args.dialect, list, console)
  return status.DONE
end

return new
