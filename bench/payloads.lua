-- What the benchmark sends: as Lua values, the same on every run.

local core = require "pintle.core"

local payloads = {}

function payloads.small()
  return { n = 123, s = "hello world", list = core.json.array { 1, 2, 3 } }
end

-- Letters, with nothing to escape.
function payloads.string(size)
  local line = "the quick brown fox jumps over the lazy dog "
  return line:rep(size // #line + 1):sub(1, size)
end

-- An array of small objects, `size` bytes as JSON or a little more.
function payloads.array(size)
  local list, bytes, i = core.json.array {}, 0, 0
  while bytes < size do
    i = i + 1
    list[i] = { id = i, name = "item " .. i, price = i / 4, ok = i % 2 == 0 }
    bytes = bytes + #core.json.encode(list[i]) + 1
  end
  return list
end

-- What documents hold: records with text, numbers, lists and nested objects.
function payloads.document(size)
  local list, bytes, i = core.json.array {}, 0, 0
  while bytes < size do
    i = i + 1
    list[i] = {
      id = i,
      title = "Record number " .. i,
      text = 'It says "' .. i .. '" on the cover,\nand more inside: café, naïve, 東京.',
      tags = core.json.array { "red", "green", "blue" },
      position = { x = i * 0.37, y = -i / 3, z = 0 },
      active = i % 3 ~= 0,
      parent = core.json.null,
    }
    bytes = bytes + #core.json.encode(list[i]) + 1
  end
  return list
end

return payloads
