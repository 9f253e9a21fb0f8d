local support = require "spec.support.engine"

local function kilobytes()
  collectgarbage()
  collectgarbage()
  return collectgarbage("count")
end

describe("memory in use", function()
  local files = { sign = "{% capture s %}-- {{ name | upcase }}{% endcapture %}{{ s }}" }

  local function render(i)
    local template = support.liquid.compile("{% for x in l %}{{ x | append: n }}{% cycle 'a', 'b' %}{% endfor %}"
      .. "{% render 'sign', name: n %}{{ n | divided_by: 0 }}{{ n | date: '%Y' }}", { filesystem = files })
    for j = 1, 20 do assert(template:render { l = { 1, 2, "x" .. j }, n = i * 20 + j }) end
  end

  it("does not grow with renders", function()
    for i = 1, 20 do render(i) end
    local before = kilobytes()
    for i = 21, 520 do render(i) end
    assert.is_true(kilobytes() - before < 64, kilobytes() - before .. " kB more")
  end)

  it("does not grow with new templates", function()
    local function compile(from, to)
      for i = from, to do
        assert(support.liquid.compile(("{{ v%d.x | append: 'y%d' }}{%% if a%d > %d %%}{%% endif %%}"
          .. "{%% for i in l%d %%}{%% endfor %%}{{ now | date: '%%%%Y %d' }}"):format(i, i, i, i, i, i)))
      end
    end
    compile(1, 9000)
    local before = kilobytes()
    compile(9001, 18000)
    assert.is_true(kilobytes() - before < 512, kilobytes() - before .. " kB more")
  end)
end)
