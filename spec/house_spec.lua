-- Who may touch whom: the house keeps the order that docs/architecture.md gives.

local function lines_of(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  pipe:close()
  return lines
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read "a"
end

local function is_binding(path)
  local name = path:match "([%w_]+)%.[ch]$"
  return name == "core" or name:sub(1, 1) == "l"
end

local LUA_HEADERS = { ["lua.h"] = true, ["lauxlib.h"] = true, ["lualib.h"] = true, ["luaconf.h"] = true }

-- What each part of lua/pintle may require of the others. A part is a module and those in the folder of its name.
local MAY_REQUIRE = {
  ["bytes"] = {},
  ["cli"] = {
    "pintle.bytes", "pintle.core", "pintle.dialect", "pintle.duration", "pintle.error", "pintle.host", "pintle.lazy",
    "pintle.loop", "pintle.manifest", "pintle.members", "pintle.plugin", "pintle.process", "pintle.schema",
    "pintle.task", "pintle.version",
  },
  ["connect"] = {
    "pintle.core", "pintle.error", "pintle.exit", "pintle.lazy", "pintle.listen", "pintle.loop", "pintle.options",
    "pintle.peer", "pintle.process", "pintle.task",
  },
  ["dialect"] = {
    "pintle.bytes", "pintle.core", "pintle.duration", "pintle.error", "pintle.lazy", "pintle.loop", "pintle.manifest",
    "pintle.members", "pintle.outcome",
  },
  ["duration"] = {},
  ["error"] = {},
  ["exit"] = { "pintle.core" },
  ["host"] = {
    "pintle.connect", "pintle.core", "pintle.dialect", "pintle.duration", "pintle.error", "pintle.exit", "pintle.lazy",
    "pintle.loop", "pintle.manifest", "pintle.task",
  },
  ["init"] = { "pintle.connect", "pintle.core", "pintle.names" },
  ["lazy"] = {},
  ["listen"] = { "pintle.core", "pintle.error", "pintle.loop", "pintle.options", "pintle.peer", "pintle.task" },
  ["loop"] = { "pintle.core", "pintle.error" },
  ["manifest"] = { "pintle.core", "pintle.error", "pintle.lazy", "pintle.schema" },
  ["members"] = { "pintle.core", "pintle.error" },
  ["names"] = {},
  ["options"] = {},
  ["outcome"] = { "pintle.core", "pintle.error", "pintle.members" },
  ["peer"] = {
    "pintle.core", "pintle.error", "pintle.lazy", "pintle.loop", "pintle.options", "pintle.request", "pintle.task",
  },
  ["plugin"] = {
    "pintle.core", "pintle.dialect", "pintle.error", "pintle.exit", "pintle.lazy", "pintle.loop", "pintle.manifest",
    "pintle.peer", "pintle.process", "pintle.task",
  },
  ["process"] = { "pintle.core", "pintle.error", "pintle.loop" },
  ["request"] = { "pintle.core", "pintle.duration", "pintle.error", "pintle.lazy", "pintle.loop" },
  ["schema"] = { "pintle.core", "pintle.lazy" },
  ["task"] = { "pintle.core", "pintle.error", "pintle.loop" },
  ["version"] = {},
}

describe("the C core", function()
  local files = lines_of "ls csrc/*.[ch]"

  it("has files to look at", function() assert.truthy(#files > 20) end)

  it("has Lua's headers come from one of its own", function()
    for _, path in ipairs(files) do
      if path ~= "csrc/lapi.h" then
        for header in read(path):gmatch "#include <([%w_/]+%.h)>" do
          assert.falsy(LUA_HEADERS[header], path .. " includes " .. header)
        end
      end
    end
  end)

  it("lets no mechanism include a binding", function()
    for _, path in ipairs(files) do
      if not is_binding(path) then
        for header in read(path):gmatch '#include "([%w_]+%.h)"' do
          assert.falsy(is_binding(header), path .. " includes " .. header)
        end
      end
    end
  end)

  it("keeps every header's names to itself", function()
    for _, path in ipairs(lines_of "ls csrc/*.h") do
      local text = read(path)
      local has_externs = text:gsub("static inline[^{]*%b{}", ""):find "\n[%a][%w_ *]*pt_[%w_]+%(" ~= nil
      if has_externs then assert.truthy(text:find "visibility push%(hidden%)", path .. " shows its names") end
    end
  end)
end)

local function is_in_part(module, part)
  local own = "pintle." .. part
  return module == own or module:sub(1, #own + 1) == own .. "."
end

local LOADS = { require = true, lazy = true }

-- Code in long strings is for others to run.
local function code_of(path) return (read(path):gsub("%[%[.-%]%]", "")) end

describe("the Lua layers", function()
  it("require only what they may", function()
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

  it("leave the reading of command lines to the command", function()
    for _, path in ipairs(lines_of "grep -rlE 'require[ (]*[\"]argparse' lua") do
      assert.equal("cli", path:match "lua/pintle/([%w_]+)", path .. " requires argparse")
    end
  end)
end)
