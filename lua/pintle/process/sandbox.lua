-- What a child in a sandbox may do: the option as users give it, presets, what programs need to start, and the
-- description that core.spawn enforces.

local core = require "pintle.core"
local errors = require "pintle.error"
local groups = require "pintle.process.control_group"
local lfs = require "lfs"

core.protect()

---What a child may do. Paths are relative to its working directory; a directory includes all that is below it.
---@class pintle.sandbox
---@field preset? "strict"|"read-only" what the other fields add to; default: "strict"
---@field read? string[] files and directories that it may read and execute
---@field write? string[] those that it may also change
---@field net? boolean|string[] "tcp:443" and "tcp" (connect), "listen:8080" and "listen" (TCP), "udp", "unix"; default:
---false
---@field env? string[] variables of the host that are passed, besides those that most programs need
---@field processes? integer how many processes and threads it may have at a time
---@field memory? integer bytes of data of each process
---@field signals? boolean it may send signals to other processes; default: false
---@field namespaces? boolean a network and a user namespace of its own, as a second wall; default: false
---@field best_effort? boolean what this system cannot enforce is not enforced, instead of being an error

local sandbox = {}

-- {====== The option ======

local PRESETS = { strict = {}, ["read-only"] = { "/" } } -- what they let a child read, besides the system's files

local function is_text(value) return type(value) == "string" and value ~= "" and not value:find "\0" end

local function list_of(is_item, expected)
  return function(value)
    if type(value) ~= "table" then return nil, "a list of " .. expected .. " expected, got " .. type(value) end
    local copy, n = {}, 0
    for _ in pairs(value) do n = n + 1 end
    for i = 1, n do
      if not is_item(value[i]) then return nil, ("%s expected, got %s"):format(expected, tostring(value[i])) end
      copy[i] = value[i]
    end
    return copy
  end
end

local function is_port(text)
  local number = math.tointeger(tonumber(text))
  return text:find "^%d+$" and number and number <= 65535
end

local function is_access(value)
  if type(value) ~= "string" then return false end
  local kind, port = value:match "^(%l+):(.*)$"
  if kind then return (kind == "tcp" or kind == "listen") and is_port(port) end
  return value == "tcp" or value == "listen" or value == "udp" or value == "unix"
end

local accesses = list_of(is_access, '"tcp", "tcp:PORT", "listen", "listen:PORT", "udp" or "unix"')

local function check_net(value)
  if type(value) == "boolean" then return value end
  return accesses(value)
end

local function check_boolean(value)
  if type(value) == "boolean" then return value end
  return nil, "boolean expected, got " .. type(value)
end

local function check_count(value)
  if math.type(value) == "integer" and value > 0 then return value end
  return nil, "a positive integer expected, got " .. tostring(value)
end

local function check_preset(value)
  if PRESETS[value] then return value end
  return nil, ('"strict" or "read-only" expected, got %s'):format(tostring(value))
end

local check_paths = list_of(is_text, "paths")

local CHECKS = {
  preset = check_preset, read = check_paths, write = check_paths, net = check_net,
  env = list_of(function(name) return is_text(name) and not name:find "=" end, "names"),
  processes = check_count, memory = check_count, signals = check_boolean, namespaces = check_boolean,
  best_effort = check_boolean,
}

-- The results of `check` and `grant`.
local all_checked = setmetatable({}, { __mode = "k" })

---Checks the option, and fills in its defaults. `false` means no sandbox.
---@param given "strict"|"read-only"|pintle.sandbox|false
---@return table|false|nil checked, string? message
function sandbox.check(given)
  if given == false or all_checked[given] then return given end
  if type(given) == "string" then given = { preset = given } end
  if type(given) ~= "table" then return nil, "a preset or a table expected, got " .. type(given) end
  local checked = { preset = "strict", read = {}, write = {}, net = false, env = {}, signals = false }
  for name, value in pairs(given) do
    if not CHECKS[name] then return nil, ("no option %q"):format(tostring(name)) end
    local message
    checked[name], message = CHECKS[name](value)
    if message then return nil, ("%s: %s"):format(name, message) end
  end
  all_checked[checked] = true
  return checked
end

-- }======

