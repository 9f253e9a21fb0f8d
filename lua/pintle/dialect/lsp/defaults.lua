-- What servers ask and tell a client, and what a program without an editor makes of it.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local log = require "pintle.dialect.lsp.log"

local defaults = {}

local function object(value) return json.kind(value) == "object" and value or {} end

-- {====== What it says ======

local function say(session, params)
  params = object(params)
  if type(params.message) == "string" then return session:log(log.level(params.type), params.message) end
  session:log("warn", "a message that is not as it should be", params)
end

defaults["window/logMessage"] = say
defaults["window/showMessage"] = say

-- Nobody is there to choose.
defaults["window/showMessageRequest"] = say

defaults["telemetry/event"] = function(session, params) session:log("debug", "telemetry", params) end

defaults["$/logTrace"] = function(session, params)
  params = object(params)
  session:log("debug", tostring(params.message), jsonrpc.given(params.verbose))
end

-- Only the first report has it.
local function title_of(session, token, value)
  local titles = session.state.titles or {}
  session.state.titles = titles
  if token == nil then return "progress" end
  local title = titles[token] or type(value.title) == "string" and value.title or "progress"
  titles[token] = value.kind ~= "end" and title or nil
  return title
end

-- Of what it does by itself: what belongs to a call goes to the one who has called.
defaults["$/progress"] = function(session, params)
  params = object(params)
  local value = object(params.value)
  local parts = { title_of(session, params.token, value) }
  if type(value.message) == "string" then parts[#parts + 1] = value.message end
  if type(value.percentage) == "number" then parts[#parts + 1] = ("%g%%"):format(math.floor(value.percentage)) end
  if value.kind == "end" then parts[#parts + 1] = "done" end
  session:log("debug", table.concat(parts, ": "))
end

-- }======

-- {====== What it asks ======

-- The part of the settings that "a.b" names; null where there is none.
local function section_of(settings, section)
  local value = settings
  if type(section) == "string" and section ~= "" then
    for name in section:gmatch "[^.]+" do value = object(value)[name] end
  end
  if value == nil then return json.null end
  return value
end

defaults["workspace/configuration"] = function(session, params)
  local items = jsonrpc.given(object(params).items)
  local values = json.array()
  for i, item in ipairs(type(items) == "table" and items or {}) do
    values[i] = section_of(session.options.settings, object(item).section)
  end
  return values
end

defaults["workspace/workspaceFolders"] = function(session) return session.state.folders or json.null end

defaults["workspace/applyEdit"] = function()
  return { applied = false, failureReason = "nobody here applies edits" }
end

defaults["window/showDocument"] = function() return { success = false } end

local function agree() return json.null end

for _, method in ipairs {
  "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
  "workspace/codeLens/refresh", "workspace/diagnostic/refresh", "workspace/foldingRange/refresh",
  "workspace/inlayHint/refresh", "workspace/inlineValue/refresh", "workspace/semanticTokens/refresh",
} do
  defaults[method] = agree
end

-- }======

return defaults
