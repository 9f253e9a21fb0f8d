-- Real Docker and Podman with one image and one container that runs, in a folder of their own. They need root.
local kept = require "spec.support.engines.kept"

---@class spec.containers
---@field env table<string, string> for the client
---@field container string runs until `remove`
---@field image string
---@field prefix string[] runs a command in the container
local methods = {}
local metatable = { __index = methods, __name = "spec.containers" }

local PROGRAMS = { "sh", "lua5.4", "cat", "sleep", "env", "printf", "ls", "setsid", "id", "head", "readlink" }

-- $1: the folder. Copies programs and the libraries that they need, so that no image has to be downloaded.
local IMAGE = [[
root=$1/root
shift
mkdir -p "$root/usr/bin" "$root/tmp" "$root/proc" "$root/dev" "$root/sys" "$root/etc" "$root/root" "$root/run"
ln -s usr/bin "$root/bin"
for name in "$@"; do
  program=$(readlink -f "$(PATH=/usr/bin:/bin:$PATH command -v "$name" | grep / || echo "/usr/bin/$name")")
  cp "$program" "$root/usr/bin/$name"
  ldd "$program" | grep -o '/[^ ]*'
done | sort -u | while read -r library; do
  mkdir -p "$root$(dirname "$library")"
  cp -L "$library" "$root$library"
done
]]

-- By default a container gets higher limits than some users may set. runc also runs where the control groups are a mix
-- of both versions, crun does not.
local PODMAN_SETTINGS = [[
[containers]
netns = "none"
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
%scgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
tmp_dir = "%s/tmp"
]]

local PODMAN_STORAGE = [[
[storage]
driver = "vfs"
graphroot = "%s/storage"
runroot = "%s/run"
]]

local START = [[
tar -c -C "$1/root" . | $2 import - pintle && $2 run -d --name node --network none pintle sleep 1000000 &&
  echo ready > "$1/ready"
]]

local DOCKER = [[
unset DOCKER_CONTEXT
echo '{}' > "$1/daemon.json"
dockerd --config-file "$1/daemon.json" --host "$DOCKER_HOST" --data-root "$1/data" --exec-root "$1/exec" \
  --pidfile "$1/docker.pid" --storage-driver vfs --bridge none --iptables=false --ip6tables=false --ip-forward=false \
  --default-ulimit nofile=1024:1024 --default-ulimit nproc=4096:4096 &
until docker version > /dev/null 2>&1; do
  kill -0 $! || exit
  sleep 0.02
done
]] .. START .. "wait\n"

-- Ends all containers. Unmounting is for what they leave when they end in the middle of a start. A control group can be
-- removed once the system has reaped its last process, which some systems do once a second.
local STOP = [[
#!/bin/sh
export %s
%s
grep -o ' %s/[^ ]*' /proc/mounts | sort -r | xargs -r -n 1 umount -l
for _ in $(seq 100); do
  groups=$(find /sys/fs/cgroup -depth -type d -path '*/%s*')
  [ -n "$groups" ] || break
  rmdir $groups || sleep 0.02
done
]]

local STOP_PODMAN = "podman rm --force --all --time 0"

local STOP_DOCKER = [[
docker ps -aq | xargs -r docker rm -f
kill "$(cat "$(dirname "$0")/docker.pid")"
for _ in $(seq 500); do
  [ -e "$(dirname "$0")/docker.pid" ] || break
  sleep 0.02
done]]

local function is_root() return (kept.run { "sh", "-c", '[ "$(id -u)" -eq 0 ]' }) end

-- Words of a shell: NAME='value' …
local function assignments(variables)
  local words = {}
  for name, value in pairs(variables) do words[#words + 1] = ("%s='%s'"):format(name, value) end
  return table.concat(words, " ")
end

local function make_image(folder)
  local ok, output = kept.run { "sh", "-c", IMAGE, "sh", folder.path, table.unpack(PROGRAMS) }
  assert(ok, output)
end

-- What a client and its engine need: the program, its environment, what starts the container, and what ends it.
local clients = {}

function clients.podman(folder)
  local path = folder.path
  local runtime = kept.program "runc" and 'runtime = "runc"\n' or ""
  return {
    env = {
      CONTAINERS_CONF = folder:write("containers.conf", PODMAN_SETTINGS:format(runtime, path)),
      CONTAINERS_STORAGE_CONF = folder:write("storage.conf", PODMAN_STORAGE:format(path, path)),
    },
    start = START, stop = STOP_PODMAN, groups = "libpod_parent",
  }
end

function clients.docker(folder)
  return { env = { DOCKER_HOST = "unix://" .. folder.path .. "/docker.sock" }, start = DOCKER, stop = STOP_DOCKER,
    groups = "docker" }
end

local function new(name)
  local folder = kept.new()
  make_image(folder)
  local client = clients[name](folder)
  local variables = assignments(client.env)
  folder:write("stop", STOP:format(variables, client.stop, folder.path, client.groups), "+x")
  client.env.PINTLE_ENGINE = folder.path
  local self = setmetatable({
    kept = folder, client = name, env = client.env, container = "node", image = "pintle",
    prefix = { name, "exec", "-i", "node" },
  }, metatable)
  local started, reason = folder:start({ "sh", "-c", "export " .. variables .. "\n" .. client.start, "sh", folder.path,
    name }, function() return folder:read "ready" end)
  if started then return self end
  folder:close()
  return nil, reason
end

-- The command for this machine that runs a command in the container.
function methods:command(words) return table.move(words, 1, #words, #self.prefix + 1, { table.unpack(self.prefix) }) end

-- The command for this machine that runs a command in a new container.
function methods:command_in_image(words)
  return table.move(words, 1, #words, 7, { self.client, "run", "--rm", "-i", "--network=none", self.image })
end

-- Runs the client to its end. Returns its output, and whether it succeeded.
function methods:run(...)
  local ok, output = kept.run({ self.client, ... }, { env = self.env })
  return output, ok
end

-- Removes the container, with what runs in it.
function methods:remove() return self:run("rm", "-f", self.container) end

function methods:close() self.kept:close() end

metatable.__close = methods.close

local containers = {}

-- Starts an engine: "docker" or "podman". Returns nil and the reason if that is not possible.
function containers.new(name)
  local missing = kept.lack(name, name == "docker" and "dockerd" or nil, "ldd", "tar")
  if missing then return nil, missing end
  if not is_root() then return nil, "it needs root" end
  return new(name)
end

return containers
