-- Letters beyond ASCII, and texts that are not UTF-8. The expected results are those of Ruby.
local support = require "spec.support.engine"
local text = require "liquid.text"

describe("letters beyond ASCII", function()
  -- A text, and its upcase, downcase and capitalize.
  local texts = {
    { "ǆ ŉ \u{390}", "Ǆ ʼN \u{399}\u{308}\u{301}", "ǆ ŉ \u{390}", "ǅ ŉ \u{390}" },
    { "ǅ Ǆ", "Ǆ Ǆ", "ǆ ǆ", "ǅ ǆ" },
    { "ŉAÉ", "ʼNAÉ", "ŉaé", "ʼNaé" },
    { "ßS straße", "SSS STRASSE", "ßs straße", "Sss straße" },
    { "ﬃX ﬆ", "FFIX ST", "ﬃx ﬆ", "Ffix ﬆ" },
    { "ᾳ ᾲ ᾷ ᾈ", "ΑΙ ᾺΙ Α͂Ι ἈΙ", "ᾳ ᾲ ᾷ ᾀ", "ᾼ ᾲ ᾷ ᾀ" },
    { "ΑΣ ΣΑΣ", "ΑΣ ΣΑΣ", "ασ σασ", "Ασ σασ" }, -- a sigma at the end is like any other
    { "ς", "Σ", "ς", "Σ" },
    { "İI ı", "İI I", "i̇i ı", "İi ı" },
    { "და Დ", "ᲓᲐ Დ", "და დ", "და დ" },
    { "ᲐᲑ", "ᲐᲑ", "აბ", "აბ" },
    { "և ﬓ", "ԵՒ ՄՆ", "և ﬓ", "Եւ ﬓ" },
    { "ÄÖÜ ŒÆ ŸŽ", "ÄÖÜ ŒÆ ŸŽ", "äöü œæ ÿž", "Äöü œæ ÿž" },
    { "дЖ ԱԲ ꙁ", "ДЖ ԱԲ Ꙁ", "дж աբ ꙁ", "Дж աբ ꙁ" },
    { "K Å Ω ẞ", "K Å Ω ẞ", "k å ω ß", "K å ω ß" },
    { "𐐨𐐀 𞤢 ꭰ Ꭰ", "𐐀𐐀 𞤀 Ꭰ Ꭰ", "𐐨𐐨 𞤢 ꭰ ꭰ", "𐐀𐐨 𞤢 ꭰ ꭰ" },
    { "ⅷ ⓐ ｚ µ ſ ÿ", "Ⅷ Ⓐ Ｚ Μ S Ÿ", "ⅷ ⓐ ｚ µ ſ ÿ", "Ⅷ ⓐ ｚ µ ſ ÿ" },
    { "日本 😀 1", "日本 😀 1", "日本 😀 1", "日本 😀 1" },
    { "hELLO wORLD", "HELLO WORLD", "hello world", "Hello world" },
    { "", "", "", "" },
  }
  for _, row in ipairs(texts) do
    it("are converted to upper and lower case: " .. row[1], function()
      support.outputs({ ["t | upcase"] = row[2], ["t | downcase"] = row[3], ["t | capitalize"] = row[4] },
        { t = row[1] })
    end)
  end
end)

describe("a text that is not UTF-8", function()
  -- "a\x80b\xC3c\xC3\xA9d\xC3": every byte is a character, also the bytes of valid characters.
  local environment = { bytes = "YYBiw2PDqWTD", high = "gGHDiQ==" }
  for expression, output in pairs {
    ["'gICA' | base64_decode | size"] = "3",
    ["'gICA' | base64_decode | slice: 1, 1 | base64_encode"] = "gA==",
    ["'7aCA' | base64_decode | size"] = "3", ["'9JCAgA==' | base64_decode | size"] = "4",
    ["'wIA=' | base64_decode | size"] = "2",
    ["bytes | base64_decode | size"] = "9",
    ["bytes | base64_decode | slice: 1, 3 | base64_encode"] = "gGLD",
    ["bytes | base64_decode | slice: -2, 2 | base64_encode"] = "ZMM=",
    ["bytes | base64_decode | truncate: 6 | base64_encode"] = "YYBiLi4u",
    ["bytes | base64_decode | truncate: 3, '' | base64_encode"] = "YYBi",
    ["bytes | base64_decode | truncatewords: 1 | base64_encode"] = "YYBiw2PDqWTD",
    ["bytes | base64_decode | split: '' | size"] = "9",
    ["bytes | base64_decode | split: '' | reverse | join: '' | base64_encode"] = "w2Spw2PDYoBh",
    ["bytes | base64_decode | upcase | base64_encode"] = "QYBCw0PDqUTD",
    ["bytes | base64_decode | last | base64_encode"] = "ww==",
    ["high | base64_decode | first | base64_encode"] = "gA==",
    ["high | base64_decode | upcase | base64_encode"] = "gEHDiQ==",
    ["high | base64_decode | downcase | base64_encode"] = "gGHDiQ==",
    ["high | base64_decode | capitalize | base64_encode"] = "gGHDiQ==",
    ["high | base64_decode | append: 'x' | size"] = "5",
  } do
    it("is counted and cut by bytes: " .. expression, function()
      support.outputs({ [expression] = output }, environment)
    end)
  end

  it("is treated alike by all functions", function()
    local bytes = "\xC3\xA9\x80"
    assert.equal(3, text.length(bytes))
    assert.equal("\xC3", text.first(bytes))
    assert.equal("\x80", text.last(bytes))
    assert.same({ "\xC3", "\xA9", "\x80" }, text.characters(bytes))
    assert.equal("\xA9\x80", text.slice(bytes, 1, 2))
    assert.equal('{"a"=>"x\\xC3"}', support.render("{{ h }}", { h = { a = "x\xC3" } }))
  end)
end)
