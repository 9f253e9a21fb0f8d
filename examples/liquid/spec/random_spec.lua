local agree = require "spec.support.agree"

describe("random templates", function()
  it("have the same outputs as in ruby-liquid", function()
    if not agree.possible() then return pending("ruby-liquid is not installed") end
    local seed = tonumber(os.getenv("PINTLE_SEED")) or 20240101
    local shown = {}
    for _, difference in ipairs(agree.differences(1500, seed)) do
      shown[#shown + 1] = ("%q\nours   %q\ntheirs %q"):format(difference[1], tostring(difference[2]),
        tostring(difference[3]))
    end
    assert.equal("", table.concat(shown, "\n\n"))
  end)
end)
