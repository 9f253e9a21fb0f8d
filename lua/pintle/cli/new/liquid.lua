-- What a plugin of liquid-spec has besides: a tiny engine, which knows variables and no tags.

---@type pintle.cli.new.dialect
return {
  before = [[
local drops = require "pintle.dialect.liquid.drops"

-- {====== The engine ======

-- A template is any value; here it is the text itself.
local function compile(source)
  if source:find("{%", 1, true) then
    return nil, { type = "syntax_error", message = "Liquid syntax error (line 1): no tags here", line = 1 }
  end
  return source
end

-- What a path such as user.name leads to; drops are objects that the client keeps and is asked for.
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

  it("says what it does not know", function()
    local outcome = assert(plugin:execute("render", { template = "{% if %}" }))
    assert.is_false(outcome.success)
    assert.truthy(outcome.error:find("no tags here", 1, true))
  end)
]],
  readme = [[

`compile` and `render` are the engine; in other dialects that is the operation `render`. An operation is a tag here:
```sh
pintle call -d liquid ./plugin.lua -- render template='Dear {{ name }}' environment:='{"name":"Ada"}'
```
]],
}
