#!/usr/bin/env lua5.4
-- Notes in a folder for an AI client: tools to add, list, search, read and delete them, each note as a resource, and a
-- prompt. README.md describes how to configure a client.

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

local function uri_of(name) return "note:///" .. name end

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

-- {====== Resources and a prompt: methods of MCP that are not operations ======

local INVALID_PARAMS, NOT_FOUND = -32602, -32002

local function refuse(code, format, ...) return nil, { code = code, message = format:format(...) } end

plugin:method("resources/list", function()
  local list = pintle.array()
  for i, name in ipairs(store:names()) do
    local note = store:describe(name)
    list[i] = {
      uri = uri_of(name), name = name, title = note.title, mimeType = "text/markdown", size = note.bytes,
    }
  end
  return { resources = list }
end)

plugin:method("resources/templates/list", function()
  return { resourceTemplates = { {
    uriTemplate = uri_of "{name}", name = "note", description = "A note by its name",
    mimeType = "text/markdown",
  } } }
end)

plugin:method("resources/read", function(params)
  local uri = params and params.uri
  if type(uri) ~= "string" then return refuse(INVALID_PARAMS, "Invalid params: uri: a string expected") end
  local name = uri:match "^note:///(.+)$"
  local text = name and store:read(name)
  if not text then return refuse(NOT_FOUND, "Resource not found: %s", uri) end
  return { contents = { { uri = uri, mimeType = "text/markdown", text = text } } }
end)

local PROMPT = {
  name = "summarize", title = "Summarize a note", description = "Asks for a summary of one note",
  arguments = { { name = "name", description = "The name of the note", required = true } },
}

plugin:method("prompts/list", function() return { prompts = { PROMPT } } end)

plugin:method("prompts/get", function(params)
  params = params or {}
  if params.name ~= PROMPT.name then
    return refuse(INVALID_PARAMS, "Invalid params: there is no prompt %s", tostring(params.name))
  end
  local name = type(params.arguments) == "table" and params.arguments.name
  local text = type(name) == "string" and store:read(name)
  if not text then return refuse(INVALID_PARAMS, "Invalid params: name: there is no note %s", tostring(name)) end
  return {
    description = "A summary of " .. name,
    messages = { {
      role = "user", content = { type = "text", text = "Summarize this note in three sentences:\n\n" .. text },
    } },
  }
end)

-- Completes the name of a note.
plugin:method("completion/complete", function(params)
  local argument = params and params.argument
  local typed = type(argument) == "table" and argument.value
  local values = pintle.array()
  for _, name in ipairs(store:names()) do
    if type(typed) == "string" and name:sub(1, #typed) == typed and #values < 100 then values[#values + 1] = name end
  end
  return { completion = { values = values } }
end)

-- }======

plugin:serve()
