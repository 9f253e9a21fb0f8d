-- The rules of docs/architecture.md: which file may include or require which, and how files are cut and named.
local files = require "spec.support.files"

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

local function is_binding(path)
  local name = path:match "([%w_]+)%.[ch]$"
  return name == "core" or name:sub(1, 1) == "l"
end

local LUA_HEADERS = { ["lua.h"] = true, ["lauxlib.h"] = true, ["lualib.h"] = true, ["luaconf.h"] = true }

-- What each part of lua/pintle may require of the others. A part is a module and the folder of its name.
local MAY_REQUIRE = {
  ["bytes"] = {},
  ["cli"] = {
    "pintle.bytes", "pintle.core", "pintle.dialect", "pintle.duration", "pintle.error", "pintle.host",
    "pintle.jsonrpc", "pintle.lazy", "pintle.loop", "pintle.manifest", "pintle.plugin", "pintle.process",
    "pintle.schema", "pintle.task", "pintle.version", "pintle.via",
  },
  ["connect"] = {
    "pintle.core", "pintle.error", "pintle.loop", "pintle.options", "pintle.peer", "pintle.process",
    "pintle.task", "pintle.via",
  },
  ["content"] = { "pintle.bytes", "pintle.core" },
  ["dialect"] = {
    "pintle.bytes", "pintle.content", "pintle.core", "pintle.duration", "pintle.error", "pintle.jsonrpc", "pintle.lazy",
    "pintle.loop", "pintle.manifest", "pintle.options", "pintle.outcome", "pintle.task",
  },
  ["duration"] = {},
  ["error"] = {},
  ["host"] = {
    "pintle.connect", "pintle.core", "pintle.dialect", "pintle.duration", "pintle.error", "pintle.lazy",
    "pintle.loop", "pintle.manifest", "pintle.process", "pintle.task", "pintle.via",
  },
  ["init"] = {},
  ["jsonrpc"] = { "pintle.core", "pintle.error" },
  ["lazy"] = {},
  ["loop"] = { "pintle.core", "pintle.error" },
  ["manifest"] = {
    "pintle.core", "pintle.error", "pintle.jsonrpc", "pintle.lazy", "pintle.options", "pintle.schema",
  },
  ["options"] = {},
  ["outcome"] = { "pintle.core", "pintle.error" },
  ["peer"] = { "pintle.core", "pintle.error", "pintle.loop", "pintle.options", "pintle.task" },
  ["plugin"] = {
    "pintle.content", "pintle.core", "pintle.dialect", "pintle.error", "pintle.jsonrpc",
    "pintle.lazy", "pintle.loop", "pintle.manifest", "pintle.options", "pintle.peer", "pintle.process", "pintle.task",
  },
  ["process"] = { "pintle.core", "pintle.error", "pintle.loop", "pintle.via" },
  ["schema"] = { "pintle.core", "pintle.lazy", "pintle.options" },
  ["task"] = { "pintle.core", "pintle.error", "pintle.loop" },
  ["test"] = {
    "pintle.core", "pintle.error", "pintle.host", "pintle.loop", "pintle.options", "pintle.peer", "pintle.plugin",
    "pintle.task",
  },
  ["version"] = {},
  ["via"] = { "pintle.core", "pintle.duration", "pintle.error", "pintle.loop" },
}

