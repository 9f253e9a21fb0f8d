-- A real sshd on a port of this machine, for this user alone, with keys of its own.
local kept = require "spec.support.engines.kept"
local lfs = require "lfs"
local link = require "spec.support.engines.link"

---@class spec.sshd
---@field config string the client's configuration: `ssh -F CONFIG node`
---@field host string "node"
---@field prefix string[] `ssh` with its options and the host
---@field env table<string, string> none
---@field port integer
local methods = {}
local metatable = { __index = methods, __name = "spec.sshd" }

local SERVER = [[
ListenAddress 127.0.0.1
Port %d
HostKey %s/host
PidFile %s/sshd.pid
AuthorizedKeysFile %s/authorized
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
MaxStartups 1000
MaxSessions 1000
# the user's own .bashrc is not run
SetEnv HOME=%s/home PINTLE_ENGINE=%s
]]

-- `refused`, `denied`, `stranger` and `unknown` are hosts to which no connection is possible.
local CLIENT = [[
Host refused
  Port 1
Host denied
  IdentityFile %s/other
Host stranger
  UserKnownHostsFile /dev/null
Host unknown
  HostName unknown.invalid
Host *
  HostName 127.0.0.1
  HostKeyAlias node
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile %s/known
  GlobalKnownHostsFile /dev/null
  Port %d
Host * !denied
  IdentityFile %s/user
]]

local function generate_keys(folder)
  for _, name in ipairs { "host", "user", "other" } do
    local ok, output = kept.run { "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder.path .. "/" .. name }
    assert(ok, output)
  end
  folder:write("authorized", folder:read "user.pub")
  folder:write("known", "node " .. folder:read "host.pub")
end

-- As root, sshd needs this directory, which the system's service creates.
local function has_privileges()
  local is_root = kept.run { "sh", "-c", '[ "$(id -u)" -eq 0 ]' }
  return not is_root or lfs.attributes("/run/sshd", "mode") or lfs.mkdir "/run/sshd"
end

-- Other login shells than the user's get the same argument: the command that the client has sent.
local function login_shell_line(shell)
  return shell and ('ForceCommand exec %s -c "$SSH_ORIGINAL_COMMAND"\n'):format(shell) or ""
end

-- Another program may take the free port first; then sshd ends, and the next attempt takes another port.
local function start(options)
  local folder = kept.new()
  local self = setmetatable({ kept = folder, port = kept.free_port() }, metatable)
  local path = folder.path
  generate_keys(folder)
  self.config = folder:write("ssh_config", CLIENT:format(path, path, self.port, path))
  folder:write("sshd_config", SERVER:format(self.port, path, path, path, path, path)
    .. login_shell_line(options.login_shell) .. (options.settings or ""))
  local pid, reason = folder:start({ kept.program "sshd", "-D", "-e", "-f", path .. "/sshd_config" }, function()
    return math.tointeger(tonumber(folder:read "sshd.pid")) or (folder:read "log" or ""):find "in use" and 0
  end)
  self.pid, self.host = pid, "node"
  self.prefix = { "ssh", "-F", self.config, "-T", "-o", "BatchMode=yes", "node" }
  self.env = {}
  if pid and pid > 0 then return self end
  folder:close()
  if pid then return start(options) end
  return nil, reason
end

-- The command for this machine that runs a command at the far end, in a login shell like sh.
function methods:command(words)
  local quoted = {}
  for i, word in ipairs(words) do quoted[i] = "'" .. word:gsub("'", [['\'']]) .. "'" end
  local command = { table.unpack(self.prefix) }
  command[#command + 1] = table.concat(quoted, " ")
  return command
end

-- The processes that serve the connections: all that sshd has started, without the users' programs.
function methods:sessions()
  local list = {}
  for _, pid in ipairs(link.children(self.pid)) do
    list[#list + 1] = pid
    for _, child in ipairs(link.children(pid)) do
      if link.name(child) == "sshd" then list[#list + 1] = child end
    end
  end
  return list
end

-- Kills the server's end of all connections. The users' programs go on.
function methods:cut() link.kill(self:sessions()) end

-- The server's end of all connections does nothing any more.
function methods:stop() link.signal("STOP", self:sessions()) end

function methods:continue() link.signal("CONT", self:sessions()) end

-- A way to the node that can be stopped and cut: `link.host` is the name of the host for the client.
function methods:link()
  local way, reason = link.new(self.port)
  if not way then return nil, reason end
  way.host = "link" .. way.port
  self.kept:write("ssh_config", ("Host %s\n  Port %d\n"):format(way.host, way.port) .. self.kept:read "ssh_config")
  return way
end

function methods:close() self.kept:close() end

metatable.__close = methods.close

local sshd = {}

-- Starts a server. Options: `login_shell`, a program; `settings`, lines of sshd_config. Returns nil and the reason if
-- that is not possible.
function sshd.new(options)
  options = options or {}
  local missing = kept.lack("ssh", "sshd", "ssh-keygen", options.login_shell)
  if missing then return nil, missing end
  if not has_privileges() then return nil, "there is no directory /run/sshd" end
  return start(options)
end

return sshd
