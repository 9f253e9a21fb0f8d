-- Templates that a plugin has compiled, by their text and all that they were compiled with, so that each is sent once.

local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local MOST = 256 -- that are remembered

local templates = {}

---@return table
function templates.new() return { ids = {}, keys = {}, next = 1 } end

local function remember(self, key, id)
  local old = self.keys[self.next]
  if old then self.ids[old] = nil end
  self.ids[key], self.keys[self.next] = id, key
  self.next = self.next % MOST + 1
end

---@param self table
---@param params table
function templates.forget(self, params) self.ids[json.encode(params)] = nil end

local function read(result)
  if json.kind(result) ~= "object" then
    return nil, errors.new("protocol", "its answer to compile: object expected, got " .. json.kind(result))
  end
  if jsonrpc.given(result.error) ~= nil then return nil, nil, result end
  local id = result.template_id
  if type(id) == "string" then return id end
  local message = "its answer to compile: template_id: string expected, got " .. json.kind(id)
  return nil, errors.new("protocol", message)
end

---The id of a template, which is compiled if it was not yet.
---@param self table
---@param peer pintle.peer
---@param params table
---@param timeout number|false
---@return string? id, pintle.error? err, table? result that says what is wrong with the template
---@return boolean? is_old whether it was there already
function templates.get(self, peer, params, timeout)
  local key = json.encode(params)
  if self.ids[key] then return self.ids[key], nil, nil, true end
  local result, err = peer:call("compile", params, { timeout = timeout })
  if err ~= nil then return nil, err end
  local id, problem
  id, err, problem = read(result)
  if id then remember(self, key, id) end
  return id, err, problem
end

return templates
