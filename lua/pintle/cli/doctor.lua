-- pintle doctor: reports what is installed and what is missing. It has to run with nothing but Lua itself.

local consoles = require "pintle.cli.console"
local status = require "pintle.cli.status"

---@class pintle.cli.finding
---@field what string
---@field state "ok"|"missing"|"broken"
---@field needed boolean
---@field version? string
---@field detail? string the error, or the path
---@field meaning string its purpose
---@field advice? string how to fix it

local INSTALL = "apt-get install %s, or luarocks install %s"

-- Third-party modules, in the order of the report.
local MODULES = {
  { "argparse", needed = true, meaning = "parses the command line of `pintle`", "lua-argparse", "argparse" },
  { "cjson", needed = true, meaning = "the codec that any peer can take instead", "lua-cjson", "lua-cjson" },
  { "lfs", needed = true, meaning = "plugin discovery in hosts", "lua-filesystem", "luafilesystem" },
  { "rex_pcre2", needed = false, meaning = "`pattern` in JSON Schemas",
    "lua-rex-pcre2", "lrexlib-pcre2" },
  { "luv", needed = false, meaning = "the example with another event loop", "lua-luv", "luv" },
}

local function first_line_of_error(text) return (tostring(text):match "[^\n]*") end

-- {====== Checks ======

local function module_place(name)
  return package.searchpath(name, package.path) or package.searchpath(name, package.cpath)
end

local function module_version(module)
  if type(module) ~= "table" then return nil end
  local version = module._VERSION or module.version
  if type(version) == "function" then
    local ok, value = pcall(version)
    version = ok and value or nil
  end
  return type(version) == "string" and version:match "%d[%w.-]*" or nil
end

local function module_finding(name)
  local place = module_place(name)
  if not place then return { what = name, state = "missing" } end
  local ok, module = pcall(require, name)
  if not ok then return { what = name, state = "broken", detail = first_line_of_error(module) } end
  return { what = name, state = "ok", version = module_version(module), detail = place }
end

local function lua_finding()
  return { what = "lua", state = "ok", needed = true, version = _VERSION:match "[%d.]+", detail = arg and arg[-1],
    meaning = "the interpreter" }
end

local function core_finding()
  local finding = module_finding "pintle.core"
  finding.needed, finding.meaning = true, "the C core: frames, JSON, processes"
  finding.version = require "pintle.version"
  if finding.state ~= "ok" then finding.advice = "run `make` in a checkout, or luarocks make" end
  return finding
end

local function add_module_findings(list)
  for _, module in ipairs(MODULES) do
    local finding = module_finding(module[1])
    finding.needed, finding.meaning = module.needed, module.meaning
    if finding.state ~= "ok" then finding.advice = INSTALL:format(module[2], module[3]) end
    list[#list + 1] = finding
  end
end

local function dialect_finding(dialects, name)
  local ok, dialect, message = pcall(dialects.get, name)
  local is_usable = ok and dialect ~= nil
  return {
    what = "dialect " .. name, needed = true, state = is_usable and "ok" or "broken",
    detail = is_usable and dialect.framing .. " framing" or first_line_of_error(ok and message or dialect),
    meaning = "a protocol of plugins and hosts", advice = not is_usable and "reinstall pintle" or nil,
  }
end

local function add_dialect_findings(list)
  local dialects = require "pintle.dialect"
  for _, name in ipairs(dialects.names()) do list[#list + 1] = dialect_finding(dialects, name) end
end

-- What sandboxes are made of. Each part is tried, since a system may have it and forbid its use.
local function try_namespaces(core)
  local process <close>, message = core.spawn { command = { "true" }, stdin = "null", stdout = "null", stderr = "null",
    sandbox = { namespaces = "network" } }
  return process ~= nil, message
end

local function try_process_limit(core)
  local _, _, is_root = core.sandbox()
  if not is_root then return try_namespaces(core) end
  local ok, groups = pcall(require, "pintle.process.control_group")
  if not ok then return false, first_line_of_error(groups) end
  local group, message = groups.create(1)
  if group then group:close() end
  return group ~= nil, message
end

local NEEDED_LANDLOCK = 6 -- for all that a sandbox restricts

local function add_sandbox_findings(list)
  local ok, core = pcall(require, "pintle.core")
  if not ok then return end
  local version, has_filter = core.sandbox()
  local function add_sandbox_part(what, is_there, meaning, more)
    local finding = { what = "sandbox: " .. what, needed = false, state = is_there and "ok" or "missing",
      meaning = meaning }
    for name, value in pairs(more or {}) do finding[name] = value end
    list[#list + 1] = finding
  end
  add_sandbox_part("Landlock", version >= NEEDED_LANDLOCK, "files, TCP ports, signals, abstract sockets",
    { version = tostring(version), detail = ("version %d is needed for all of it"):format(NEEDED_LANDLOCK) })
  add_sandbox_part("seccomp", has_filter, "system calls, and sockets of every kind")
  local has_namespaces, why = try_namespaces(core)
  add_sandbox_part("namespaces", has_namespaces, "the field `namespaces`", { detail = why })
  local has_processes, reason = try_process_limit(core)
  add_sandbox_part("processes", has_processes, "the field `processes`", { detail = reason })
end

---@return pintle.cli.finding[]
local function collect_findings()
  local list = { lua_finding(), core_finding() }
  add_module_findings(list)
  add_dialect_findings(list)
  add_sandbox_findings(list)
  return list
end

-- }======

-- {====== The report ======

local COLOURS = { ok = "green", missing = "yellow", broken = "red" }

local function print_findings(findings, console)
  local rows = {}
  for i, finding in ipairs(findings) do
    local state = finding.state == "missing" and not finding.needed and "missing, optional" or finding.state
    rows[i] = { finding.what, state, finding.version or "", finding.meaning }
  end
  for i, line in ipairs(consoles.table_lines({ "WHAT", "STATE", "VERSION", "MEANING" }, rows)) do
    local style = i == 1 and "bold" or COLOURS[findings[i - 1].state]
    console:print(i == 1 and console:paint(style, line) or line:gsub(findings[i - 1].state, function(state)
      return console:paint(style, state)
    end, 1))
  end
end

local function print_advice(findings, console)
  for _, finding in ipairs(findings) do
    if finding.state == "broken" then
      console:print_foreign(("%s is broken: %s"):format(finding.what, finding.detail))
    end
    if finding.advice then console:print_foreign(("For %s: %s"):format(finding.what, finding.advice)) end
  end
end

local function has_all_needed(findings)
  for _, finding in ipairs(findings) do
    if finding.needed and finding.state ~= "ok" then return false end
  end
  return true
end

local NAMES = { "what", "state", "needed", "version", "detail", "meaning", "advice" }

-- Without the core, cjson encodes the report, if it is there.
local function print_findings_as_json(findings, is_fine, console)
  local ok, core = pcall(require, "pintle.core")
  if not ok then return console:print(require "cjson".encode { ok = is_fine, findings = findings }) end
  local order = core.json.order(NAMES)
  for _, finding in ipairs(findings) do setmetatable(finding, order) end
  console:print_json(setmetatable({ ok = is_fine, findings = findings }, core.json.order { "ok", "findings" }))
end

-- }======

---@type pintle.cli.command
return {
  name = "doctor",
  summary = "Show what is installed and what is missing.",
  define = function(parser)
    parser:flag("--json", "Print the report as JSON.")
  end,
  run = function(args, console)
    local findings = collect_findings()
    local is_fine = has_all_needed(findings)
    if args.json then
      print_findings_as_json(findings, is_fine, console)
    else
      print_findings(findings, console)
      print_advice(findings, console)
    end
    return is_fine and status.DONE or status.FAILED
  end,
}
