-- Values and texts of any depth.
local nested = {}

function nested.text(depth, inner)
  return ("["):rep(depth) .. (inner or "") .. ("]"):rep(depth)
end

function nested.object_text(depth)
  return ('{"a":'):rep(depth - 1) .. "{}" .. ("}"):rep(depth - 1)
end

function nested.value(depth)
  local value = {}
  for _ = 2, depth do value = { value } end
  return value
end

return nested
