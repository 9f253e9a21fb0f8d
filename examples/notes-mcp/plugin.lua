#!/usr/bin/env lua5.4
-- Notes in a folder for an AI client: tools to add, list, search, read, chart and delete them, each note as a resource,
-- and a prompt. README.md describes how to configure a client.

local pintle = require "pintle"

local here = arg[0]:match "^(.*)/[^/]*$" or "."
local notes = dofile(here .. "/notes.lua")

local plugin = pintle.plugin {
  name = "notes",
  version = "1.0.0",
  description = "Notes in a folder",
  dialects = {
    mcp = {
      title = "Notes",
      instructions = "Search before adding: there may be a note on it already. Names come from titles.",
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

local function uri_of(name) return "note:///" .. name end

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
  local is_there = store:has(name)
  if is_there and not args.replace then return nil, ("there is a note %q already"):format(name) end
  local ok, message = store:write(name, ("# %s\n\n%s\n"):format(args.title, args.text))
  if not ok then return nil, message end
  ctx:log("info", "added", { name = name })
  if is_there then plugin:resource_updated(uri_of(name)) else plugin:resources_changed() end
  return { message = "Added " .. name, outputs = { name = name, uri = uri_of(name) } }
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
  dialects = { mcp = { annotations = READ_ONLY.annotations, task = "optional", task_after = 2 } },
}, function(args, ctx)
  local list, names = pintle.array(), store:names()
  for i, name in ipairs(names) do
    for _, match in ipairs(matches_in(name, args.query:lower())) do
      if #list < args.limit then list[#list + 1] = match end
    end
    ctx:progress(i / #names, name)
    if not ctx:sleep(0) then return end -- cancelled
  end
  return { message = #list == 1 and "1 line" or #list .. " lines", outputs = { matches = list } }
end)

plugin:operation("read", {
  description = "Read a note",
  params = object({ "name" }, { name = NAME }),
  dialects = { mcp = READ_ONLY },
}, function(args) return store:read(args.name) end)

-- {====== A picture ======

local BAR = '<rect x="0" y="%d" width="%d" height="16" fill="teal"/><text x="%d" y="%d">%s</text>'

local function draw(described)
  local bars, most = {}, 1
  for _, note in ipairs(described) do most = math.max(most, note.bytes) end
  for i, note in ipairs(described) do
    local width = math.ceil(200 * note.bytes / most)
    bars[i] = BAR:format(20 * i - 20, width, width + 6, 20 * i - 7, note.name)
  end
  return ('<svg xmlns="http://www.w3.org/2000/svg" width="480" height="%d" font-size="12">%s</svg>'):format(
    20 * #described, table.concat(bars))
end

plugin:operation("chart", {
  description = "Draw how long the notes are",
  params = object(nil, {}),
  dialects = { mcp = READ_ONLY },
}, function()
  local described = {}
  for i, name in ipairs(store:names()) do described[i] = store:describe(name) end
  return { message = #described .. " notes", content = { pintle.bytes(draw(described), "image/svg+xml") } }
end)

-- }======

-- {====== A question ======

local CONFIRMATION = object({ "delete" }, { delete = { type = "boolean", title = "Delete it for good" } })

-- Asks the user, if the client can do that.
local function is_confirmed(ctx, name)
  local answer, err = ctx:call("elicitation/create", {
    message = ("Delete the note %q?"):format(name), requestedSchema = CONFIRMATION,
  }, { key = "confirmation" })
  if err then return err.kind == "requirement", err end
  return answer.action == "accept" and answer.content.delete == true
end

plugin:operation("delete", {
  description = "Delete a note for good",
  params = object({ "name" }, { name = NAME }),
  dialects = { mcp = { annotations = { destructiveHint = true, idempotentHint = true, openWorldHint = false } } },
}, function(args, ctx)
  if not store:has(args.name) then return nil, ("there is no note %q"):format(args.name) end
  local is_wanted, err = is_confirmed(ctx, args.name)
  if not is_wanted then return nil, err or "The user wants to keep " .. args.name end
  local ok, message = store:delete(args.name)
  if not ok then return nil, message end
  plugin:resources_changed()
  return "Deleted " .. args.name
end)

-- }======

-- {====== Resources and a prompt ======

-- The names that begin with a text.
local function names_with(typed)
  local names = {}
  for _, name in ipairs(store:names()) do
    if name:sub(1, #typed) == typed then names[#names + 1] = name end
  end
  return names
end

local function list_resources()
  local list = {}
  for i, name in ipairs(store:names()) do
    local note = store:describe(name)
    list[i] = { uri = uri_of(name), name = name, title = note.title, size = note.bytes }
  end
  return list
end

plugin:resource_template(uri_of "{name}", {
  name = "note", description = "A note by its name", mimeType = "text/markdown",
  list = list_resources, complete = { name = names_with },
}, function(variables) return (store:read(variables.name)) end)

plugin:prompt("summarize", {
  title = "Summarize a note", description = "Asks for a summary of one note",
  arguments = { { name = "name", description = "The name of the note", required = true } },
  complete = { name = names_with },
}, function(args)
  local text, message = store:read(args.name)
  if not text then return nil, { code = -32602, message = "Invalid params: name: " .. message } end
  return {
    description = "A summary of " .. args.name,
    messages = { "Summarize this note in three sentences:\n\n" .. text },
  }
end)

-- }======

plugin:serve()
