-- The scanners against memory that cannot be read; see spec/support/guard_page.c.
local frames = require "spec.support.frames"
local nested = require "spec.support.nested"

local sources = { "spec/support/guard_page.c", "csrc/frame.c", "csrc/json.c", "csrc/number.c",
  "csrc/skim.c" }

local texts = {
  "", " ", "true", "false", "null", "nul", "tru", "-", "-0", "0.5", "-12.5e+17", "1e", "1.", "123456789012345678901",
  "0." .. ("123456789"):rep(20) .. "e-5", '"', '"text"', '"\\', '"\\u', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud83d\\u',
  '"é€😀"', '"\xc3"', '"\xe2\x82"', '"\xf0\x9f\x98"', '"plain text of sixteen bytes and more"', '{"a":[1,{"b":null}]}',
  ' { "a" : [ 1 , 2 ] , "b" : { } } ', "[[[[]]]]", '{"a"', '{"a":', '{"a":1,', "[1,", '["a\\n\\"b\\\\"]', '"\1"',
  '"\\b\\f\\n\\r\\t\\/"', "\xef\xbb\xbf{}", nested.text(1100),
}
for _, frame in ipairs(frames) do texts[#texts + 1] = frame.bytes end

describe("memory behind the input", function()
  local program, input

  before_each(function() program, input = os.tmpname(), os.tmpname() end)

  after_each(function()
    os.remove(program)
    os.remove(input)
  end)

  it("is never read", function()
    local compile = ("${CC:-cc} -std=c11 -O1 -o %s %s -lm"):format(program, table.concat(sources, " "))
    assert.is_true(os.execute(compile))
    local file = assert(io.open(input, "wb"))
    for _, text in ipairs(texts) do file:write(#text, "\n", text) end
    file:close()
    local run <close> = assert(io.popen(program .. " < " .. input))
    assert.equal(#texts .. " texts\n", run:read("a"))
  end)
end)
