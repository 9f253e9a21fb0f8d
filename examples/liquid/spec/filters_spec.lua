local support = require "spec.support.engine"

local outputs, null, array = support.outputs, support.liquid.null, support.liquid.array

describe("text filters", function()
  it("change letter case and whitespace, in all alphabets", function()
    outputs {
      ["'straße äö' | upcase"] = "STRASSE ÄÖ", ["'ÀÉΣД' | downcase"] = "àéσд", ["'éTÉ' | capitalize"] = "Été",
      ["'  a b ' | strip"] = "a b", ["' a ' | lstrip | append: '|'"] = "a |", ["' a ' | rstrip"] = " a",
      ["' a \n b ' | squish"] = "a b", ["'a\r\nb' | strip_newlines"] = "ab", ["'a\nb' | newline_to_br"] = "a<br />\nb",
    }
  end)

  it("cut texts by characters", function()
    outputs {
      ["'测试测试测试' | truncate: 5"] = "测试...", ["'abc' | truncate: 2, ''"] = "ab", ["'abc' | truncate: 1"] = "...",
      ["'one two three' | truncatewords: 2"] = "one two...", ["'a b ' | truncatewords: 2"] = "a b...",
      ["'héllo' | slice: 1, 2"] = "él", ["'abc' | slice: -2"] = "b", ["'abc' | slice: 9"] = "",
      ["'abc' | slice: 1, false"] = "b",
      ["l | slice: 1, 5"] = "", ["'a,b,,' | split: ',' | size"] = "2", ["'äb' | split: '' | join: '-'"] = "ä-b",
      ["' a  b ' | split: ' ' | join: '-'"] = "a-b",
      ["'abc' | truncate: 'x'"] = "Liquid error (line 1): invalid integer",
    }
  end)

  it("replace and remove parts, and expand backslashes", function()
    outputs({
      ["'aaa' | replace: 'a', 'b'"] = "bbb", ["'aaa' | replace_first: 'a', 'b'"] = "baa",
      ["'aaa' | replace_last: 'a', 'b'"] = "aab", ["'abab' | remove: 'b'"] = "aa",
      ["'abab' | remove_last: 'b'"] = "aba",
      ["'a.c' | replace: '.', '%1'"] = "a%1c", ["'ab' | replace: '', '-'"] = "-a-b-",
      ["'xay' | replace: 'a', amp"] = "x<a>y", ["'xay' | replace: 'a', back"] = "x\\y",
      ["'ab' | replace: '', back"] = "\\a\\b\\", ["'äb' | replace: '', rest"] = "äbäbb",
    }, { amp = "<\\&>", back = "\\\\", rest = "\\'" })
  end)
end)

describe("HTML and URL filters", function()
  it("escape texts", function()
    outputs({
      ["t | escape"] = "&lt;a href=&#39;x&#39;&gt;&amp;amp;", ["t | escape_once"] = "&lt;a href=&#39;x&#39;&gt;&amp;",
      ["'<p>a<!-- <b> --><script>x</script></p><style>s</style>b' | strip_html"] = "ab",
      ["'<<<script </script>script>f' | strip_html"] = "f",
      ["'a b/ü~*' | url_encode"] = "a+b%2F%C3%BC~%2A", ["'a+b%20c' | url_decode"] = "a b c",
      ["'%ff' | url_decode"] = "Liquid error (line 1): invalid byte sequence in UTF-8",
    }, { t = "<a href='x'>&amp;" })
  end)

  it("encode and decode base64", function()
    outputs {
      ["'one' | base64_encode"] = "b25l", ["'a' | base64_encode | base64_decode"] = "a",
      ["'??>' | base64_url_safe_encode"] = "Pz8-",
      ["'Pz8-' | base64_url_safe_decode"] = "??>",
      ["'P-8/' | base64_url_safe_decode | size"] = "3", ["'YQ' | base64_url_safe_decode"] = "a",
      ["'YQ=' | base64_url_safe_decode"] =
        "Liquid error (line 1): invalid base64 provided to base64_url_safe_decode",
      ["'YR==' | base64_decode"] = "Liquid error (line 1): invalid base64 provided to base64_decode",
      ["'YWJ=' | base64_decode"] = "Liquid error (line 1): invalid base64 provided to base64_decode",
      ["'!' | base64_decode"] = "Liquid error (line 1): invalid base64 provided to base64_decode",
    }
  end)
end)

