-- Reaching who computes, but never in the middle of the loop's own work.
local children = require "spec.support.children"
local core = require "pintle.core"
local loop = require "pintle.loop"
require "pintle.reach"

describe("who computes without waiting", function()
  local places

  -- Runs it until it was reached so many times: where that was.
  local function reach(times, fn)
    places = {}
    local runner = { failed = function(_, err) error(err, 0) end }
    function runner.tick()
      places[#places + 1] = debug.getinfo(3, "S").source
    end
    local latest = core.now() + children.patience
    loop.start(runner, function()
      runner.stopped = loop.cancelled() -- so that no wait takes any time
      repeat fn() until #places >= times or core.now() > latest
    end)
    assert.truthy(#places >= times)
  end

  it("is reached", function()
    reach(3, function() end)
    for _, place in ipairs(places) do assert.matches("reach_spec.lua$", place) end
  end)

  it("is reached in his own code, however much of his time he spends in that of the loop", function()
    reach(15, function()
      for _ = 1, 100 do loop.sleep(1) end
    end)
    for _, place in ipairs(places) do assert.is_nil(place:find("lua/pintle/", 1, true)) end
    assert.is_nil(debug.gethook())
  end)

  it("is not reached if he does not want to be", function()
    local done = core.now() + 0.2
    loop.start({ failed = error }, function()
      repeat until core.now() > done
    end)
  end)

  it("is looked for every so many instructions while pintle's own code works for long", function()
    local done, reached = { looks = 0, rounds = 0 }, false
    local runner = setmetatable({ failed = function(_, err) error(err, 0) end }, {
      __index = function(_, name)
        if name ~= "tick" then return nil end
        done.looks = done.looks + 1
        return function() reached = true end
      end,
    })
    local file = package.searchpath("pintle.reach", package.path):gsub("reach%.lua$", "work.lua")
    local work = assert(load([[
      local done, now, ending = ...
      repeat
        for _ = 1, 100 do end
        if done.looks > 0 then done.rounds = done.rounds + 1 end
      until now() > ending]], "@" .. file))
    loop.start(runner, function()
      work(done, core.now, core.now() + 0.3)
      local latest = core.now() + children.patience
      repeat until reached or core.now() > latest
    end)
    assert.is_true(reached)
    assert.is_true(done.looks < done.rounds * 50, done.looks / done.rounds)
  end)
end)
