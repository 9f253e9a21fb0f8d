-- The prompt's commands for one plugin: its operations, methods, resources and prompts; and their completion.

local json_values = require "pintle.cli.json_values"
local jsonrpc = require "pintle.jsonrpc"
local options = require "pintle.cli.options"
local outcomes = require "pintle.cli.outcome"
local pages = require "pintle.cli.plugin_page"
local results = require "pintle.dialect.mcp.results"
local status = require "pintle.cli.status"
local suggestions = require "pintle.lazy" "pintle.cli.suggestion"

---A plugin at the prompt.
---@class pintle.cli.run.subject
---@field plugin pintle.hosted
---@field dialect string
---@field name string as users see it
---@field offered? pintle.cli.catalogue nil until it is needed, and after it has changed

---What a user has entered for one plugin.
---@class pintle.cli.run.request
---@field words string[]
---@field starts integer[] where each word begins in the line
---@field first integer the first word that is for the plugin
---@field line string

local commands = {}

-- {====== Words of a line, as in a shell: quotes and backslashes keep spaces together ======

-- Parts of a word, by the way they are quoted: pattern, conversion, index of the capture with the end.
local WORD_PARTS = {
  { "^'([^']*)'()", function(text) return text end },
  { '^"([^"\\]*)"()', function(text) return text end },
  { '^"((.-[^\\]))"()', function(text) return (text:gsub('\\(["\\])', "%1")) end, 3 },
  { "^\\(.)()", function(text) return text end },
  { "^([^%s'\"\\]+)()", function(text) return text end },
}

local function read_word_part(line, at)
  for _, part in ipairs(WORD_PARTS) do
    local found = table.pack(line:match(part[1], at))
    if found[1] then return part[2](found[1]), found[part[3] or 2] end
  end
end

---@param line string
---@return string[]? words, integer[]|string starts_or_message where each word begins
function commands.split_line(line)
  local list, starts, at = {}, {}, line:find "%S"
  while at do
    local word = ""
    starts[#list + 1] = at
    while at <= #line and not line:find("^%s", at) do
      local text, after = read_word_part(line, at)
      if not text then return nil, ("unterminated %s"):format(line:sub(at, at)) end
      word, at = word .. text, after
    end
    list[#list + 1] = word
    at = line:find("%S", at)
  end
  return list, starts
end

-- }======

-- {====== Arguments ======

-- The arguments from a word on: one JSON value, or key=value words.
local function read_arguments(request, from, schema)
  local words = request.words
  if not words[from] then return {} end
  local rest = request.line:sub(request.starts[from])
  local is_quoted = #words == from and words[from]:find "^[%[{]" and not rest:find "^[%[{]"
  if rest:find "^[%[{]" or is_quoted then
    local value, message = options.json(is_quoted and words[from] or rest)
    if message then return options.usage_error(message) end
    return value
  end
  local args, message = options.read_arguments(table.move(words, from, #words, 1, {}), schema)
  if not args then return options.usage_error(message) end
  return args
end

local function read_offers(subject, report)
  if subject.offered then return subject.offered end
  subject.offered = pages.read_catalogue(subject.plugin, subject.dialect, report)
  if subject.plugin.on_change then subject.plugin:on_change(function() subject.offered = nil end) end
  return subject.offered
end

-- }======

-- {====== Operations ======

local function execute_request(shell, subject, request)
  local operation = request.words[request.first]
  local manifest, terminal = subject.plugin.manifest, shell.terminal
  local declared = manifest.operations[operation]
  local args, err = read_arguments(request, request.first + 1, declared and declared.params)
  if not args then return nil, err end
  local outcome
  outcome, err = subject.plugin:execute(operation, args, {
    timeout = shell.timeout,
    on_part = function(part) outcomes.show_part(part, shell.console) end,
    on_progress = terminal.has_bar and function(fraction, text)
      terminal.progress(subject.name, operation, fraction, text)
    end or nil,
  })
  terminal.clear()
  if outcome then
    outcomes.show_outcome(outcome, operation, shell.console)
    return outcome.success and status.DONE or status.FAILED
  end
  err.message = suggestions.operation_error_message(err, manifest, operation, args)
  return nil, err
end

-- }======

-- {====== Methods and notifications, for completion ======

local DIALECT_METHODS = {
  gevals = { "execute" }, liquid = { "compile", "render" }, lsp = { "workspace/executeCommand" }, mcp = { "ping" },
}

local MCP_METHODS = {
  tools = { "tools/call", "tools/list" }, logging = { "logging/setLevel" }, completions = { "completion/complete" },
  prompts = { "prompts/get", "prompts/list" },
  resources = {
    "resources/list", "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe",
  },
}

local NOTIFICATIONS = {
  lsp = {
    "textDocument/didChange", "textDocument/didClose", "textDocument/didOpen", "textDocument/didSave",
    "workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles",
  },
  mcp = { "notifications/roots/list_changed" },
}

---The methods that a plugin is likely to answer.
---@param dialect string
---@param raw any the manifest as it was received
---@return string[]
function commands.likely_methods(dialect, raw)
  local offered = pages.offered_capabilities(dialect, raw)
  local list = table.move(DIALECT_METHODS[dialect] or {}, 1, #(DIALECT_METHODS[dialect] or {}), 1, {})
  for method, provider in pairs(dialect == "lsp" and require("pintle.dialect.lsp.plugin").PROVIDERS or {}) do
    if pages.is_offered(offered[provider]) then list[#list + 1] = method end
  end
  for name, methods in pairs(dialect == "mcp" and MCP_METHODS or {}) do
    if pages.is_offered(offered[name]) then table.move(methods, 1, #methods, #list + 1, list) end
  end
  table.sort(list)
  return list
end

---The notifications that a plugin is likely to use.
---@param dialect string
---@return string[]
local function likely_notifications(dialect) return NOTIFICATIONS[dialect] or {} end

-- }======

-- {====== Commands ======

---@class pintle.cli.run.command
---@field name string
---@field usage string
---@field summary string
---@field capability? string of MCP, without which there is no such command
---@field run fun(shell: table, subject: table, request: pintle.cli.run.request): integer?, pintle.error?
---@field complete? fun(subject: pintle.cli.run.subject, words: string[], report: fun(message: string)): string[]
---candidates for the word after these, which follow the command

---@type pintle.cli.run.command[]
commands.LIST = {}

local function texts_of_member(list, member)
  local names = {}
  for _, item in ipairs(list) do names[#names + 1] = jsonrpc.text(item[member]) end
  return names
end

local function allowed_values(schema)
  if type(schema) ~= "table" then return {} end
  if schema.type == "boolean" then return { "true", "false" } end
  local values = {}
  for i, value in ipairs(type(schema.enum) == "table" and schema.enum or {}) do values[i] = tostring(value) end
  return values
end

-- The arguments that are not given yet.
local function complete_arguments(schema, words)
  local properties = type(schema) == "table" and schema.properties
  local list = {}
  for _, name in ipairs(type(properties) == "table" and json_values.sorted_names(properties) or {}) do
    local is_given = false
    for _, word in ipairs(words) do is_given = is_given or word:match "^(.-):?=" == name end
    local values = allowed_values(properties[name])
    for _, value in ipairs(is_given and {} or values) do list[#list + 1] = name .. "=" .. value end
    if not is_given and #values == 0 then list[#list + 1] = name .. "=" end
  end
  return list
end

---Shows one operation.
---@param shell table
---@param subject pintle.cli.run.subject
---@param name string
---@return integer? status, pintle.error?
function commands.show_operation(shell, subject, name)
  local operation = subject.plugin.manifest.operations[name]
  if not operation then
    return options.usage_error((suggestions.append_nearest_name("no operation " .. name, name,
      subject.plugin.manifest.names)))
  end
  local sheet = pages.new(shell.console)
  sheet:add_operation(operation)
  sheet:print_page()
  return status.DONE
end

table.insert(commands.LIST, {
  name = "inspect", usage = "inspect [OPERATION]", summary = "show what the plugin can do, or one operation",
  run = function(shell, subject, request)
    local name = request.words[request.first + 1]
    if name then return commands.show_operation(shell, subject, name) end
    pages.print_plugin(shell.console, subject.plugin, subject.dialect, false, read_offers(subject, shell.report))
    return status.DONE
  end,
  complete = function(subject, words) return #words == 0 and subject.plugin.manifest.names or {} end,
})

table.insert(commands.LIST, {
  name = "call", usage = "call METHOD [JSON]",
  summary = "call a method of the protocol; its params as JSON or key=value words",
  run = function(shell, subject, request)
    local method = request.words[request.first + 1]
    if not method then return options.usage_error "call METHOD [JSON]" end
    local params, err = read_arguments(request, request.first + 2)
    if not params then return nil, err end
    if not request.words[request.first + 2] then params = nil end
    local result
    result, err = subject.plugin:call(method, params, { timeout = shell.timeout })
    if err then
      local methods = commands.likely_methods(subject.dialect, subject.plugin.raw_manifest)
      err.message = suggestions.method_error_message(err, method, methods)
      return nil, err
    end
    shell.console:print_json((outcomes.extract_attachments(result)))
    return status.DONE
  end,
  complete = function(subject, words)
    return #words == 0 and commands.likely_methods(subject.dialect, subject.plugin.raw_manifest) or {}
  end,
})

table.insert(commands.LIST, {
  name = "notify", usage = "notify METHOD [JSON]", summary = "send a notification",
  run = function(_, subject, request)
    local method = request.words[request.first + 1]
    if not method then return options.usage_error "notify METHOD [JSON]" end
    local params, err = read_arguments(request, request.first + 2)
    if not params then return nil, err end
    local ok
    ok, err = subject.plugin:notify(method, request.words[request.first + 2] and params or nil)
    if not ok then return nil, err end
    return status.DONE
  end,
  complete = function(subject, words) return #words == 0 and likely_notifications(subject.dialect) or {} end,
})

-- A catalogue with one list; the page prints nothing for the others.
local function print_offers(shell, subject, lists)
  local sheet = pages.new(shell.console)
  local offered = read_offers(subject, shell.report)
  sheet:add_catalogue {
    resources = lists.resources and offered.resources or {}, templates = lists.resources and offered.templates or {},
    prompts = lists.prompts and offered.prompts or {},
  }
  sheet:print_page()
  return status.DONE
end

table.insert(commands.LIST, {
  name = "resources", usage = "resources", summary = "list the resources", capability = "resources",
  run = function(shell, subject) return print_offers(shell, subject, { resources = true }) end,
})

table.insert(commands.LIST, {
  name = "read", usage = "read URI", summary = "print a resource", capability = "resources",
  run = function(shell, subject, request)
    local uri = request.words[request.first + 1]
    if not uri then return options.usage_error "read URI" end
    local contents, err = subject.plugin:read(uri, { timeout = shell.timeout })
    if not contents then return nil, err end
    for _, item in ipairs(contents) do
      shell.console:print_foreign(results.text { { type = "resource", resource = item } })
    end
    return status.DONE
  end,
  -- A template is completed up to its first variable.
  complete = function(subject, words, report)
    if #words > 0 then return {} end
    local offered = read_offers(subject, report)
    local list = texts_of_member(offered.resources, "uri")
    for _, template in ipairs(texts_of_member(offered.templates, "uriTemplate")) do
      list[#list + 1] = template:match "^[^{]+"
    end
    return list
  end,
})

table.insert(commands.LIST, {
  name = "prompts", usage = "prompts", summary = "list the prompts", capability = "prompts",
  run = function(shell, subject) return print_offers(shell, subject, { prompts = true }) end,
})

local function find_prompt(subject, name, report)
  for _, prompt in ipairs(read_offers(subject, report).prompts) do
    if prompt.name == name then return prompt end
  end
end

table.insert(commands.LIST, {
  name = "prompt", usage = "prompt NAME key=value…", summary = "print the messages of a prompt", capability = "prompts",
  run = function(shell, subject, request)
    local name = request.words[request.first + 1]
    if not name then return options.usage_error "prompt NAME key=value…" end
    local args, err = read_arguments(request, request.first + 2)
    if not args then return nil, err end
    local result
    result, err = subject.plugin:prompt(name, args, { timeout = shell.timeout })
    if not result then return nil, err end
    for _, message in ipairs(result.messages) do
      local text = results.text { message.content } or ""
      shell.console:print_foreign(("%s: %s"):format(tostring(message.role), text))
    end
    return status.DONE
  end,
  complete = function(subject, words, report)
    if #words == 0 then return texts_of_member(read_offers(subject, report).prompts, "name") end
    local prompt = find_prompt(subject, words[1], report)
    return prompt and complete_arguments(pages.prompt_schema(prompt), table.move(words, 2, #words, 1, {})) or {}
  end,
})

-- }======

---The commands that a plugin has.
---@param subject pintle.cli.run.subject
---@return pintle.cli.run.command[]
function commands.available_commands(subject)
  local list = {}
  for _, command in ipairs(commands.LIST) do
    local needed = command.capability
    local is_there = not needed or pages.has_mcp_capability(subject.plugin, subject.dialect, needed)
    list[#list + 1] = is_there and command or nil
  end
  return list
end

local function find_command(subject, name)
  for _, command in ipairs(commands.available_commands(subject)) do
    if command.name == name then return command end
  end
end

---The words that may begin a request: operations and commands.
---@param subject pintle.cli.run.subject
---@return string[]
function commands.first_words(subject)
  local names = table.move(subject.plugin.manifest.names, 1, #subject.plugin.manifest.names, 1, {})
  for _, command in ipairs(commands.available_commands(subject)) do
    if not subject.plugin.manifest.operations[command.name] then names[#names + 1] = command.name end
  end
  return names
end

---Whether a word is a command for MCP servers only.
---@param word string
---@return boolean
function commands.command_needs_mcp(word)
  for _, command in ipairs(commands.LIST) do
    if command.name == word then return command.capability ~= nil end
  end
  return false
end

---Whether a word is an operation or a command of the plugin.
---@param subject pintle.cli.run.subject
---@param word string
---@return boolean
function commands.is_command_or_operation(subject, word)
  return subject.plugin.manifest.operations[word] ~= nil or find_command(subject, word) ~= nil
end

-- Whether the words after the first can be the arguments of an operation.
local function has_operation_arguments(request)
  local word = request.words[request.first + 1]
  return not word or word:find "^[%[{]" ~= nil or word:find "^[^:/]*:?=" ~= nil
end

---Performs a request. An operation with the name of a command is run, unless the words after it are no arguments.
---@param shell table
---@param subject pintle.cli.run.subject
---@param request pintle.cli.run.request
---@return integer? status, pintle.error?
function commands.perform_request(shell, subject, request)
  local word = request.words[request.first]
  local command = find_command(subject, word)
  local is_operation = subject.plugin.manifest.operations[word] ~= nil and has_operation_arguments(request)
  if command and not is_operation then return command.run(shell, subject, request) end
  return execute_request(shell, subject, request)
end

---Candidates for the word after these.
---@param subject pintle.cli.run.subject
---@param words string[]
---@param report fun(message: string)
---@return string[]
function commands.complete_words(subject, words, report)
  if #words == 0 then return commands.first_words(subject) end
  local rest = table.move(words, 2, #words, 1, {})
  local operation, command = subject.plugin.manifest.operations[words[1]], find_command(subject, words[1])
  local list = operation and complete_arguments(operation.params, rest) or {}
  local more = command and command.complete and command.complete(subject, rest, report) or {}
  return table.move(more, 1, #more, #list + 1, list)
end

return commands
