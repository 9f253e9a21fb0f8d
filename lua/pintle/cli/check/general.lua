-- Probes for every dialect: what JSON-RPC 2.0 asks of both sides, framing, and the end of input.

local json = require("pintle.core").json
local loop = require "pintle.loop"

local CONCURRENT = 20

-- {====== Requests ======

local function call_unknown_method(session) session:expect_refusal("pintle-check", nil, -32601) end

local function send_unknown_notification(session)
  session.takes_unasked = true
  session:notify_plugin("pintle-check", {})
  session:catch_up()
  if #session.unasked > 0 then session:fail_probe "a notification is answered" end
end

-- The greatest 32-bit integer, and zero.
local function ask_with_integer_ids(session)
  local question = session.context.dialect.question
  for _, id in ipairs { 2147483647, 0 } do
    session:await_answer(session:ask_plugin(question.method, question.params, id))
  end
end

local function ask_with_string_ids(session)
  local question = session.context.dialect.question
  for _, id in ipairs { "pintle-1", "7", 'é"\\ 😀' } do
    session:await_answer(session:ask_plugin(question.method, question.params, id))
  end
end

local function ask_concurrently(session)
  local question, keys = session.context.dialect.question, {}
  for i = 1, CONCURRENT do keys[i] = session:ask_plugin(question.method, question.params) end
  for _, key in ipairs(keys) do session:await_answer(key) end
end

-- }======

-- {====== Invalid messages ======

-- Expects an error, and that the plugin goes on. The id of the error may be null or that of the message.
local function expect_error_answer(session, code, key)
  local message = session:await_error(key)
  if not message then
    if session.pipe.is_over then
      session:fail_probe("the plugin did not survive it: %s", session.pipe:describe_end())
    end
    session:fail_probe "there is no answer"
  end
  local got = type(message.error) == "table" and message.error.code
  if got ~= code then session:fail_probe("the error has the code %s, not %d", tostring(got), code) end
  session:catch_up()
end

-- Sends a request after a replacement in its text.
local function send_corrupted(session, pattern, replacement)
  session.takes_unasked = true
  local text, key = session:new_probe_request "pintle-check"
  session:send_message((text:gsub(pattern, replacement)))
  return key
end

local function send_broken_json(session) expect_error_answer(session, -32700, send_corrupted(session, "}$", "")) end

local function send_invalid_request(session)
  expect_error_answer(session, -32600, send_corrupted(session, '"method":"pintle%-check"', '"method":1'))
end

local function send_batch(session)
  session.takes_unasked = true
  local question = session.context.dialect.question
  local one, one_key = session:new_probe_request(question.method, question.params)
  local other, other_key = session:new_probe_request(question.method, question.params)
  session:send_message(("[%s,%s]"):format(one, other))
  if not session:await_error(one_key) then
    if session.pipe.is_over then
      session:fail_probe("the plugin did not survive a batch: %s", session.pipe:describe_end())
    end
    session:fail_probe "the batch is neither answered nor refused"
  end
  if session.answers[one_key] then session:await_answer(other_key) end
  session:catch_up()
end

local function send_stray_answer(session)
  local id = session.context.dialect.ids == "string" and "4711" or 4711
  local key = session:send_unasked { id = id, result = json.null }
  session:catch_up()
  if session.answers[key] then session:fail_probe "an answer is answered" end
end

-- }======

-- {====== End of input ======

local function expect_exit_at_end_of_input(session)
  session:close_input()
  local exit, status = session:await_exit(), session.context.dialect.end_status
  if exit.code == 0 then return end
  local how = exit.code and "status " .. exit.code or "signal " .. exit.signal
  session:fail_probe_with(status == 0 and "fail" or "warn", "it exited with %s, not with 0", how)
end

local function ask_before_end_of_input(session)
  local question = session.context.dialect.question
  local key = session:ask_plugin(question.method, question.params)
  session:close_input()
  session:await_answer(key)
end

-- }======

