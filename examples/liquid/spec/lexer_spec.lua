local support = require "spec.support.engine"
local block = require "liquid.block"
local reader = require "liquid.reader"

assert(support.liquid)

local function tokens(text)
  local kinds, words = {}, {}
  local count, message = reader.tokenize(text, kinds, words)
  if not count then return message end
  local list = {}
  for i = 1, count do list[i] = kinds[i] .. (words[i] ~= "" and " " .. words[i] or "") end
  return table.concat(list, ", ")
end

describe("the lexer", function()
  it("finds names, numbers, texts and punctuation", function()
    assert.equal("id a-b?, dot ., id c_1, open_square [, number -1, close_square ], end_of_string",
      tokens "a-b?.c_1[-1]")
    assert.equal("number 1.5, dotdot .., number 2, pipe |, id f, colon :, string 'x y', comma ,, string \"z\", "
      .. "end_of_string",
      tokens " 1.5 .. 2|f:'x y' , \"z\" ")
    assert.equal("open_round (, number 1, dotdot .., number 3, close_round ), end_of_string", tokens "(1..3)")
    assert.equal("dash -, id a, question ?, end_of_string", tokens "- a ?")
  end)

  it("finds comparison operators, and contains unless it follows a dot", function()
    assert.equal("id a, comparison <>, id b, comparison <=, comparison >, comparison !=, comparison ==, end_of_string",
      tokens "a <> b <= > != ==")
    assert.equal("id a, comparison contains, id b, dot ., id contains, end_of_string", tokens "a contains b.contains")
  end)

  it("names an invalid character, which may have several bytes", function()
    assert.equal("Unexpected character &", tokens "a & b")
    assert.equal("Unexpected character é", tokens "a é")
    assert.equal("Unexpected character '", tokens "a 'b")
    assert.equal("Unexpected character =", tokens "a = b")
  end)

  it("finds only the end in an empty markup", function()
    assert.equal("end_of_string", tokens "  \n\t ")
  end)
end)

describe("the scanner", function()
  local function pieces(source)
    local state, list = { source = source, pos = 1 }, {}
    while true do
      local kind, first, last = block.shift(state)
      if not kind then return table.concat(list, " / ") end
      list[#list + 1] = kind .. " " .. source:sub(first, last)
    end
  end

  it("splits text, outputs and tags", function()
    assert.equal("text a { b / output {{ c }} / tag {% d %} / text } %} }}", pieces "a { b{{ c }}{% d %}} %} }}")
  end)

  it("ends an output at one brace, or at a tag that begins in it", function()
    assert.equal("output {{ a } / text  b", pieces "{{ a } b")
    assert.equal("output {{ a {% b %} / text  c", pieces "{{ a {% b %} c")
  end)

  it("returns the rest of the source as one token if nothing closes it", function()
    assert.equal("text x / tag {% if {{", pieces "x{% if {{")
    assert.equal("text x / output {{ a {% b", pieces "x{{ a {% b")
  end)
end)
