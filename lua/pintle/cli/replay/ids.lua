-- Ids of the other side: those of the recording, and those it uses now. Our own are those of the recording.

local json = require("pintle.core").json
local json_text = require "pintle.cli.json_text"

-- Members of notifications that tell of which request they are.
local REFERENCES = { "id", "requestId" }

local methods = {}

local metatable = { __name = "pintle.cli.ids", __index = methods }

local function text_of(text, name)
  local first, last = json_text.member(text, name)
  return first and text:sub(first, last)
end

---Takes note of what a request has been called then and now.
---@param recorded string a message
---@param now string
function methods:learn(recorded, now)
  local was, is = text_of(recorded, "id"), text_of(now, "id")
  if was and is then self.now[was] = is end
end

local function translate_params(self, text)
  local params = text_of(text, "params")
  if not params or not params:find "^{" then return text end
  for _, name in ipairs(REFERENCES) do
    local is = self.now[text_of(params, name) or ""]
    if is then params = json_text.replace(params, name, is) end
  end
  return json_text.replace(text, "params", params)
end

-- Who cancels speaks of his own request, who tells of progress of one of the other side.
local function is_cancellation(item) return item.method:lower():find("cancel", 1, true) ~= nil end

---What we have said, with the ids that the other side uses now.
---@param item pintle.cli.item
---@return string
function methods:to_say(item)
  if item.kind == "notification" and not is_cancellation(item) then return translate_params(self, item.text) end
  local is = self.now[text_of(item.text, "id") or ""]
  if is and (item.kind == "result" or item.kind == "error") then return json_text.replace(item.text, "id", is) end
  return item.text
end

---What the other side has said, with the ids that it uses now.
---@param item pintle.cli.item
---@return string
function methods:to_hear(item)
  if item.kind == "notification" and is_cancellation(item) then return translate_params(self, item.text) end
  return item.text
end

---What a message says, with the id of a request left out: which one it has does not matter.
---@param item pintle.cli.item
---@param text string
---@return any
function methods.content(_, item, text)
  local value = json.decode(text)
  if item.kind == "request" then value.id = nil end
  return value
end

return { new = function() return setmetatable({ now = {} }, metatable) end }
