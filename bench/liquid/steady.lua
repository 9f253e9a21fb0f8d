-- Renders small and medium templates, which are compiled again at intervals, and prints the resident memory at every
-- tenth of the renders: steady.lua [RENDERS [SERVED]]

local renders, served = math.tointeger(arg[1] or 1000000), math.tointeger(arg[2] or 50000)
package.path = "examples/liquid/?.lua;examples/liquid/?/init.lua;" .. package.path

local liquid = require "liquid"
local pintle = require "pintle"

-- The number of renders after which the templates are compiled again.
local EVERY = 500
local PATIENCE = 60

local texts = {
  "Hello {{ user.name | upcase }}, you have {{ count }} new {{ 'message' | append: 's' }}.",
  "{% if count > 3 %}{{ list | join: ', ' }}{% else %}none{% endif %}{% assign n = count | plus: 1 %}{{ n }}",
  "<ul>{% for item in list %}<li class=\"{% cycle 'odd', 'even' %}\">{{ forloop.index }}. {{ item | escape }}</li>"
    .. "{% endfor %}</ul>{% render 'sign', name: user.name %}{{ now | date: '%Y-%m-%d' }}",
}
local files = { sign = "{% capture s %}-- {{ name | default: 'nobody' }}{% endcapture %}{{ s | strip }}" }

local function data(i)
  return {
    user = { name = "User " .. i % 1000 }, count = i % 10, now = i,
    list = { "a <b> " .. i % 7, "c & d", "e" .. i % 100, "f" },
  }
end

local function resident(pid)
  local file <close> = assert(io.open("/proc/" .. pid .. "/status"))
  return math.tointeger(tonumber(file:read("a"):match("VmRSS:%s*(%d+)")))
end

-- Calls `render` with each number, and prints the resident memory at every tenth.
local function measure(label, count, pid, render)
  local row, tenth = {}, math.max(1, count // 10)
  for i = 1, count do
    render(i)
    if i % tenth == 0 then row[#row + 1] = resident(pid) end
  end
  print(("%-10s %8d renders, kB: %s"):format(label, count, table.concat(row, " ")))
end

local function in_process()
  local templates = {}
  return function(i)
    if i % EVERY == 1 then
      for j, text in ipairs(texts) do templates[j] = assert(liquid.compile(text, { filesystem = files })) end
    end
    assert(templates[i % #templates + 1]:render(data(i)))
  end
end

local function through(engine)
  local ids = {}
  for i, text in ipairs(texts) do
    ids[i] = assert(engine:call("compile", { template = text, filesystem = files }, { timeout = PATIENCE })).template_id
  end
  return function(i)
    assert(engine:call("render", { template_id = ids[i % #ids + 1], environment = data(i) }, { timeout = PATIENCE }))
  end
end

measure("required", renders, "self", in_process())

local host <close> = pintle.host { dialect = "liquid", log = false }
local engine = assert(host:start { command = { "examples/liquid/script/server" } })
measure("served", served, engine:pids()[1], through(engine))
host:stop()
