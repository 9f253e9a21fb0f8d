-- A client of the text server beside it: script/lua examples/editor/client.lua

local pintle = require "pintle"

local here = arg[0]:match "^(.*)/" or "."

local host <close> = pintle.host { dialect = "editor", log = print }
local server = assert(host:start {
  command = { "lua5.4", here .. "/server.lua" },
  options = { client_info = { name = "example" } },
  handlers = {
    changed = function(params) print(("  %s has changed: %d lines now"):format(params.name, params.lines)) end,
  },
})
print(server.manifest.name .. " has " .. table.concat(server.manifest.names, ", "))

local function show(method, args)
  local outcome, err = server:execute(method, args)
  if not outcome then return print(("%s is refused: %s"):format(method, err)) end
  if not outcome.success then return print(("%s failed: %s"):format(method, outcome.error)) end
  local cursor = outcome.outputs and outcome.outputs.cursor
  print(outcome.message .. (cursor and ("; the cursor is at %d:%d"):format(cursor.line, cursor.character) or ""))
end

local function at(line, character) return { line = line, character = character } end

show("open", { name = "poem", text = "Über allen Gipfeln\nist Ruh" })
show("edit", { name = "poem", from = at(1, 7), text = ",\nin allen Wipfeln" })
show("edit", { name = "poem", from = at(0, 0), to = at(0, 4), text = "ÜBER" })
show("move-cursor", { name = "poem", to = at(2, 3) })
show("move-cursor", { name = "poem", to = at(9, 0) })
show("move-cursor", { name = "poem", to = at(0, 19) })
show("move-cursor", { name = "poem", to = at(-1, 0) })
show("edit", { name = "prose", from = at(0, 0), text = "x" })
show("text", { name = "poem" })
