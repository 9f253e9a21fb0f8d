-- Hostile data: recordings, schemas, regular expressions, manifests and templates that cost time or memory, or that are
-- broken in a random place. Each program that gets them ends in time and within its memory, with a result or an error,
-- and raises nothing.

local runs = require "torture.runs"

local LIMIT = 600 -- seconds, on a busy machine; torture/runs.lua limits the time of the processor
local MEMORY = { MEMORY = tostring(1 << 20) } -- KiB
local BROKEN = 150 -- broken recordings
local SCHEMAS = 150 -- random schemas

local hostile = { name = "hostile", workers = 2 }

local function write_file(text)
  local path = os.tmpname()
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
  return path
end

local USAGE = 64 -- the status for wrong input; see lua/pintle/cli/status.lua

local function problem_of(result, what)
  local problem = result.problem or result.signal
    or result.status > 2 and result.status ~= USAGE and "status " .. result.status
    or result.text:find "traceback" and "a traceback" or result.text:find "WRONG" and "wrong"
  return problem and ("%s: %s\n%s"):format(what, problem, result.text:sub(1, 2000)) or nil
end

-- {====== Recordings ======

local recording

local function record()
  local path = os.tmpname()
  local command = 'lua5.4 bin/pintle call lua5.4 bin/pintle trace -o "$1" lua5.4 spec/support/plugins/greeter.lua'
    .. " -- greet name=Ada"
  local result = runs.run({ "sh", "-c", command, "sh", path }, MEMORY, LIMIT)
  if result.status ~= 0 then error("cannot record a conversation: " .. result.text, 0) end
  local file <close> = assert(io.open(path, "rb"))
  local text = file:read "a"
  os.remove(path)
  return text
end

local BREAKS = {
  function(text, at) return text:sub(1, at) end,
  function(text, at) return text:sub(1, at - 1) .. string.char(math.random(0, 255)) .. text:sub(at + 1) end,
  function(text, at) return text:sub(1, at) .. text:sub(at + math.random(20)) end,
  function(text, at) return text:sub(1, at) .. ("["):rep(10000) .. text:sub(at + 1) end,
  function(text, at) return text:sub(1, at) .. math.random(0) .. text:sub(at + 1) end,
}

local function try_recording(item)
  local path = write_file(item.text)
  local problem
  for _, words in ipairs { "show", "view -o /dev/null" } do
    local result = runs.run({ "sh", "-c", ('lua5.4 bin/pintle %s "$1"'):format(words), "sh", path }, MEMORY, LIMIT)
    problem = problem or problem_of(result, "pintle " .. words)
  end
  os.remove(path)
  return problem and ("%s\n%q"):format(problem, item.text) or nil
end

local function add_recordings(items)
  recording = recording or record()
  for _ = 1, BROKEN do
    local text = recording
    for _ = 1, math.random(3) do text = BREAKS[math.random(#BREAKS)](text, math.random(math.max(#text, 1))) end
    items[#items + 1] = { try = try_recording, text = text }
  end
end

-- }======

-- {====== Schemas ======

local VALIDATE = [[
  local json, schemas = require("pintle.core").json, require "pintle.schema"
  local file = assert(io.open(arg[1], "rb"))
  local document = json.decode(file:read "a")
  if not document then return end
  local validate = schemas.compile(document)
  local long = ("a"):rep(30000) .. "!"
  local deep = {}
  for _ = 1, 500 do deep = { a = deep, b = deep } end
  for _, value in ipairs { 1, long, { long, long }, { a = long, b = { a = 1 } }, deep, json.null } do
    if validate then validate(value) end
  end
]]

local PATTERNS = {
  "^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(.*a){20}", "^((a+)+)+$", "(a*)*b", "(?=(a+))a*b\\1",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "a{1000}{1000}", "(a?){100}a{100}", "(((((((((a*)*)*)*)*)*)*)*)*)*b", "(x+x+)+y", "[", "(?P<", "\\", "a{99999}",
}

local function quoted(text) return '"' .. text:gsub('[\\"]', "\\%0") .. '"' end

local new_schema

local WRITERS = {
  function() return '{"type":["string","object","array"]}' end,
  function() return ('{"pattern":%s}'):format(quoted(PATTERNS[math.random(#PATTERNS)])) end,
  function() return ('{"patternProperties":{%s:false}}'):format(quoted(PATTERNS[math.random(#PATTERNS)])) end,
  function() return '{"$ref":"#"}' end,
  function() return '{"$ref":"#/allOf/0"}' end,
  function() return '{"$dynamicRef":"#a","$dynamicAnchor":"a"}' end,
  function(depth) return ('{"allOf":[%s,%s]}'):format(new_schema(depth), new_schema(depth)) end,
  function(depth) return ('{"anyOf":[%s,%s]}'):format(new_schema(depth), new_schema(depth)) end,
  function(depth) return ('{"oneOf":[%s,%s,%s]}'):format(new_schema(depth), new_schema(depth), new_schema(depth)) end,
  function(depth) return ('{"not":%s,"unevaluatedItems":false}'):format(new_schema(depth)) end,
  function(depth) return ('{"items":%s,"uniqueItems":true}'):format(new_schema(depth)) end,
  function(depth) return ('{"properties":{"a":%s,"b":%s}}'):format(new_schema(depth), new_schema(depth)) end,
  function(depth) return ('{"additionalProperties":%s,"unevaluatedProperties":false}'):format(new_schema(depth)) end,
  function(depth) return ('{"if":%s,"then":%s,"else":false}'):format(new_schema(depth), new_schema(depth)) end,
  function(depth) return ('{"$defs":{"x":%s},"$ref":"#/$defs/x"}'):format(new_schema(depth)) end,
  function() return '{"enum":[' .. ("[1,2,{}],"):rep(20000) .. "0]}" end,
  function() return '{"multipleOf":1e-300,"maxLength":1e300,"minItems":-1}' end,
  function() return ('{"not":'):rep(2000) .. "true" .. ("}"):rep(2000) end,
  function() return '{"required":"a","type":17,"properties":[],"items":3}' end,
}

local LEAVES = 6 -- the first writers need no other schema

function new_schema(depth)
  local most = depth > 12 and LEAVES or #WRITERS
  return WRITERS[math.random(most)](depth + 1)
end

local function try_schema(item)
  local path = write_file(item.text)
  local result = runs.run({ "lua5.4", "-e", VALIDATE, "/dev/null", path }, MEMORY, LIMIT)
  os.remove(path)
  local problem = problem_of(result, "a schema")
  if not problem and result.status ~= 0 then problem = "a schema raises: " .. result.text end
  return problem and ("%s\n%s"):format(problem, item.text:sub(1, 4000)) or nil
end

local function add_schemas(items)
  for _ = 1, SCHEMAS do items[#items + 1] = { try = try_schema, text = new_schema(0) } end
end

-- }======

-- {====== Manifests ======

local START = [[
  local pintle = require "pintle"
  local host <close> = pintle.host { dialect = "gevals", log = false }
  local plugin, err = host:start {
    command = { "lua5.4", "-e", arg[1] }, handshake_timeout = 2, name = "hostile", stop_timeouts = { request = 0.1 },
  }
  if plugin then plugin:execute("a", { a = ("a"):rep(30000) .. "!" }, { timeout = 2 }) end
  print(plugin and "started" or tostring(err):sub(1, 200))
]]

local PLUGIN = [[
  local json = require("pintle.core").json
  local function answer(id, text)
    io.write(('{"jsonrpc":"2.0","id":%%s,"result":%%s}'):format(id, text), "\n")
    io.flush()
  end
  for line in io.lines() do
    local request = json.decode(line)
    local id = json.encode(request.id)
    if request.method == "initialize" then
      local operations = %s
      answer(id, '{"name":"h","version":"1","protocolVersion":"0.0.1","operations":' .. operations .. "}")
    else
      answer(id, '{"success":true,"message":"x"}')
    end
  end
]]

local OPERATIONS = {
  [['{"a":{"params":{}}' .. (',"b":{"params":{"type":"object"}}'):rep(100000) .. "}"]],
  [[(function() local t = {} for i = 1, 100000 do t[i] = ('"o%d":{"params":{}}'):format(i) end
     return "{" .. table.concat(t, ",") .. "}" end)()]],
  [['{"a":{"params":' .. ('{"allOf":['):rep(300) .. "{}" .. ("]}"):rep(300) .. "}}"]],
  [['{"a":{"params":{"type":"object","properties":{"a":{"pattern":"^(a+)+$"}}}}}']],
  [['{"a":{"params":{"enum":[' .. ("[0],"):rep(200000) .. "1]}}}"]],
  [['{"a":{"params":{"$ref":"#"}}}']], [['{"a":{"params":7,"description":[]}}']], [['{"":{},"a":null}']], [['[]']],
  [['{"a":{"params":{"properties":{"a":{"default":' .. ("["):rep(900) .. ("]"):rep(900) .. "}}}}}"]],
}

local function try_manifest(item)
  local result = runs.run({ "lua5.4", "-e", START, "/dev/null", PLUGIN:format(item.operations) }, MEMORY, LIMIT)
  local problem = problem_of(result, "a manifest")
  if not problem and result.status ~= 0 then problem = "a manifest makes the host raise: " .. result.text end
  return problem and problem .. "\n" .. item.operations or nil
end

local function add_manifests(items)
  for _, operations in ipairs(OPERATIONS) do items[#items + 1] = { try = try_manifest, operations = operations } end
end

-- }======

-- {====== Templates ======

local RENDER = [[
  package.path = "examples/liquid/?.lua;examples/liquid/?/init.lua;" .. package.path
  local liquid = require "liquid"
  local template, err = liquid.compile(io.open(arg[1]):read 'a')
  if template then template:render { list = { 1, 2, 3 }, text = ("x"):rep(1000) } end
]]

local function nested(open, close, depth) return open:rep(depth) .. "x" .. close:rep(depth) end

local TEMPLATES = {
  nested("{% for i in (1..1000000) %}", "{% endfor %}", 4), nested("{% if true %}", "{% endif %}", 5000),
  "{% assign a = text %}" .. ("{% assign a = a | append: a %}"):rep(60) .. "{{ a }}",
  "{% for i in (1..100000000000) %}{{ i }}{% endfor %}", ("{{ text }}"):rep(100000), ("{{"):rep(50000),
  ("{%"):rep(50000),
  "{{ text" .. (" | replace: 'x', 'xx'"):rep(40) .. " }}",
  "{% capture a %}" .. ("{{ a }}{{ a }}"):rep(1000) .. "{% endcapture %}",
  "{% tablerow i in (1..10000000) cols:1 %}{% endtablerow %}", "{{ 1 | times: 999999999999 | times: 999999999999 }}",
  "{% cycle " .. ("1, "):rep(100000) .. "1 %}", "{{ 'a' | slice: -99999999999, 99999999999999 }}",
  "{{ text | truncatewords: 9999999999 | split: '' | join: text | size }}", "{{ list" .. ("[0]"):rep(10000) .. " }}",
}

local function try_template(item)
  local path = write_file(item.template)
  local result = runs.run({ "lua5.4", "-e", RENDER, "/dev/null", path }, MEMORY, LIMIT)
  os.remove(path)
  local problem = problem_of(result, "a template")
  if not problem and result.status ~= 0 then problem = "a template raises: " .. result.text:sub(1, 2000) end
  return problem and problem .. "\n" .. item.template:sub(1, 1000) or nil
end

local function add_templates(items)
  for _, template in ipairs(TEMPLATES) do items[#items + 1] = { try = try_template, template = template } end
end

-- }======

---All of them, in a random order, so that a short run is a sample of all.
function hostile.list()
  local items = {}
  add_recordings(items)
  add_schemas(items)
  add_manifests(items)
  add_templates(items)
  return runs.shuffle(items)
end

---Returns nil, or what went wrong.
function hostile.try(item) return item.try(item) end

return hostile
