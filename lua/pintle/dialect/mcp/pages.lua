-- Lists in pages: of tools, resources, templates and prompts. A cursor contains the number of items on earlier pages.

local era = require "pintle.dialect.mcp.era"
local jsonrpc = require "pintle.jsonrpc"
local wire = require "pintle.dialect.mcp.wire"

local pages = {}

local PAGE_SIZE = 100

local function read_cursor(cursor, count)
  if cursor == nil then return 0 end
  local listed = math.tointeger(tonumber(cursor:match "^after%-(%d+)$"))
  if listed and listed > 0 and listed < count then return listed end
  return wire.invalid_params("cursor: there is no %q", cursor)
end

---The part of a list that a request asks for.
---@param server pintle.server
---@param params table? with the cursor
---@param count integer items in the whole list
---@return integer? first, integer|pintle.error last, string? next_cursor
function pages.cut(server, params, count)
  local given = jsonrpc.given(params) or {}
  local ok, err = jsonrpc.check(given.cursor, "string", "cursor")
  if not ok then return nil, err end
  local listed
  listed, err = read_cursor(jsonrpc.given(given.cursor), count)
  if not listed then return nil, err end
  local last = math.min(listed + (era.declaration(server.plugin).page_size or PAGE_SIZE), count)
  return listed + 1, last, last < count and ("after-%d"):format(last) or nil
end

return pages
