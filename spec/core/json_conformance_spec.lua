-- The parsing suite of Nicolas Seriot. It is beside the checkout, not part of the project, so it may
-- be missing.
local core = require "pintle.core"
local deep = require "spec.support.deep"
local files = require "spec.support.files"
local lfs = require "lfs"

local json = core.json
local folder = "../shared/conformance/json"

local function cases(prefix)
  local list = {}
  for name in lfs.dir(folder) do
    if name:match("^" .. prefix .. "_.*%.json$") then list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

-- The rows of the table in docs/json.md: the name of a case, and what the codec does with it.
local function choices()
  local rows = {}
  for name, choice in files.read("docs/json.md"):gmatch("\n| `(i_[^`]+)` | (%a+) |") do
    assert.is_nil(rows[name], name .. " is in the table twice")
    rows[name] = choice
  end
  return rows
end

local function judge(name)
  local value, message = json.decode(files.read(folder .. "/" .. name))
  if value ~= nil then return "accepted" end
  assert.matches(" at line %d+, column %d+$", message)
  return "rejected"
end

-- Raw text must be accepted and refused in the same cases.
local function judge_raw(name)
  return pcall(json.raw, files.read(folder .. "/" .. name)) and "accepted" or "rejected"
end

local function assert_judged(expected, name)
  assert.equal(expected, judge(name), name)
  assert.equal(expected, judge_raw(name), name)
end

describe("the conformance suite", function()
  if not lfs.attributes(folder) then
    it("is not beside this checkout: skipped", function() end)
    return
  end

  it("has every one of its files", function()
    assert.equal(95, #cases("y"))
    assert.equal(188, #cases("n"))
    assert.equal(35, #cases("i"))
  end)

  it("has its valid texts accepted", function()
    for _, name in ipairs(cases("y")) do assert_judged("accepted", name) end
  end)

  it("has its invalid texts rejected", function()
    for _, name in ipairs(cases("n")) do assert_judged("rejected", name) end
  end)

  it("has its optional texts treated as docs/json.md says", function()
    local rows = choices()
    for _, name in ipairs(cases("i")) do
      assert_judged(rows[name] or "in the table of docs/json.md", name)
    end
  end)

  it("has every case that docs/json.md names", function()
    local count = 0
    for name in pairs(choices()) do
      assert.is_table(lfs.attributes(folder .. "/" .. name), name)
      count = count + 1
    end
    assert.equal(#cases("i"), count)
  end)

  it("gives the same values after encoding and decoding again", function()
    for _, name in ipairs(cases("y")) do
      local value = json.decode(files.read(folder .. "/" .. name))
      assert.is_true(deep.equal(value, json.decode(json.encode(value))), name)
    end
  end)
end)
