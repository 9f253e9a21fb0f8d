-- What docs/cli.md and docs/trace.md show is what the command does.
local children = require "spec.support.children"
local cli = require "spec.support.cli"

-- The commands of a page's console blocks, each with what it is said to print.
local function consoles(path)
  local list = {}
  for block in cli.slurp(path):gmatch "\n```console\n(.-)```" do
    for line in block:gmatch "([^\n]*)\n" do
      local command = line:match "^%$ (.*)$"
      if command then list[#list + 1] = { command = command, output = "" }
      else list[#list].output = list[#list].output .. line .. "\n" end
    end
  end
  return list
end

-- In a shell where `pintle` is that of the checkout and the recording is where the page has it; both outputs as one.
local function run(command, recording, before)
  local code = ('pintle() { bin/pintle "$@"; }\n%s\n%s'):format(before or "", command:gsub("greeter%.jsonl", recording))
  return (children.run { command = { "sh", "-c", "exec 2>&1\n" .. code }, stdin = "null" })
end

describe("the page on the command", function()
  local before
  for _, console in ipairs(consoles "docs/cli.md") do
    local earlier = before
    before = console.command
    it("shows " .. console.command, function()
      assert.equal(console.output, run(console.command, "", console.command:find "^echo" and earlier .. " >/dev/null"))
    end)
  end
end)

describe("the page on recordings", function()
  local recording

  before_each(function()
    recording = os.tmpname()
    cli.write(recording, cli.slurp("docs/trace.md"):match "\n```json\n(.-)```")
  end)

  after_each(function() os.remove(recording) end)

  for _, console in ipairs(consoles "docs/trace.md") do
    if console.output ~= "" then
      it("shows " .. console.command, function() assert.equal(console.output, run(console.command, recording)) end)
    end
  end

  it("tells how to play either side", function()
    local command = { "trace", "-o", recording, "--", table.unpack(cli.GREETER) }
    local request = '{"jsonrpc":"2.0","id":%d,"method":"execute","params":{"operation":"greet",'
      .. '"args":{"name":"Ada"},"context":{}}}\n'
    local answers = {}
    for i, words in ipairs { command, { "replay", recording } } do
      local started <close> = cli.start(words)
      started:say(request:format(i))
      started.process.stdin:close()
      answers[i] = started:finish():gsub('"id":%d', "")
    end
    assert.equal(answers[1], answers[2])
    assert.truthy(answers[1]:find "Hello, Ada")
    assert.equal("1 message of the plugin, all as recorded\n",
      run("pintle replay --as host greeter.jsonl -- lua5.4 examples/greeter/plugin.lua 2>/dev/null", recording))
  end)
end)
