local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local files = require "spec.support.files"

local folder

children.leave_nothing()
files.give_each_a_folder(function(path) folder = path end)

-- Runs the doctor with these modules found before all others.
local function examine(modules, ...)
  for name, code in pairs(modules) do files.write(("%s/%s.lua"):format(folder, name), code) end
  return cli.run({ "doctor", ... }, { env = { LUA_PATH = folder .. "/?.lua;" .. os.getenv "LUA_PATH" } })
end

local function find(findings, what)
  for _, finding in ipairs(findings) do
    if finding.what == what then return finding end
  end
end

describe("pintle doctor", function()
  it("reports no problem when everything is installed", function()
    local out, err, status = examine { luv = "return {}", rex_pcre2 = "return {}" }
    assert.same({ "", 0 }, { err, status })
    assert.truthy(out:find "^WHAT +STATE +VERSION +MEANING\nlua +ok +5.4 +the interpreter\npintle.core +ok +scm ", out)
    for _, name in ipairs(dialects.names()) do
      assert.truthy(out:find(("\ndialect %s +ok "):format(name)), out)
    end
    assert.is_nil(out:find "For ")
  end)

  it("reports a broken module, its purpose and how to fix it", function()
    local out, err, status = examine { lfs = "error 'not today'" }
    assert.same({ "", 1 }, { err, status })
    assert.truthy(out:find "\nlfs +broken +plugin discovery in hosts\n", out)
    assert.truthy(out:find("\nlfs is broken: " .. folder .. "/lfs.lua:1: not today\n", 1, true), out)
    local advice = "\nFor lfs: apt-get install lua-filesystem, or luarocks install luafilesystem\n"
    assert.truthy(out:find(advice, 1, true), out)
  end)

  it("exits with 0 when an optional module is missing", function()
    local out, _, status = examine { rex_pcre2 = "error 'none'" }
    assert.equal(0, status)
    local advice = "\nFor rex_pcre2: apt-get install lua-rex-pcre2, or luarocks install lrexlib-pcre2\n"
    assert.truthy(out:find(advice, 1, true), out)
  end)

  it("prints the report as JSON", function()
    local out, err, status = examine({ cjson = "error 'not today'" }, "--json")
    assert.same({ "", 1 }, { err, status })
    local told = core.json.decode(out)
    assert.is_false(told.ok)
    assert.same({
      what = "cjson", state = "broken", needed = true, detail = folder .. "/cjson.lua:1: not today",
      meaning = "the codec that any peer can take instead",
      advice = "apt-get install lua-cjson, or luarocks install lua-cjson",
    }, find(told.findings, "cjson"))
    assert.same({ "ok", true, "scm" }, (function(finding)
      return { finding.state, finding.needed, finding.version }
    end)(find(told.findings, "pintle.core")))
  end)
end)
