local patterns = require "pintle.schema.pattern"
local schemas = require "spec.support.schemas"
local json = require("pintle.core").json

local rejection = schemas.rejection

-- The pattern must match the texts before the word "not", and none after it.
local function matches(pattern, texts)
  local encoded = {}
  for i, text in ipairs(texts) do encoded[i] = text == "not" and text or json.encode(text) end
  schemas.fits({ pattern = pattern }, encoded)
end

describe("a pattern", function()
  it("matches anywhere in the text", function()
    matches("b+", { "abbc", "b", "not", "", "ac" })
    matches("^b|c$", { "bx", "xc", "not", "xbx", "cx" })
    matches("", { "", "x" })
    matches("a|", { "", "x" })
  end)

  it("has $ match only at the end of the text", function()
    matches("^a$", { "a", "not", "a\n", "\na", "ab" })
    matches("^a\nb$", { "a\nb", "not", "b" })
  end)

  it("matches characters, not bytes", function()
    matches("^.$", { "\u{1F432}", "\u{E9}", "not", "ab" })
    matches("^[\u{E0}-\u{FF}]$", { "\u{E9}", "not", "e" })
    matches("^\u{1F432}*$", { "", "\u{1F432}\u{1F432}", "not", "\u{1F409}" })
    matches([[^\u{1F432}\u00e9\ud83d\udc32$]], { "\u{1F432}\u{E9}\u{1F432}" })
    matches([[^[\ud83d\udc32]$]], { "\u{1F432}" })
    matches([[^[^\ud800-\udfff]$]], { "x", "\u{1F432}" })
    matches([[\ud800]], { "not", "x", "\u{FFFD}" })
  end)

  it("supports the classes of ECMA-262", function()
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

  it("supports the long names of properties", function()
    matches([[^\p{Letter}$]], { "a", "\u{3C0}", "not", "1" })
    matches([[^\p{L}\P{Lu}$]], { "aa", "not", "aA" })
    matches([[^[\p{Uppercase_Letter}\p{digit}]+$]], { "A7\u{9EA}", "not", "a" })
    matches([[^\p{gc=Decimal_Number}\p{General_Category=Nd}$]], { "42", "not", "ab" })
    matches([[^\p{Script=Greek}\p{sc=Latin}\p{scx=Greek}$]], { "\u{3C0}a\u{3C0}", "not", "aaa" })
    matches([[^\p{ASCII}\P{ASCII}\p{Any}\p{Assigned}$]], { "a\u{E9}bc", "not", "abcd" })
    matches([[^\p{LC}$]], { "a", "A", "not", "\u{5D0}" })
  end)

  it("supports escapes of characters", function()
    matches([[^\t\n\v\f\r\0\cJ\cj\x41\u0042\/\.\*$]], { "\t\n\v\f\r\0\n\nAB/.*" })
    matches([[^\-\@\"\_$]], { '-@"_' })
    matches("^{a}{,3}]}$", { "{a}{,3}]}" })
    matches("^#a b$", { "#a b", "not", "" })
  end)

  it("supports groups, back references and lookaround", function()
    matches([[^(a|b)\1$]], { "aa", "bb", "not", "ab" })
    matches([[^(?<x>a|b)\k<x>$]], { "aa", "not", "ab" })
    matches([[^(?:(a)|b)\1c$]], { "aac", "bc", "not", "ac" })
    matches([[^(?=.*\d)(?!x)\w+$]], { "a1", "not", "x1", "a" })
    matches([[(?<=a)b(?<!c)]], { "ab", "not", "cb" })
    matches([[^a{2}b{1,}c{0,2}?$]], { "aabbcc", "not", "abc" })
  end)

  it("is rejected if it is invalid in ECMA-262", function()
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
      ["\\a"] = "\\a is not an escape",
      ["\\Z"] = "\\Z is not an escape",
      ["\\Qa\\E"] = "\\Q is not an escape",
      ["[\\B]"] = "\\B is not an escape",
      ["\\"] = "it ends in a backslash",
      ["\\p{Nonsense"] = "\\p needs a name in braces",
      ["\\pL"] = "\\p needs a name in braces",
      ["\\p{^L}"] = "there is no property ^L",
      ["\\1"] = "it refers to a group that does not exist",
      ["\\k<a>"] = "it refers to the group <a>, which does not exist",
      ["\\u{110000}"] = "\\u{} must be at most 10FFFF",
      ["\\x1"] = "\\x needs two hexadecimal digits",
      ["[b-a]"] = "a range in a class is out of order",
      ["\xff"] = "it is not valid UTF-8",
    } do
      assert.same({ nil, reason }, { patterns.translate(pattern) }, pattern)
    end
    assert.equal('schema at /pattern: the pattern "a**" is invalid: there is nothing for * to repeat',
      rejection { pattern = "a**" })
    assert.matches([[^schema at /patternProperties: the pattern "%[" is invalid]],
      rejection { patternProperties = { ["["] = true } })
    assert.matches("is invalid: .*property", rejection { pattern = [[\p{Nonsense}]] })
  end)
end)

describe("a match", function()
  local bomb = ("a"):rep(60) .. "b"

  it("that takes too long is an error, also under not", function()
    local reason = "a pattern takes more steps to match than the limit allows"
    for _, document in ipairs {
      { pattern = "^(a+)+$" }, { ["not"] = { pattern = "^(a+)+$" } }, { pattern = "(a|aa)+$" },
      { patternProperties = { ["^(a+)+$"] = false } },
    } do
      local value = document.patternProperties and { [bomb] = 1 } or bomb
      local _, err = schemas.compile(document)(value)
      assert.equal(reason, err.message)
    end
  end)

  it("takes linear time in a long text without an anchor", function()
    local before = os.clock()
    assert.is_nil((schemas.compile { pattern = "[a-z]+[0-9]" } (("a"):rep(2000000))))
    assert.truthy(os.clock() - before < 10)
    assert.is_true(schemas.compile { pattern = "^[a-z]+$" } (("a"):rep(2000000)))
    assert.is_true(schemas.compile { pattern = "x$" } (("a"):rep(2000) .. "x"))
  end)

  it("counts steps, so that many expensive matches exceed the limit", function()
    local items = {}
    for i = 1, 5000 do items[i] = ("a"):rep(14) .. "b" end
    local document = { items = { anyOf = { { pattern = "^(a+)+$" }, true } } }
    local _, err = schemas.compile(document, { limits = { steps = 100000 } })(items)
    assert.equal("it takes more steps than the limit allows", err.message)
  end)

  it("has a limit that can be set", function()
    local document = { pattern = "^(a|b)*$" }
    local text = ("ab"):rep(5000)
    assert.is_true(schemas.compile(document)(text))
    assert.is_nil((schemas.compile(document, { limits = { match = 6000 } })(text)))
  end)

  it("needs valid UTF-8", function()
    local _, err = schemas.compile { pattern = "a" } "\xff"
    assert.equal("a string is not valid UTF-8", err.message)
  end)
end)

describe("without PCRE2", function()
  local loaded, preload

  before_each(function()
    loaded, preload = package.loaded.rex_pcre2, package.preload.rex_pcre2
    package.loaded.rex_pcre2 = nil
    package.preload.rex_pcre2 = function() error "not found" end
  end)

  after_each(function() package.loaded.rex_pcre2, package.preload.rex_pcre2 = loaded, preload end)

  it("a pattern is rejected with the name of the missing rock", function()
    assert.equal("schema at /pattern: patterns need the rock lrexlib-pcre2, which is not installed",
      rejection { pattern = "a" })
    assert.equal("schema at /format: the format regex needs the rock lrexlib-pcre2, which is not installed",
      rejection({ format = "regex" }, { formats = true }))
  end)

  it("the other keywords work", function()
    schemas.fits({ type = "string", maxLength = 1 }, { '"a"', "not", '"ab"' })
  end)
end)
