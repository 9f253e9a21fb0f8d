-- script/render, from the shell.

local function run(arguments)
  local pipe = io.popen("PATH=$PATH script/render " .. arguments .. " 2>&1; echo \"[$?]\"")
  local output = pipe:read("a")
  pipe:close()
  return output
end

describe("script/render", function()
  local directory

  local function write(name, text)
    local file <close> = assert(io.open(directory .. "/" .. name, "w"))
    file:write(text)
    return directory .. "/" .. name
  end

  before_each(function()
    directory = os.tmpname()
    os.remove(directory)
    assert(os.execute("mkdir " .. directory))
  end)

  after_each(function() os.execute("rm -r " .. directory) end)

  it("renders a template with data and partials", function()
    local template = write("page.liquid", "{% render 'item' for items %}{{ h }}\n")
    write("_item.liquid", "{{ item | upcase }};")
    local data = write("data.json", '{"items":["a","b"],"h":{"z":1,"a":2}}')
    assert.equal('A;B;{"z"=>1, "a"=>2}\n[0]\n', run(template .. " " .. data))
  end)

  it("renders a template without data", function()
    assert.equal("3[0]\n", run(write("t.liquid", "{{ 1 | plus: 2 }}")))
  end)

  it("reports errors, and fails with status 1", function()
    assert.matches("usage: render TEMPLATE.liquid.*%[1%]", run "")
    assert.matches("nowhere.liquid: No such file.*%[1%]", run "nowhere.liquid")
    assert.matches("Liquid syntax error %(line 1%).*%[1%]", run(write("bad.liquid", "{% if %}")))
    assert.matches("divided by 0.*%[1%]", run(write("zero.liquid", "{{ 1 | divided_by: 0 }}")))
    assert.matches("bad.json: .*line 1.*%[1%]", run(write("t.liquid", "x") .. " " .. write("bad.json", "{")))
    assert.matches("an object expected.*%[1%]", run(write("t.liquid", "x") .. " " .. write("list.json", "[]")))
  end)

  it("reads no partial outside of the template's directory", function()
    assert.matches("Could not find asset", run(write("t.liquid", "{% render '../../../../../../etc/hosts' %}")))
  end)
end)
