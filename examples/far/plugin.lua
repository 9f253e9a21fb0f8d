-- Counts primes.

local pintle = require "pintle"

local plugin = pintle.plugin { name = "primes", version = "1.0.0" }

local function is_prime(number)
  for divisor = 2, math.floor(number ^ 0.5) do
    if number % divisor == 0 then return false end
  end
  return number > 1
end

plugin:operation("count", {
  params = { type = "object", required = { "from", "to" },
             properties = { from = { type = "integer" }, to = { type = "integer" } } },
}, function(args)
  local count = 0
  for number = args.from, args.to do
    if is_prime(number) then count = count + 1 end
  end
  return tostring(count)
end)

plugin:serve()