describe("array filters", function()
  local data = {
    l = { 3, 1, 2 }, words = { "b", "A", "c" }, nested = { 1, { 2, { 3 } } }, holes = array { 1, null, 2 },
    hashes = { { a = 2, b = "x" }, { a = 1, b = "y" }, { b = "x" } }, mixed = { 1, "a", true },
  }

  it("sort, reverse, join and sum", function()
    outputs({
      ["l | sort | join: '<'"] = "1<2<3", ["words | sort | join"] = "A b c", ["words | sort_natural | join"] = "A b c",
      ["l | reverse | join: ''"] = "213", ["nested | join: ','"] = "1,2,3", ["holes | compact | join"] = "1 2",
      ["'a,b,a' | split: ',' | uniq | join"] = "a b", ["l | concat: words | size"] = "6", ["l | sum"] = "6",
      ["hashes | sum: 'a'"] = "3", ["hashes | sort: 'a' | map: 'b' | join"] = "y x x",
      ["hashes | map: 'a' | compact | join"] = "2 1",
      ["hashes | uniq: 'b' | size"] = "2",
      ["mixed | sort"] = "Liquid error (line 1): cannot sort values of incompatible types",
      ["l | sort: 'x'"] = "Liquid error (line 1): cannot select the property 'x'", ["mixed | sort: 'x'"] = "",
      ["l | concat: 1"] = "Liquid error (line 1): concat filter requires an array argument",
      ["l | map: 'x'"] = "Liquid error (line 1): cannot select the property 'x'",
    }, data)
  end)

  it("select by a property", function()
    outputs({
      ["hashes | where: 'b', 'x' | size"] = "2", ["hashes | where: 'a' | size"] = "2",
      ["hashes | reject: 'b', 'x' | size"] = "1",
      ["hashes | find: 'a', 1 | map: 'b'"] = "y", ["hashes | find_index: 'b', 'y'"] = "1",
      ["hashes | has: 'a', 9"] = "false",
    }, data)
  end)

  it("return size, first and last", function()
    outputs({
      ["l | size"] = "3", ["l | first"] = "3", ["l | last"] = "2", ["'äb' | size"] = "2", ["(1..4) | last"] = "4",
      ["nil | size"] = "0",
      ["1.5 | size"] = "0", ["'' | first"] = "",
    }, data)
  end)
end)

describe("default", function()
  it("replaces nil, false and empty values", function()
    outputs {
      ["nil | default: 1"] = "1", ["false | default: 1"] = "1", ["'' | default: 1"] = "1", ["0 | default: 1"] = "0",
      ["false | default: 1, allow_false: true"] = "false", ["nil | default"] = "",
    }
  end)
end)

describe("a filter", function()
  it("that is unknown returns its input, or is an error with strict_filters", function()
    assert.equal("a", support.render "{{ 'a' | nope: 1 }}")
    assert.equal("Liquid error (line 1): undefined filter nope",
      support.render("{{ 'a' | nope }}", nil, { strict_filters = true, strict_errors = true }))
  end)

  it("fails with a wrong number of arguments", function()
    assert.equal("Liquid error (line 1): wrong number of arguments (given 1, expected 2)",
      support.render "{{ 1 | plus }}")
    assert.equal("Liquid error (line 1): wrong number of arguments (given 4, expected 1..3)",
      support.render "{{ 'a' | truncate: 1, 2, 3 }}")
  end)

  it("has its arguments evaluated even if their number is wrong", function()
    local environment = { h = { a = 1 } }
    for _, filter in ipairs { "nope: (1..h)", "upcase: 1, a: (1..h)", "size: 1, (1..h)" } do
      assert.equal("Liquid error (line 1): invalid integer", support.render("{{ 1 | " .. filter .. " }}", environment))
    end
  end)

  it("gets named arguments as a hash in their order, even if they are nil", function()
    assert.equal('x{"b"=>3, "a"=>nil}', support.render "{{ 'x' | append: b: 1, a: none, b: 3 }}")
    assert.equal("1", support.render "{{ false | default: 1, allow_false: nil }}")
  end)
end)
