local core = require "pintle.core"

local decode, encode = core.json.decode, core.json.encode

local function assert_refused(text, what)
  local value, message = decode(text)
  assert.is_nil(value, ("%q"):format(text))
  assert.matches(what, message, nil, true)
end

-- Preceded by any number of plain bytes, so that it starts at every offset in a machine word.
local function each_place(text, check)
  for before = 0, 17 do
    check(("x"):rep(before) .. text, before)
    check(("x"):rep(before) .. text .. ("y"):rep(9), before)
  end
end

describe("a string", function()
  it("may contain any ASCII byte", function()
    for code = 0, 127 do
      local text = string.char(code)
      each_place(text, function(whole) assert.equal(whole, decode(encode(whole))) end)
    end
  end)

  it("may contain any code point", function()
    local points = { 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFD, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF }
    for _ = 1, 2000 do points[#points + 1] = math.random(0xE000, 0x10FFFF) end
    for code = 0x80, 0xD7FF, 7 do points[#points + 1] = code end
    for _, code in ipairs(points) do
      local text = utf8.char(code)
      assert.equal('"' .. text .. '"', encode(text))
      assert.equal(text, decode('"' .. text .. '"'))
    end
    each_place("\u{80}\u{7FF}\u{FFFF}\u{10FFFF}", function(text)
      assert.equal(text, decode(encode(text)))
    end)
  end)

  it("is written with as few escapes as possible", function()
    assert.equal([["\u0000\u0001\b\t\n\u000b\f\r\u001f]] .. ' \127/"', encode "\0\1\b\t\n\v\f\r\x1f \127/")
    assert.equal([["a\"b\\c"]], encode [[a"b\c]])
    assert.equal('""', encode "")
    assert.equal('"é😀"', encode "é😀")
  end)

  it("may use every escape", function()
    assert.equal('"\\/\b\f\n\r\tA', decode [["\"\\\/\b\f\n\r\t\u0041"]])
    assert.equal("\0", decode [["\u0000"]])
    assert.equal("éÉ", decode [["\u00e9\u00C9"]])
    assert.equal("\u{FFFF}", decode [["\uFFFF"]])
    each_place([[\n]], function(text, before)
      assert.equal(("x"):rep(before) .. "\n", decode('"' .. text .. '"'):sub(1, before + 1))
    end)
  end)

  it("may have every code point escaped", function()
    for code = 0, 0xFFFF, 3 do
      if code < 0xD800 or code > 0xDFFF then
        assert.equal(utf8.char(code), decode(('"\\u%04x"'):format(code)))
      end
    end
    for code = 0x10000, 0x10FFFF, 997 do
      local high, low = 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)
      assert.equal(utf8.char(code), decode(('"\\u%04x\\u%04X"'):format(high, low)))
    end
    assert.equal("\u{10000}\u{10FFFF}", decode [["\ud800\udc00\udbff\udfff"]])
  end)

  it("is refused with surrogates that are not a pair", function()
    for _, text in ipairs {
      [["\ud800"]], [["\udc00"]], [["\udbffx"]], [["\ud800\n"]], [["\ud800\ud800"]], [["\udc00\ud800"]],
      [["\ud800\u0041"]], [["\ud800\udbff"]], [["\ud83d\u"]], [["\ud83d\ude"]], [["\ud83d]], [["\ud83d\]],
      [["\ud83d\ude0"]], [["\ud800\ue000"]],
    } do
      assert_refused(text, "lone surrogate at line 1, column 2")
    end
  end)

  it("is refused with unknown escapes", function()
    for _, text in ipairs { [["\a"]], [["\x41"]], [["\'"]], [["\0"]], [["\U0041"]], [["\ "]], "\"\\\0\"", "\"\\\n\"",
      "\"\\é\"" } do
      assert_refused(text, "invalid escape at line 1, column 2")
    end
    for _, text in ipairs { [["\u"]], [["\u00"]], [["\u004"]], [["\u00g1"]], [["\u 041"]], [["\u+041"]], [["\u-041"]],
      [["\u0x41"]], [["\u004]], [["\u]] } do
      assert_refused(text, "invalid \\u escape at line 1, column 2")
    end
  end)

  it("is refused with control characters", function()
    for code = 0, 31 do
      each_place(string.char(code), function(text, before)
        assert_refused('"' .. text .. '"', "control character in string at line 1, column " .. before + 2)
      end)
    end
    assert.equal("\127", decode('"\127"'))
  end)

  it("is refused without its end", function()
    for _, text in ipairs { '"', '"a', '"\\', '"a\\', '"\\"', '"aaaaaaa', '"aaaaaaaa', '"aaaaaaaaaaaaaaaa', '"é' } do
      assert_refused(text, "unfinished string at line 1, column " .. #text + 1)
    end
  end)
end)

local invalid = {
  ["a continuation byte alone"] = { "\x80", "\xBF" },
  ["a byte that is never used"] = {
    "\xC0\x80", "\xC1\xBF", "\xF5\x80\x80\x80", "\xF8\x88\x80\x80\x80", "\xFE", "\xFF",
  },
  ["an overlong form"] = { "\xC0\xAF", "\xE0\x80\xAF", "\xE0\x9F\xBF", "\xF0\x80\x80\xAF", "\xF0\x8F\xBF\xBF" },
  ["a surrogate"] = { "\xED\xA0\x80", "\xED\xAF\xBF", "\xED\xB0\x80", "\xED\xBF\xBF" },
  ["a code point above the last"] = { "\xF4\x90\x80\x80", "\xF4\xBF\xBF\xBF" },
  ["a sequence cut short by a character"] = {
    "\xC3x", "\xE2\x82x", "\xE2xx", "\xF0\x9F\x98x", "\xF0\x9Fxx", "\xF0xxx",
  },
  ["a sequence cut short by another"] = { "\xC3\xC3\xA9", "\xE2\x82\xC3\xA9", "\xF0\x9F\x98\xC3\xA9" },
}

describe("UTF-8", function()
  for name, samples in pairs(invalid) do
    it("is refused with " .. name, function()
      for _, bytes in ipairs(samples) do
        each_place(bytes, function(text, before)
          assert_refused('"' .. text .. '"', "invalid UTF-8 at line 1, column " .. before + 2)
          assert_refused('{"' .. text .. '":1}', "invalid UTF-8 at line 1, column " .. before + 3)
          assert.error_matches(function() encode(text) end, "value: invalid UTF-8", nil, true)
          assert.error_matches(function() encode { [text] = 1 } end, ": invalid UTF-8", nil, true)
        end)
      end
    end)
  end

  it("is refused if the text ends inside a character", function()
    for _, whole in ipairs { "é", "€", "😀" } do
      for n = 1, #whole - 1 do
        local part = whole:sub(1, n)
        assert_refused('"' .. part, "invalid UTF-8 at line 1, column 2")
        assert_refused('"' .. part .. '"', "invalid UTF-8 at line 1, column 2")
        assert.error_matches(function() encode(part) end, "invalid UTF-8", nil, true)
      end
    end
  end)

  it("is checked for every pair of bytes that could begin a character", function()
    for first = 0x80, 0xFF do
      for second = 0, 0xFF do
        local text = string.char(first, second)
        local ok = pcall(encode, text)
        assert.equal(utf8.len(text) ~= nil, ok, ("%02x %02x"):format(first, second))
        assert.equal(ok, core.json.is_utf8(text))
      end
    end
  end)

  it("is accepted and refused as utf8.len does", function()
    for _ = 1, 20000 do
      local text = string.char(math.random(0xE0, 0xF7), math.random(0x70, 0xC8), math.random(0x78, 0xC0),
        math.random(0x78, 0xC0))
      assert.equal(utf8.len(text) ~= nil, (pcall(encode, text)), ("%q"):format(text))
      assert.equal(utf8.len(text) ~= nil, core.json.is_utf8(text))
    end
  end)
end)
