-- ifchanged: puts its body out where it is not what it was the last time.

local block = require "liquid.block"
local render_body = require "liquid.render_body"

local function parse(state)
  local body = block.new()
  block.parse_until_end(state, "ifchanged", body)
  local render = render_body.compile(body)
  return function(ctx, out, n)
    local pieces = {}
    local text = table.concat(pieces, "", 1, render(ctx, pieces, 0))
    if text == ctx.changed then return n end
    ctx.changed = text
    out[n + 1] = text
    return n + 1
  end, body.blank, body.interrupts
end

return { ifchanged = parse }