-- {====== What a plugin asks for, and its host grants ======

local function set_of(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

local function common_items(one, other)
  local set, list = set_of(other), {}
  for _, item in ipairs(one) do
    if set[item] then list[#list + 1] = item end
  end
  return list
end

-- "tcp" contains "tcp:443".
local function common_accesses(one, other)
  if one == true then return other end
  if other == true then return one end
  if not one or not other then return false end
  local ones, others, list = set_of(one), set_of(other), {}
  for _, item in ipairs(one) do
    if others[item] or others[item:match "^%l+"] then list[#list + 1] = item end
  end
  for _, item in ipairs(other) do
    if not ones[item] and ones[item:match "^%l+"] then list[#list + 1] = item end
  end
  return list
end

local function lesser_limit(one, other)
  if not one or not other then return one or other end
  return math.min(one, other)
end

-- What both allow. The kernel intersects the files when the child starts, so that no link in a path leads out of what
---the host grants.
local function intersect_sandboxes(granted, asked)
  local both = {}
  for name, value in pairs(granted) do both[name] = value end
  both.needs = { preset = asked.preset, read = asked.read, write = asked.write }
  both.net = common_accesses(granted.net, asked.net)
  both.env = common_items(granted.env, asked.env)
  both.signals = granted.signals and asked.signals
  both.processes = lesser_limit(granted.processes, asked.processes)
  both.memory = lesser_limit(granted.memory, asked.memory)
  all_checked[both] = true
  return both
end

---What a plugin gets: what its host grants, and its manifest asks for. A manifest that asks for nothing leaves it to
---the host.
---@param granted table|false|nil as `check` returns it
---@param asked any the member `sandbox` of its manifest
---@return table|false|nil, string? message
function sandbox.grant(granted, asked)
  if not granted or asked == nil then return granted end
  local checked, message = sandbox.check(asked)
  if not checked then return nil, "its manifest: sandbox: " .. (message or "a preset or a table expected") end
  return intersect_sandboxes(granted, checked)
end

-- }======

-- {====== What programs need to start ======

-- The system's programs and libraries, and what the kernel says of the machine. Nothing in them belongs to a user, and
-- no other file takes the place of one of these.
local SYSTEM = {
  "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/nix/store", "/gnu/store",
  "/dev/random", "/dev/urandom", "/dev/zero", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
  "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu",
}

-- The settings that programs read.
local SETTINGS = {
  "/etc/crypto-policies", "/etc/group", "/etc/ld.so.cache", "/etc/ld.so.preload",
  "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf", "/etc/passwd", "/etc/ssl/openssl.cnf", "/etc/timezone",
}

-- What programs with a network read besides.
local NETWORK = {
  "/etc/ca-certificates", "/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/pki/ca-trust", "/etc/pki/tls/certs",
  "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl/certs",
}

local WRITABLE = { "/dev/null" }

-- Names and places, no secrets.
local VARIABLES = {
  "HOME", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
  "LOGNAME", "LUA_CPATH", "LUA_CPATH_5_4", "LUA_PATH", "LUA_PATH_5_4", "NODE_PATH", "PATH", "PYTHONHOME", "PYTHONPATH",
  "SHELL", "TERM", "TMPDIR", "TZ", "USER", "VIRTUAL_ENV",
}

-- Variables with directories of modules.
local MODULE_PATHS = {
  "LUA_PATH", "LUA_PATH_5_4", "LUA_CPATH", "LUA_CPATH_5_4", "NODE_PATH", "PYTHONHOME", "PYTHONPATH",
}

-- Each rule costs time: so only the files that exist, without those in a directory of the list.
local existing = {}

local function find_existing(list)
  if existing[list] then return existing[list] end
  local found = {}
  for _, path in ipairs(list) do
    local real = core.realpath(path)
    if real and (real == path or real:sub(1, 5) ~= "/usr/") then found[#found + 1] = real end
  end
  existing[list] = found
  return found
end

local function absolute_path(path, directory) return path:sub(1, 1) == "/" and path or directory .. "/" .. path end

local function parent_directory(path) return path:match "^(.+)/[^/]*$" or "/" end

local SYSTEM_DIRECTORIES = { "/usr/", "/bin/", "/sbin/", "/lib/", "/nix/store/", "/gnu/store/" }

local function is_system_path(path)
  for _, prefix in ipairs(SYSTEM_DIRECTORIES) do
    if path:sub(1, #prefix) == prefix then return true end
  end
  return false
end

-- Opening something else than a file could wait for its other end.
local function read_file(path, count)
  local file <close> = lfs.attributes(path, "mode") == "file" and io.open(path, "rb") or nil
  return file and file:read(count) or ""
end

-- The directories that are a home of any user, or contain one. A host may run as another user than the one whose files
-- it starts.
local private_directories

local function add_home(path)
  while path:find "^/." and not private_directories[path] do
    private_directories[path] = true
    path = parent_directory(path)
  end
end

local function find_private_directories()
  private_directories = {}
  local users = "\n" .. read_file("/etc/passwd", "a")
  for path in users:gmatch "\n[^:\n]*:[^:\n]*:[^:\n]*:[^:\n]*:[^:\n]*:(/[^:\n]+)" do
    add_home(core.realpath(path) or path)
  end
  local own = os.getenv "HOME"
  if own then add_home(core.realpath(own) or own) end
end

-- A directory that holds more than one program is not granted whole: a home, what contains one, and the directories
-- right below the root, such as /tmp and /etc.
local function is_private_directory(directory)
  if not private_directories then find_private_directories() end
  return private_directories[directory] or not directory:find "^/[^/]+/[^/]" or directory:find "^/home/[^/]+$" ~= nil
end

-- The interpreter of a script and its argument.
local function find_interpreter(path)
  return read_file(path, 256):match "^#!%s*(%S+)[ \t]*(%S*)"
end

---@class pintle.sandbox.code the files of the plugin itself
---@field paths string[]
---@field has table<string, true>
---@field directory string in which the program starts
local code_methods = {}
local code_metatable = { __index = code_methods }

function code_methods:add(path)
  if not self.has[path] then self.paths[#self.paths + 1] = path end
  self.has[path] = true
end

-- Returns whether it is granted.
function code_methods:add_directory(directory)
  if is_private_directory(directory) then return false end
  self:add(directory)
  return true
end

-- Packages of Node need those beside them.
function code_methods:add_script(path)
  local packages = path:match "^(.-/node_modules)/"
  if not self:add_directory(packages or parent_directory(path)) then self:add(path) end
  if packages then self:add(parent_directory(packages) .. "/package.json") end
end

-- A program outside of the system's directories brings libraries: those beside its bin, as in a virtual environment.
function code_methods:add_program(path)
  if is_system_path(path) then return end
  local prefix = path:match "^(.+)/bin/[^/]+$"
  self:add(path)
  if not prefix then return end
  for _, name in ipairs { "/lib", "/lib64", "/pyvenv.cfg" } do self:add(prefix .. name) end
end

-- The system's `env` executes its argument. Any other program called so could name one to have its directory granted.
local function resolve_interpreter(interpreter, argument)
  if interpreter:find "/env$" and is_system_path(core.realpath(interpreter) or "") then return core.which(argument) end
  return interpreter
end

-- Both the path of a program and what it is a link to. Scripts name their interpreter, by `env` or by its path.
function code_methods:add_executable(path, depth)
  local real = core.realpath(path)
  if not real then return end
  self:add_program(path)
  if real ~= path then self:add_program(real) end
  local interpreter, argument = find_interpreter(real)
  local program = interpreter and depth > 0 and resolve_interpreter(interpreter, argument)
  if program then self:add_executable(program, depth - 1) end
end

local function is_loose_program(path) return not is_system_path(path) and not path:find "/bin/[^/]+$" end

-- A program that is not in a bin may be a script, with its other files beside it.
function code_methods:add_command(path)
  self:add_executable(path, 2)
  for _, file in ipairs { path, core.realpath(path) } do
    if is_loose_program(file) then self:add_script(file) end
  end
end

local INTERPRETERS = {
  bash = true, bun = true, dash = true, deno = true, lua = true, luajit = true, node = true, perl = true, php = true,
  python = true, ruby = true, sh = true, zsh = true,
}

-- Options after which there is no script; Lua runs one after -e as well.
local CODE_OPTIONS = {
  ["-c"] = true, ["-m"] = true, ["-e"] = true, ["--eval"] = true, ["-p"] = true, ["--print"] = true, ["-r"] = "php",
}

local function is_code_option(word, interpreter)
  local found = CODE_OPTIONS[word]
  if found == true then return word ~= "-e" or not interpreter:find "^lua" end
  return found == interpreter
end

-- The first word that names a file is the script of an interpreter. Other programs are not given the files that their
-- command names.
function code_methods:add_words(command)
  local interpreter = command[1]:match "([^/]-)[%d.]*$"
  if not INTERPRETERS[interpreter] then return end
  for i = 2, #command do
    if is_code_option(command[i], interpreter) then return end
    local real = command[i]:sub(1, 1) ~= "-" and core.realpath(absolute_path(command[i], self.directory))
    if real and lfs.attributes(real, "mode") == "file" then return self:add_script(real) end
  end
end

-- The directories in the variables, which are seldom other ones than at the last start.
local last_templates, last_directories

local function find_directories(templates)
  if templates == last_templates then return last_directories end
  local directories = {}
  for template in templates:gmatch "[^;:]+" do
    local directory = template:match "^(/[^?]*)/" or template
    if template:sub(1, 1) == "/" then directories[#directories + 1] = template:find "?" and directory or template end
  end
  last_templates, last_directories = templates, directories
  return directories
end

function code_methods:add_module_paths(env)
  local values = {}
  for i, name in ipairs(MODULE_PATHS) do
    local value = env[name]
    if value == nil then value = os.getenv(name) end
    values[i] = value or ""
  end
  for _, directory in ipairs(find_directories(table.concat(values, ";"))) do self:add_directory(directory) end
end

-- Returns the files that make up the program of a command, and the program if it was searched for.
local function find_code(spawning, directory)
  local code = setmetatable({ paths = {}, has = {}, directory = directory }, code_metatable)
  local name = spawning.command[1]
  local is_path = name:find("/", 1, true)
  local program = is_path and absolute_path(name, directory) or core.which(name)
  if program then code:add_command(program) end
  code:add_words(spawning.command)
  code:add_module_paths(spawning.env or {})
  return code.paths, not is_path and program or nil
end

-- }======

-- {====== What this system can enforce ======

local TOO_OLD = "%s: Landlock of version %d is needed, this kernel has %s"

-- This does not change while a program runs.
local landlock, has_filter = core.sandbox()

-- What cannot be enforced here, in words.
local function find_gaps(checked)
  local gaps, version = {}, landlock > 0 and landlock or "none"
  local function need(what, least)
    if landlock < least then gaps[#gaps + 1] = TOO_OLD:format(what, least, version) end
  end
  need("files", 3)
  if type(checked.net) == "table" then need("ports", 4) end
  if not checked.signals then need("signals", 6) end
  if not has_filter then gaps[#gaps + 1] = "system calls and sockets: seccomp filters are needed" end
  return gaps
end

local ONLY_LINUX = "sandbox: this system has none of what it takes: Landlock and seccomp, of Linux on x86-64 or aarch64"

local function sandbox_refusal(checked, gaps)
  if checked.best_effort or #gaps == 0 then return nil end
  if landlock == 0 and not has_filter then return errors.new("spawn", ONLY_LINUX) end
  return errors.new("spawn", "sandbox: this system cannot restrict " .. table.concat(gaps, "; "))
end

-- }======

-- {====== The description for core.spawn ======

local function join_lists(...)
  local list = {}
  for _, more in ipairs { ... } do table.move(more, 1, #more, #list + 1, list) end
  return list
end

local function find_settings(checked)
  return join_lists(find_existing(SETTINGS), checked.net and find_existing(NETWORK) or {})
end

-- Paths that a plugin asks for and that do not exist, or that the host cannot reach, change nothing.
local function describe_needs(checked)
  local needs = checked.needs
  return {
    read_optional = join_lists(PRESETS[needs.preset], needs.read, find_settings(checked)),
    read_fixed = find_existing(SYSTEM), write_optional = join_lists(needs.write, WRITABLE),
  }
end

-- "tcp" and "listen" without a port have no list of ports: Landlock does not restrict them.
local function describe_net(description, net, can_limit_ports)
  local sockets, ports = {}, { tcp = {}, listen = {} }
  if net == true then sockets, ports = { "internet", "unix" }, {} end
  for _, access in ipairs(net and net ~= true and net or {}) do
    local kind, port = access:match "^(%l+):?(%d*)$"
    sockets[#sockets + 1] = kind
    if kind == "listen" then sockets[#sockets + 1] = "tcp" end
    local list = ports[kind]
    if port == "" then ports[kind] = nil elseif list then list[#list + 1] = math.tointeger(port) end
  end
  description.sockets = sockets
  if can_limit_ports then description.connect, description.listen = ports.tcp, ports.listen end
end

-- Whether it may read everything. Landlock does not restrict the watching of files, so no other child may do it.
local function can_watch(checked)
  local can_read_all = set_of(join_lists(PRESETS[checked.preset], checked.read, checked.write))["/"] or false
  return can_read_all and (not checked.needs or can_watch(checked.needs))
end

local function describe_sandbox(checked)
  local description = {
    watch = can_watch(checked),
    read = join_lists(PRESETS[checked.preset], checked.read), read_optional = find_settings(checked),
    read_fixed = find_existing(SYSTEM), write = checked.write, write_optional = WRITABLE,
    needs = checked.needs and describe_needs(checked), files = landlock > 0, partial = checked.best_effort,
    scoped = not checked.signals and landlock >= 6, filter = has_filter,
    namespaces = checked.namespaces and "network" or nil, kept = {},
  }
  describe_net(description, checked.net, landlock >= 4)
  return description
end

-- What is the same for every child with this sandbox, such as those of one host. `kept` is where the core keeps the
-- rules of Landlock for the next start: they take one descriptor or two.
local constants = setmetatable({}, { __mode = "k" })

local function find_constants(checked)
  local found = constants[checked]
  if not found then
    found = {
      gaps = find_gaps(checked), description = describe_sandbox(checked), inherit = join_lists(VARIABLES, checked.env),
    }
    constants[checked] = found
  end
  return found
end

local function copy_table(values)
  local copied = {}
  for name, value in pairs(values) do copied[name] = value end
  return copied
end

-- Root is exempt from the system's limit on processes, so it needs a control group. Other users have one if systemd
-- has given it to them; in a user namespace, the limit counts the processes of the sandbox alone.
local function limit_processes(checked, spawning, description, gaps)
  local n, _, _, is_root = checked.processes, core.sandbox()
  local group, message = groups.create(is_root and n or nil, checked.memory)
  if group then description.groups = group.files end
  if not n then return group end
  if not is_root then
    spawning.limits.processes, description.namespaces = n, description.namespaces or "user"
  elseif not (group and group.has_processes) then
    gaps[#gaps + 1] = "processes of root: " .. (message or "no control group can be had")
  end
  return group
end

local function resolve_sandbox(given)
  local checked, message = sandbox.check(given)
  if message then error("sandbox: " .. message, 0) end
  return checked
end

-- Some systems forbid namespaces, which only an attempt shows.
local function spawn_without_namespaces(spawning, gaps)
  spawning.sandbox.namespaces, spawning.limits.processes = nil, nil
  gaps[#gaps + 1] = "namespaces, and processes of this user"
  return core.spawn(spawning)
end

-- Adds what the sandbox decides to the options of core.spawn. Returns the control group, if there is one.
local function prepare_sandbox(spawning, checked, gaps)
  local same = find_constants(checked)
  table.move(same.gaps, 1, #same.gaps, 1, gaps)
  local err = sandbox_refusal(checked, gaps)
  if err then return nil, err end
  local limits, description = copy_table(spawning.limits or {}), copy_table(same.description)
  limits.data, limits.core = checked.memory, limits.core or 0
  spawning.limits, spawning.sandbox = limits, description
  if spawning.inherit == nil then spawning.inherit = same.inherit end
  description.code, spawning.program = find_code(spawning, core.realpath(spawning.cwd or ".") or "/")
  local group
  if checked.processes or checked.memory then group = limit_processes(checked, spawning, description, gaps) end
  err = sandbox_refusal(checked, gaps)
  if err and group then group:close() end
  return group, err
end

---Starts a child in a sandbox, as core.spawn does.
---@param spawning table the options of core.spawn; `sandbox` as the user gave it, or as `grant` returned it
---@return pintle.process? process, pintle.control_group|string|nil group_or_message, string[]|string? gaps_or_kind,
---integer? errno
function sandbox.spawn(spawning)
  local checked, gaps = resolve_sandbox(spawning.sandbox), {}
  if not checked then
    spawning.sandbox = nil
    return core.spawn(spawning)
  end
  local group, err = prepare_sandbox(spawning, checked, gaps)
  if err then return nil, err.message, err.kind end
  local process, message, kind, number = core.spawn(spawning)
  if not process and checked.best_effort and spawning.sandbox.namespaces and message:find "namespace" then
    process, message, kind, number = spawn_without_namespaces(spawning, gaps)
  end
  if process then return process, group, gaps end
  if group then group:close() end
  return nil, message, kind, number
end

-- }======

return sandbox
