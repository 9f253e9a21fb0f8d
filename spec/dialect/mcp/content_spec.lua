-- The server's side of the Model Context Protocol: content of tools beside text, and the metadata of their requests.
local children = require "spec.support.children"
local extension = require "spec.support.extension"
local json = require("pintle.core").json
local mcp = require "spec.support.mcp_client"

children.leave_nothing()

local function classic()
  local plugin = extension.plugin "library"
  plugin:ask(mcp.INITIALIZE)
  return plugin
end

describe("a tool", function()
  it("returns the message as the first block, and the outputs as the last", function()
    local plugin <close> = classic()
    plugin:say '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"content"}}'
    assert.equal('{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"see"},'
      .. '{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},'
      .. '{"type":"resource_link","uri":"book:///a","name":"a"},{"type":"text","text":"{\\"n\\":1}"}],'
      .. '"structuredContent":{"n":1}}}', plugin:line())
  end)

  it("returns a block for bytes alone", function()
    local plugin <close> = extension.plugin "library"
    local result = mcp.call_modern(plugin, "image").result
    assert.same({ { type = "image", data = "eA==", mimeType = "image/png" } }, result.content)
    assert.equal("complete", result.resultType)
  end)

  it("can read the _meta of its request", function()
    local plugin <close> = classic()
    assert.equal('{"x/y":1}', mcp.call(plugin, "meta", {}, { ["x/y"] = 1 }).result.content[1].text)
    assert.equal("{}", mcp.call(plugin, "meta", {}).result.content[1].text)
    local text = mcp.call_modern(plugin, "meta", {}, { ["x/y"] = 1 }).result.content[1].text
    assert.equal(1, json.decode(text)["x/y"])
  end)

  it("passes the trace of its request on with its calls", function()
    local plugin <close> = classic()
    local trace = { traceparent = "00-1-2-01", tracestate = "a=b", baggage = "c=d" }
    local question = mcp.call(plugin, "trace", {}, { traceparent = "00-1-2-01", tracestate = "a=b", baggage = "c=d",
      ["x/y"] = 1 })
    assert.same({ "roots/list", { _meta = trace } }, { question.method, question.params })
    plugin:say(json.encode { jsonrpc = "2.0", id = question.id, result = { roots = {} } })
    assert.equal('{"roots":[]}', (json.decode(plugin:line()).result.content[1].text:gsub("{}", "[]")))
    question = mcp.call(plugin, "trace", {})
    assert.is_nil(question.params)
  end)
end)
