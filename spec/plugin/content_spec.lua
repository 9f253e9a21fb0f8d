local bytes = require "pintle.bytes"
local content = require "pintle.content"
local json = require("pintle.core").json

local PNG = "\x89PNG\r\n\x1A\n"

describe("the MIME type of bytes", function()
  it("is the given one, or recognised by the first bytes", function()
    assert.equal("text/csv", bytes.mime_type(bytes.new("a,b", "text/csv")))
    for data, expected in pairs {
      [PNG .. "rest"] = "image/png", ["\xFF\xD8\xFF\xE0"] = "image/jpeg", ["GIF89a;"] = "image/gif",
      ["RIFF\1\2\3\4WEBPVP8 "] = "image/webp", ["RIFF\1\2\3\4WAVEfmt "] = "audio/wav", ["ID3\4"] = "audio/mpeg",
      ["\xFF\xFB\x90"] = "audio/mpeg", ["OggS\0"] = "audio/ogg", ["fLaC\0"] = "audio/flac",
      ["%PDF-1.7"] = "application/pdf", ["RIFF"] = "application/octet-stream", [""] = "application/octet-stream",
      ["plain text"] = "application/octet-stream",
    } do
      assert.equal(expected, bytes.mime_type(bytes.new(data)))
    end
  end)

  it("is not part of the value", function()
    assert.equal('{"$bytes":"YQ=="}', json.encode(bytes.new("a", "text/plain")))
    assert.is_true(bytes.new("a", "text/plain") == bytes.new "a")
  end)

  it("has to look like one", function()
    for message, wrong in pairs { ["a MIME type expected, got number"] = 1, ['"png" is no MIME type'] = "png" } do
      local ok, raised = pcall(function() bytes.new("a", wrong) end)
      assert.is_false(ok)
      assert.matches("^spec/plugin/content_spec.lua:%d+: bytes: " .. message, raised)
    end
  end)

  it("comes with base64, too", function()
    local value = assert(bytes.from_base64("YQ==", "text/plain"))
    assert.same({ "a", "text/plain" }, { tostring(value), bytes.mime_type(value) })
    assert.same({ nil, "is not base64" }, { bytes.from_base64 "YQ" })
  end)
end)

describe("content", function()
  it("becomes blocks of MCP", function()
    local blocks = assert(content.blocks {
      "text", bytes.new(PNG), bytes.new("x", "audio/wav"), bytes.new "x",
      { type = "image", data = bytes.new "x", mimeType = "image/png", annotations = { priority = 1 } },
      { type = "image", data = "eA==", mimeType = "image/png" },
      { type = "resource", resource = { uri = "a:", blob = bytes.new "x" } },
    })
    assert.same({
      { type = "text", text = "text" },
      { type = "image", data = "iVBORw0KGgo=", mimeType = "image/png" },
      { type = "audio", data = "eA==", mimeType = "audio/wav" },
      { type = "resource",
        resource = { uri = "attachment:///4", mimeType = "application/octet-stream", blob = "eA==" } },
      { type = "image", data = "eA==", mimeType = "image/png", annotations = { priority = 1 } },
      { type = "image", data = "eA==", mimeType = "image/png" },
      { type = "resource", resource = { uri = "a:", blob = "eA==", mimeType = "application/octet-stream" } },
    }, blocks)
    assert.equal('{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}', json.encode(blocks[2]))
    assert.equal("[]", json.encode(content.blocks {}))
  end)

  it("is not changed itself", function()
    local data = bytes.new "x"
    local block = { type = "image", data = data }
    assert(content.block(block))
    assert.same({ type = "image", data = data }, block)
  end)

  it("is checked", function()
    for message, wrong in pairs {
      ["[1]: a string, bytes or a table expected, got number"] = { 1 },
      ["[2]: type: text, image, audio, resource or resource_link expected, got video"] = { "a", { type = "video" } },
      ["[1]: type: text, image, audio, resource or resource_link expected, got nil"] = { {} },
      ["[1]: text: a string expected, got nil"] = { { type = "text" } },
      ["[1]: data: bytes or base64 expected, got nil"] = { { type = "image" } },
      ["[1]: data: is not base64"] = { { type = "audio", data = "?" } },
      ["[1]: mimeType: a string expected, got nil"] = { { type = "audio", data = "eA==" } },
      ["[1]: name: a string expected, got nil"] = { { type = "resource_link", uri = "a:" } },
      ["[1]: uri: a string expected, got nil"] = { { type = "resource_link", name = "a" } },
      ["[1]: resource: a table expected, got nil"] = { { type = "resource" } },
      ["[1]: resource: text or blob expected"] = { { type = "resource", resource = { uri = "a:" } } },
      ["[1]: resource: uri: a string expected, got nil"] = { { type = "resource", resource = { text = "" } } },
      ["a list expected"] = { type = "text", text = "a" },
    } do
      assert.same({ nil, message }, { content.blocks(wrong) })
    end
    assert.same({ nil, "a list expected" }, { content.blocks(bytes.new "x") })
  end)

  it("has a text for every block, with bytes or base64", function()
    for _, data in ipairs { "eHk=", bytes.new "xy" } do
      assert.equal("a\n[image: image/png, 2 bytes]\n[audio: audio/wav, 2 bytes]\n[resource b:: text/x, 2 bytes]\nin\n"
        .. "n: c:",
        content.text {
          { type = "text", text = "a" }, { type = "image", data = data, mimeType = "image/png" },
          { type = "audio", data = data, mimeType = "audio/wav" },
          { type = "resource", resource = { uri = "b:", blob = data, mimeType = "text/x" } },
          { type = "resource", resource = { uri = "b:", text = "in" } },
          { type = "resource_link", uri = "c:", name = "n" }, { type = "unheard_of" },
        })
    end
  end)
end)
