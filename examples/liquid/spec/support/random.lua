-- Random templates, of features that are the same in this engine and in older releases of ruby-liquid.

local random = {}

local function pick(list) return list[math.random(#list)] end

---The environment of all templates, as JSON.
random.environment = [=[{"i":7,"n":-3,"z":0,"f":2.5,"g":-0.75,"s":"Hello World","e":"","w":"  two words ","d":"12",
"x":"3.5kg","big":12345678901234567890,"neg":-98765432109876543210,
"t":true,"b":false,"nil":null,"l":[3,1,2],"m":["b","A","c",null,"a"],"k":["x","x","y"],
"nested":[1,[2,[3,4]],5],"h":{"a":1,"b":"two","c":[1,2]},"o":[{"n":"one","v":1,"ok":true},
{"n":"Two","v":2.5,"ok":false},{"n":"three","v":null}],"u":"äöü ß é","letters":"ǆ ŉ Σς İ",
"odd":"1_0","zoned":"2024-03-09T23:05:06-05:30","p":"a,b,,c,","day":"2024-03-09 17:05:06",
"html":"<p class=\"x\">a &amp; b</p>\n<script>c</script> d"}]=]

local names = {
  "i", "n", "z", "f", "g", "s", "e", "w", "d", "x", "t", "b", "big", "neg", "nil", "l", "m", "k", "nested", "h", "o",
  "u", "letters", "odd", "zoned", "html",
  "p", "day", "missing", "h.a", "h.b", "h.c", "h.size", "h.first", "h.nope", "l.first", "l.last", "l.size", "s.size",
  "o.first.n", "l[0]", "l[-1]", "l[9]", "h['b']", "o[1].v", "o[1]['n']", "nested[1][0]",
}
local literals = {
  "1", "0", "-2", "10", "3", "1.5", "-0.5", "100", "'a'", "\"b\"", "''", "' '", "'l'", "'o'", "', '", "'two'", "nil",
  "true", "false", "'12'", "'1.25'", "'-4'", "(1..3)", "(z..i)",
}

local function one_of(list)
  return function() return pick(list) end
end

local function value() return math.random() < 0.6 and pick(names) or pick(literals) end
local text = one_of { "'a'", "'l'", "'o'", "' '", "','", "''", "s", "e", "'World'", "'lo'", "d", "i", "nil" }
local number = one_of { "0", "1", "2", "3", "5", "-1", "-2", "10", "i", "n", "z", "'2'", "d" }
local amount = one_of { "0", "1", "2", "3", "-4", "2.5", "0.1", "-1.5", "i", "f", "g", "z", "d", "x", "'7'" }
local property, places = one_of { "'n'", "'v'", "'ok'", "'nope'" }, one_of { "0", "1", "2", "-1" }
local list_name = one_of { "l", "m", "k" }
local pattern = one_of { "'%Y-%m-%d'", "'%H:%M:%S %p'", "'%a %b %e %j'", "'%y%%'", "''", "'%-d/%-m %l'" }

-- Filters and their arguments.
local filters = {
  { "upcase" }, { "downcase" }, { "capitalize" }, { "strip" }, { "lstrip" }, { "rstrip" }, { "strip_html" },
  { "escape" }, { "escape_once" }, { "strip_newlines" }, { "newline_to_br" }, { "size" }, { "reverse" }, { "uniq" },
  { "compact" }, { "url_encode" }, { "abs" }, { "ceil" }, { "floor" }, { "base64_encode" },
  { "base64_url_safe_encode" }, { "sort_natural" }, { "round" },
  { "append", text }, { "prepend", text }, { "remove", text }, { "remove_first", text }, { "remove_last", text },
  { "split", text }, { "join", text }, { "replace", text, text }, { "replace_first", text, text },
  { "replace_last", text, text }, { "truncate", number }, { "truncate", number, text }, { "truncatewords", number },
  { "truncatewords", number, text }, { "slice", number }, { "slice", number, number },
  { "plus", amount }, { "minus", amount }, { "times", amount }, { "divided_by", amount }, { "modulo", amount },
  { "at_least", amount }, { "at_most", amount }, { "round", places }, { "default", value },
  { "map", property }, { "where", property }, { "where", property, value }, { "compact", property },
  { "uniq", property }, { "concat", list_name }, { "date", pattern },
}

local function filter()
  local shape = pick(filters)
  local arguments = {}
  for i = 2, #shape do arguments[i - 1] = shape[i]() end
  return " | " .. shape[1] .. (#arguments > 0 and ": " .. table.concat(arguments, ", ") or "")
end

local function filtered()
  local parts = { math.random() < 0.1 and pick { "l | first", "m | last", "o | last", "h | first" } or value() }
  for _ = 1, math.random(0, 3) do parts[#parts + 1] = filter() end
  return table.concat(parts)
end

local function comparison()
  local operator = pick { "==", "!=", "<", ">", "<=", ">=", "contains", "<>" }
  local left, right = value(), value()
  if math.random() < 0.25 then return left end
  if math.random() < 0.2 then right = "empty" end
  return left .. " " .. operator .. " " .. right
end

local function condition()
  local text_of = comparison()
  while math.random() < 0.3 do text_of = text_of .. pick { " and ", " or " } .. comparison() end
  return text_of
end

local body

local function collection()
  return pick { "l", "m", "o", "h", "nested", "s", "e", "nil", "missing", "(1..4)", "(z..2)", "i", "h.c", "k" }
end

local function loop_attributes()
  local list = {}
  if math.random() < 0.3 then list[#list + 1] = "limit: " .. pick { "0", "1", "2", "i", "'2'", "nil", "-1" } end
  if math.random() < 0.3 then list[#list + 1] = "offset: " .. pick { "0", "1", "2", "continue", "'1'", "nil", "-1" } end
  return #list > 0 and " " .. table.concat(list, " ") or ""
end

local function dash() return math.random() < 0.2 and "-" or "" end
local function tag(markup) return "{%" .. dash() .. " " .. markup .. " " .. dash() .. "%}" end
local function space() return pick { "", " ", "\n", "  \n ", "x", " y " } end

local statements = {
  function() return "{{" .. dash() .. " " .. filtered() .. " " .. dash() .. "}}" end,
  function() return tag("assign " .. pick { "q", "r", "i" } .. " = " .. filtered()) end,
  function() return tag("echo " .. filtered()) end,
  function(depth)
    local middle = math.random() < 0.3 and tag("elsif " .. condition()) .. body(depth) or ""
    local otherwise = math.random() < 0.4 and tag "else" .. body(depth) or ""
    local name = pick { "if", "unless" }
    return tag(name .. " " .. condition()) .. body(depth) .. middle .. otherwise .. tag("end" .. name)
  end,
  function(depth)
    local otherwise = math.random() < 0.3 and tag "else" .. body(depth) or ""
    local reversed = math.random() < 0.2 and " reversed" or ""
    return tag("for v in " .. collection() .. reversed .. loop_attributes())
      .. pick { "{{ v }}", "{{ forloop.index }}", "{{ forloop.last }}", "{{ v.n }},", "" } .. body(depth) .. otherwise
      .. tag "endfor"
  end,
  function(depth)
    local when = tag("when " .. value() .. pick { "", " or 'a'", ", 1, nil" }) .. body(depth)
    local otherwise = math.random() < 0.5 and tag "else" .. body(depth) or ""
    return tag("case " .. value()) .. pick { "", "\n", "x" } .. when .. otherwise .. tag "endcase"
  end,
  function(depth)
    return tag("tablerow v in " .. collection() .. pick { "", " cols: 2", " cols:2 limit:3", " offset: 1", " cols: i" })
      .. pick { "{{ v }}", "{{ tablerowloop.col }}", " " } .. body(depth) .. tag "endtablerow"
  end,
  function(depth) return tag "capture q" .. body(depth) .. tag "endcapture" .. "{{ q }}" end,
  function()
    return tag("cycle " .. pick { "'a', 'b'", "1, 2, 3", "'g': 'a', 'b'", "i, s", "'a', 'b', 'c'", "s: 'x', 'y'" })
  end,
  function() return tag(pick { "increment q", "decrement q", "increment i", "increment other" }) end,
  function() return tag(pick { "break", "continue" }) end,
  function() return "{% raw %}" .. pick { "{{ x }}", "{% if", " a " } .. "{% endraw %}" end,
  function() return tag "comment" .. pick { " {{ x }} ", "x", "" } .. tag "endcomment" end,
  function() return tag("# " .. pick { "note", "" }) end,
  function(depth) return tag "ifchanged" .. body(depth) .. tag "endifchanged" end,
  function()
    return tag(pick { "render", "include" } .. pick { " 'p'", " 'p' with i", " 'p' for l", " 'p', a: s", " 'none'",
      " 'p' with o as a", " 'p' for o as a" })
  end,
  function() return "{% liquid\n assign q = " .. filtered() .. "\n echo q\n if t\n echo i\n endif\n%}" end,
}

function body(depth)
  local parts = { space() }
  for _ = 1, math.random(0, depth > 2 and 1 or 2) do
    parts[#parts + 1] = pick(statements)(depth + 1)
    parts[#parts + 1] = space()
  end
  return table.concat(parts)
end

---The partials of the templates.
random.files = { p = "[{{ p }}{{ a }}{{ i }}{{ q }}{{ forloop.index }}{% assign q = 'in' %}{% increment i %}]" }

-- Older releases of ruby-liquid differ in tablerow and in dates that are digits with a sign.
local function is_disputed(template)
  local has_date = template:find("date", 1, true) and template:find("-", 1, true)
  if not template:find("tablerow", 1, true) then return has_date end
  return template:find("break", 1, true) or template:find("continue %-?%%}") or template:find("assign i", 1, true)
    or template:find("date", 1, true)
end

---@return string template
function random.template()
  local parts = {}
  for _ = 1, math.random(1, 3) do parts[#parts + 1] = space() .. pick(statements)(0) end
  local template = table.concat(parts)
  return is_disputed(template) and random.template() or template
end

return random
