-- Times the engine of examples/liquid: worker.lua PHASE TEMPLATE DATA SECONDS
-- PHASE is parse (templates with new markup), again (the same template), render, output (prints the output) or memory
-- (kilobytes after many renders).

local phase, name, data_path, seconds = table.unpack(arg)
local directory = arg[0]:match("^(.*)/") or "."
local engine = directory .. "/../../examples/liquid"
package.path = ("%s/?.lua;%s/?/init.lua;"):format(engine, engine) .. package.path

local liquid = require "liquid"
local json = require("pintle.core").json

local function read(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a")
end

local sources = {}
for _, file in ipairs { "product", "table", "partials", "section", "heading", "block", "link", "filters" } do
  sources[file] = read(directory .. "/templates/" .. file .. ".liquid")
end
local parses = phase == "parse" or phase == "again"
local data = not parses and assert(json.decode(read(data_path), nil, true))

-- Partials are parsed when they are first rendered, so parsing a template includes loading them.
local partials = name == "partials" and { "section", "heading", "block", "link" } or {}

local function parse(texts)
  local template = assert(liquid.compile(texts[name], { filesystem = texts }))
  for _, partial in ipairs(partials) do assert(template.partials:load(partial)) end
  return template
end

-- The same templates with other variable names, so that none of their markup is in the cache. There are more of them
-- than the cache holds, so that the first is no longer in it when it is parsed again.
local variants = {}
for i = 1, phase == "parse" and 4001 or 0 do
  local texts = { [name] = sources[name] }
  for _, partial in ipairs(partials) do texts[partial] = sources[partial] end
  for file, text in pairs(texts) do texts[file] = text:gsub("%f[%w_](%l+)%f[.|}]", "%1_" .. i) end
  variants[i] = texts
end
local last = 0
local function parse_next()
  last = last % #variants + 1
  return parse(variants[last])
end

local template = parse(sources)
local function render() return (template:render(data)) end
local function again() return parse(sources) end

local function microseconds(work, limit)
  local count, started, batch = 0, os.clock(), 1
  while true do
    for _ = 1, batch do work() end
    count = count + batch
    local spent = os.clock() - started
    if spent >= limit then return spent / count * 1e6 end
    batch = math.max(1, math.min(1000, math.floor(count * 0.2)))
  end
end

local function resident()
  return tonumber(read("/proc/self/status"):match("VmRSS:%s*(%d+)"))
end

if phase == "output" then
  io.write(render())
elseif phase == "memory" then
  for _ = 1, 300 do render() end
  print(resident())
else
  local work = ({ parse = parse_next, again = again, render = render })[phase]
  microseconds(work, tonumber(seconds) / 2)
  print(("%.3f"):format(microseconds(work, tonumber(seconds))))
end
