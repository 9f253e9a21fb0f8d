-- Probes that every dialect has: what JSON-RPC asks of both sides, and the end of input.

local json = require("pintle.core").json

local breach = require "pintle.cli.check.breach"

local AT_ONCE = 20

-- {====== Requests ======

local function unknown_method(life) life:refused("pintle-check", nil, -32601) end

local function unknown_notification(life)
  life.takes_unasked = true
  life:tell("pintle-check", {})
  life:catch_up()
  if #life.unasked > 0 then breach.raise "a notification is answered" end
end

-- The greatest that fits into 32 bits, and the least.
local function integer_ids(life)
  local question = life.context.dialect.question
  for _, id in ipairs { 2147483647, 0 } do life:answer(life:ask(question.method, question.params, id)) end
end

local function string_ids(life)
  local question = life.context.dialect.question
  for _, id in ipairs { "pintle-1", "7", 'é"\\ 😀' } do life:answer(life:ask(question.method, question.params, id)) end
end

local function at_once(life)
  local question, keys = life.context.dialect.question, {}
  for i = 1, AT_ONCE do keys[i] = life:ask(question.method, question.params) end
  for _, key in ipairs(keys) do life:answer(key) end
end

-- }======

-- {====== What is no request ======

-- It is answered by an error, and the conversation goes on. The id may be null, or what could be made out.
local function expect_complaint(life, code, key)
  local message = life:complaint(key)
  if not message then
    if life.pipe.is_over then breach.raise("it does not survive that: %s", life.pipe:describe_end()) end
    breach.raise "it says nothing to that"
  end
  local got = type(message.error) == "table" and message.error.code
  if got ~= code then breach.raise("it is answered with the code %s, not %d", tostring(got), code) end
  life:catch_up()
end

-- A request that is spoilt.
local function spoil(life, pattern, replacement)
  life.takes_unasked = true
  local text, key = life:request "pintle-check"
  life:send((text:gsub(pattern, replacement)))
  return key
end

local function bad_json(life) expect_complaint(life, -32700, spoil(life, "}$", "")) end

local function invalid_request(life)
  expect_complaint(life, -32600, spoil(life, '"method":"pintle%-check"', '"method":1'))
end

local function batch(life)
  life.takes_unasked = true
  local question = life.context.dialect.question
  local one, one_key = life:request(question.method, question.params)
  local other, other_key = life:request(question.method, question.params)
  life:send(("[%s,%s]"):format(one, other))
  if not life:complaint(one_key) then
    if life.pipe.is_over then breach.raise("it does not survive a batch: %s", life.pipe:describe_end()) end
    breach.raise "a batch is neither answered nor refused"
  end
  if life.answers[one_key] then life:answer(other_key) end
  life:catch_up()
end

local function stray_answer(life)
  local id = life.context.dialect.ids == "string" and "4711" or 4711
  local key = life:send_unasked { id = id, result = json.null }
  life:catch_up()
  if life.answers[key] then breach.raise "an answer is answered" end
end

-- }======

-- {====== The end ======

local function end_of_input(life)
  life:close_input()
  local exit, status = life:ended(), life.context.dialect.end_status
  if exit.code == 0 then return end
  local how = exit.code and "status " .. exit.code or "signal " .. exit.signal
  breach.of(status == 0 and "fail" or "warn", "it has ended with %s, not with 0", how)
end

local function last_answer(life)
  local question = life.context.dialect.question
  local key = life:ask(question.method, question.params)
  life:close_input()
  life:answer(key)
end

-- }======

---@type pintle.cli.check.probe[]
return {
  { name = "unknown-method", rule = "an unknown method is refused with -32601", run = unknown_method },
  { name = "unknown-notification", rule = "an unknown notification is dropped, and nothing is said to it",
    run = unknown_notification },
  { name = "integer-ids", rule = "an id that is an integer comes back as it was sent", run = integer_ids },
  { name = "string-ids", rule = "an id that is a string comes back as it was sent", run = string_ids },
  { name = "at-once", rule = ("%d requests at once are each answered"):format(AT_ONCE), run = at_once },
  { name = "bad-json", rule = "what is not JSON is answered with -32700, and it goes on", run = bad_json },
  { name = "invalid-request", rule = "what is no request is answered with -32600, and it goes on",
    run = invalid_request },
  { name = "batch", rule = "a batch is answered or refused, and it goes on", level = "warn", run = batch },
  { name = "stray-answer", rule = "an answer that nobody waits for is passed over", level = "warn",
    run = stray_answer },
  { name = "eof", rule = "it ends with its input", run = end_of_input },
  { name = "eof-answer", rule = "what was asked before the end of input is answered", level = "warn",
    run = last_answer },
}
