-- A host that renders a template with objects of its own: script/lua examples/liquid/live.lua
--
-- The objects stay in this process. The engine runs in another process and asks for a property when the template reads
-- it, so properties that the template does not use are never computed.

local pintle = require "pintle"

local Shop = { __name = "ShopDrop" }
Shop.__index = Shop

local Product = { __name = "ProductDrop" }
Product.__index = Product
Product.__tostring = function(self) return self.title end

---Called when the template reads `product.price`.
function Product:price()
  io.stderr:write("  asked for the price of ", self.title, "\n")
  return self.cents // 100
end

function Product:stock()
  if self.title == "Kettle" then error("the warehouse does not answer", 0) end
  return 3
end

---The items of `{% for product in shop %}`.
function Shop:each() return self.products end

function Shop.time() return os.date("!%H:%M") end

local function product(title, cents) return setmetatable({ title = title, cents = cents }, Product) end

local shop = setmetatable({
  products = { product("Lamp", 4900), product("Kettle", 2900), product("Chair", 12900) },
}, Shop)

local template = [[
{%- for product in shop limit: 2 %}
{{ forloop.index }}. {{ product }}: ${{ product.price }}, {{ product.stock }} left
{%- endfor %}
At {{ shop.time }} there are {{ shop.products.size }} products.
]]

local here = arg[0]:match("^(.*)/[^/]*$") or "."
local host <close> = pintle.host { dialect = "liquid", log = false }
local engine = assert(host:start { command = { here .. "/script/server" } })
local outcome = assert(engine:execute("render", { template = template, environment = { shop = shop } }))
io.write(outcome.message)
for _, problem in ipairs(outcome.result.errors) do io.stderr:write("  ", problem.message, "\n") end
host:stop()
