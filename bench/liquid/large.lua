-- Renders with environments of 1 MB, by examples/liquid/script/server and by ruby-liquid behind the same protocol:
-- large.lua [ROUNDS [RENDERS [PART OF AN ENVIRONMENT'S NAME]]]
-- The two take turns, round by round. A figure is processor time of the server for one render, from the line that it
-- reads to the line that it writes; the ratios are medians of the rounds' ratios.

local core = require "pintle.core"
local median = require "bench.median"
local pintle = require "pintle"

local rounds, renders, part = math.tointeger(arg[1] or 7), math.tointeger(arg[2] or 20), arg[3] or ""
local directory = arg[0]:match("^(.*)/") or "."

local PATIENCE = 60
local SIZE = 1000000

-- {====== Environments ======

-- Repeats members of an object or items of a list up to a megabyte.
local function filled(open, close, member)
  local parts, size, i = {}, 0, 0
  while size < SIZE do
    i = i + 1
    parts[i] = member(i)
    size = size + #parts[i] + 1
  end
  return open .. table.concat(parts, ",") .. close
end

local PRODUCT = [[{"id":%d,"title":"Linen Shirt %d","handle":"linen-shirt-%d","vendor":"Acme & Co","price":%d,]]
  .. [["weight":%d.25,"available":%s,"compare_at_price":null,"tags":["summer","cotton","size-%d"],"description":]]
  .. [["<p>A shirt of \"linen\",\nnumber %d.<\/p>","image":{"src":"images\/%d.jpg","width":640,"height":480},]]
  .. [["variants":[{"id":%d,"title":"S","price":%d,"available":true},{"id":%d,"title":"M","price":%d,]]
  .. [["available":false}]}]]

local function product(i)
  local price = 1000 + i % 900
  return PRODUCT:format(i, i, i, price, i % 40, i % 3 ~= 0, i % 7, i, i, i * 10, price, i * 10 + 1, price + 100)
end

local function branch(depth, i)
  if depth == 0 then return ('{"value":%d,"label":"leaf %d"}'):format(i, i) end
  local left, right = branch(depth - 1, i * 2), branch(depth - 1, i * 2 + 1)
  return ('{"name":"level %d","left":%s,"right":%s}'):format(depth, left, right)
end

local function tree(i) return branch(8, i) end

local PARAGRAPH = [[<p>The quick brown fox &amp; the \"lazy\" dog jumped over the wall.<\/p>\n]]
  .. ("Plain text without anything to escape goes on for a while. "):rep(8)

local function page(i) return ('{"title":"Page %d","body":"%s"}'):format(i, PARAGRAPH:rep(50)) end

local function translation(i)
  return ('"shop.section_%d.key_%d":"Text number %d in another language"'):format(i % 50, i, i)
end

local shapes = {
  {
    name = "products", environment = '{"shop":{"name":"Acme"},"products":' .. filled("[", "]", product) .. "}",
    little = "{{ shop.name }}: {{ products.size }}, {{ products[7].title | upcase }}",
    all = [[{% for p in products %}{{ p.id }} {{ p.title }} {{ p.handle }} {{ p.vendor | escape }} {{ p.price }} ]]
      .. [[{{ p.weight }} {% if p.available %}{{ p.compare_at_price }}{% endif %}{{ p.tags | join: ", " }} ]]
      .. [[{{ p.description }} {{ p.image.src }} {{ p.image.width }} {{ p.image.height }} {% for v in p.variants %}]]
      .. [[{{ v.id }} {{ v.title }} {{ v.price }} {{ v.available }}{% endfor %}{% endfor %}]],
  },
  {
    name = "deep maps", environment = '{"trees":' .. filled("[", "]", tree) .. "}",
    little = "{{ trees.size }}, {{ trees[1].left.right.left.right.left.right.left.right.label }}",
    all = "{% for node in trees %}{% render 'node', node: node %}{% endfor %}",
    filesystem = {
      node = "{% if node.left %}{{ node.name }}{% render 'node', node: node.left %}"
        .. "{% render 'node', node: node.right %}{% else %}{{ node.label }}{{ node.value }}{% endif %}",
    },
  },
  {
    name = "long texts", environment = '{"pages":' .. filled("[", "]", page) .. "}",
    little = "{{ pages.size }}, {{ pages[2].title }}",
    all = "{% for page in pages %}<h1>{{ page.title }}</h1>{{ page.body }}{% endfor %}",
  },
  {
    name = "many names", environment = '{"texts":' .. filled("{", "}", translation) .. "}",
    little = "{{ texts['shop.section_3.key_3'] }}",
    all = "{% for pair in texts %}{{ pair[0] }}: {{ pair[1] }}{% endfor %}",
  },
}

-- }======

-- {====== Servers ======

local function run(command)
  local pipe <close> = assert(io.popen(command))
  return (pipe:read("a"):gsub("%s+$", ""))
end

local has_yjit = run("ruby --yjit -e 'print RubyVM::YJIT.enabled?' 2>/dev/null") == "true"
local worker = { "ruby", has_yjit and "--yjit" or "--disable=jit", directory .. "/worker.rb", "serve" }

local function start(name, command) return { name = name, server = assert(pintle.connect { command = command }) } end

local ours = start("pintle", { directory .. "/../../examples/liquid/script/server" })
local theirs = start("ruby", worker)

local function call(engine, method, params)
  return assert(engine.server:call(method, params, { timeout = PATIENCE }))
end

-- Processor time of the process in nanoseconds.
local function spent(engine)
  local file <close> = assert(io.open(("/proc/%d/schedstat"):format(engine.server.child.pid)))
  return file:read("n")
end

local function request_of(engine, shape, template)
  local compiled = call(engine, "compile", { template = shape[template], filesystem = shape.filesystem })
  return core.json.raw(('{"template_id":"%s","environment":%s}'):format(compiled.template_id, shape.environment))
end

-- Processor time and wall-clock time of one render, in microseconds.
local function measure(engine, request)
  local begun, before = core.now(), spent(engine)
  for _ = 1, renders do call(engine, "render", request) end
  return (spent(engine) - before) / renders / 1e3, (core.now() - begun) / renders * 1e6
end

-- }======

local function requests_of(shape, template)
  local our_request, their_request = request_of(ours, shape, template), request_of(theirs, shape, template)
  if call(ours, "render", our_request).output ~= call(theirs, "render", their_request).output then
    error(("%s, %s: ruby-liquid renders it otherwise"):format(shape.name, template), 0)
  end
  return our_request, their_request
end

local function print_row(shape, template)
  local our_request, their_request = requests_of(shape, template)
  measure(ours, our_request)
  measure(theirs, their_request)
  local our_times, their_times, ratios, wall_ratios = {}, {}, {}, {}
  for round = 1, rounds do
    local our_wall, their_wall
    our_times[round], our_wall = measure(ours, our_request)
    their_times[round], their_wall = measure(theirs, their_request)
    ratios[round], wall_ratios[round] = their_times[round] / our_times[round], their_wall / our_wall
  end
  print(("%-12s %-8s %10.0f %10.0f us  %5.2fx %5.2fx"):format(shape.name, template, median(our_times),
    median(their_times), median(ratios), median(wall_ratios)))
end

print(run("ruby -v") .. ", liquid " .. run("ruby -r liquid -e 'print Liquid::VERSION'") .. ", json "
  .. run("ruby -r json -e 'print JSON::VERSION'") .. ", YJIT " .. (has_yjit and "on" or "off"))
print(("%-12s %-8s %10s %10s     %s"):format("environment", "touched", ours.name, theirs.name,
  "ruby/pintle: processor, wall"))
for _, shape in ipairs(shapes) do
  for _, template in ipairs(shape.name:find(part, 1, true) and { "little", "all" } or {}) do
    print_row(shape, template)
  end
end
ours.server:close()
theirs.server:close()
