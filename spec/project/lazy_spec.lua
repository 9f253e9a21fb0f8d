local lazy = require "pintle.lazy"

describe("a stand-in for a module", function()
  local loads, module

  before_each(function()
    loads, module = 0, { answer = 42 }
    package.preload["stood.for"] = function()
      loads = loads + 1
      return module
    end
  end)

  after_each(function() package.preload["stood.for"], package.loaded["stood.for"] = nil, nil end)

  it("loads the module once, when it is first used", function()
    local stand_in = lazy "stood.for"
    assert.equal(0, loads)
    assert.equal(42, stand_in.answer)
    assert.equal(42, stand_in.answer)
    assert.equal(1, loads)
  end)

  it("has the fields of the module, and no others", function()
    local stand_in = lazy "stood.for"
    assert.is_nil(stand_in.question)
    module.question = "what?"
    assert.equal("what?", stand_in.question)
  end)

  it("tries again if the module could not be loaded", function()
    local stand_in = lazy "stood.for"
    local load = package.preload["stood.for"]
    package.preload["stood.for"] = function() error "not now" end
    assert.error_matches(function() return stand_in.answer end, "not now")
    package.preload["stood.for"] = load
    assert.equal(42, stand_in.answer)
  end)
end)
