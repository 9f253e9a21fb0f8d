-- Writes the data of the benchmark as JSON. It is constant, and the same for all engines.

local function text_of(i)
  return ("The <b>%d</b> quick brown foxes & %d \"lazy\" dogs jumped over the wall of the garden near river %d"):format(
    i, i * 7 % 13, i % 5)
end

local function quoted(text)
  return '"' .. text:gsub('[\\"]', "\\%0"):gsub("\n", "\\n") .. '"'
end

local function list(count, item)
  local parts = {}
  for i = 1, count do parts[i] = item(i) end
  return "[" .. table.concat(parts, ",") .. "]"
end

local tags = { "Summer", "New Arrival", "Cotton", "Blue", "Sale", "Gift Idea" }

local function product()
  return ('{"id":1234,"title":"Linen Shirt & Co","vendor":"Acme","available":true,"type":"Shirt","price":4900,'
    .. '"compare_at_price":6900,"description":%s,"tags":%s,"variants":%s,"options":%s}'):format(
    quoted(("<p>" .. text_of(3) .. "</p>"):rep(4)), list(#tags, function(i) return quoted(tags[i]) end),
    list(24, function(i)
      return ('{"id":%d,"title":"Size %d / Color %d","price":%d,"available":%s}'):format(
        1000 + i, i % 6, i // 6, 4900 + i * 10, i % 5 ~= 0)
    end),
    list(3, function(i)
      local values = list(6, function(j) return quoted("Value <" .. j .. ">") end)
      return ('{"name":"Option %d","values":%s}'):format(i, values)
    end))
end

local function related(i)
  return ('{"url":"/products/item-%d","image":"images/%d.jpg","title":"Related product number %d & more"}')
    :format(i, i, i)
end

local function row(i)
  return ('{"id":%d,"name":"Person %d","email":"person%d@example.com","active":%s,"city":{"name":"City %d"},'
    .. '"score":%d.5}'):format(i, i, i, i % 3 == 0, i % 17, i % 100)
end

local function section(i)
  return ('{"id":"s%d","title":"Section %d","blocks":%s}'):format(i, i, list(6, function(j)
    return ('{"title":"Block %d","text":%s,"link":{"url":"/p/%d","text":"Read more"}}'):format(j, quoted(text_of(j)), j)
  end))
end

local function item(i)
  return ('{"name":"  item name %d ","text":%s,"price":%d,"ratio":%d.4567,"tags":["b","a","c","a","d%d"],"active":%s,'
    .. '"when":"2024-%02d-%02d 10:20:30"}')
    :format(i, quoted(text_of(i)), i * 37, i, i % 3, i % 2 == 0, i % 12 + 1, i % 28 + 1)
end

io.write('{"product":', product(), ',"related":', list(12, related), ',"rows":', list(500, row),
  ',"sections":', list(20, section), ',"items":', list(50, item), "}\n")
