local supervisors = require "pintle.host.supervisor"

describe("the restart budget", function()
  it("doubles the wait with each restart, up to the maximum", function()
    local budget = supervisors.new_budget { max = 5, backoff = 1, max_backoff = 6, jitter = 0 }
    local waits = {}
    for i = 1, 5 do waits[i] = supervisors.spend_restart(budget) end
    assert.same({ 1.0, 2.0, 4.0, 6, 6 }, waits)
    assert.is_nil(supervisors.spend_restart(budget))
    assert.equal("5 restarts within 60s", supervisors.describe_budget(budget))
  end)

  it("varies the waits by the jitter", function()
    local seen = {}
    for _ = 1, 50 do
      local wait = supervisors.spend_restart(supervisors.new_budget { backoff = 1, jitter = 0.5 })
      assert.truthy(wait >= 0.5 and wait <= 1.5)
      seen[wait] = true
    end
    local distinct = 0
    for _ in pairs(seen) do distinct = distinct + 1 end
    assert.truthy(distinct > 10)
  end)

  it("allows restarts again after the period", function()
    local budget = supervisors.new_budget { max = 1, within = 1e-9, backoff = 0 }
    for _ = 1, 3 do assert.truthy(supervisors.spend_restart(budget)) end
  end)

  it("has defaults", function()
    local function count_restarts(policy)
      local budget, count = supervisors.new_budget(policy), 0
      while supervisors.spend_restart(budget) do count = count + 1 end
      return count
    end
    assert.equal(5, count_restarts(true))
    assert.equal(2, count_restarts { max = 2 })
  end)
end)
