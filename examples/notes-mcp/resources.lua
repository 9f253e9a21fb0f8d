-- Notes as resources, and a prompt about them: methods of the protocol itself, for they are no operations.

local pintle = require "pintle"

local INVALID_PARAMS, NOT_FOUND = -32602, -32002

local resources = {}

---@param name string
---@return string
function resources.uri_of(name) return "note:///" .. name end

local function refuse(code, format, ...) return nil, { code = code, message = format:format(...) } end

local function add_resources(plugin, store)
  plugin:method("resources/list", function()
    local list = pintle.array()
    for i, name in ipairs(store():names()) do
      local note = store():describe(name)
      list[i] = {
        uri = resources.uri_of(name), name = name, title = note.title, mimeType = "text/markdown", size = note.bytes,
      }
    end
    return { resources = list }
  end)

  plugin:method("resources/templates/list", function()
    return { resourceTemplates = { {
      uriTemplate = resources.uri_of "{name}", name = "note", description = "A note by its name",
      mimeType = "text/markdown",
    } } }
  end)

  plugin:method("resources/read", function(params)
    local uri = params and params.uri
    if type(uri) ~= "string" then return refuse(INVALID_PARAMS, "Invalid params: uri: a string expected") end
    local name = uri:match "^note:///(.+)$"
    local text = name and store():read(name)
    if not text then return refuse(NOT_FOUND, "Resource not found: %s", uri) end
    return { contents = { { uri = uri, mimeType = "text/markdown", text = text } } }
  end)
end

local PROMPT = {
  name = "summarize", title = "Summarize a note", description = "Asks for a summary of one note",
  arguments = { { name = "name", description = "The name of the note", required = true } },
}

local function add_prompt(plugin, store)
  plugin:method("prompts/list", function() return { prompts = { PROMPT } } end)

  plugin:method("prompts/get", function(params)
    params = params or {}
    if params.name ~= PROMPT.name then
      return refuse(INVALID_PARAMS, "Invalid params: there is no prompt %s", tostring(params.name))
    end
    local name = type(params.arguments) == "table" and params.arguments.name
    local text = type(name) == "string" and store():read(name)
    if not text then return refuse(INVALID_PARAMS, "Invalid params: name: there is no note %s", tostring(name)) end
    return {
      description = "A summary of " .. name,
      messages = { {
        role = "user", content = { type = "text", text = "Summarize this note in three sentences:\n\n" .. text },
      } },
    }
  end)

  -- What a name may go on with, where a client asks while somebody types.
  plugin:method("completion/complete", function(params)
    local argument = params and params.argument
    local typed = type(argument) == "table" and argument.value
    local values = pintle.array()
    for _, name in ipairs(store():names()) do
      if type(typed) == "string" and name:sub(1, #typed) == typed and #values < 100 then values[#values + 1] = name end
    end
    return { completion = { values = values } }
  end)
end

---@param plugin pintle.plugin
---@param store fun(): notes.store where the notes are, once the plugin has begun
function resources.add(plugin, store)
  add_resources(plugin, store)
  add_prompt(plugin, store)
end

return resources
