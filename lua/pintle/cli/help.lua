-- pintle help: prints the overview of all subcommands, or the help of one.

local lazy = require "pintle.lazy"
local status = require "pintle.cli.status"
local version = require "pintle.version"

local errors = lazy "pintle.error"
local main = lazy "pintle.cli.main"
local manifests = lazy "pintle.manifest"

local help = { name = "help", summary = "Print this overview, or the help of a subcommand." }

function help.define(parser)
  parser:argument("topic", "The subcommand."):argname "COMMAND":args "?"
end

-- {====== The overview ======

local ABOUT = [[
pintle %s: for plugins, MCP servers, language servers, and their hosts.

Usage: pintle COMMAND [OPTIONS] [ARGUMENTS]
]]

local EXAMPLES = [[
  pintle inspect clangd                         what a language server can do
  pintle run -- npx -y @modelcontextprotocol/server-everything
                                                a prompt for an MCP server
  pintle new greeter && cd greeter              a plugin of your own
  pintle call ./plugin.lua -- greet name=Ada    run one of its operations
  pintle call pintle trace -o talk.jsonl ./plugin.lua -- greet name=Ada
                                                record what host and plugin say
  pintle view talk.jsonl                        look at that in a browser

A program and its arguments come after the options of pintle. What comes after
-- is for its operation. More: pintle help COMMAND]]

local function add_group(lines, group, commands, console)
  lines[#lines + 1] = ""
  lines[#lines + 1] = console:paint("bold", group[1])
  for i = 2, #group do lines[#lines + 1] = ("  %-10s  %s"):format(group[i], commands[group[i]].summary) end
end

local function show_overview(console)
  local lines = { (ABOUT:format(version):gsub("\n$", "")) }
  local _, commands = main.parser()
  for _, group in ipairs(main.GROUPS) do add_group(lines, group, commands, console) end
  lines[#lines + 1] = "\n" .. console:paint("bold", "Examples") .. "\n" .. EXAMPLES
  console:print(table.concat(lines, "\n"))
end

-- }======

local function show_topic(name, console)
  local _, _, parsers = main.parser()
  if parsers[name] then
    console:print((parsers[name]:get_help():gsub("\n$", "")))
    return status.DONE
  end
  local names = {}
  for known in pairs(parsers) do names[#names + 1] = known end
  table.sort(names)
  local near = manifests.nearest({ names = names }, name)
  local advice = near and ("did you mean %s?"):format(near) or "there are " .. table.concat(names, ", ")
  return nil, errors.new("invalid", ("no subcommand %q; %s"):format(name, advice))
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function help.run(args, console)
  if args.topic then return show_topic(args.topic, console) end
  show_overview(console)
  return status.DONE
end

return help
