-- Makes docs/images/trace.png: a host that talks to examples/notes-mcp, as `pintle view` shows it.
local browsers = require "spec.interop.view_browser"
local hosts = require "pintle.host"
local lfs = require "lfs"
local tasks = require "pintle.task"

local FOLDER = "build/notes"
local RECORDING, PAGE = FOLDER .. "/notes.jsonl", FOLDER .. "/notes.html"

assert(os.execute("rm -rf " .. FOLDER .. " && mkdir -p " .. FOLDER))

local function talk(notes)
  notes:execute("add", { title = "Tea in May", text = "First flush, Darjeeling" })
  notes:execute("add", { title = "Coffee", text = "None after noon" })
  notes:execute("add", { title = "Coffee", text = "Decaffeinated" })
  local searches = {}
  for i, word in ipairs { "tea", "coffee", "flush" } do
    searches[i] = function() notes:execute("search", { query = word }) end
  end
  assert(tasks.all(searches))
  notes:call("resources/read", { uri = "note:///cocoa" })
  notes:execute("list", {})
end

do
  local host <close> = hosts { dialect = "mcp", log = function() end }
  local notes = assert(host:start { command = {
    "bin/pintle", "trace", "-o", RECORDING, "--", "lua5.4", "examples/notes-mcp/plugin.lua", FOLDER,
  } })
  tasks.run(function() talk(notes) end)
  notes:stop()
end

assert(os.execute("bin/pintle view " .. RECORDING))
do
  local browser <close> = browsers.start()
  browser:resize(1440, 760)
  browser:prefer "dark"
  browser:visit(lfs.currentdir() .. "/" .. PAGE)
  browser:settle()
  browser:press "e"
  browser:press "Enter"
  local file <close> = assert(io.open(arg[1], "wb"))
  file:write(browser:picture())
end
assert(os.execute("rm -r " .. FOLDER))
