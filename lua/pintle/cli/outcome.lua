-- Outcomes of operations and results of methods: as JSON, as text, and their attachments: images, audio and other
-- content that is not text. Attachments are announced by type and size, and can be saved.

local bytes = require "pintle.bytes"
local errors = require "pintle.error"
local indent = require("pintle.plugin.command").indent
local json = require("pintle.core").json
local json_values = require "pintle.cli.json_values"
local lfs = require "lfs"
local results = require "pintle.dialect.mcp.results"

local outcomes = {}

-- {====== Outcomes as JSON ======

local function pick_outcome_members(from, names)
  local copy = {}
  for _, name in ipairs(names) do copy[name] = from[name] end
  return setmetatable(copy, json.order(names))
end

---@param outcome pintle.outcome
---@param parts any[] parts of the result that arrived before
---@return table
function outcomes.outcome_value(outcome, parts)
  local value = pick_outcome_members(outcome, { "success", "message", "error", "outputs", "result", "parts" })
  if #parts > 0 then value.parts = json.array(parts) end
  return value
end

---@param err pintle.error
---@return table
function outcomes.error_value(err)
  local value = pick_outcome_members(err, { "kind", "message", "code", "data", "exit", "stderr" })
  if value.stderr then value.stderr = json.array(table.move(value.stderr, 1, #value.stderr, 1, {})) end
  return { error = value }
end

-- }======

-- {====== Attachments: bytes in an outcome ======

local MAX_DEPTH = 100 -- of the values that are searched

---@class pintle.cli.attachment
---@field bytes pintle.bytes
---@field type string
---@field name? string of a resource

local function announce_attachment(item) return ("[%s, %d bytes]"):format(errors.harmless(item.type), #item.bytes) end

-- Names of members with base64, and whether the MIME type has to be beside them: `data` can be anything.
local BASE64_MEMBERS = { blob = false, data = true }

local function attachment_resource_name(holder)
  local name = type(holder.uri) == "string" and holder.uri:match "([^/?#]+)[?#]?[^/]*$"
  return name and errors.harmless(name) or nil
end

local function new_attachment(value, holder)
  local given = holder and type(holder.mimeType) == "string" and holder.mimeType
  return { bytes = value, type = given or bytes.mime_type(value), name = holder and attachment_resource_name(holder) }
end

-- The bytes in a member, as MCP sends them; nil if there are none.
local function attachment_in_member(holder, name)
  local value = holder[name]
  if BASE64_MEMBERS[name] == nil or type(value) ~= "string" then return nil end
  if BASE64_MEMBERS[name] and type(holder.mimeType) ~= "string" then return nil end
  return bytes.from_base64(value)
end

local function extract_attachments_from(value, holder, list, depth)
  if bytes.is(value) then
    list[#list + 1] = new_attachment(value, holder)
    return announce_attachment(list[#list])
  end
  if type(value) ~= "table" or depth > MAX_DEPTH then return value end
  local shown, has_changed = {}, false
  for name, member in pairs(value) do
    shown[name] = extract_attachments_from(attachment_in_member(value, name) or member, value, list, depth + 1)
    has_changed = has_changed or not rawequal(shown[name], member)
  end
  return has_changed and setmetatable(shown, getmetatable(value)) or value
end

---Finds the bytes in a value: `pintle.bytes`, and base64 as MCP sends it.
---@param value any
---@param list? pintle.cli.attachment[] to add to
---@return any shown the value, with an announcement in the place of each
---@return pintle.cli.attachment[] list
function outcomes.extract_attachments(value, list)
  list = list or {}
  return extract_attachments_from(value, nil, list, 1), list
end

-- }======

-- {====== Outcomes as text ======

-- A value as text, with an announcement in the place of bytes.
local function outcome_value_text(value)
  local shown = outcomes.extract_attachments(value)
  return type(shown) == "string" and shown or indent(json.encode(shown))
end

---Prints and flushes at once, because the next part may take a while.
---@param part any
---@param console pintle.cli.console
function outcomes.show_part(part, console)
  console:print_foreign(outcome_value_text(part))
  console:flush()
end

local function has_content_besides_text(content)
  for _, block in ipairs(content or {}) do
    if type(block) == "table" and block.type ~= "text" then return true end
  end
  return false
end

-- The message of a result with images and the like would leave these out.
local function outcome_message(outcome)
  if not has_content_besides_text(outcome.content) then return outcome.message end
  return results.text(outcome.content) or outcome.message
end

---Prints the message and the outputs on stdout, and the reason of a failure on stderr.
---@param outcome pintle.outcome
---@param operation string
---@param console pintle.cli.console
function outcomes.show_outcome(outcome, operation, console)
  local message = outcome_message(outcome)
  if not outcome.success then
    local reason = outcome.error or message or "no reason given"
    console:warn(("%s failed: %s"):format(operation, reason))
    if message == reason then message = nil end
  end
  if message then console:print_foreign(message) end
  for _, name in ipairs(json_values.sorted_names(outcome.outputs or {})) do
    console:print_foreign(("%s: %s"):format(name, outcome_value_text(outcome.outputs[name])))
  end
  local is_shown = outcome.message or next(outcome.outputs or {})
  if not is_shown and outcome.result ~= nil then console:print_foreign(outcome_value_text(outcome.result)) end
end

---What `--output` saves of an outcome: the bytes in it; without any, its message.
---@param outcome pintle.outcome
---@param parts any[] parts of the result that arrived before
---@return pintle.cli.attachment[]
function outcomes.attachments(outcome, parts)
  local list = {}
  for _, part in ipairs(parts) do outcomes.extract_attachments(part, list) end
  outcomes.extract_attachments(outcome.content, list)
  outcomes.extract_attachments(outcome.outputs, list)
  if list[1] or not outcome.message then return list end
  return { { bytes = bytes.new(outcome.message), type = "text/plain" } }
end

---What `--output` saves of the result of a method: the bytes in it; without any, its JSON.
---@param result any
---@return pintle.cli.attachment[]
function outcomes.attachments_of_result(result)
  local _, list = outcomes.extract_attachments(result)
  if list[1] then return list end
  return { { bytes = bytes.new(indent(json.encode(result)) .. "\n"), type = "application/json" } }
end

-- }======

-- {====== Saving attachments ======

local EXTENSIONS = {
  ["audio/mpeg"] = "mp3", ["audio/x-wav"] = "wav", ["image/jpeg"] = "jpg", ["image/svg+xml"] = "svg",
  ["text/plain"] = "txt", ["application/octet-stream"] = "bin", ["application/gzip"] = "gz",
}

local function attachment_extension(mime_type)
  return EXTENSIONS[mime_type] or mime_type:match "^[%w-]+/(%w+)$" or "bin"
end

-- A name in a directory cannot lead out of it.
local function attachment_name(item, place)
  if item.name and item.name ~= "." and item.name ~= ".." then return item.name end
  local kind = item.type:match "^(%l+)/"
  return ("%s-%d.%s"):format(kind == "application" and "file" or kind or "file", place, attachment_extension(item.type))
end

-- The paths of several files: all in the directory, or FILE.png, FILE-2.png and so on.
local function attachment_path(path, item, place)
  if path:sub(-1) == "/" or lfs.attributes(path, "mode") == "directory" then
    return path:gsub("/+$", "") .. "/" .. attachment_name(item, place)
  end
  if place == 1 then return path end
  local start, extension = path:match "^(.*[^/])(%.[^./]+)$"
  return ("%s-%d%s"):format(start or path, place, extension or "")
end

local function write_attachment(path, data)
  local file <close>, problem = io.open(path, "wb")
  local ok = file ~= nil
  if file then ok, problem = file:write(data) end
  if file and ok then ok, problem = file:flush() end
  if ok then return true end
  problem = problem:sub(1, #path) == path and problem or ("%s: %s"):format(path, problem)
  return nil, errors.new("full", "cannot save " .. problem)
end

-- Two resources may have the same name.
local function free_attachment_path(path, item, place, is_used)
  local free = attachment_path(path, item, place)
  if is_used[free] then free = attachment_path(path, { type = item.type }, place) end
  is_used[free] = true
  return free
end

---Saves attachments, and reports each file on stderr.
---@param list pintle.cli.attachment[]
---@param path string a file, or a directory; `-` is stdout
---@param console pintle.cli.console
---@return true?, pintle.error?
function outcomes.save_attachments(list, path, console)
  local is_used = {}
  for i, item in ipairs(list) do
    local data = tostring(item.bytes)
    if path == "-" then
      console:write(data)
    else
      local file = free_attachment_path(path, item, i, is_used)
      local ok, err = write_attachment(file, data)
      if not ok then return nil, err end
      console:warn(("saved %s %s"):format(file, announce_attachment(item)))
    end
  end
  return true
end

-- }======

return outcomes
