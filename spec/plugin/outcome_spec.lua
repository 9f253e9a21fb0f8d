local core = require "pintle.core"
local outcomes = require "pintle.outcome"

local json = core.json

local function sent(outcome) return json.encode(outcomes.value(outcome)) end

describe("an outcome as one value", function()
  it("is the message alone, or message and outputs, or null", function()
    assert.equal('"done"', sent { success = true, message = "done" })
    assert.equal('{"message":"done","outputs":{"n":1}}', sent { success = true, message = "done", outputs = { n = 1 } })
    assert.equal('{"outputs":{"n":1}}', sent { success = true, outputs = { n = 1 } })
    assert.equal("null", sent { success = true })
  end)

  it("is read back as it was", function()
    for _, outcome in ipairs {
      { success = true }, { success = true, message = "done" }, { success = true, message = "", outputs = { n = 1 } },
    } do
      local read = outcomes.read(json.decode(sent(outcome)))
      read.result = nil
      assert.same(outcome, read)
    end
  end)

  it("does not change the results of other programs", function()
    for _, text in ipairs { '[{"uri":"x"}]', "7", '{"message":1}', '{"message":"x","more":2}', '{"outputs":[1]}' } do
      assert.same({ success = true, result = json.decode(text) }, outcomes.read(json.decode(text)))
    end
  end)
end)
