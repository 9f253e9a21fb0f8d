local conformance = require "spec.support.conformance"

describe("the conformance cases", function()
  for _, name in ipairs { "specs", "parser_errors" } do
    local path = "../../../shared/conformance/liquid/" .. name .. ".jsonl"
    local list = conformance.read(path)

    it("of " .. name .. " pass", function()
      if not list then return pending(path .. " does not exist") end
      assert.is_true(#list > 1000)
      local failed = {}
      for _, case in ipairs(list) do
        local ok, result = pcall(conformance.run, case)
        local passed = ok and conformance.passes(case, result)
        if not passed then
          failed[#failed + 1] = case.name .. (ok and "" or ": " .. tostring(result))
        end
      end
      assert.equal("", table.concat(failed, "\n"))
    end)
  end
end)
