-- What a new plugin is made of. Words between @ are filled in; what a dialect adds is in the file of its name.

local template = {}

local PLUGIN = [[
#!/usr/bin/env lua5.4
-- @name@ says hello. README.md tells how to run and to test it.

local pintle = require "pintle"
@before@
local plugin = pintle.plugin {
  name = "@name@", version = "0.1.0", description = "Says hello",
@declaration@}

plugin:operation("greet", {
  description = "Say hello to somebody",
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

Says hello. `plugin.lua` is the plugin, made with pintle for hosts that speak @dialect@; the operations are declared in
it, and other dialects find them, too.

| operation | arguments | gives |
|---|---|---|
| `greet` | `name`, not empty | a greeting |

## Running
```sh
pintle inspect -d @dialect@ ./plugin.lua
pintle call -d @dialect@ ./plugin.lua -- greet name=Ada
```
`pintle run -d @dialect@ ..` starts all plugins beside this one and has a prompt for them.
@readme@
## Testing
```sh
busted --lua=lua5.4
luacheck .
```
With a checkout of pintle that is not installed it is
`/path/to/pintle/script/lua -e 'require "busted.runner" { standalone = false }' /dev/null`
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

---What a dialect adds to the texts above, each with the lines around it that it needs.
---@class pintle.cli.new.dialect
---@field before? string before the declaration
---@field declaration? string in it
---@field methods? string behind the operation
---@field spec? string
---@field readme? string
---@field manifest? string

local function fill(text, values) return (text:gsub("@(%l+)@", values)) end

---@param name string
---@param dialect string
---@return pintle.cli.new.file[]
function template.files(name, dialect)
  local added = require("pintle.cli.new." .. dialect)
  local values = { name = name, dialect = dialect }
  local parts = setmetatable({}, { __index = function(_, part)
    return values[part] or fill(added[part] or "", values)
  end })
  return {
    { path = "plugin.lua", text = fill(PLUGIN, parts), is_program = true, meaning = "the plugin, with one operation" },
    { path = "spec/plugin_spec.lua", text = fill(SPEC, parts), meaning = "drives it through a host" },
    { path = "README.md", text = fill(README, parts), meaning = "how to run and to test it" },
    { path = "manifest.json", text = fill(added.manifest or MANIFEST, values), meaning = "by which hosts find it" },
    { path = ".luacheckrc", text = LUACHECK, meaning = "for luacheck" },
  }
end

return template
