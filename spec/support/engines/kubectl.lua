-- Stands in for `kubectl exec`, since a cluster does not fit into a spec: a program `kubectl` that knows one pod, which
-- is a real container of Docker or Podman. Messages and exit statuses are those of kubectl 1.32 and of its sources:
-- when the connection is lost, kubectl ends with 0 and says nothing. As a program:
-- kubectl.lua CLIENT CONTAINER ARGUMENTS…
local core = require "pintle.core"

local POD, CONTAINERS = "node", { "main", "side" }

local WITH_VALUE = {
  ["-n"] = "namespace", ["--namespace"] = "namespace", ["-c"] = "container", ["--container"] = "container",
  ["--context"] = "context", ["--kubeconfig"] = "kubeconfig", ["--pod-running-timeout"] = "timeout",
  ["--request-timeout"] = "timeout",
}

local SWITCHES = { ["-i"] = "stdin", ["--stdin"] = "stdin", ["-q"] = "quiet", ["--quiet"] = "quiet" }

local function fail(...)
  io.stderr:write(string.format(...), "\n")
  os.exit(1)
end

-- Options may come before and after the pod; the command comes after "--".
local function parse(words)
  local options, rest, i = { namespace = "default", context = "pintle" }, {}, 1
  while words[i] and words[i] ~= "--" do
    local name, value = words[i]:match "^(%-%-[^=]+)=(.*)$"
    local word = name or words[i]
    if WITH_VALUE[word] then
      if not value then i = i + 1 end
      options[WITH_VALUE[word]] = value or words[i] or fail("error: flag needs an argument: %s", word)
    elseif SWITCHES[word] then
      options[SWITCHES[word]] = true
    elseif word:sub(1, 1) == "-" then
      fail("error: unknown flag: %s\nSee 'kubectl exec --help' for usage.", word)
    else
      rest[#rest + 1] = word
    end
    i = i + 1
  end
  return options, rest, table.move(words, i + 1, #words, 1, {})
end

local function check(options, rest, command)
  if rest[1] ~= "exec" then fail('error: unknown command "%s" for "kubectl"', rest[1]) end
  if rest[3] then
    fail "error: exec [POD] [COMMAND] is not supported anymore. Use exec [POD] -- [COMMAND] instead\n"
  end
  if options.context ~= "pintle" then
    fail("Error in configuration: context was not found for specified context: %s", options.context)
  end
  local pod = rest[2] and rest[2]:gsub("^pods?/", "")
  if not pod then fail "error: pod, type/name or --filename must be specified" end
  if not command[1] then fail "error: you must specify at least one command for the container" end
  if pod ~= POD or options.namespace ~= "default" then
    fail('Error from server (NotFound): pods "%s" not found', pod)
  end
end

local function check_container(options)
  if not options.container then
    if not options.quiet then
      io.stderr:write(('Defaulted container "%s" out of: %s\n'):format(CONTAINERS[1], table.concat(CONTAINERS, ", ")))
    end
    return
  end
  for _, name in ipairs(CONTAINERS) do if name == options.container then return end end
  fail("Error from server (BadRequest): container %s is not valid for pod %s", options.container, POD)
end

local function is_missing(command, client, container)
  local probe <close> = assert(core.spawn {
    command = { client, "exec", container, "sh", "-c", 'command -v -- "$1"', "sh", command[1] },
    stdin = "null", stdout = "null", stderr = "null",
  })
  return probe:wait(60) ~= 0
end

local function main(client, container, ...)
  local options, rest, command = parse { ... }
  check(options, rest, command)
  check_container(options)
  if is_missing(command, client, container) then
    fail('error: Internal error occurred: error executing command in container: failed to exec in container: failed '
      .. 'to start exec "0": OCI runtime exec failed: exec failed: unable to start container process: exec: "%s": '
      .. 'executable file not found in $PATH: unknown', command[1])
  end
  local words = { client, "exec", options.stdin and "-i" or nil }
  words[#words + 1] = container
  local stream <close> = assert(core.spawn {
    command = table.move(command, 1, #command, #words + 1, words), group = false,
    stdin = options.stdin and "inherit" or "null", stdout = "inherit",
  })
  local code = stream:wait(math.huge)
  if code and code ~= 0 then
    io.stderr:write("command terminated with exit code ", code, "\n")
    os.exit(code)
  end
end

if arg and arg[0] and arg[0]:find "engines/kubectl%.lua$" then return main(...) end

local containers = require "spec.support.engines.containers"
local link = require "spec.support.engines.link"

---@class spec.kubectl
---@field env table<string, string> PATH, with the program
---@field pod string
---@field containers string[]
---@field prefix string[] runs a command in the pod
local methods = {}
local metatable = { __index = methods, __name = "spec.kubectl" }

local WRAPPER = '#!/bin/sh\nexec %s/script/lua %s/spec/support/engines/kubectl.lua %s %s "$@"\n'

-- The command for this machine that runs a command in the pod.
function methods:command(words) return table.move(words, 1, #words, #self.prefix + 1, { table.unpack(self.prefix) }) end

-- Loses the connection of a process of `kubectl` that a spec has started, given by its number.
function methods.cut(_, pid) link.kill(link.children(pid)) end

function methods.stop(_, pid) link.signal("STOP", link.children(pid)) end

function methods.continue(_, pid) link.signal("CONT", link.children(pid)) end

function methods:close() self.runtime:close() end

metatable.__close = methods.close

local kubectl = {}

-- Starts the pod. Returns nil and the reason if that is not possible.
function kubectl.new()
  local runtime, reason = containers.new "docker"
  if not runtime then runtime, reason = containers.new "podman" end
  if not runtime then return nil, reason end
  local root, folder = assert(core.realpath "."), runtime.kept
  assert(os.execute(("mkdir '%s/bin'"):format(folder.path)))
  folder:write("bin/kubectl", WRAPPER:format(root, root, runtime.client, runtime.container), "+x")
  local self = setmetatable({ runtime = runtime, env = { PATH = folder.path .. "/bin:" .. os.getenv "PATH" },
    pod = POD, containers = CONTAINERS }, metatable)
  for name, value in pairs(runtime.env) do self.env[name] = value end
  self.prefix = { folder.path .. "/bin/kubectl", "exec", "-i", "--quiet", POD, "--" }
  return self
end

return kubectl
