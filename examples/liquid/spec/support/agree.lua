-- Renders random templates with this engine and with ruby-liquid, and compares the outputs.

local core = require "pintle.core"
local support = require "spec.support.engine"
local random = require "spec.support.random"

local json = core.json
local agree = {}

local function ask(command, requests)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  for _, request in ipairs(requests) do file:write(json.encode(request), "\n") end
  file:close()
  local pipe = assert(io.popen(command .. " < " .. path .. " 2>/dev/null"))
  local answers = {}
  for line in pipe:lines() do answers[#answers + 1] = json.decode("[" .. line .. "]")[1] end
  pipe:close()
  os.remove(path)
  return answers
end

local function render(request, environment)
  local template = support.liquid.compile(request.template, { error_mode = "strict2", filesystem = random.files })
  if not template then return json.null end
  return (template:render(environment))
end

---@return boolean whether ruby-liquid is installed
function agree.possible()
  return os.execute("ruby -e 'require \"liquid\"' 2> /dev/null") == true
end

---@param count integer
---@param seed integer
---@return table[] differences lists of a template, the output of this engine, and that of ruby-liquid
function agree.differences(count, seed)
  math.randomseed(seed)
  local environment = assert(json.decode(random.environment, nil, true, true))
  local requests = {}
  for i = 1, count do
    requests[i] = { template = random.template(), mode = "strict", environment = environment, files = random.files }
  end
  local theirs, list = ask("ruby spec/support/ruby_liquid.rb", requests), {}
  assert(#theirs == count, "ruby-liquid answered " .. #theirs .. " of " .. count)
  for i, request in ipairs(requests) do
    local ours = render(request, environment)
    if ours ~= theirs[i] then list[#list + 1] = { request.template, ours, theirs[i] } end
  end
  return list
end

return agree
