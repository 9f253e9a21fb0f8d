local ecma = require "pintle.schema.ecma"
local judge = require "spec.support.judge"
local json = require("pintle.core").json

local refusal = judge.refusal

-- Texts that the pattern has to match, the word "not", and those that it must not.
local function matches(pattern, texts)
  local encoded = {}
  for i, text in ipairs(texts) do encoded[i] = text == "not" and text or json.encode(text) end
  judge.fits({ pattern = pattern }, encoded)
end

describe("a pattern", function()
  it("is looked for anywhere in the text", function()
    matches("b+", { "abbc", "b", "not", "", "ac" })
    matches("^b|c$", { "bx", "xc", "not", "xbx", "cx" })
    matches("", { "", "x" })
    matches("a|", { "", "x" })
  end)

  it("ends where the text does", function()
    matches("^a$", { "a", "not", "a\n", "\na", "ab" })
    matches("^a\nb$", { "a\nb", "not", "b" })
  end)

  it("sees characters, not bytes", function()
    matches("^.$", { "\u{1F432}", "\u{E9}", "not", "ab" })
    matches("^[\u{E0}-\u{FF}]$", { "\u{E9}", "not", "e" })
    matches("^\u{1F432}*$", { "", "\u{1F432}\u{1F432}", "not", "\u{1F409}" })
    matches([[^\u{1F432}\u00e9\ud83d\udc32$]], { "\u{1F432}\u{E9}\u{1F432}" })
    matches([[^[\ud83d\udc32]$]], { "\u{1F432}" })
    matches([[^[^\ud800-\udfff]$]], { "x", "\u{1F432}" })
    matches([[\ud800]], { "not", "x", "\u{FFFD}" })
  end)

  it("knows the classes of ECMA-262", function()
    matches([[^\d$]], { "7", "not", "\u{7C0}", "x" })
    matches([[^\D$]], { "\u{7C0}", "x", "not", "7" })
    matches([[^\w$]], { "a", "_", "not", "\u{E9}", "-" })
    matches([[^\W$]], { "\u{E9}", "-", "not", "a" })
    for _, space in ipairs { " ", "\t", "\n", "\v", "\f", "\r", "\u{A0}", "\u{FEFF}", "\u{2028}", "\u{2003}" } do
      matches([[^\s$]], { space, "not", "x", "\u{200B}", "\u{180E}" })
      matches([[^[\sx]$]], { space, "x", "not", "y" })
      matches([[^\S$]], { "x", "\u{200B}", "\u{1F432}", "not", space })
      matches([[^[\S]$]], { "x", "\u{200B}", "\u{1F432}", "not", space })
    end
    matches("^.$", { "x", "\u{85}", "not", "\n", "\r", "\u{2028}", "\u{2029}" })
    matches("^[^]$", { "x", "\n", "not", "" })
    matches("[]", { "not", "", "x" })
    matches("[]a]", { "not", "a", "]" })
    matches("^a[]?b$", { "ab" })
    matches("^[[:alpha:]]$", { "a]", ":]", "[]", "not", "b", "b]" })
    matches("^[a\\-z-]$", { "a", "-", "z", "not", "b" })
    matches("^[\\w-.]$", { "a", "-", ".", "not", "!" })
    matches("^[\\b]$", { "\b" })
  end)

  it("knows properties by their long names", function()
    matches([[^\p{Letter}$]], { "a", "\u{3C0}", "not", "1" })
    matches([[^\p{L}\P{Lu}$]], { "aa", "not", "aA" })
    matches([[^[\p{Uppercase_Letter}\p{digit}]+$]], { "A7\u{9EA}", "not", "a" })
    matches([[^\p{gc=Decimal_Number}\p{General_Category=Nd}$]], { "42", "not", "ab" })
    matches([[^\p{Script=Greek}\p{sc=Latin}\p{scx=Greek}$]], { "\u{3C0}a\u{3C0}", "not", "aaa" })
    matches([[^\p{ASCII}\P{ASCII}\p{Any}\p{Assigned}$]], { "a\u{E9}bc", "not", "abcd" })
    matches([[^\p{LC}$]], { "a", "A", "not", "\u{5D0}" })
  end)

  it("knows escapes of single characters", function()
    matches([[^\t\n\v\f\r\0\cJ\cj\x41\u0042\/\.\*$]], { "\t\n\v\f\r\0\n\nAB/.*" })
    matches([[^\-\@\"\_$]], { '-@"_' })
    matches("^{a}{,3}]}$", { "{a}{,3}]}" })
    matches("^#a b$", { "#a b", "not", "" })
  end)

  it("knows groups, references and looking around", function()
    matches([[^(a|b)\1$]], { "aa", "bb", "not", "ab" })
    matches([[^(?<x>a|b)\k<x>$]], { "aa", "not", "ab" })
    matches([[^(?:(a)|b)\1c$]], { "aac", "bc", "not", "ac" })
    matches([[^(?=.*\d)(?!x)\w+$]], { "a1", "not", "x1", "a" })
    matches([[(?<=a)b(?<!c)]], { "ab", "not", "cb" })
    matches([[^a{2}b{1,}c{0,2}?$]], { "aabbcc", "not", "abc" })
  end)

  it("is refused where ECMA-262 does", function()
    for pattern, reason in pairs {
      ["^(abc]"] = "a ( is not closed",
      ["a)"] = "a ) closes nothing",
      ["[a"] = "a class is not closed",
      ["*a"] = "there is nothing for * to repeat",
      ["a**"] = "there is nothing for * to repeat",
      ["a++"] = "there is nothing for + to repeat",
      ["(?i)a"] = "(? is not followed by :, =, !, <=, <! or <name>",
      ["(?R)"] = "(? is not followed by :, =, !, <=, <! or <name>",
      ["(*UCP)a"] = "there is nothing for * to repeat",
      ["\\a"] = "\\a means nothing",
      ["\\Z"] = "\\Z means nothing",
      ["\\Qa\\E"] = "\\Q means nothing",
      ["[\\B]"] = "\\B means nothing",
      ["\\"] = "it ends in a backslash",
      ["\\p{Nonsense"] = "\\p needs a name in braces",
      ["\\pL"] = "\\p needs a name in braces",
      ["\\p{^L}"] = "no property is named ^L",
      ["\\1"] = "it refers to a group that there is not",
      ["\\k<a>"] = "it refers to the group <a>, which there is not",
      ["\\u{110000}"] = "\\u{} goes up to 10FFFF",
      ["\\x1"] = "\\x needs two hexadecimal digits",
      ["[b-a]"] = "a range in a class is out of order",
      ["\xff"] = "it is not valid UTF-8",
    } do
      assert.same({ nil, reason }, { ecma.translate(pattern) }, pattern)
    end
    assert.equal('schema at /pattern: the pattern "a**" is wrong: there is nothing for * to repeat',
      refusal { pattern = "a**" })
    assert.matches([[^schema at /patternProperties: the pattern "%[" is wrong]],
      refusal { patternProperties = { ["["] = true } })
    assert.matches("is wrong: .*property", refusal { pattern = [[\p{Nonsense}]] })
  end)
end)

describe("a match", function()
  local bomb = ("a"):rep(60) .. "b"

  it("that takes too long is a failure that says so, also under not", function()
    local reason = "a pattern takes more steps to match than the limit allows"
    for _, document in ipairs {
      { pattern = "^(a+)+$" }, { ["not"] = { pattern = "^(a+)+$" } }, { pattern = "(a|aa)+$" },
      { patternProperties = { ["^(a+)+$"] = false } },
    } do
      local value = document.patternProperties and { [bomb] = 1 } or bomb
      local _, err = judge.compile(document)(value)
      assert.equal(reason, err.message)
    end
  end)

  it("costs no more for a long text in which it may begin anywhere", function()
    local before = os.clock()
    assert.is_nil((judge.compile { pattern = "[a-z]+[0-9]" } (("a"):rep(2000000))))
    assert.truthy(os.clock() - before < 10)
    assert.is_true(judge.compile { pattern = "^[a-z]+$" } (("a"):rep(2000000)))
    assert.is_true(judge.compile { pattern = "x$" } (("a"):rep(2000) .. "x"))
  end)

  it("is paid for, so that many dear ones are too many", function()
    local items = {}
    for i = 1, 5000 do items[i] = ("a"):rep(14) .. "b" end
    local document = { items = { anyOf = { { pattern = "^(a+)+$" }, true } } }
    local _, err = judge.compile(document, { limits = { steps = 100000 } })(items)
    assert.equal("it takes more steps than the limit allows", err.message)
  end)

  it("may be told its limit", function()
    local document = { pattern = "^(a|b)*$" }
    local text = ("ab"):rep(5000)
    assert.is_true(judge.compile(document)(text))
    assert.is_nil((judge.compile(document, { limits = { match = 6000 } })(text)))
  end)

  it("needs valid UTF-8", function()
    local _, err = judge.compile { pattern = "a" } "\xff"
    assert.equal("a string is not valid UTF-8", err.message)
  end)
end)

describe("where PCRE2 is not installed", function()
  local loaded, preload

  before_each(function()
    loaded, preload = package.loaded.rex_pcre2, package.preload.rex_pcre2
    package.loaded.rex_pcre2 = nil
    package.preload.rex_pcre2 = function() error "not found" end
  end)

  after_each(function() package.loaded.rex_pcre2, package.preload.rex_pcre2 = loaded, preload end)

  it("a pattern is refused with the name of the rock", function()
    assert.equal("schema at /pattern: patterns need the rock lrexlib-pcre2, which is not installed",
      refusal { pattern = "a" })
    assert.equal("schema at /format: the format regex needs the rock lrexlib-pcre2, which is not installed",
      refusal({ format = "regex" }, { formats = true }))
  end)

  it("all else works", function() judge.fits({ type = "string", maxLength = 1 }, { '"a"', "not", '"ab"' }) end)
end)
