-- break and continue. The bodies that are being rendered see the interrupt and end, up to the loop.

local function interrupt(kind)
  local function node(ctx, _, n)
    ctx:stop(kind)
    return n
  end
  return function() return node, false, true end
end

return { ["break"] = interrupt("break"), continue = interrupt("continue") }
