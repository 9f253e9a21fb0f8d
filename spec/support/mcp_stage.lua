-- A host, and the messages that it sends to the servers played by spec/support/mcp_server.lua.
local children = require "spec.support.children"
local hosts = require "pintle.host"
local json = require("pintle.core").json
local turn_until = require "spec.support.turning"

local stage = {}

local heard

-- Called before and after each spec. Checks that no process and no descriptor is left.
function stage.set()
  stage.nothing_left, heard, stage.entries = children.stock(), os.tmpname(), {}
end

function stage.clear()
  os.remove(heard)
  stage.nothing_left()
end

function stage.host(options)
  local given = { dialect = "mcp", log = function(entry) stage.entries[#stage.entries + 1] = entry end }
  for name, value in pairs(options or {}) do given[name] = value end
  return hosts(given)
end

function stage.start(host, behaviour, options, server)
  local command = { "lua5.4", server or "spec/support/mcp_server.lua", behaviour, heard }
  local given = { command = command, name = behaviour }
  for name, value in pairs(options or {}) do given[name] = value end
  return host:start(given)
end

-- The lines that the server has received.
function stage.lines()
  local list = {}
  for line in io.lines(heard) do list[#list + 1] = line end
  return list
end

function stage.methods()
  local list = stage.lines()
  for i, line in ipairs(list) do list[i] = json.decode(line).method or "an answer" end
  return list
end

stage.wait_until = turn_until

-- The messages of a level in the log.
function stage.said(level)
  local messages = {}
  for _, entry in ipairs(stage.entries) do
    if entry.level == level then messages[#messages + 1] = entry.message end
  end
  return messages
end

return stage
