-- pintle new: creates the directory of a new plugin, with a plugin that runs, its spec, and the files its dialect
-- needs.

local consoles = require "pintle.cli.console"
local dialects = require "pintle.dialect"
local lazy = require "pintle.lazy"
local options = require "pintle.cli.options"
local status = require "pintle.cli.status"

local core = lazy "pintle.core"
local errors = lazy "pintle.error"
local lfs = lazy "lfs"

local new = { name = "new", summary = "Create a plugin that runs, with its spec and a README." }

function new.define(parser)
  parser:usage "Usage: pintle new [-d NAME] NAME"
  parser:argument("folder", "The name of the plugin; of a path, the last part is the name.")
    :argname "NAME"
  local names = dialects.names()
  parser:option("-d --dialect", ("The protocol of the plugin: %s."):format(table.concat(names, ", ")), "gevals")
    :argname "NAME":choices(names)
end

-- {====== Templates; words between @ are replaced ======

local PLUGIN = [[
#!/usr/bin/env lua5.4
-- @name@ says hello. README.md explains how to run and test it.

local pintle = require "pintle"
@before@
local plugin = pintle.plugin {
  name = "@name@", version = "0.1.0", description = "Says hello",
@declaration@}

plugin:operation("greet", {
  description = "Say hello to someone",
  params = {
    type = "object", required = { "name" }, additionalProperties = false,
    properties = { name = { type = "string", minLength = 1, description = "Whom to greet" } },
  },
}, function(args, ctx)
  ctx:log("info", "greeting", { name = args.name })
  return "Hello, " .. args.name
end)
@methods@
plugin:serve()
]]

local SPEC = [[
-- Starts the plugin as a host does, and talks to it.
local pintle = require "pintle"

describe("@name@", function()
  local host, plugin

  setup(function()
    host = pintle.host { dialect = "@dialect@", log = false }
    plugin = assert(host:start { command = { "./plugin.lua" } })
  end)

  teardown(function() host:stop() end)

  it("greets", function()
    local outcome = assert(plugin:execute("greet", { name = "Ada" }))
    assert.is_true(outcome.success)
    assert.equal("Hello, Ada", outcome.message)
  end)

  it("refuses arguments that do not fit", function()
    local outcome, err = plugin:execute("greet", { name = "" })
    assert.is_nil(outcome)
    assert.equal(-32602, err.code)
  end)
@spec@end)
]]

local README = [[
# @name@

Says hello. `plugin.lua` is the plugin, made with pintle for hosts that speak @dialect@; hosts of other dialects find
its operations, too.

| operation | arguments | result |
|---|---|---|
| `greet` | `name`, not empty | a greeting |

## Running
```sh
pintle inspect -d @dialect@ ./plugin.lua
pintle call -d @dialect@ ./plugin.lua -- greet name=Ada
```
`pintle run -d @dialect@ -- ./plugin.lua` opens a prompt. `pintle run -d @dialect@ ..` starts all plugins in the parent
directory.
@readme@
## In an AI client
The operations are tools. Claude Desktop (`claude_desktop_config.json`), Cursor (`.cursor/mcp.json`), Gemini CLI
(`.gemini/settings.json`) and others read:
```json
{
  "mcpServers": {
    "@name@": {
      "command": @json_lua@,
      "args": [@json_plugin@]
    }
  }
}
```
In VS Code (`.vscode/mcp.json`) the same is under `servers` instead of `mcpServers`. Codex (`~/.codex/config.toml`):
```toml
[mcp_servers.@name@]
command = @json_lua@
args = [@json_plugin@]
```
Claude Code:
```sh
claude mcp add @name@ -- @shell_lua@ @shell_plugin@
```

## In an editor
The operations are commands of a language server (`workspace/executeCommand`). Neovim 0.8 or
later:
```lua
vim.lsp.start { name = "@name@", cmd = { @json_lua@, @json_plugin@ }, root_dir = vim.fn.getcwd() }
```
Helix (`languages.toml`), where `language-servers = ["@name@"]` of a language adds it:
```toml
[language-server.@name@]
command = @json_lua@
args = [@json_plugin@]
```

## Testing
```sh
busted --lua=@shell_lua@
luacheck .
```
]]

local LUACHECK = [[
std = "lua54"
include_files = { "**/*.lua", ".luacheckrc" }
files["spec"].std = "+busted"
]]

local MANIFEST = [[
{
  "name": "@name@",
  "executable": "plugin.lua"
}
]]

---What a dialect adds to the templates, with the blank lines it needs around it.
---@class pintle.cli.new.dialect
---@field before? string before the declaration
---@field declaration? string in the declaration
---@field methods? string after the operation
---@field spec? string
---@field readme? string
---@field manifest? string

---@type table<string, pintle.cli.new.dialect>
local DIALECTS = {}

DIALECTS.gevals = {
  readme = [[

The protocol also works in a pipe:
```sh
echo '{"jsonrpc":"2.0","id":1,"method":"execute","params":{"operation":"greet","args":{"name":"Ada"}}}' |
  @shell_lua@ plugin.lua
```
]],
}

DIALECTS.mcp = {
  declaration = [[
  dialects = { mcp = { title = "@name@", instructions = "Greet people by their names." } },
]],
  spec = [[

  it("gives the model instructions", function()
    assert.equal("Greet people by their names.", plugin.raw_manifest.instructions)
  end)
]],
}

DIALECTS.lsp = {
  methods = [[

-- A method of the protocol, beside the operations, which are commands. It also sets the capability hoverProvider.
plugin:method("textDocument/hover", function(params)
  local line = params.position.line + 1
  return { contents = { kind = "plaintext", value = ("This is line %d."):format(line) } }
end)
]],
  spec = [[

  it("answers hover requests", function()
    assert.is_true(plugin.raw_manifest.capabilities.hoverProvider)
    local hover = assert(plugin:call("textDocument/hover", {
      textDocument = { uri = "file:///notes.txt" }, position = { line = 4, character = 0 },
    }))
    assert.equal("This is line 5.", hover.contents.value)
  end)
]],
  readme = [[

Operations are commands; `textDocument/hover` is a method.
]],
}

DIALECTS.liquid = {
  before = [[
local drops = require "pintle.dialect.liquid.drops"

-- {====== The engine ======

-- A template can be any value; here it is the source text.
local function compile(source)
  if source:find("{%", 1, true) then
    return nil, { type = "syntax_error", message = "Liquid syntax error (line 1): no tags here", line = 1 }
  end
  return source
end

-- The value at a path such as user.name. A drop is an object of the client, which is asked for its properties.
local function value_of(environment, path)
  local value = environment
  for name in path:gmatch "[^.]+" do
    if drops.is(value) then
      value = assert(value:get(name))
    elseif type(value) == "table" then
      value = value[name]
    else
      return ""
    end
  end
  if value == nil or value == pintle.null then return "" end
  return tostring(value)
end

local function render(template, environment)
  return (template:gsub("{{%s*([%w_.]+)%s*}}", function(path) return value_of(environment, path) end))
end

-- }======
]],
  declaration = [[
  dialects = { liquid = { liquid_version = "5.8.0", compile = compile, render = render } },
]],
  spec = [[

  it("renders", function()
    local outcome = assert(plugin:execute("render", {
      template = "Dear {{ user.name }},{{ nobody.name }}", environment = { user = { name = "Ada" } },
    }))
    assert.equal("Dear Ada,", outcome.message)
  end)

  it("reports tags as errors", function()
    local outcome = assert(plugin:execute("render", { template = "{% if %}" }))
    assert.is_false(outcome.success)
    assert.truthy(outcome.error:find("no tags here", 1, true))
  end)
]],
  readme = [[

`compile` and `render` are the engine; other dialects have it as the operation `render`. An operation is a tag here:
```sh
pintle call -d liquid ./plugin.lua -- render template='Dear {{ name }}' environment:='{"name":"Ada"}'
```
]],
}

DIALECTS.reginald = {
  declaration = [[
  dialects = { reginald = { domain = "@name@" } },
]],
  spec = [[

  it("has a manifest.json that is up to date", function()
    local pipe = assert(io.popen "./plugin.lua --manifest reginald")
    local written = pipe:read "a"
    pipe:close()
    local file <close> = assert(io.open "manifest.json")
    assert.equal(written, file:read "a")
  end)
]],
  readme = [[

## In Reginald
Releases that look for a manifest.json use this directory as it is, in `~/.local/share/reginald/plugins`. Update the
manifest after every change of the operations: `./plugin.lua --manifest reginald > manifest.json`.
Earlier releases start every program there whose name begins with `reginald-`: link `reginald-@name@` to `plugin.lua`.
]],
  manifest = [[
{
  "name": "@name@",
  "version": "0.1.0",
  "domain": "@name@",
  "description": "Says hello",
  "executable": "plugin.lua",
  "config": [],
  "commands": [
    {
      "name": "greet",
      "usage": "greet [options]",
      "description": "Say hello to someone",
      "config": [
        {
          "value": "",
          "type": "string",
          "key": "name",
          "flag": {
            "name": "name",
            "shorthand": "",
            "description": "Whom to greet (required)"
          }
        }
      ]
    }
  ],
  "tasks": [
    {
      "taskType": "greet",
      "description": "Say hello to someone",
      "config": [
        {
          "value": "",
          "type": "string",
          "key": "name"
        }
      ]
    }
  ]
}
]],
}

DIALECTS.editor = {
  methods = [[

-- A method of the protocol, beside the operations: any params, any result. It also notifies the client.
plugin:method("count", function(params, ctx)
  local text = type(params) == "table" and params.text
  if type(text) ~= "string" then return nil, { code = -32602, message = "Invalid params: text: a string expected" } end
  ctx:notify("counted", { characters = utf8.len(text) })
  return { bytes = #text }
end)
]],
  spec = [[

  it("counts", function()
    assert.same({ bytes = 3 }, (plugin:call("count", { text = "Ada" })))
    local result, err = plugin:call("count", {})
    assert.is_nil(result)
    assert.equal(-32602, err.code)
  end)
]],
  readme = [[

In the editor, the command of the server is `@plugin@`. Its methods are the operations and `count`, which takes
`{"text": …}`, returns `{"bytes": …}` and notifies the client with `counted`.
]],
}

local function fill_template(text, values) return (text:gsub("@([%l_]+)@", values)) end

-- The interpreter and the plugin, as they are written in configuration files: JSON, TOML and Lua quote alike.
local function configured_places(folder, checkout)
  local lua = checkout and options.absolute(checkout .. "/script/lua") or "lua5.4"
  local plugin = options.absolute(folder .. "/plugin.lua")
  return {
    plugin = plugin, json_lua = core.json.encode(lua), json_plugin = core.json.encode(plugin),
    shell_lua = options.shell_line { lua }, shell_plugin = options.shell_line { plugin },
  }
end

---@param folder string
---@param name string
---@param dialect string
---@param checkout? string root of the checkout that the command runs from
---@return pintle.cli.new.file[]
local function plugin_files(folder, name, dialect, checkout)
  local added = DIALECTS[dialect]
  local values = configured_places(folder, checkout)
  values.name, values.dialect = name, dialect
  local parts = setmetatable({}, { __index = function(_, part)
    return values[part] or fill_template(added[part] or "", values)
  end })
  return {
    { path = "plugin.lua", text = fill_template(PLUGIN, parts), is_program = true,
      meaning = "the plugin, with one operation" },
    { path = "spec/plugin_spec.lua", text = fill_template(SPEC, parts),
      meaning = "its spec, which starts it with a host" },
    { path = "README.md", text = fill_template(README, parts), meaning = "how to run, test and configure it" },
    { path = "manifest.json", text = fill_template(added.manifest or MANIFEST, values),
      meaning = "the manifest for discovery by hosts" },
    { path = ".luacheckrc", text = LUACHECK, meaning = "configuration of luacheck" },
  }
end

-- }======

-- {====== Writing the files: all of them, or nothing ======

local CHMOD_TIMEOUT = 10 -- seconds

local function write_new_file(path, text)
  local file <close>, problem = io.open(path, "w")
  if not file then return nil, problem end
  local ok, message = file:write(text)
  if ok then ok, message = file:flush() end
  if not ok then return nil, ("%s: %s"):format(path, message) end
  return true
end

local function make_executable(path)
  local process <close>, message = core.spawn { command = { "chmod", "+x", path }, stdin = "null", stdout = "null" }
  if not process then return nil, message end
  if process:wait(CHMOD_TIMEOUT) ~= 0 then return nil, path .. " could not be made executable" end
  return true
end

local function make_plugin_folder(path, made)
  local ok, problem = lfs.mkdir(path)
  if not ok then
    if lfs.symlinkattributes(path) then problem = "it exists already" end
    return nil, ("%s: %s"):format(path, problem)
  end
  made[#made + 1] = path
  return true
end

local function make_plugin_file(folder, file, made)
  local inner = file.path:match "^(.*)/[^/]*$"
  local ok, message = true, nil
  if inner then ok, message = make_plugin_folder(folder .. "/" .. inner, made) end
  local path = folder .. "/" .. file.path
  if ok then
    made[#made + 1] = path
    ok, message = write_new_file(path, file.text)
  end
  if ok and file.is_program then ok, message = make_executable(path) end
  return ok, message
end

---@class pintle.cli.new.file
---@field path string inside the directory; each subdirectory has one file
---@field text string
---@field meaning string its purpose
---@field is_program? boolean

---Creates a directory with files; on failure nothing is left.
---@param folder string must not exist
---@param list pintle.cli.new.file[]
---@return true?, string? message
function new.make_files(folder, list)
  local made = {}
  local ok, message = make_plugin_folder(folder, made)
  for _, file in ipairs(list) do
    if ok then ok, message = make_plugin_file(folder, file, made) end
  end
  if ok then return true end
  for i = #made, 1, -1 do os.remove(made[i]) end
  return nil, message
end

-- }======

-- Hosts use the name in commands, files and keys.
local function plugin_name(path)
  local name = path:match "([^/]*)/*$"
  if name:find "^%a[%w_-]*$" then return name end
  return nil, errors.new("invalid",
    ("%q is not a name for a plugin: it needs a letter, then letters, digits, dashes and underscores"):format(name))
end

local function print_created_files(folder, name, dialect, made, console)
  console:print(("Created %s, a plugin for hosts that speak %s:"):format(name, dialect))
  local rows = {}
  for i, file in ipairs(made) do rows[i] = { "  " .. folder .. "/" .. file.path, file.meaning } end
  local lines = consoles.table_lines({ "", "" }, rows)
  for i = 2, #lines do console:print(lines[i]) end
  console:print "Next:"
  console:print("  cd " .. folder)
  console:print(("  %s call -d %s ./plugin.lua -- greet name=Ada"):format(console:program_name(), dialect))
  console:print("  busted --lua=" .. console:interpreter())
  console:print "README.md has the configuration for AI clients and editors, to paste."
end

---@param args table
---@param console pintle.cli.console
---@return integer?, pintle.error?
function new.run(args, console)
  local name, err = plugin_name(args.folder)
  if not name then return nil, err end
  local folder = args.folder:gsub("/+$", "")
  local list = plugin_files(folder, name, args.dialect, console.checkout)
  local ok, message = new.make_files(folder, list)
  if not ok then return nil, errors.new("invalid", message .. "; nothing was created") end
  print_created_files(folder, name, args.dialect, list, console)
  return status.DONE
end

return new
