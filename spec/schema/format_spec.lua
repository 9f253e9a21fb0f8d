local schemas = require "spec.support.schemas"
local json = require("pintle.core").json
local idn = require "pintle.schema.idn"

-- `texts` are valid up to the word "not", and invalid after it.
local function has_format(name, texts)
  local encoded = { "1", "null", "[]" }
  for _, text in ipairs(texts) do encoded[#encoded + 1] = text == "not" and text or json.encode(text) end
  schemas.fits({ format = name }, encoded, { formats = true })
end

describe("a format", function()
  it("is an annotation by default", function()
    schemas.fits({ format = "ipv4" }, { '"x"' })
    schemas.fits({ format = "ipv4" }, { '"x"' }, { formats = false })
    schemas.fits({ format = "ipv4" }, { '"1.2.3.4"', "not", '"x"' }, { formats = true })
  end)

  it("that is unknown stays an annotation", function()
    schemas.fits({ format = "mine" }, { '"x"' }, { formats = true })
  end)

  it("is named in the error", function()
    local err = schemas.failure({ format = "date" }, '"today"', { formats = true })
    assert.equal('at the root: string "today" is not a valid date', tostring(err))
    assert.equal("format", err.keyword)
  end)

  it("checks dates, times and durations", function()
    has_format("date", { "2024-02-29", "1999-12-31", "0000-01-01", "not", "2023-02-29", "1900-02-29", "2024-13-01",
      "2024-00-10", "2024-04-31", "2024-4-1", "24-04-01", "2024-04-01 ", "2024/04/01", "" })
    has_format("time", { "12:34:56Z", "12:34:56z", "00:00:00.123456+05:30", "23:59:60Z", "18:29:60-05:30", "not",
      "12:34:56", "24:00:00Z", "12:60:00Z", "12:34:60Z", "23:59:61Z", "12:34:56+24:00", "12:34:56+01:60",
      "12:34:56.Z", "12:34:56,5Z", "12:34Z", "12:34:56+0100", "23:59:60+01:00" })
    has_format("date-time", { "2024-02-29T12:34:56Z", "2024-02-29t12:34:56.5-08:00", "not", "2024-02-29", "12:34:56Z",
      "2024-02-30T12:34:56Z", "2024-02-29 12:34:56Z", "2024-02-29T25:34:56Z" })
    has_format("duration", { "P1Y2M3DT4H5M6S", "P3D", "PT1H", "P2M", "PT0S", "P12W", "not", "P", "PT", "P1DT", "1D",
      "P1H", "PT1D", "P1M1Y", "P1W1D", "P1Y3D", "PT1H6S", "P1.5D", "p1d" })
  end)

  it("checks IP addresses and host names", function()
    has_format("ipv4", { "0.0.0.0", "255.255.255.255", "not", "256.0.0.1", "01.2.3.4", "1.2.3", "1.2.3.4.5",
      "1.2.3.4 ", "" })
    has_format("ipv6", { "::", "::1", "1::", "a:b:c:d:e:f:0:1", "::ffff:1.2.3.4", "1:2:3:4:5:6:7.8.9.10", "A::B",
      "not", ":", ":::", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "::1.2.3", "::1.2.3.4:5",
      "1.2.3.4::", "::1%eth0", "1:2:3:4:5:6:7:8::", ":1::", "::1:", "1:2:3:4:5:6:7:1.2.3.4", ":::1.2.3.4",
      "::ab1.2.3.4", "1:2:3:4:5:6a7.8.9.10" })
    has_format("hostname", { "a", "example.com", "EXAMPLE.com", "a-b.c-d", "1.2", "xn--bcher-kva.example",
      "XN--Bcher-KVA", "xn--tda", ("a"):rep(63), "not", "", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b",
      "b\u{FC}cher", ("a"):rep(64), ("a."):rep(127) .. "ab", "xn--", "xn--0", "xn--bcher-kv!", "xn---tda" })
    has_format("idn-hostname", { "example.com", "b\u{FC}cher.example", "\u{4F8B}\u{3002}\u{4F8B}", "xn--bcher-kva",
      "l\u{B7}l", "\u{5D0}\u{5F3}", "\u{30A2}\u{30FB}", "\u{915}\u{94D}\u{200D}", "fa\u{DF}", "\u{3B1}\u{375}\u{3B2}",
      "not", "", "-\u{FC}", "\u{FC}-", "ab--\u{FC}", "a\u{B7}b", "a\u{5F3}", "a\u{30FB}", "a\u{200D}", "\u{301}a",
      "\u{661}\u{6F1}", "a\u{640}", "\u{2603}", ("\u{FC}"):rep(60), "ab--cd", "a\u{375}b", "\u{DC}b" })
  end)

  it("applies the Bidi rule to host names", function()
    has_format("idn-hostname", { "\u{5D2}\u{5D3}.example", "b\u{FC}cher.\u{62A}\u{62B}", "\u{5D2}1", "\u{62A}\u{664}",
      "\u{5D2}-1\u{5D3}", "\u{5D2}\u{5B8}", "a1.\u{5D2}", "1a.com", "\u{6F1}2", "not", "1b.\u{5D3}", "2\u{62A}",
      "c\u{5D2}", "\u{5D2}c", "\u{5D2}3\u{664}", "\u{664}", "a.\u{664}\u{62A}", "xn--c-4hc", "\u{5D2}.1" })
    has_format("hostname", { "xn--6dbc.example", "not", "xn--c-4hc", "1b.xn--6dbc" })
  end)

  it("is checked in linear time", function()
    local before = os.clock()
    for _, name in ipairs { "ipv6", "uri", "email" } do
      schemas.fits({ format = name }, { "not", json.encode(("1"):rep(50000) .. "_") }, { formats = true })
    end
    assert.truthy(os.clock() - before < 10)
  end)

  it("checks mail addresses", function()
    has_format("email", { "a@b", "a.b+c@example.com", '"a b"@example.com', [["a\"@b"@example.com]], "a@[1.2.3.4]",
      "a@[IPv6:::1]", "a@[010.0.00.255]", "not", "", "a", "@b", "a@", "a@b@c", ".a@b", "a.@b", "a..b@c", "a b@c",
      "a@b_c", "a@[1.2.3]", "a@[0001.2.3.4]", "a@[1.2.3.256]", '"a"b"@c', ("a"):rep(65) .. "@b", "\u{FC}@b" })
    has_format("idn-email", { "\u{FC}@b\u{FC}cher.example", "a@b", "not", "\u{FC}", "a@\u{2603}", "a@-b" })
  end)

  it("checks URIs, IRIs and templates", function()
    has_format("uri", { "http://a", "http://a@b:80/c;d?e=f#g", "urn:a:b", "mailto:a@b", "http://[::1]:8080/", "a:",
      "http://[v1.x]/", "http://a/%20", "file:///a", "not", "", "a", "/a", "//a", "http://a b", "http://[::1",
      "http://a:b", "http://[1.2.3.4]", "1a:b", "http://a/%2", "http://a/<", "http://a/{b}", "http://a\\b",
      "http://a/\u{FC}", "a:#b#c", "http://a/^" })
    has_format("uri-reference", { "", "a", "/a", "//a", "?a", "#a", "a/b:c", "./a:b", "http://a", "not", "a b", "1:a",
      "\\a", "#a#b", "\u{FC}" })
    has_format("iri", { "http://b\u{FC}cher.example/\u{2603}?\u{FC}#\u{FC}", "http://a",
      "http://a?\u{E000}", "a:?\u{10FFFD}#\u{20000}", "not", "\u{FC}", "http://a/ ", "http://a/\u{E000}",
      "http://a/\u{FFFE}", "a:?\u{FFFFE}", "a:\u{E0001}", "http://\u{F0000}?", "a:#\u{F0000}", "a:#?\u{E000}" })
    has_format("iri-reference", { "\u{FC}", "/\u{2603}", "", "?\u{F8FF}", "not", "\u{FC} ", "a\\\u{FC}" })
    has_format("uri-template", { "", "/a/{b}", "{+a}{#b}{.c}{/d}{;e}{?f,g*}{&h:20}", "{a.b}", "{%20a}", "/\u{FC}",
      "/'{a}'", "/\u{E000}\u{10FFFD}", "not", "{", "}", "{}", "{a", "a}", "{a}}", "{{a}}", "{a b}", "{a:0}",
      "{a:10000}", "{a..b}", "{.}", "{'a'}", "a b", "a<b", "%2", "/\u{85}", "/\u{FDD0}", "/\u{1FFFF}" })
  end)

  it("checks JSON pointers, UUIDs and patterns", function()
    has_format("json-pointer", { "", "/", "/a", "/a~0b~1c//", "/ ", "not", "a", "#", "#/a", "/~", "/~2", "/a~" })
    has_format("relative-json-pointer", { "0", "1/a", "0#", "12/a/b", "1+2/a", "2-1", "1+0", "3-0/a", "2+10#", "not",
      "", "/a", "01", "-1", "0##", "1a", "1+", "1-01", "1+00/a", "1+-1", "1#+1", "1+1a" })
    has_format("uuid", { "00112233-4455-6677-8899-aabbccddeeff", "AABBCCDD-eeff-0011-2233-445566778899", "not", "",
      "00112233445566778899aabbccddeeff", "0011223-34455-6677-8899-aabbccddeeff",
      "00112233-4455-6677-8899-aabbccddeefg", "{00112233-4455-6677-8899-aabbccddeeff}" })
    has_format("regex", { "", "^a*$", [[\p{L}]], "(?<=a+)b", "(?<!a|(?:b|cd)e)f", "not", "(", "a**", [[\a]],
      [[\p{Nonsense}]], "(?<=a+", [[(?<=a+)\p{Nonsense}]], "(?<=a+)b{2,1}" })
  end)
end)

describe("punycode", function()
  it("is encoded and decoded", function()
    for text, encoded in pairs {
      ["b\u{FC}cher"] = "bcher-kva", ["\u{FC}"] = "tda", ["ma\u{F1}ana"] = "maana-pta", ["\u{2603}"] = "n3h",
      ["\u{4E2D}\u{56FD}"] = "fiqs8s", ["a\u{1F600}b"] = "ab-no82a",
    } do
      local codes = { utf8.codepoint(text, 1, -1) }
      local written = idn.encode_punycode(codes)
      assert.same(codes, idn.decode_punycode(written))
      assert.equal(encoded, written)
    end
  end)

  it("is rejected if it is cut off or too large", function()
    assert.is_nil(idn.decode_punycode "kv\u{E9}")
    assert.is_nil(idn.decode_punycode "99999999")
    assert.is_nil(idn.decode_punycode "a-z9z9z9")
  end)
end)
