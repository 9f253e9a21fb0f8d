-- Options that several subcommands share, conversion of their values, and arguments of operations.

local lazy = require "pintle.lazy"

local core = lazy "pintle.core"
local dialects = lazy "pintle.dialect"
local duration = lazy "pintle.duration"
local errors = lazy "pintle.error"
local lfs = lazy "lfs"
local sandboxes = lazy "pintle.process.sandbox"
local suggestions = lazy "pintle.cli.suggestion"

local options = {}

---Refuses the command line.
---@param message string a format, if values follow
---@param ... any
---@return nil, pintle.error
function options.usage_error(message, ...)
  return nil, errors.new("invalid", select("#", ...) > 0 and message:format(...) or message)
end

---@param text string seconds, or a duration such as 1m30s
---@return number?, string? message
function options.seconds(text)
  local seconds, message = duration.seconds(tonumber(text) or text)
  if not seconds then return nil, message end
  return seconds
end

---@param text string
---@return integer? number 0 or more
---@return string? message
function options.whole_number(text)
  local number = math.tointeger(tonumber(text))
  if not number or number < 0 then return nil, ("a whole number expected, got %q"):format(text) end
  return number
end

---@param text string
---@return any, string? message
function options.json(text)
  local value, message = core.json.decode(text)
  if message then return nil, "not JSON: " .. message end
  return value
end

---@param words string[]
---@return string line quoted for a shell, where that is necessary
function options.shell_line(words)
  local quoted = {}
  for i, word in ipairs(words) do
    local is_plain = word:find "^[%w%._/@:=,+%%-]+$"
    quoted[i] = is_plain and word or "'" .. word:gsub("'", "'\\''") .. "'"
  end
  return table.concat(quoted, " ")
end

