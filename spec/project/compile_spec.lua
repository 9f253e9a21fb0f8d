-- Modules as `make` compiles them for a rock.

local children = require "spec.support.children"

local COMPILED = (os.getenv "PINTLE_BUILD" or "build") .. "/lua"

-- The output of a program that runs with the compiled modules.
local function run(code)
  local text, status = children.run {
    command = { "lua5.4", "-e", code }, stdin = "null",
    env = { LUA_PATH = ("%s/?.lua;%s/?/init.lua;%s"):format(COMPILED, COMPILED, package.path) },
  }
  assert(status == 0, text)
  return text
end

-- Prints the modules that are read from their own files.
local COUNT = [[
  local search = package.searchers[2]
  package.searchers[2] = function(name)
    local loader, path = search(name)
    if type(loader) == "function" then print(name) end
    return loader, path
  end
]]

describe("a compiled module", function()
  it("contains the modules that it always loads", function()
    assert.equal("pintle.connect\n", run(COUNT .. 'require "pintle.connect"'))
    assert.equal("pintle.plugin\n", run(COUNT .. 'require "pintle.plugin"'))
    assert.equal("pintle.host\n", run(COUNT .. 'require "pintle.host"'))
  end)

  it("leaves no traces of the modules that it contains, and loads none twice", function()
    assert.equal("nil\ttrue\n", run [[
      local errors = require "pintle.error"
      require "pintle.connect"
      print(package.preload["pintle.peer"], require "pintle.error" == errors)
    ]])
  end)

  it("does not replace a module that the program has provided", function()
    assert.equal("mine\n", run [[
      package.preload["pintle.task"] = function() return "mine" end
      require "pintle.connect"
      print(require "pintle.task")
    ]])
  end)

  it("keeps file names and line numbers", function()
    local where = [[
      require "pintle.connect"
      local about = debug.getinfo(require "pintle.error".new, "S")
      print(about.short_src:match "pintle/%l+%.lua.*", about.linedefined)
      print(select(2, pcall(require "pintle.peer".open, 1)):match "pintle/%l+%.lua.*")
    ]]
    local from_source = children.run { command = { "lua5.4", "-e", where }, stdin = "null" }
    assert.equal(from_source, run(where))
    assert.matches("^pintle/error.lua\t%d+\npintle/", from_source)
  end)
end)
