-- Polling for a moment before sleeping, while an answer is due.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local transports = require "spec.support.transports"

for name, open in pairs(transports) do
  describe("a peer that spins, over " .. name .. ",", function()
    local nothing_left, peer, far

    before_each(function()
      nothing_left = children.stock()
      peer, far = open { framing = "line", spin = 0.002 }
    end)

    after_each(function()
      peer:close()
      if far then far:close() end
      peer, far = nil, nil
      tasks.run()
      loop.step()
      nothing_left()
    end)

    it("gets its answers, in tasks and outside", function()
      for i = 1, 50 do assert.same({ i }, peer:call("echo", { i })) end
      tasks.run(function()
        for i = 1, 50 do assert.same({ i }, peer:call("echo", { i })) end
      end)
      local calls = {}
      for i = 1, 50 do calls[i] = function() return peer:call("echo", { i })[1] end end
      local results = tasks.all(calls)
      for i = 1, 50 do assert.equal(i, results[i]) end
    end)

    it("can be called back", function()
      peer:on("ping", function(params, ctx)
        return params.depth == 0 and 0 or ctx:call("ping", { depth = params.depth - 1 }) + 1
      end)
      assert.equal(50, peer:call("ping", { depth = 50 }))
    end)

    it("spins only while an answer is due, and not for long", function()
      peer:call("echo", {})
      local begun = os.clock()
      peer:join(0.5)
      assert.truthy(os.clock() - begun < 0.25)
      local _, err = peer:call("hold", {}, { timeout = 0.7 })
      assert.equal("timeout", err.kind)
      assert.truthy(os.clock() - begun < 0.5)
      peer:call "release"
    end)

    it("lets others run", function()
      local turns = 0
      local other = tasks.start(function()
        while loop.sleep(0.001) do turns = turns + 1 end
      end)
      local one, two = connect.pair()
      two:on("echo", function(params) return params end)
      local latest = core.now() + children.patience
      repeat
        peer:call("echo", {})
        assert(core.now() < latest, "nobody else had a turn")
      until turns > 5
      assert.same({ 1 }, one:call("echo", { 1 }))
      other:cancel()
      one:close()
      two:close()
    end)

    it("can end while it spins", function()
      local call = peer:begin("hold", {})
      peer:notify "leave"
      assert.equal("closed", select(2, call:wait()).kind)
    end)
  end)
end
