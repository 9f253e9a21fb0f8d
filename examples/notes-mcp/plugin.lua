#!/usr/bin/env lua5.4
-- Notes for an AI client, kept in a folder: tools to add, list, search, read and delete them, each note as a resource,
-- and a prompt. The README beside it says how a client is told of it.

local pintle = require "pintle"

local here = arg[0]:match "^(.*)/[^/]*$" or "."
local notes = dofile(here .. "/notes.lua")
local resources = dofile(here .. "/resources.lua")

local plugin = pintle.plugin {
  name = "notes",
  version = "1.0.0",
  description = "Notes in a folder",
  dialects = {
    mcp = {
      title = "Notes",
      instructions = "Search before adding: there may be a note on it already. Names come from titles.",
      capabilities = { resources = { listChanged = true } },
    },
  },
}

local store

plugin:on_initialize(function(config)
  local folder = config.folder or plugin.arguments[1]
  if not folder then return nil, "the folder is missing: notes-mcp/plugin.lua FOLDER" end
  local message
  store, message = notes.open(folder)
  if not store then return nil, message end
  return true
end)

local function object(required, properties)
  return { type = "object", required = required, properties = properties, additionalProperties = false }
end

local NAME = { type = "string", description = "The name of a note" }
local DESCRIBED = object({ "name", "title", "bytes", "changed" }, {
  name = NAME, title = { type = "string" }, bytes = { type = "integer" },
  changed = { type = "string", description = "When it was last written, in UTC" },
})

local READ_ONLY = { annotations = { readOnlyHint = true, openWorldHint = false } }

local function changed(ctx) ctx:notify("notifications/resources/list_changed") end

plugin:operation("add", {
  description = "Write a new note",
  params = object({ "title", "text" }, {
    title = { type = "string", minLength = 1, maxLength = 200 },
    text = { type = "string", description = "What it says, in Markdown" },
    replace = { type = "boolean", default = false, description = "Whether a note of that name may be written over" },
  }),
  outputs = object({ "name", "uri" }, { name = NAME, uri = { type = "string" } }),
  dialects = { mcp = { title = "Add a note", annotations = { openWorldHint = false } } },
}, function(args, ctx)
  local name = notes.name_of(args.title)
  if store:has(name) and not args.replace then return nil, ("there is a note %q already"):format(name) end
  local ok, message = store:write(name, ("# %s\n\n%s\n"):format(args.title, args.text))
  if not ok then return nil, message end
  ctx:log("info", "added", { name = name })
  changed(ctx)
  return { message = "Added " .. name, outputs = { name = name, uri = resources.uri_of(name) } }
end)

plugin:operation("list", {
  description = "List all notes",
  params = object(nil, {}),
  outputs = object({ "notes" }, { notes = { type = "array", items = DESCRIBED } }),
  dialects = { mcp = READ_ONLY },
}, function()
  local list = pintle.array()
  for i, name in ipairs(store:names()) do list[i] = store:describe(name) end
  return { message = #list == 1 and "1 note" or #list .. " notes", outputs = { notes = list } }
end)

local MATCH = object({ "name", "line", "text" }, {
  name = NAME, line = { type = "integer" }, text = { type = "string" },
})

local function matches_in(name, query)
  local found, number = {}, 0
  for line in (store:read(name) or ""):gmatch "([^\n]*)\n?" do
    number = number + 1
    if line:lower():find(query, 1, true) then found[#found + 1] = { name = name, line = number, text = line } end
  end
  return found
end

plugin:operation("search", {
  description = "Find the lines that contain a text, whatever the case of its letters",
  params = object({ "query" }, {
    query = { type = "string", minLength = 1 },
    limit = { type = "integer", minimum = 1, maximum = 1000, default = 50 },
  }),
  outputs = object({ "matches" }, { matches = { type = "array", items = MATCH } }),
  dialects = { mcp = READ_ONLY },
}, function(args, ctx)
  local list, names = pintle.array(), store:names()
  for i, name in ipairs(names) do
    for _, match in ipairs(matches_in(name, args.query:lower())) do
      if #list < args.limit then list[#list + 1] = match end
    end
    ctx:progress(i / #names, name)
    if ctx:cancelled() then return end
  end
  return { message = #list == 1 and "1 line" or #list .. " lines", outputs = { matches = list } }
end)

plugin:operation("read", {
  description = "Read a note",
  params = object({ "name" }, { name = NAME }),
  dialects = { mcp = READ_ONLY },
}, function(args) return store:read(args.name) end)

plugin:operation("delete", {
  description = "Delete a note for good",
  params = object({ "name" }, { name = NAME }),
  dialects = { mcp = { annotations = { destructiveHint = true, idempotentHint = true, openWorldHint = false } } },
}, function(args, ctx)
  local ok, message = store:delete(args.name)
  if not ok then return nil, message end
  changed(ctx)
  return "Deleted " .. args.name
end)

resources.add(plugin, function() return store end)

plugin:serve()
