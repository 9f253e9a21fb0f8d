local support = require "spec.support.engine"
local replace_markers = require("liquid.drops").replace_markers
local json = require("pintle.core").json

-- An environment with the hash `h`, as the client of liquid-spec sends it.
local function with_hash(printed, data)
  local source = ('{"h":{"_ruby_type":"Hash","inspect":%s,"data":%s},"yes":true}'):format(json.encode(printed), data)
  return replace_markers(assert(json.decode(source, nil, true)))
end

local PRINTED = '{1=>"a", true=>"b", nil=>[1, {"x"=>2}], :sym=>"c", 1.5=>"d", "str"=>"e, }", -2=>nil}'
local DATA = '{"1":"a","true":"b","":[1,{"x":2}],"sym":"c","1.5":"d","str":"e, }","-2":null}'

describe("a Ruby hash", function()
  local environment = with_hash(PRINTED, DATA)

  it("has a size and a first pair, and no last", function()
    support.outputs({
      ["h.size"] = "7", ["h | size"] = "7", ["h.first"] = "1a", ["h | first | last"] = "a",
      ["h.first[0] | plus: 1"] = "2", ["h.last"] = "", ["h | last"] = "",
    }, environment)
  end)

  it("has keys of every type, which differ from strings with the same text", function()
    support.outputs({
      ["h[1]"] = "a", ["h[yes]"] = "b", ["h[nil]"] = '1{"x"=>2}', ["h[1.5]"] = "d", ["h.str"] = "e, }", ["h[-2]"] = "",
      ["h['1']"] = "", ["h[1.0]"] = "", ["h['true']"] = "", ["h['']"] = "", ["h.sym"] = "", ["h['sym']"] = "",
    }, environment)
    support.all({
      ["{% if h contains 1 %}y{% endif %}"] = "y", ["{% if h contains '1' %}y{% endif %}"] = "",
      ["{% if h contains -2 %}y{% endif %}"] = "y", ["{% if h contains yes %}y{% endif %}"] = "y",
    }, environment)
  end)

  it("tells a nil value from a missing key", function()
    local template = support.liquid.compile "{{ h[-2] }}{{ h[-3] }}"
    local _, errors = template:render(environment, { strict_variables = true })
    assert.equal(1, #errors)
    assert.equal("undefined variable -3", errors[1].message)
  end)

  it("is iterated over in pairs, in order", function()
    support.all({
      ["{% for p in h %}{{ p[0] }}:{{ p[1] }};{% endfor %}"] = '1:a;true:b;:1{"x"=>2};sym:c;1.5:d;str:e, };-2:;',
      ["{% for p in h limit: 1 offset: 3 %}{{ p | join: '-' }}{% endfor %}"] = "sym-c",
      ["{% tablerow p in h limit: 1 %}{{ p[1] }}{% endtablerow %}"]
        = '<tr class="row1">\n<td class="col1">a</td></tr>\n',
      ["{% render 'p' for h as p %}"] = "1.true..sym.1.5.str.-2.",
    }, environment, { filesystem = { p = "{{ p[0] }}." } })
  end)

  it("is one item to filters", function()
    support.outputs({
      ["h | sort | size"] = "1", ["h | uniq | size"] = "1", ["h | reverse | size"] = "1", ["h | compact | size"] = "1",
      ["h | join: ','"] = PRINTED, ["h | map: 1"] = "a", ["h | map: 'sym' | compact | size"] = "0",
      ["h | where: 1, 'a' | size"] = "1", ["h | where: '1', 'a' | size"] = "0", ["h | has: true"] = "true",
      ["h | find_index: 'str'"] = "0", ["h | reject: 1 | size"] = "0", ["h | concat: h.first | size"] = "3",
      ["h | sum: -2"] = "0", ["h | plus: 1"] = "1", ["h | default: 'x' | size"] = "7",
    }, environment)
  end)

  it("is compared by its keys and values", function()
    local list = replace_markers(assert(json.decode([[{"l":[
      {"_ruby_type":"Hash","inspect":"{1=>3, 2=>4}","data":{"1":3,"2":4}},
      {"_ruby_type":"Hash","inspect":"{2=>4, 1=>3}","data":{"2":4,"1":3}},
      {"_ruby_type":"Hash","inspect":"{1=>2, :x=>4}","data":{"1":2,"x":4}}]}]], nil, true)))
    support.outputs({
      ["l | uniq | size"] = "2", ["l | sort: 1 | map: 1 | join: ','"] = "2,3,3",
      ["l | sort"] = "Liquid error (line 1): cannot sort values of incompatible types",
    }, list)
    assert.equal("yn", support.render(
      "{% if l[0] == l[1] %}y{% endif %}{% if l[0] == l[2] %}y{% else %}n{% endif %}{% if l[0] == empty %}e{% endif %}",
      list))
  end)

  it("is printed in the format of Liquid, also if Ruby 3.4 sent it", function()
    support.outputs({ ["h"] = PRINTED, ["h | upcase | slice: 0, 18"] = '{1=>"A", TRUE=>"B"' }, environment)
    support.outputs(
      { ["h"] = '{:foo=>1, :"a b"=>"x => y", 3=>"z: ", nil=>{"k"=>1}}', ["h.size"] = "4", ["h[3]"] = "z: " },
      with_hash('{foo: 1, "a b": "x => y", 3 => "z: ", nil => {"k" => 1}}',
        '{"foo":1,"a b":"x => y","3":"z: ","":{"k":1}}'))
    local later = '{"s" => :sym, foo: :bar, [1, "b: c"] => {a: {b?: 1}}, x: #<Drop a => 1>, "k: v" => nil}'
    support.outputs({ h = '{"s"=>:sym, :foo=>:bar, [1, "b: c"]=>{:a=>{:b?=>1}}, :x=>#<Drop a => 1>, "k: v"=>nil}' },
      with_hash(later, '{"s":"sym","foo":"bar"}'))
    support.outputs({ ["h"] = '{:"a\\"b"=>1, :a?=>2}', ["h | size"] = "2" },
      with_hash('{:"a\\"b"=>1, :a?=>2}', '{"a\\"b":1,"a?":2}'))
  end)

  it("may contain drops and other Ruby hashes", function()
    local nested = with_hash('{1=>{2=>"x"}, 3=>#<Drop a={1=>2}>}',
      [[{"1":{"_ruby_type":"Hash","inspect":"{2=>\"x\"}","data":{"2":"x"}},
         "3":{"_instantiate":"NumberDrop","params":{"value":4}}}]])
    support.outputs({ ["h[1][2]"] = "x", ["h[3] | plus: 1"] = "5", ["h.size"] = "2" }, nested)
  end)

  it("has unescaped keys", function()
    local names = { a = 'tab\tquote"', b = "\\x41", c = "\0é" }
    local escaped = with_hash(
      '{"tab\\tquote\\"" => 1, "\\\\x41" => 2, "\\x00\\u00E9" => 3, 12345678901234567890 => 4}',
      json.encode { [names.a] = 1, [names.b] = 2, [names.c] = 3, ["12345678901234567890"] = 4 })
    for variable, name in pairs(names) do escaped[variable] = name end
    support.outputs({ ["h[a]"] = "1", ["h[b]"] = "2", ["h[c]"] = "3", ["h[12345678901234567890]"] = "4" }, escaped)
  end)

  it("has string keys if inspect cannot be parsed", function()
    support.outputs({ ["h.a"] = "1", ["h"] = "{#<Object>=>1}", ["h | size"] = "1" },
      with_hash("{#<Object>=>1}", '{"a":1}'))
    for _, printed in ipairs {
      "", "{", '{"a=>1}', "{a=>}", "{1=>2, ", "{:=>1}", "nonsense", "{1=>2}", "{1-=>2}",
    } do
      support.outputs({ ["h.a"] = "1", ["h.size"] = "1" }, with_hash(printed, '{"a":1}'))
    end
  end)
end)

describe("a Ruby symbol", function()
  it("is a string", function()
    local environment = replace_markers(assert(json.decode(
      '{"s":{"_ruby_type":"Symbol","value":"foo","inspect":":foo"},"t":{"_ruby_type":"Symbol","value":":x"}}')))
    support.outputs({ s = "foo", ["s | upcase"] = "FOO", ["s.size"] = "3", t = ":x" }, environment)
    assert.equal("same", support.render("{% if s == 'foo' %}same{% endif %}", environment))
  end)
end)