-- {====== Framing ======

local PAUSE = 0.005 -- seconds between two writes, so that they are probably read one by one
local LARGE = 1024 * 1024

-- The question of the dialect, as bytes that are to be sent in some other way.
local function framed_question(session)
  local asked = session.context.dialect.question
  local text, key = session:new_probe_request(asked.method, asked.params)
  return session:framed_message(text), key, text
end

local function write_in_pieces(session, data, cuts)
  local from = 1
  for _, cut in ipairs(cuts) do
    session:write_bytes(data:sub(from, cut))
    loop.sleep(PAUSE)
    from = cut + 1
  end
  session:write_bytes(data:sub(from))
end

-- Positions after each of the first and last bytes, and some in between.
local function cut_positions(size)
  local cuts = {}
  for at = 1, size - 1 do
    if at <= 24 or at > size - 8 or at % 16 == 0 then cuts[#cuts + 1] = at end
  end
  return cuts
end

local function send_in_two_writes(session)
  local data, key = framed_question(session)
  local body = data:find("\r\n\r\n", 1, true)
  write_in_pieces(session, data, { body and body + 3 or #data // 2 })
  session:await_answer(key)
end

local function send_in_many_writes(session)
  local data, key = framed_question(session)
  write_in_pieces(session, data, cut_positions(#data))
  session:await_answer(key)
end

local function send_two_in_one_write(session)
  local one, one_key = framed_question(session)
  local other, other_key = framed_question(session)
  session:write_bytes(one .. other)
  session:await_answer(one_key)
  session:await_answer(other_key)
end

-- Spaces between the tokens, and the members in another order.
local function send_json_with_spaces(session)
  local _, key, text = framed_question(session)
  local members = text:match "^{(.*)}$"
  local head, tail = members:match '^("jsonrpc":"2.0"),(.*)$'
  session:send_message(("{ %s , \t%s }"):format(tail, head:gsub(":", " : ")))
  session:await_answer(key)
end

local function send_large_message(session)
  local key = session:ask_plugin("pintle-check", { filler = ("x"):rep(LARGE) })
  session:await_answer(key)
  session:catch_up()
end

local function send_empty_lines(session)
  session:write_bytes "\n\r\n\n"
  session:catch_up()
end

local function send_carriage_returns(session)
  local data, key = framed_question(session)
  session:write_bytes((data:gsub("\n$", "\r\n")))
  session:await_answer(key)
end

-- The header in the other case of letters.
local function send_header_in_other_case(session)
  local _, key, text = framed_question(session)
  local name = (session.context.dialect.header or ""):find "content%-length" and "Content-Length" or "content-length"
  session:write_bytes(("%s: %d\r\n\r\n%s"):format(name, #text, text))
  session:await_answer(key)
end

local function send_content_type_header(session)
  local _, key, text = framed_question(session)
  session:write_bytes(("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s")
    :format(#text, text))
  session:await_answer(key)
end

-- }======

---@type pintle.cli.check.probe[]
return {
  { name = "unknown-method", rule = "an unknown method is refused with -32601", run = call_unknown_method },
  { name = "unknown-notification", rule = "an unknown notification is ignored and not answered",
    run = send_unknown_notification },
  { name = "integer-ids", rule = "an integer id is returned unchanged", run = ask_with_integer_ids },
  { name = "string-ids", rule = "a string id is returned unchanged", run = ask_with_string_ids },
  { name = "at-once", rule = ("%d concurrent requests are all answered"):format(CONCURRENT), run = ask_concurrently },
  { name = "bad-json", rule = "invalid JSON is answered with -32700, and the plugin goes on", run = send_broken_json },
  { name = "invalid-request", rule = "an invalid request is answered with -32600, and the plugin goes on",
    run = send_invalid_request },
  { name = "batch", rule = "a batch is answered or refused, and the plugin goes on", level = "warn", run = send_batch },
  { name = "stray-answer", rule = "an unexpected answer is ignored", level = "warn",
    run = send_stray_answer },
  { name = "eof", rule = "it exits at the end of input", run = expect_exit_at_end_of_input },
  { name = "eof-answer", rule = "requests sent before the end of input are answered", level = "warn",
    run = ask_before_end_of_input },
  { name = "two-writes", rule = "a message in two writes is one message", run = send_in_two_writes },
  { name = "many-writes", rule = "a message in many small writes is one message", run = send_in_many_writes },
  { name = "one-write", rule = "two messages in one write are two messages", run = send_two_in_one_write },
  { name = "spaces", rule = "JSON may have spaces, and members in any order", run = send_json_with_spaces },
  { name = "large", rule = "a message of 1 MiB is read", level = "warn", run = send_large_message },
  { name = "empty-lines", rule = "empty lines are ignored", level = "warn", framing = "line", run = send_empty_lines },
  { name = "crlf", rule = "a line may end with CR LF", level = "warn", framing = "line", run = send_carriage_returns },
  { name = "header-case", rule = "header names are case-insensitive", level = "warn", framing = "header",
    run = send_header_in_other_case },
  { name = "header-type", rule = "a Content-Type header is accepted", level = "warn", framing = "header",
    run = send_content_type_header },
}
