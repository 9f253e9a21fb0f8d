local timers = require "pintle.timers"

describe("timers", function()
  local fired

  local function note(name) fired[#fired + 1] = name end

  before_each(function()
    fired = {}
    assert.equal(0, timers.count())
  end)

  after_each(function()
    timers.fire(math.huge)
    assert.equal(0, timers.count())
  end)

  it("fire in order of their time, those that are due", function()
    timers.add(3, note, "three")
    timers.add(1, note, "one")
    timers.add(2, note, "two")
    assert.equal(1, timers.due)
    timers.fire(2)
    assert.same({ "one", "two" }, fired)
    assert.equal(3, timers.due)
  end)

  it("have nothing next when there are none", function() assert.equal(math.huge, timers.due) end)

  it("are taken out, once called or twice", function()
    local one, two = timers.add(1, note, "one"), timers.add(2, note, "two")
    timers.remove(one)
    timers.remove(one)
    timers.fire(3)
    timers.remove(two)
    assert.same({ "two" }, fired)
  end)

  it("may take each other out while they are called", function()
    local second
    timers.add(1, function() timers.remove(second) end)
    second = timers.add(2, note, "second")
    timers.fire(3)
    assert.same({}, fired)
  end)

  it("may add others while they are called", function()
    timers.add(1, function() timers.add(5, note, "later") end)
    timers.fire(3)
    assert.same({}, fired)
    timers.fire(5)
    assert.same({ "later" }, fired)
  end)

  it("go on after one that raises", function()
    timers.add(1, error, "no")
    timers.add(2, note, "two")
    assert.has_error(function() timers.fire(3) end)
    timers.fire(3)
    assert.same({ "two" }, fired)
  end)

  it("keep their order in the thousands, whichever are taken out", function()
    math.randomseed(7)
    local kept, all = {}, {}
    for i = 1, 5000 do
      local at = math.random(1, 2000)
      all[i] = timers.add(at, note, at)
    end
    for i, timer in ipairs(all) do
      if i % 3 == 0 then timers.remove(timer) else kept[#kept + 1] = timer.at end
    end
    table.sort(kept)
    for now = 100, 2000, 100 do timers.fire(now) end
    assert.same(kept, fired)
  end)
end)
