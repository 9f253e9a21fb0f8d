-- docs/errors.md has every kind of error and every code of the sources, and no others.
local files = require "spec.support.files"

local PAGE = files.read "docs/errors.md"

local function section(heading) return PAGE:match("\n## " .. heading .. "\n(.-)\n## ") end

local function found_in(text, pattern)
  local set = {}
  for item in text:gmatch(pattern) do set[item] = true end
  return set
end

local function printed_by(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read "a"
end

describe("the page on errors", function()
  it("has every kind", function()
    local alias = files.read "lua/pintle/error.lua":match "@alias pintle.error.kind\n(.-)\n\n"
    assert.same(found_in(alias, '"(%l+)"'), found_in(section "Kinds", "\n| `(%l+)` |"))
  end)

  it("has every code", function()
    local sources = printed_by "cat csrc/*.[ch]; find lua -name '*.lua' -not -path '*/cli/*' -exec cat {} +"
    local codes = found_in(sources, "(%-32%d%d%d)%f[%D]")
    codes["1"] = true
    assert.same(codes, found_in(section "Codes", "\n| (%-?%d+) |"))
  end)

  it("has every member", function()
    local class = files.read "lua/pintle/error.lua":match "@class pintle.error\n(.-)\n\n"
    local rows = section("The object"):gsub("[^\n]*", function(line) return line:match "^| (.-) |" or "" end)
    assert.same(found_in(class, "@field (%l+)"), found_in(rows, "`(%l+)`"))
  end)
end)
