-- The tools of a server as operations.

local ask = require "pintle.dialect.mcp.ask"
local errors = require "pintle.error"
local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local MOST_PAGES = 1000

local catalog = {}

local function protocol_error(format, ...) return nil, errors.new("protocol", format:format(...)) end

local function add(session, operations, tool)
  local name = type(tool) == "table" and tool.name
  if type(name) ~= "string" then return session:log("warn", "a tool that has no name", tool) end
  if operations[name] then session:log("warn", ("there are two tools %q; the last one counts"):format(name)) end
  operations[name] = { description = tool.description, params = tool.inputSchema, outputs = tool.outputSchema }
end

local function read_page(session, operations, page)
  if json.kind(page) ~= "object" or json.kind(page.tools) ~= "array" then
    return protocol_error "its answer to tools/list has no list of tools"
  end
  for _, tool in ipairs(page.tools) do add(session, operations, tool) end
  return jsonrpc.given(page.nextCursor) or false
end

---All that it tells of, page by page. A list without an end is cut.
---@param session pintle.session
---@param time_left fun(): number|false seconds for the next page
---@return table? operations, pintle.error|boolean|nil err_or_is_cut
function catalog.read(session, time_left)
  local operations, cursor = {}, nil
  for _ = 1, MOST_PAGES do
    local page, err = ask.call(session, "tools/list", { cursor = cursor }, { timeout = time_left() })
    if page == nil then return nil, err or errors.new("protocol", "its answer to tools/list is empty") end
    local next_cursor
    next_cursor, err = read_page(session, operations, page)
    if err then return nil, err end
    if not next_cursor then return operations, false end
    if next_cursor == cursor then break end
    cursor = next_cursor
  end
  session:log("warn", "its list of tools has no end")
  return operations, true
end

return catalog
