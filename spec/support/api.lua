-- Makes the page docs/api.md from the annotations. script/api writes it.

local annotations = require "spec.support.annotations"

local HEAD = [[
# Reference

Every public name, out of the annotations in the sources: `script/api` writes this page. The other pages explain.
`name?` may be left out or nil. Functions that give back `…?, pintle.error?` return nil and the error where the world
fails, and raise where they are misused.
]]

-- Chapters: a title, and its classes and modules, each with the prefix of its function names.
local CHAPTERS = {
  { "The module", { "pintle", "pintle" } },
  { "Hosts", { "pintle.host.options" }, { "pintle.start.options" }, { "pintle.host", "host" },
    { "pintle.hosted", "plugin" }, { "pintle.execute.options" }, { "pintle.call.options" },
    { "pintle.outcome" }, { "pintle.mcp.hosted", "plugin" }, { "pintle.mcp.completion" },
    { "pintle.manifest", "manifest" }, { "pintle.operation" }, { "pintle.requirement" }, { "pintle.entry" },
    { "pintle.level" }, { "pintle.skipped" }, { "pintle.restart" }, { "pintle.stop_timeouts" }, { "pintle.limits" },
    { "pintle.sandbox" } },
  { "Plugins", { "pintle.declaration" }, { "pintle.plugin", "plugin" }, { "pintle.operation.declaration" },
    { "pintle.plugin.operation" }, { "pintle.plugin.method" }, { "pintle.serve.options" },
    { "pintle.plugin.context", "ctx" }, { "pintle.program.result" }, { "pintle.test", "pintle.test", plain = true },
    { "pintle.test.options" } },
  { "Plugins that speak MCP", { "pintle.mcp.declaration" }, { "pintle.mcp.limits" },
    { "pintle.mcp.operation.declaration" }, { "pintle.mcp.resource.declaration" },
    { "pintle.mcp.template.declaration" }, { "pintle.mcp.prompt.declaration" }, { "pintle.mcp.prompt.argument" },
    { "pintle.mcp.values" } },
  { "Peers", { "pintle.connect.options" }, { "pintle.peer.options" }, { "pintle.peer.limits" },
    { "pintle.stream.options" }, { "pintle.stream.limits" }, { "pintle.peer", "peer" }, { "pintle.call", "call" },
    { "pintle.handler" }, { "pintle.request", "ctx" }, { "pintle.listener", "listener" }, { "pintle.cancellation" },
    { "pintle.progress" }, { "pintle.conventions" }, { "pintle.report" }, { "pintle.descriptor" } },
  { "Tasks and the loop", { "pintle.task", "task" }, { "pintle.loop", "loop", plain = true },
    { "pintle.event", "event" }, { "pintle.timer" }, { "pintle.watcher" } },
  { "Errors", { "pintle.error" }, { "pintle.error.kind" }, { "pintle.exit" } },
  { "Dialects", { "pintle.dialect", "pintle.dialect", module = "dialects" }, { "pintle.dialect" },
    { "pintle.dialect.host" }, { "pintle.dialect.handler" }, { "pintle.discovery" }, { "pintle.session" },
    { "pintle.context" }, { "pintle.dialect.plugin" }, { "pintle.server", "server" } },
  { "Schemas", { "pintle.schema", "pintle.schema", plain = true }, { "pintle.schema.options" },
    { "pintle.schema.limits" }, { "pintle.schema.validator", "validator" }, { "pintle.schema.error" } },
  { "Durations, bytes, JSON", { "pintle.duration", "pintle.duration", plain = true }, { "pintle.bytes" },
    { "pintle.core", "pintle.json", module = "core.json" }, { "pintle.raw" } },
}

local api = {}

