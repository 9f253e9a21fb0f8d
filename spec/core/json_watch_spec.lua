-- Objects with watched names are found without visiting everything that was decoded.
local children = require "spec.support.children"
local core = require "pintle.core"
local pair = require "spec.support.pair"

local json = core.json
local trail = json.watch { "_marker" }

-- Texts shorter than 4096 bytes are not watched.
local FILLER = '"' .. ("x"):rep(5000) .. '"'

local function decode(text, ordered) return json.decode(text:gsub("FILLER", FILLER), nil, ordered) end

describe("json.watch", function()
  it("marks objects with a watched name, and the containers around them", function()
    for _, ordered in ipairs { false, true } do
      local value = decode('{"f":FILLER,"a":{"b":[0,{"_marker":1,"in":{}}],"c":{}},"d":[{}],"_other":{}}', ordered)
      for _, noted in ipairs { value, value.a, value.a.b, value.a.b[2] } do assert.is_true(trail[noted]) end
      for _, other in ipairs { value.a.b[2]["in"], value.a.c, value.d, value.d[1], value._other } do
        assert.is_nil(trail[other])
      end
    end
  end)

  it("reports that a text has no watched names", function()
    for _, text in ipairs { '{"f":FILLER,"marker":{}}', '["_marker",FILLER]', '{"f":FILLER,"x":"_marker"}' } do
      assert.is_false(trail[decode(text)])
    end
  end)

  it("has no marks for short texts and for tables created in Lua", function()
    assert.is_nil(trail[json.decode '{"_marker":1}'])
    assert.is_nil(trail[{ _marker = 1 }])
  end)

  it("finds names written with escapes, and repeated names", function()
    assert.is_true(trail[decode '{"f":FILLER,"a":{"\\u005fmarker":1}}'.a])
    assert.is_true(trail[decode '{"f":FILLER,"a":{"_marker":1,"_marker":2}}'.a])
    assert.is_false(trail[decode '{"f":FILLER,"a":{"_markers":1,"\\u005fmark":2}}'])
  end)

  it("finds names at any depth and in containers of any size", function()
    local deep = ('[{"x":'):rep(200) .. '{"_marker":1}' .. "}]" .. ('}]'):rep(199)
    local value = decode('{"f":FILLER,"clean":[[[]]],"deep":' .. deep .. "}")
    assert.is_nil(trail[value.clean])
    local node, levels = value.deep, 0
    while node[1] do
      assert.is_true(trail[node] and trail[node[1]])
      node, levels = node[1].x, levels + 1
    end
    assert.equal(200, levels)
    assert.is_true(trail[node])
    value = decode("[" .. ("{},"):rep(100) .. '{"_marker":1},' .. ("{},"):rep(100) .. "FILLER]")
    assert.is_true(trail[value] and trail[value[101]])
    assert.is_nil(trail[value[100]] or trail[value[102]])
    local members = {}
    for i = 1, 300 do members[i] = ('"n%d":{}'):format(i) end
    value = decode('{"f":FILLER,"_marker":1,' .. table.concat(members, ",") .. "}")
    assert.is_true(trail[value])
  end)

  it("marks what streams receive", function()
    local a, b = pair.open {}
    a:notify("m", { environment = { { _marker = 1 }, {} }, filler = ("x"):rep(5000) })
    local params = select(4, pair.pass(a, b))
    assert.is_true(trail[params] and trail[params.environment] and trail[params.environment[1]])
    assert.is_nil(trail[params.environment[2]])
    a:notify("m", { filler = ("x"):rep(5000) })
    assert.is_false(trail[select(4, pair.pass(a, b))])
    a:close()
    b:close()
  end)

  it("does not keep objects from being collected", function()
    collectgarbage()
    decode '{"f":FILLER,"a":{"_marker":1}}'
    collectgarbage()
    collectgarbage()
    assert.is_nil(next(trail))
  end)

  it("returns the same object again, and watches names decoded before", function()
    local value = decode '{"f":FILLER,"_late":1}'
    assert.is_false(trail[value])
    assert.equal(trail, json.watch { "_marker", "_late" })
    assert.is_true(trail[decode '{"f":FILLER,"_late":1}'])
  end)

  it("accepts up to 8 names of up to 22 bytes", function()
    local code = [[
      local watch = require("pintle.core").json.watch
      local names = {}
      for i = 1, 8 do names[i] = ("n"):rep(21) .. i end
      assert(watch(names) == watch(names))
      for _, wrong in ipairs { { "ninth" }, { 1 }, { "" }, { ("x"):rep(23) }, { {} }, "name" } do
        assert(not pcall(watch, wrong))
      end
      assert(not pcall(watch))
      print "done"]]
    assert.equal("done\n", (children.run { command = children.lua(code) }))
  end)
end)
