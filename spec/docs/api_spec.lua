-- docs/api.md agrees with the sources, and has every name that a user can reach.
local api = require "spec.support.api"
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local files = require "spec.support.files"
local pintle = require "pintle"
require "pintle.loop" -- keeps its descriptor open

local PAGE = files.read "docs/api.md"

local function has(text) return PAGE:find(text, 1, true) ~= nil end

-- The methods of an object: the table behind its metatable, also if __index is a function.
local function methods_of(object)
  local index = getmetatable(object).__index
  if type(index) == "table" then return index end
  for i = 1, math.huge do
    local name, value = debug.getupvalue(index, i)
    assert(name, "no methods are behind it")
    if name == "methods" then return value end
  end
end

-- The names that `pintle` loads when they are first used.
local function places()
  local find = getmetatable(pintle).__index
  for i = 1, math.huge do
    local name, value = debug.getupvalue(find, i)
    assert(name, "the face has no places")
    if name == "PLACES" then return value end
  end
end

local function functions_of(module)
  local names = {}
  for name, value in pairs(module) do
    if type(value) == "function" then names[#names + 1] = name end
  end
  return names
end

describe("the reference", function()
  it("is up to date", function()
    assert.equal(api.page(), PAGE, "script/api writes it anew")
  end)

  it("has every name of the module", function()
    for name in pairs(places()) do assert.truthy(has(("\n| `%s` |"):format(name)), name) end
    for name in pairs(pintle) do assert.truthy(has(("\n| `%s` |"):format(name)), name) end
  end)

  it("has every function of the modules behind these names", function()
    local modules = {
      ["pintle.dialect"] = pintle.dialect, ["pintle.schema"] = pintle.schema, ["pintle.duration"] = pintle.duration,
      ["pintle.json"] = pintle.json,
    }
    for prefix, module in pairs(modules) do
      local names = functions_of(module)
      assert.truthy(#names > 0)
      for _, name in ipairs(names) do
        assert.truthy(has(("**`%s.%s("):format(prefix, name)), prefix .. "." .. name)
      end
    end
  end)

  it("shows descriptions of types, parameters and results", function()
    assert.truthy(has("| `listen` | `fun(options: pintle.connect.options, on_peer: fun(peer: pintle.peer)): "
      .. "pintle.listener?, pintle.error?` |  |\n"))
    assert.truthy(has("- **`plugin:execute(operation: string, args?: table, given?: pintle.execute.options)`** → "
      .. "`pintle.outcome?, pintle.error?`\n  Runs an operation."))
    assert.truthy(has "- `\"timeout\"`: the deadline has passed\n")
    assert.truthy(has("| `verbosity?` | `pintle.level\\|\"silent\"` | "
      .. "minimum level of log entries; default: \"info\" |\n"))
  end)
end)

describe("the reference, compared with real objects,", function()
  local nothing_left, is_private
  local host, hosted, one, other, context, request

  setup(function()
    is_private = api.is_private()
    nothing_left = children.stock()
    host = pintle.host { log = false }
    hosted = assert(host:start { command = cli.GREETER })
    one, other = pintle.pair()
    other:on("hello", function(_, ctx) request = ctx end)
    one:call("hello")
    local read, write = assert(require "pintle.core".socketpair())
    local plugin = pintle.plugin { name = "p", version = "1.0.0" }
    plugin:operation("go", {}, function(_, ctx) context = ctx end)
    local serving = pintle.task(plugin.serve, plugin, { read = read, write = read, exit = false, dialect = "gevals" })
    local peer <close> = assert(pintle.connect { read = write, write = write, framing = "line" })
    assert(peer:call("execute", { operation = "go", args = {}, context = {} }))
    peer:close()
    serving:await()
  end)

  teardown(function()
    host:stop()
    one:close()
    other:close()
    host, hosted, one, other, context, request = nil, nil, nil, nil, nil, nil
    nothing_left()
  end)

  local function check(class, prefix, object, separator)
    local count, section = 0, PAGE:match("\n### " .. class:gsub("%.", "%%.") .. "\n(.-)\n##")
    for name, value in pairs(object) do
      if type(value) == "function" and not is_private(class, name) then
        count = count + 1
        local is_told = section:find(("**`%s%s%s("):format(prefix, separator or ":", name), 1, true)
          or section:find(("\n| `%s` |"):format(name), 1, true)
        assert.truthy(is_told, ("%s: %s"):format(class, name))
      end
    end
    assert.truthy(count > 0, class)
  end

  it("has all methods of a host, and of a plugin that it has started", function()
    check("pintle.host", "host", methods_of(host))
    check("pintle.hosted", "plugin", methods_of(hosted))
    check("pintle.manifest", "manifest", methods_of(hosted.manifest))
    check("pintle.mcp.hosted", "plugin", (require "pintle.dialect.mcp.handle"))
  end)

  it("has all methods of a plugin, and of the arguments of its functions", function()
    check("pintle.plugin", "plugin", methods_of(pintle.plugin { name = "p", version = "1.0.0" }))
    check("pintle.plugin.context", "ctx", methods_of(context))
  end)

  it("has all methods of a peer, a request, a call and a listener", function()
    check("pintle.peer", "peer", methods_of(one))
    check("pintle.request", "ctx", methods_of(request))
    local begun = one:begin "hello"
    check("pintle.call", "call", methods_of(begun))
    begun:wait()
    local listener = assert(pintle.listen({ host = "127.0.0.1", port = 0 }, function() end))
    check("pintle.listener", "listener", methods_of(listener))
    listener:close()
    pintle.run()
  end)

  it("has all methods of a task and a validator, and the functions of the loop", function()
    check("pintle.task", "task", methods_of(pintle.task(function() end)))
    check("pintle.schema.validator", "validator", methods_of(pintle.schema.compile(true)))
    check("pintle.loop", "loop", pintle.loop, ".")
  end)

  it("has all members of an error", function()
    local _, err = hosted:execute("nothing", {})
    local section = PAGE:match "### pintle.error\n(.-)\n###"
    for name in pairs(err) do assert.truthy(section:find("\n| `" .. name, 1, true), name) end
  end)
end)