local function sources()
  local pipe = assert(io.popen "find lua/pintle -name '*.lua' -not -path 'lua/pintle/cli/*' | LC_ALL=C sort")
  local paths = {}
  for path in pipe:lines() do paths[#paths + 1] = path end
  pipe:close()
  return paths
end

local function sorted(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- {====== Writing ======

local function code(text)
  if text == "" then return "" end
  return text:find("`", 1, true) and "`` " .. text .. " ``" or "`" .. text .. "`"
end

local function cell(text) return (text:gsub("|", "\\|")) end

local function paragraph(text)
  local joined = table.concat(text, "\n"):gsub("\n\n", "\0"):gsub("\n", " "):gsub("%z", "\n\n")
  return joined
end

local function add_fields(lines, fields)
  if #fields == 0 then return end
  lines[#lines + 1] = "\n| member | type | |\n|---|---|---|"
  for _, field in ipairs(fields) do
    local name = code(field.name .. field.mark)
    lines[#lines + 1] = ("| %s | %s | %s |"):format(name, cell(code(field.type)), cell(field.text))
  end
end

local function signature(item)
  local words = {}
  for i, param in ipairs(item.params) do words[i] = ("%s%s: %s"):format(param.name, param.mark, param.type) end
  if #words == 0 then
    for name in (item.signature or ""):gmatch "[%w_.]+" do
      if name ~= "self" and name ~= "_" then words[#words + 1] = name end
    end
  elseif item.signature:find("...", 1, true) and item.params[#item.params].name ~= "..." then
    words[#words + 1] = "..."
  end
  return table.concat(words, ", ")
end

local function add_function(lines, name, item)
  lines[#lines + 1] = ("- **`%s(%s)`**"):format(name, signature(item))
  if #item.returns > 0 then lines[#lines] = lines[#lines] .. " → " .. code(table.concat(item.returns, "; ")) end
  if #item.text > 0 then lines[#lines + 1] = "  " .. paragraph(item.text):gsub("\n\n", "\n\n  ") end
  for _, param in ipairs(item.params) do
    if param.text ~= "" then lines[#lines + 1] = ("  - `%s`: %s"):format(param.name, param.text) end
  end
end

local function add_functions(lines, functions, prefix)
  local is_first = true
  for _, name in ipairs(sorted(functions)) do
    local item = functions[name]
    if not item.is_private and not item.is_missing then
      if is_first then lines[#lines + 1] = "" end
      is_first = false
      add_function(lines, prefix .. name, item)
    end
  end
end

local function add_class(lines, all, entry)
  local class = assert(all.classes[entry[1]], entry[1] .. " is no class")
  lines[#lines + 1] = "\n### " .. entry[1]
  if class.parent and #class.fields > 0 and not entry[2] then
    lines[#lines + 1] = ("All of `%s`, and:"):format(class.parent)
  end
  if #class.text > 0 then lines[#lines + 1] = paragraph(class.text) end
  add_fields(lines, class.fields)
  if entry[2] then
    add_functions(lines, annotations.methods(all, class), entry[2] .. (entry.plain and "." or ":"))
  end
end

local function add_alias(lines, item)
  lines[#lines + 1] = "\n### " .. item.alias
  if #item.text > 0 then lines[#lines + 1] = paragraph(item.text) end
  if #item.choices == 1 then
    lines[#lines + 1] = code(item.choices[1])
    return
  end
  lines[#lines + 1] = ""
  for _, choice in ipairs(item.choices) do
    local value, text = choice:match '^(%b"")%s*(.*)$'
    lines[#lines + 1] = ("- `%s`: %s"):format(value, text)
  end
end

-- }======

---@return string
function api.page()
  local all = annotations.read(sources())
  local lines = { HEAD:sub(1, -2) }
  for _, chapter in ipairs(CHAPTERS) do
    lines[#lines + 1] = "\n## " .. chapter[1]
    for i = 2, #chapter do
      local entry = chapter[i]
      if entry.module then
        lines[#lines + 1] = ("\n### %s, the module"):format(entry[2])
        add_functions(lines, annotations.functions(all.files[entry[1]], entry.module), entry[2] .. ".")
      elseif all.aliases[entry[1]] then
        add_alias(lines, all.aliases[entry[1]])
      else
        add_class(lines, all, entry)
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

---Functions that the annotations mark as private, by class and name.
---@return fun(class: string, name: string): boolean
function api.is_private()
  local all = annotations.read(sources())
  return function(class, name)
    local item = annotations.methods(all, all.classes[class])[name]
    return item ~= nil and item.is_private
  end
end

return api
