-- The examples of `pintle replay` in docs/trace.md. spec/docs/pages_spec.lua runs the others.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local files = require "spec.support.files"

local REQUEST = '{"jsonrpc":"2.0","id":%d,"method":"execute","params":{"operation":"greet",'
  .. '"args":{"name":"Ada"},"context":{}}}\n'

describe("docs/trace.md", function()
  it("has working examples of both sides", function()
    local recording <close> = files.scratch()
    local command = { "trace", "-o", recording.path, "--", table.unpack(cli.GREETER) }
    local answers = {}
    for i, words in ipairs { command, { "replay", recording.path } } do
      local started <close> = cli.start(words)
      started:say(REQUEST:format(i))
      started.process.stdin:close()
      answers[i] = started:finish():gsub('"id":%d', "")
    end
    assert.equal(answers[1], answers[2])
    assert.truthy(answers[1]:find "Hello, Ada")
    local shown = files.read "docs/trace.md":match "%$ pintle (replay [^\n]* %-%- [^\n]*)"
    local code = ("bin/pintle %s 2>/dev/null"):format(shown:gsub("greeter%.jsonl", recording.path))
    assert.equal("1 message of the plugin, all as recorded\n", (children.run { command = children.sh(code) }))
  end)
end)
