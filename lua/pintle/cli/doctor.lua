-- pintle doctor: what is installed, what is missing, and what that means. It must run with nothing but Lua.

local columns = require "pintle.cli.columns"
local status = require "pintle.cli.status"

---@class pintle.cli.finding
---@field what string
---@field state "ok"|"missing"|"broken"
---@field needed boolean
---@field version? string
---@field detail? string what is wrong, or where it is
---@field meaning string what it is for
---@field advice? string what to do about it

local INSTALL = "apt-get install %s, or luarocks install %s"

-- Modules that others make, in the order in which they are told.
local MODULES = {
  { "argparse", needed = true, meaning = "reads the command line of `pintle`", "lua-argparse", "argparse" },
  { "cjson", needed = true, meaning = "the codec that values are shared with", "lua-cjson", "lua-cjson" },
  { "lfs", needed = true, meaning = "finds plugins in directories; hosts need it", "lua-filesystem", "luafilesystem" },
  { "rex_pcre2", needed = false, meaning = "`pattern` in JSON Schemas; those that have none work without",
    "lua-rex-pcre2", "lrexlib-pcre2" },
  { "luv", needed = false, meaning = "the example that is driven by another loop", "lua-luv", "luv" },
}

local function first_line(text) return (tostring(text):match "[^\n]*") end

-- {====== What is looked at ======

local function place_of(name)
  return package.searchpath(name, package.path) or package.searchpath(name, package.cpath)
end

local function version_of(module)
  if type(module) ~= "table" then return nil end
  local version = module._VERSION or module.version
  if type(version) == "function" then
    local ok, told = pcall(version)
    version = ok and told or nil
  end
  return type(version) == "string" and version:match "%d[%w.-]*" or nil
end

local function look_at_module(name)
  local place = place_of(name)
  if not place then return { what = name, state = "missing" } end
  local ok, module = pcall(require, name)
  if not ok then return { what = name, state = "broken", detail = first_line(module) } end
  return { what = name, state = "ok", version = version_of(module), detail = place }
end

local function look_at_lua()
  return { what = "lua", state = "ok", needed = true, version = _VERSION:match "[%d.]+", detail = arg and arg[-1],
    meaning = "runs everything" }
end

local function look_at_core()
  local finding = look_at_module "pintle.core"
  finding.needed, finding.meaning = true, "the C core: frames, JSON, processes"
  finding.version = require "pintle.version"
  if finding.state ~= "ok" then finding.advice = "run `make` in a checkout, or luarocks make" end
  return finding
end

local function look_at_others(list)
  for _, module in ipairs(MODULES) do
    local finding = look_at_module(module[1])
    finding.needed, finding.meaning = module.needed, module.meaning
    if finding.state ~= "ok" then finding.advice = INSTALL:format(module[2], module[3]) end
    list[#list + 1] = finding
  end
end

local function look_at_dialect(dialects, name)
  local ok, dialect, message = pcall(dialects.get, name)
  local is_right = ok and dialect ~= nil
  return {
    what = "dialect " .. name, needed = true, state = is_right and "ok" or "broken",
    detail = is_right and dialect.framing .. " framing" or first_line(ok and message or dialect),
    meaning = "a protocol that plugins and hosts speak", advice = not is_right and "install pintle again" or nil,
  }
end

local function look_at_dialects(list)
  local dialects = require "pintle.dialect"
  for _, name in ipairs(dialects.names()) do list[#list + 1] = look_at_dialect(dialects, name) end
end

---@return pintle.cli.finding[]
local function examine()
  local list = { look_at_lua(), look_at_core() }
  look_at_others(list)
  look_at_dialects(list)
  return list
end

-- }======

-- {====== What is told ======

local COLOURS = { ok = "green", missing = "yellow", broken = "red" }

local function show(findings, console)
  local rows = {}
  for i, finding in ipairs(findings) do
    local state = finding.state == "missing" and not finding.needed and "missing, optional" or finding.state
    rows[i] = { finding.what, state, finding.version or "", finding.meaning }
  end
  for i, line in ipairs(columns({ "WHAT", "STATE", "VERSION", "MEANING" }, rows)) do
    local style = i == 1 and "bold" or COLOURS[findings[i - 1].state]
    console:print(i == 1 and console:paint(style, line) or line:gsub(findings[i - 1].state, function(state)
      return console:paint(style, state)
    end, 1))
  end
end

local function advise(findings, console)
  for _, finding in ipairs(findings) do
    if finding.state == "broken" then console:tell(("%s is broken: %s"):format(finding.what, finding.detail)) end
    if finding.advice then console:tell(("For %s: %s"):format(finding.what, finding.advice)) end
  end
end

local function is_well(findings)
  for _, finding in ipairs(findings) do
    if finding.needed and finding.state ~= "ok" then return false end
  end
  return true
end

local NAMES = { "what", "state", "needed", "version", "detail", "meaning", "advice" }

-- Where the core is missing, the other codec has to do, if that is there.
local function show_json(findings, is_fine, console)
  local ok, core = pcall(require, "pintle.core")
  if not ok then return console:print(require "cjson".encode { ok = is_fine, findings = findings }) end
  local order = core.json.order(NAMES)
  for _, finding in ipairs(findings) do setmetatable(finding, order) end
  console:json(setmetatable({ ok = is_fine, findings = findings }, core.json.order { "ok", "findings" }))
end

-- }======

---@type pintle.cli.command
return {
  name = "doctor",
  summary = "Tell what is installed, what is missing, and what that means.",
  define = function(parser)
    parser:flag("--json", "Print it for programs to read.")
  end,
  run = function(args, console)
    local findings = examine()
    local is_fine = is_well(findings)
    if args.json then
      show_json(findings, is_fine, console)
    else
      show(findings, console)
      advise(findings, console)
    end
    return is_fine and status.DONE or status.FAILED
  end,
}
