-- What `render` does: a template and a file of data in, text out; errors go to stderr.

local errors = require "liquid.errors"
local liquid = require "liquid"
local markers = require "liquid.drops.markers"

local function complain(...)
  io.stderr:write("render: ", table.concat { ... }, "\n")
  return 1
end

local function read(path)
  local file, message = io.open(path, "rb")
  if not file then return nil, message end
  local text, problem = file:read("a")
  file:close()
  return text, problem and path .. ": " .. problem
end

-- Partials beside the template; a name never leaves that directory.
local function partials(directory)
  return function(name)
    if name:find("..", 1, true) or name:find("%z") or name:find("^/") then return nil end
    local folder, file = name:match("^(.*/)([^/]*)$")
    folder, file = directory .. "/" .. (folder or ""), (file or name):gsub("%.liquid$", "")
    return (read(folder .. file .. ".liquid")) or (read(folder .. "_" .. file .. ".liquid"))
  end
end

local function read_data(path)
  if not path then return {} end
  local text, message = read(path)
  if not text then return nil, message end
  local value
  value, message = require("pintle.core").json.decode(text, nil, true, true)
  if value == nil then return nil, path .. ": " .. message end
  if type(value) ~= "table" or getmetatable(value) == require("pintle.core").json.array_mt then
    return nil, path .. ": an object expected"
  end
  return markers(value)
end

---@param arguments string[] the template, and a file of JSON
---@return integer status for the shell
return function(arguments)
  local path = arguments[1]
  if not path or arguments[3] then return complain("usage: render TEMPLATE.liquid [DATA.json]") end
  local source, message = read(path)
  if not source then return complain(message) end
  local data
  data, message = read_data(arguments[2])
  if not data then return complain(message) end
  local template, err = liquid.compile(source, { filesystem = partials(path:match("^(.*)/[^/]*$") or ".") })
  if not template then return complain(path, ": ", errors.sentence(err)) end
  local output, failures = template:render(data)
  io.stdout:write(output)
  for _, failure in ipairs(failures) do complain(path, ": ", errors.sentence(failure)) end
  return #failures > 0 and 1 or 0
end
