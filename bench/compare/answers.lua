-- Sends the plugins of the comparison messages that are out of the ordinary, and an ordinary one after each, and prints
-- what comes back: answers.lua [PART OF A NAME]
-- `dies` is a plugin that has ended, `mute` one that answers nothing any more, `silence` one that passes over it.

local contenders = require "bench.compare.contenders"
local core = require "pintle.core"

local PATIENCE, PAUSE = 3, 0.3 -- seconds
local LAST = '{"jsonrpc":"2.0","id":99,"method":"echo","params":{"n":5}}'

local QUESTIONS = {
  { "2^53 + 1, 2^63 - 1", '{"jsonrpc":"2.0","id":1,"method":"echo",'
    .. '"params":{"n":9007199254740993,"x":9223372036854775807}}' },
  { "1.0, [], {}, null", '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"f":1.0,"a":[],"o":{},"z":null}}' },
  { "id 2^53 + 1", '{"jsonrpc":"2.0","id":9007199254740993,"method":"echo","params":{"n":1}}' },
  { "a batch of two", '[{"jsonrpc":"2.0","id":1,"method":"echo","params":{"n":1}},'
    .. '{"jsonrpc":"2.0","id":2,"method":"echo","params":{"n":2}}]' },
  { "no such method", '{"jsonrpc":"2.0","id":1,"method":"nope","params":{"n":1}}' },
  { "broken JSON", '{"jsonrpc":"2.0","id":1,' },
  { "a line of noise", nil },
}

-- {====== The other side ======

local function framed(contender, text)
  if contender.framing == "line" then return (contender.translate or tostring)(text) .. "\n" end
  return ("Content-Length: %d\r\n\r\n%s"):format(#text, text)
end

-- nil when nothing more comes, or not in time
local function more(process, deadline)
  while core.now() < deadline do
    local data = process.stdout:read()
    if data == "" or data == nil then return nil end
    if data then return data end
    core.poll(math.max(deadline - core.now(), 0), process.stdout, "r")
  end
end

local function is_last(text) return text:find '"id":99[,}]' and text:find '"n":5' end

-- The output of so many seconds, or up to the last answer; and whether the last answer has arrived.
local function listen(process, seconds)
  local text, deadline = "", core.now() + seconds
  while not is_last(text) do
    local data = more(process, deadline)
    if not data then return text, false end
    text = text .. data
  end
  return text, true
end

-- }======

local function bodies(text)
  local list = {}
  for body in text:gsub("Content%-[^\n]*\n", "\n"):gmatch "[^\r\n]+" do
    if not is_last(body) then list[#list + 1] = body end
  end
  return table.concat(list, " ")
end

local function outcome(process, text, goes_on)
  local said = bodies(text)
  if goes_on then return said == "" and "silence" or said end
  local fate = process:wait(PAUSE) ~= false and "dies" or "mute"
  return said == "" and fate or said .. " " .. fate
end

local function words_of(command)
  local words = {}
  for word in command:gsub("PYTHON", os.getenv "PYTHON" or "python3"):gmatch "%S+" do words[#words + 1] = word end
  return words
end

local function ask(contender, question)
  local process <close> = assert(core.spawn { command = words_of(contender.plugin), stderr = "null" })
  process.stdin:write(framed(contender, LAST))
  assert(select(2, listen(process, PATIENCE)), contender.name .. " does not answer at all")
  process.stdin:write(question and framed(contender, question) or "this is no message\n")
  local first = listen(process, PAUSE)
  process.stdin:write(framed(contender, LAST))
  local rest, goes_on = listen(process, PATIENCE)
  return outcome(process, first .. rest, goes_on)
end

for _, contender in ipairs(contenders) do
  if contender.plugin and contender.name:find(arg[1] or "", 1, true) then
    print(contender.name)
    for _, question in ipairs(QUESTIONS) do
      print(("  %-19s %s"):format(question[1], ask(contender, question[2])))
    end
  end
end
