-- Makes docs/images/trace.png: a host that talks to a plugin in MCP, as `pintle view` shows it.
local browsers = require "spec.interop.view_browser"
local hosts = require "pintle.host"
local lfs = require "lfs"
local tasks = require "pintle.task"

local FOLDER = "build/orders"
local PLUGIN, RECORDING, PAGE = FOLDER .. "/orders.lua", FOLDER .. "/orders.jsonl", FOLDER .. "/orders.html"

local CHART = table.concat {
  "iVBORw0KGgoAAAANSUhEUgAAAWgAAACoBAMAAAA/VGnmAAAAD1BMVEX///8/sI4vb96wuMTk5+zqhJk8AAAAzUlEQVR42u3Zyw2AIBBA",
  "QVqwBVuwBfuvyTOJH/CHK/OORGESuG1KkiRJkvT55oC5NUmSpJaNWdDQ0NDQ0NDQ0NDQKQ1Z0NDQvaLrJx45eu/LHN105uJ5/A5dfhA0",
  "NDQ0NHQ8dPnv0NDQ0NDQ0BHQ5YvQ0NDQ0Ec+aOhvo+vHKxdnLuV7bh7keUBDVyxCQ0NDQ0NDQ0NDn0Bf3AsaGhoaGhoaGhq6S/R8zyhk",
  "dfHxmYvnAQ0NDQ0NDQ0NDQ0NDQ0NDQ3dEXoKWEy0JEnSiy2MZaG8hQqcJAAAAABJRU5ErkJggg=="
}

local SOURCE = [[
local pintle = require "pintle"
local plugin = pintle.plugin { name = "orders", version = "1.0.0", description = "Orders of a shop" }

local function params(...)
  local properties = {}
  for _, name in ipairs { ... } do properties[name] = { type = "string" } end
  return { type = "object", properties = properties }
end

plugin:operation("query", { description = "Find orders", params = params "customer" }, function(args, ctx)
  ctx:log("info", "searching", { customer = args.customer })
  pintle.sleep(0.004 * #args.customer)
  return { message = "3 orders of " .. args.customer, outputs = { orders = "1041, 1057, 1062" } }
end)

plugin:operation("refund", { description = "Refund an order", params = params "order" }, function(args)
  io.stderr:write("order " .. args.order .. " is closed\n")
  return nil, "order " .. args.order .. " was refunded before"
end)

plugin:operation("chart", { description = "Draw a chart", params = params "of" }, function(_, ctx)
  for i = 1, 3 do
    pintle.sleep(0.003)
    ctx:progress(i / 3)
  end
  return { message = "Orders by day", content = { assert(pintle.bytes(assert(io.open(arg[1], "rb")):read "a")) } }
end)

plugin:serve()
]]

local function write(path, text)
  local file <close> = assert(io.open(path, "wb"))
  file:write(text)
end

local function talk(orders)
  orders:execute("query", { customer = "Ada" })
  assert(tasks.all {
    function() orders:execute("query", { customer = "Grace" }) end,
    function() orders:execute("query", { customer = "Barbara" }) end,
    function() orders:execute("query", { customer = "Katherine" }) end,
  })
  orders:execute("refund", { order = "1041" })
  orders:execute("chart", { of = "days" }, { on_progress = function() end })
end

assert(os.execute("rm -rf " .. FOLDER .. " && mkdir -p " .. FOLDER))
write(PLUGIN, SOURCE)
write(FOLDER .. "/chart.png", tostring(require("pintle.bytes").from_object { ["$bytes"] = CHART }))

do
  local host <close> = hosts { dialect = "mcp", log = function() end }
  local orders = assert(host:start { command = {
    "bin/pintle", "trace", "-o", RECORDING, "--", "lua5.4", PLUGIN, FOLDER .. "/chart.png",
  } })
  tasks.run(function() talk(orders) end)
  orders:stop()
end

assert(os.execute("bin/pintle view --title 'lua5.4 orders.lua' " .. RECORDING))
do
  local browser <close> = browsers.start()
  browser:resize(1440, 810)
  browser:prefer "dark"
  browser:visit(lfs.currentdir() .. "/" .. PAGE)
  browser:settle()
  browser:evaluate "page.choose(page.found.findLast((i) => page.model.rows[i].operation === 'chart'))"
  browser:press "Enter"
  browser:await "document.querySelector('.media img').complete"
  write(arg[1], browser:picture())
end
assert(os.execute("rm -r " .. FOLDER))