-- The units (a .c and its .h), and the set of units that each includes.
local function included_by(paths, text_of)
  local units, names = {}, {}
  for _, path in ipairs(paths) do
    local unit = path:match "([%w_]+)%.[ch]$"
    if not units[unit] then
      units[unit], names[#names + 1] = {}, unit
    end
    for other in text_of(path):gmatch '#include "([%w_]+)%.h"' do
      if other ~= unit then units[unit][other] = true end
    end
  end
  table.sort(names)
  return units, names
end

local function sorted(set)
  local list = {}
  for name in pairs(set) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- The first path from a unit back to itself, as one line; nil if there is none.
local function find_cycle(units, names)
  local is_done, way = {}, {}
  local function follow(unit)
    for i, earlier in ipairs(way) do
      if earlier == unit then return table.concat(way, " -> ", i) .. " -> " .. unit end
    end
    if is_done[unit] then return nil end
    way[#way + 1] = unit
    for _, other in ipairs(sorted(units[unit] or {})) do
      local cycle = follow(other)
      if cycle then return cycle end
    end
    way[#way], is_done[unit] = nil, true
  end
  for _, name in ipairs(names) do
    local cycle = follow(name)
    if cycle then return cycle end
  end
end

describe("the C core", function()
  local sources = lines_of "ls csrc/*.[ch]"

  it("has files", function() assert.truthy(#sources > 20) end)

  it("includes Lua's headers only in core.h", function()
    for _, path in ipairs(sources) do
      if path ~= "csrc/core.h" then
        for header in files.read(path):gmatch "#include <([%w_/]+%.h)>" do
          assert.falsy(LUA_HEADERS[header], path .. " includes " .. header)
        end
      end
    end
  end)

  it("has no mechanism file that includes a binding", function()
    for _, path in ipairs(sources) do
      if not is_binding(path) then
        for header in files.read(path):gmatch '#include "([%w_]+%.h)"' do
          assert.falsy(is_binding(header), path .. " includes " .. header)
        end
      end
    end
  end)

  it("has includes without cycles", function()
    assert.is_nil(find_cycle(included_by(sources, files.read)))
  end)

  it("would find a cycle", function()
    local texts = {
      ["csrc/low.h"] = "", ["csrc/low.c"] = '#include "low.h"\n#include <stdio.h>',
      ["csrc/middle.h"] = '#include "low.h"', ["csrc/middle.c"] = '#include "middle.h"',
      ["csrc/high.h"] = '#include "middle.h"', ["csrc/high.c"] = '#include "high.h"\n#include "low.h"',
    }
    local paths = {}
    for path in pairs(texts) do paths[#paths + 1] = path end
    table.sort(paths)
    local function text_of(path) return texts[path] end
    assert.is_nil(find_cycle(included_by(paths, text_of)))
    texts["csrc/low.c"] = '#include "high.h"'
    assert.equal("high -> low -> high", find_cycle(included_by(paths, text_of)))
  end)
end)

local function count_lines(text) return select(2, text:gsub("\n", "")) end

describe("a source file", function()
  local MOST = 700 -- lines
  local VAGUE = { common = true, helpers = true, misc = true, util = true, utils = true }

  it("is one idea that can be read at once", function()
    for _, path in ipairs(lines_of "find csrc lua -name '*.[ch]' -o -name '*.lua'") do
      local count = count_lines(files.read(path))
      assert.truthy(count <= MOST, ("%s has %d lines"):format(path, count))
    end
  end)

  it("has the name of what it is about", function()
    for _, path in ipairs(lines_of "find csrc lua spec bench torture -name '*.[ch]' -o -name '*.lua'") do
      assert.is_nil(VAGUE[path:match "([%w_]+)%.%w+$"], path)
    end
  end)
end)

describe("docs/architecture.md", function()
  it("names only files and functions that exist", function()
    local code = {}
    for i, path in ipairs(lines_of "find csrc lua -name '*.[ch]' -o -name '*.lua'") do code[i] = files.read(path) end
    code = table.concat(code)
    local walk = files.read "docs/architecture.md":match "\n## The walk of one call\n(.-)\n## "
    local count = 0
    for name in walk:gmatch "`([%l_][%w_.:/]+)`" do
      local file = name:match "[%w_]+%.[ch]$" or name:match "[%w_/]+%.lua$"
      local word = file or name:match "[%w_]+$"
      local is_there = file and #lines_of("find csrc lua -path '*/" .. file .. "'") > 0
        or not file and code:find("%f[%w_]" .. word .. "%f[^%w_]")
      assert.truthy(is_there, name .. " does not exist")
      count = count + 1
    end
    assert.truthy(count > 20)
  end)
end)

local function is_in_part(module, part)
  local own = "pintle." .. part
  return module == own or module:sub(1, #own + 1) == own .. "."
end

local LOADS = { require = true, lazy = true }

-- Code in long strings runs elsewhere.
local function code_of(path) return (files.read(path):gsub("%[%[.-%]%]", "")) end

describe("the Lua layers", function()
  it("require only the parts that they may", function()
    for _, path in ipairs(lines_of "find lua/pintle -name '*.lua' -not -path '*/_meta/*'") do
      local part = path:match "lua/pintle/([%w_]+)"
      local allowed = {}
      for _, module in ipairs(assert(MAY_REQUIRE[part], path .. " has no place in the house yet")) do
        allowed[module] = true
      end
      for how, module in code_of(path):gmatch '(%l+)%s*%(?%s*"(pintle[%w_.]*)"' do
        local is_allowed = allowed[module:match "^pintle%.[%w_]+"] or is_in_part(module, part)
        assert.truthy(is_allowed or not LOADS[how], path .. " requires " .. module)
      end
    end
  end)

  it("use argparse only in the command", function()
    for _, path in ipairs(lines_of "grep -rlE 'require[ (]*[\"]argparse' lua") do
      assert.equal("cli", path:match "lua/pintle/([%w_]+)", path .. " requires argparse")
    end
  end)
end)