---@param words string[]
---@param list string[]
---@param first? integer where the appended part of the list begins (default: 1)
---@return string[] words a copy with the words of the list appended
function options.append_words(words, list, first)
  return table.move(list, first or 1, #list, #words + 1, table.move(words, 1, #words, 1, {}))
end

---@param text string
---@return string[]
function options.split_at_spaces(text)
  local words = {}
  for word in text:gmatch "%S+" do words[#words + 1] = word end
  return words
end

---@param path string
---@return string
function options.absolute(path)
  if path:sub(1, 1) ~= "/" then path = lfs.currentdir() .. "/" .. path end
  local names = {}
  for name in path:gmatch "[^/]+" do
    if name == ".." then names[#names] = nil elseif name ~= "." then names[#names + 1] = name end
  end
  return "/" .. table.concat(names, "/")
end

---@param text string
---@return string? path made absolute
---@return string? message
function options.directory(text)
  local mode, message = lfs.attributes(text, "mode")
  if not mode then return nil, message end
  if mode ~= "directory" then return nil, text .. " is not a directory" end
  return options.absolute(text)
end

---Compiles a pattern with wildcards: `*` matches any text, `?` any character.
---@param pattern string
---@return fun(name: string): boolean
function options.glob(pattern)
  local escaped = pattern:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".")
  local whole = "^" .. escaped .. "$"
  return function(name) return name:find(whole) ~= nil end
end

---A predicate that is true for names matching at least one of the patterns.
---@param patterns string[]
---@return fun(name: string): boolean
function options.any_glob(patterns)
  local matchers = {}
  for i, pattern in ipairs(patterns) do matchers[i] = options.glob(pattern) end
  return function(name)
    for _, matches in ipairs(matchers) do
      if matches(name) then return true end
    end
    return false
  end
end

local LEVELS = { "debug", "info", "warn", "error", "silent" }

---@param parser table
---@param default string
function options.define_log(parser, default)
  parser:option("--log", "Minimum log level shown on stderr: debug, info, warn, error or silent.", default)
    :argname "LEVEL":choices(LEVELS)
end

---@param parser table
function options.define_start_timeout(parser)
  parser:option("--start-timeout", "How long the plugin may take to start.", "10s"):argname "TIME"
    :convert(options.seconds)
end

-- A preset, or the fields of a sandbox.
local function read_sandbox(text)
  local value, message = text, nil
  if text:find "^%s*{" then value, message = options.json(text) end
  if message then return nil, message end
  return sandboxes.check(value)
end

---@param parser table
---@return table option
function options.define_sandbox(parser)
  return parser:option("--sandbox", "What the plugin may do: strict, read-only, or a JSON object with its fields.")
    :argname "SANDBOX":convert(read_sandbox)
end

-- {====== The way to another machine or a container ======

local ENGINES = { "ssh", "slurm", "docker", "podman", "kubernetes" }

-- How an engine is named on the command line.
local WAY_FORMS = {
  ssh = "ssh:HOST", slurm = "slurm[:PARTITION]", docker = "docker:NAME", podman = "podman:NAME",
  kubernetes = "kubernetes:POD[/CONTAINER]",
}

-- What comes after the name of an engine, as its options.
local TARGETS = {
  kubernetes = function(text)
    local pod, container = text:match "^([^/]+)/(.+)$"
    return { pod = pod or text, container = container }
  end,
  slurm = function(text) return text == "" or { partition = text } end,
}

local function engine_way(engine, target)
  if target == "" and engine ~= "slurm" then return nil, WAY_FORMS[engine] .. " expected" end
  return { [engine] = TARGETS[engine] and TARGETS[engine](target) or target }
end

local function unknown_way(text)
  local name, rest = text:match "^([^:]*)(.*)$"
  local near = suggestions.nearest_name(name, ENGINES)
  if near then return ("no way %q; did you mean %s%s?"):format(text, near, rest) end
  local forms = {}
  for i, engine in ipairs(ENGINES) do forms[i] = WAY_FORMS[engine] end
  return ("no way %q; there are %s, a JSON object, and the words of a client"):format(text, table.concat(forms, ", "))
end

local function read_way(text)
  local engine, target = text:match "^(%l+):(.*)$"
  if not engine then engine, target = text, "" end
  if WAY_FORMS[engine] then return engine_way(engine, target) end
  if text:find "^%s*[{%[]" then return options.json(text) end
  if text:find "%s" or text:find "^%.?/" then return options.split_at_spaces(text) end
  return nil, unknown_way(text)
end

local function checked_way(text)
  local way, message = read_way(text)
  if message then return nil, message end
  return require("pintle.via").check(way)
end

---@param parser table
---@return table option
function options.define_via(parser)
  return parser:option("--via", "Run the program elsewhere: ssh:HOST, slurm[:PARTITION], docker:NAME, podman:NAME,"
    .. " kubernetes:POD[/CONTAINER], a JSON object, or the words of a client."):argname "WAY":convert(checked_way)
end

-- }======

---The dialect that an option names.
---@param name string
---@return pintle.dialect?, pintle.error?
function options.find_dialect(name)
  local dialect = dialects.get(name)
  if dialect then return dialect end
  return options.usage_error(suggestions.unknown_name_message("dialect", name, dialects.names()))
end

---@param parser table
---@param default? string in words
function options.define_dialect(parser, default)
  parser:option("-d --dialect", ("The protocol of the plugin: %s (default: %s)."):format(
    table.concat(dialects.names(), ", "), default or "all are tried")):argname "NAME"
end

---Defines the options that `recognition.start_plugin` uses.
---@param parser table
---@param log_level string default of `--log`
---@param default_dialect? string in words
function options.define_starting(parser, log_level, default_dialect)
  options.define_dialect(parser, default_dialect)
  parser:option("--config", "The plugin's configuration, as JSON."):argname "JSON":convert(options.json)
  parser:mutex(options.define_sandbox(parser), options.define_via(parser))
  options.define_start_timeout(parser)
  options.define_log(parser, log_level)
end

-- {====== Arguments of operations: key=value, converted to the type in the schema, and key:=JSON ======

local function decode_argument(text)
  local value, message = core.json.decode(text)
  if message then return nil end
  return value
end

local function read_number_argument(text)
  local value = decode_argument(text)
  return type(value) == "number" and value or nil
end

local function read_integer_argument(text) return math.tointeger(read_number_argument(text)) end

local BOOLEANS = { ["true"] = true, ["false"] = false }

local function read_table_argument(text)
  local value = decode_argument(text)
  return type(value) == "table" and value or nil
end

local READERS = {
  integer = read_integer_argument,
  number = read_number_argument,
  boolean = function(text) return BOOLEANS[text] end,
  null = function(text) return text == "null" and core.json.null or nil end,
  array = read_table_argument,
  object = read_table_argument,
}

-- If a schema allows several types, the narrowest that fits is used; a string fits always.
local ORDER = { "null", "boolean", "integer", "number", "array", "object" }

local function declared_types(schema)
  local types = {}
  local declared = type(schema) == "table" and schema.type
  for _, name in ipairs(type(declared) == "table" and declared or { declared or nil }) do types[name] = true end
  return types
end

-- A value that fits no type stays a string; the check of the arguments reports it.
local function argument_value(text, schema)
  local types = declared_types(schema)
  for _, name in ipairs(ORDER) do
    local value
    if types[name] then value = READERS[name](text) end
    if value ~= nil then return value end
  end
  return text
end

local function schema_properties(schema)
  local properties = type(schema) == "table" and schema.properties
  return type(properties) == "table" and properties or {}
end

local function read_argument_word(word, properties)
  local key, text = word:match "^(.-):=(.*)$"
  local plain_key, plain_text = word:match "^(.-)=(.*)$"
  if not plain_key then return nil, ("%q is neither key=value nor key:=JSON"):format(word) end
  if plain_key == "" or key == "" then return nil, ("%q has no name before ="):format(word) end
  if not key or #plain_key < #key then return plain_key, argument_value(plain_text, properties[plain_key]) end
  local value, message = core.json.decode(text)
  if message then return nil, ("%s: not JSON: %s"):format(key, message) end
  return key, value
end

---@param words string[]
---@param schema any JSON Schema of the arguments, if the operation is known
---@return table?, string? message
function options.read_arguments(words, schema)
  local args, properties = {}, schema_properties(schema)
  for _, word in ipairs(words) do
    local key, value = read_argument_word(word, properties)
    if not key then return nil, value end
    if args[key] ~= nil then return nil, ("%s is given twice"):format(key) end
    args[key] = value
  end
  return args
end

---@param given any value of `--args`, if it is given
---@return boolean? ok, string? message
function options.check_arguments(given)
  local is_object = type(given) == "table" and getmetatable(given) ~= core.json.array_mt
  if given == nil or is_object then return true end
  return nil, "--args: a JSON object expected"
end

---Merges the arguments given as words with those given as one JSON object.
---@param words string[]
---@param given any value of `--args`, if it is given
---@param schema any
---@return table?, pintle.error?
function options.gather_arguments(words, given, schema)
  local args, message = options.read_arguments(words, schema)
  if not args then return options.usage_error(message) end
  for name, value in pairs(given or {}) do
    if args[name] ~= nil then return options.usage_error(name .. " is given twice") end
    args[name] = value
  end
  return args
end

-- }======

-- {====== What to call: an operation or a method ======

---Defines the arguments and options that `check_target` checks.
---@param parser table
---@param description string of an argument of the operation
function options.define_target(parser, description)
  parser:argument("operation", "The operation to run."):argname "OPERATION":args "?"
  parser:argument("words", description):argname "key=value":args "*"
  parser:option("--args", "All arguments, as a JSON object."):argname "JSON":convert(options.json)
  parser:option("--method", "Call this method of the protocol instead of an operation."):argname "METHOD"
  parser:option("--params", "The params of the method, as JSON."):argname "JSON":convert(options.json)
end

---@param args table
---@return true?, pintle.error?
function options.check_target(args)
  if args.method and args.operation then
    return options.usage_error "either an operation or --method METHOD, not both"
  end
  if not args.method and not args.operation then
    local advice = suggestions.advice_for_missing_dashes(args.command, args.name)
    return options.usage_error("the operation is missing; " .. advice)
  end
  if args.params ~= nil and not args.method then return options.usage_error "--params needs --method METHOD" end
  if args.args ~= nil and args.method then return options.usage_error "--args needs an operation" end
  local ok, message = options.check_arguments(args.args)
  if not ok then return options.usage_error(message) end
  return true
end

-- }======

return options
