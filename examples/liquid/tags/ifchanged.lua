-- ifchanged: puts its body out where it is not what it was the last time.

local block = require "liquid.block"
local bodies = require "liquid.body"
local render = require "liquid.render_body"

local function parse(state)
  local body = block.new(state)
  block.section(state, "ifchanged", body)
  bodies.seal(body)
  return function(ctx, out, n)
    local pieces = {}
    local text = table.concat(pieces, "", 1, render(body, ctx, pieces, 0))
    if text == ctx.changed then return n end
    ctx.changed = text
    out[n + 1] = text
    return n + 1
  end, body.blank, body.interrupts
end

return { ifchanged = parse }
