-- Text on a terminal: its width and its wrapping.
local consoles = require "pintle.cli.console"

describe("the width of text", function()
  local width, first, last = consoles.text_width, consoles.first_columns, consoles.last_columns

  it("is counted in columns of a terminal", function()
    assert.same({ 0, 3, 1, 6, 2, 1, 3 }, {
      width "", width "abc", width "ü", width "日本茶", width "😀", width "e\u{301}", width "\xFFab",
    })
  end)

  it("limits text at either end, at whole characters", function()
    assert.same({ "日", "日本", "", "ab" },
      { first("日本茶", 3), first("日本茶", 4), first("日", 1), first("ab", 9) })
    assert.same({ "茶", "本茶", "", "ab", "" },
      { last("日本茶", 3), last("日本茶", 4), last("日", 1), last("ab", 9), last("ab", 0) })
  end)
end)

describe("wrapped text", function()
  local function wrap(given, columns) return table.concat(consoles.wrap_text(given, columns), "|") end

  it("breaks at spaces, and keeps line ends", function()
    assert.equal("one two|three||four", wrap("one two three\n\nfour\n", 7))
    assert.equal("", wrap("", 7))
  end)

  it("keeps indentation, and the text of list items right of their marks", function()
    assert.equal("  one|  two", wrap("  one two", 6))
    assert.equal("- one|  two|1. a|   b", wrap("- one two\n1. a b", 5))
  end)

  it("breaks long words, but not addresses", function()
    assert.equal("see|https://a.b/c", wrap("see https://a.b/c", 6))
    assert.equal("日本|茶", wrap("日本茶", 5))
  end)

  it("is never wider than its columns if the words are short", function()
    for _ = 1, 200 do
      local words = {}
      for i = 1, math.random(40) do words[i] = ("xü日"):rep(math.random(2)) end
      for _, line in ipairs(consoles.wrap_text(table.concat(words, " "), 12)) do
        assert.truthy(consoles.text_width(line) <= 12, line)
      end
    end
  end)
end)
