-- Failures after the first plugin has started are handled by code that is loaded already: the working
-- directory may have changed under a relative package.path, and no descriptor may be left to open a file with.
local children = require "spec.support.children"
local lfs = require "lfs"

local PROGRAM = [[
  local core, lfs, pintle = require "pintle.core", require "lfs", require "pintle"
  local trouble, dialect, plugin, root = ...
  local host = pintle.host { dialect = dialect, log = false }
  local greeter = assert(host:start { command = { "lua5.4", plugin }, env = {
    LUA_PATH = root .. "/lua/?.lua;" .. root .. "/lua/?/init.lua;;",
  } })
  local loaded, held = {}, {}
  for name in pairs(package.loaded) do loaded[name] = true end
  if trouble == "directory" then assert(lfs.chdir "/") end
  while trouble == "descriptors" do
    local one, other = core.pipe()
    if not one then break end
    held[#held + 1] = { one, other }
  end
  local function say(...) print(select(2, ...) and tostring(select(2, ...)) or "fine") end
  say(greeter:execute("greet", { name = "Ada" }))
  say(greeter:execute("greeet", { name = "Ada" }))
  say(greeter:execute("greet", { name = 5 }))
  say(greeter:execute("greet", { name = "Ada" }, { timeout = "1ns" }))
  os.execute("kill -KILL " .. greeter:pids()[1])
  say(greeter:execute("greet", { name = "Ada" }))
  greeter:stop()
  host:stop()
  for name in pairs(package.loaded) do
    if not loaded[name] then print("loaded late: " .. name) end
  end
]]

-- The same for a program without a host: the end of its peer, and the deadline of its own call.
local PEER = [[
  local core, lfs, pintle = require "pintle.core", require "lfs", require "pintle"
  local trouble = ...
  local peer = assert(pintle.connect {
    command = { "sh", "-c", "read line; echo Bad luck >&2; kill -9 $$" }, on_stderr = print,
  })
  local one, other = pintle.pair()
  other:on("slow", function(_, ctx)
    ctx:set_deadline(0.01)
    return nil, select(2, pintle.sleep(60))
  end)
  other:on("wrong", function() return print end)
  other.on_error = function() end
  one:call "unknown"
  if trouble == "directory" then assert(lfs.chdir "/") end
  local held = {}
  while trouble == "descriptors" do
    local read_end, write_end = core.pipe()
    if not read_end then break end
    held[#held + 1] = { read_end, write_end }
  end
  for _, method in ipairs { "unknown", "slow", "wrong" } do print(select(2, one:call(method))) end
  print(select(2, peer:call "greet"))
  peer:close()
  one:close()
  other:close()
]]

local function run(program, trouble, dialect)
  local root = lfs.currentdir()
  local code = ([[
    ulimit -n 64
    LUA_PATH='./lua/?.lua;./lua/?/init.lua;;' exec lua5.4 -e '%s' /dev/null "$@" 2>&1
  ]]):format(("local function main(...) %s end main(table.unpack(arg))"):format(program:gsub("'", "'\\''")))
  return (children.run {
    command = children.sh(code, trouble, dialect, root .. "/spec/support/plugins/greeter.lua", root), stdin = "null",
  })
end

describe("a program whose first plugin has started", function()
  for trouble, title in pairs {
    directory = "has changed its working directory under a relative package.path",
    descriptors = "has no descriptor left",
  } do
    for _, dialect in ipairs { "editor", "gevals", "liquid", "lsp", "mcp", "reginald" } do
      it(("fails as documented when it %s (%s)"):format(title, dialect), function()
        local lines = {}
        for line in run(PROGRAM, trouble, dialect):gmatch "[^\n]+" do lines[#lines + 1] = line end
        assert.equal("fine", lines[1])
        assert.matches(dialect == "liquid" and "Unknown tag 'greeet'" or "^Unknown operation: greeet", lines[2])
        assert.matches("^Invalid params for \"greet\": at /name: expected string, got integer 5", lines[3])
        assert.truthy(lines[4] == "fine" or lines[4]:find "no answer to" or lines[4]:find "timed out", lines[4])
        assert.matches("ended with signal KILL", lines[5])
        assert.is_nil(lines[6])
      end)
    end

    it("has peers that fail as documented when it " .. title, function()
      assert.equal([[
Method not found: unknown (code -32601)
the request timed out after 10ms (code -32001)
Internal error: result: a function has no JSON form (code -32603)
Bad luck
sh ended with signal KILL: Bad luck
]], run(PEER, trouble, ""))
    end)
  end
end)
