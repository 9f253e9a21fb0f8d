-- Probes that every dialect has: how bytes become messages.

local loop = require "pintle.loop"

local PAUSE = 0.005 -- seconds between two writes, so that they are likely read one by one
local LARGE = 1024 * 1024

-- A question that is answered in any case, as bytes that are to be sent some other way.
local function question(life)
  local asked = life.context.dialect.question
  local text, key = life:request(asked.method, asked.params)
  return life:frame(text), key, text
end

local function write_in_pieces(life, data, cuts)
  local from = 1
  for _, cut in ipairs(cuts) do
    life:write(data:sub(from, cut))
    loop.sleep(PAUSE)
    from = cut + 1
  end
  life:write(data:sub(from))
end

-- After each of the first and last bytes, and now and then between.
local function many_cuts(size)
  local cuts = {}
  for at = 1, size - 1 do
    if at <= 24 or at > size - 8 or at % 16 == 0 then cuts[#cuts + 1] = at end
  end
  return cuts
end

local function two_writes(life)
  local data, key = question(life)
  local body = data:find("\r\n\r\n", 1, true)
  write_in_pieces(life, data, { body and body + 3 or #data // 2 })
  life:answer(key)
end

local function many_writes(life)
  local data, key = question(life)
  write_in_pieces(life, data, many_cuts(#data))
  life:answer(key)
end

local function one_write(life)
  local one, one_key = question(life)
  local other, other_key = question(life)
  life:write(one .. other)
  life:answer(one_key)
  life:answer(other_key)
end

-- Spaces between the tokens, and the members in another order.
local function spaces(life)
  local _, key, text = question(life)
  local members = text:match "^{(.*)}$"
  local head, tail = members:match '^("jsonrpc":"2.0"),(.*)$'
  life:send(("{ %s , \t%s }"):format(tail, head:gsub(":", " : ")))
  life:answer(key)
end

local function large(life)
  local key = life:ask("pintle-check", { filler = ("x"):rep(LARGE) })
  life:answer(key)
  life:catch_up()
end

local function empty_lines(life)
  life:write "\n\r\n\n"
  life:catch_up()
end

local function carriage_returns(life)
  local data, key = question(life)
  life:write((data:gsub("\n$", "\r\n")))
  life:answer(key)
end

-- The header as it is sent otherwise, but for the letters' case.
local function header_case(life)
  local _, key, text = question(life)
  local name = (life.context.dialect.header or ""):find "content%-length" and "Content-Length" or "content-length"
  life:write(("%s: %d\r\n\r\n%s"):format(name, #text, text))
  life:answer(key)
end

local function header_type(life)
  local _, key, text = question(life)
  life:write(("Content-Length: %d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s")
    :format(#text, text))
  life:answer(key)
end

---@type pintle.cli.check.probe[]
return {
  { name = "two-writes", rule = "a message that comes in two writes is one message", run = two_writes },
  { name = "many-writes", rule = "a message that comes bit by bit is one message", run = many_writes },
  { name = "one-write", rule = "two messages that come in one write are two messages", run = one_write },
  { name = "spaces", rule = "JSON may have spaces, and its members any order", run = spaces },
  { name = "large", rule = "a message of a megabyte is read", level = "warn", run = large },
  { name = "empty-lines", rule = "empty lines are passed over", level = "warn", framing = "line", run = empty_lines },
  { name = "crlf", rule = "a line may end in CR LF", level = "warn", framing = "line", run = carriage_returns },
  { name = "header-case", rule = "names of headers are read in any case", level = "warn", framing = "header",
    run = header_case },
  { name = "header-type", rule = "a Content-Type is read", level = "warn", framing = "header", run = header_type },
}
