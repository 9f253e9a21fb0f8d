-- What a plugin says, piece by piece: found to be an answer, a request or a notification, and judged.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"
local json_text = require "pintle.cli.json_text"

local envelope = require "pintle.cli.check.envelope"

local function offend(self, rule, level, reason)
  self.offences[#self.offences + 1] = { rule = rule, level = level, reason = reason }
end

local function take_answer(self, message, text)
  local key = envelope.key_of(message, text)
  if self.open[key] then
    self.open[key], self.answers[key] = nil, message
  elseif key == nil or message.id == json.null and message.error ~= nil then
    self.unasked[#self.unasked + 1] = message
  elseif self.answers[key] then
    offend(self, "answers", "fail", ("a second answer to the request %s"):format(json.encode(message.id)))
  else
    offend(self, "answers", "fail", ("an answer with the id %s, which nobody has sent"):format(json.encode(message.id)))
  end
end

-- A method that is no string is not one of JSON-RPC's, and was told of already.
local function judge_by(self, judge, message)
  if not judge or type(message.method) ~= "string" then return end
  local problem, level = judge(message.method, message.params, self.context)
  if problem then offend(self, "traffic", level or "fail", problem) end
end

local function take_request(self, message)
  local handler = self.handlers[message.method]
  local answer = { id = message.id }
  if handler then answer.result = handler(message.params)
  else
    answer.error = { code = jsonrpc.METHOD_NOT_FOUND, message = "Method not found: " .. tostring(message.method) }
  end
  judge_by(self, self.context.dialect.judge_request, message)
  self.pending_replies[#self.pending_replies + 1] = answer
end

local function take_notification(self, message)
  self.notifications[#self.notifications + 1] = { method = message.method, params = message.params }
  judge_by(self, self.context.dialect.judge_notification, message)
end

local function take_message(self, message, text)
  if not envelope.is_object(message) then return offend(self, "envelope", "fail", "a message that is no object") end
  envelope.check(message, self.context.dialect, function(level, reason) offend(self, "envelope", level, reason) end)
  if message.method == nil then return take_answer(self, message, text) end
  if message.id ~= nil then take_request(self, message) else take_notification(self, message) end
end

local function take_batch(self, list, text)
  if not self.takes_unasked then offend(self, "envelope", "fail", "a batch, and nobody has sent one") end
  for i, element in ipairs(json_text.elements(text)) do take_message(self, list[i], element) end
end

local function check_length(self, text)
  local most = self.context.dialect.most_bytes_of_line
  if not most or #text < most then return end
  offend(self, "line-length", "warn", ("a line of %d bytes, and hosts read no more than %d"):format(#text + 1, most))
end

---@param self pintle.cli.check.life
---@param piece pintle.cli.check.piece
return function(self, piece)
  check_length(self, piece.text)
  local value, message
  if piece.kind == "message" then value, message = json.decode(piece.text) end
  if message then piece = { kind = "noise", text = piece.text, problem = "not JSON: " .. message } end
  self.pipe:note("plugin", piece.kind, piece.text, piece.problem)
  if piece.kind == "noise" then
    return offend(self, "stdout", "fail", ("on stdout is what is no message: %s"):format(piece.problem))
  end
  if piece.problem then offend(self, "framing", "fail", piece.problem) end
  if getmetatable(value) == json.array_mt then return take_batch(self, value, piece.text) end
  take_message(self, value, piece.text)
end
