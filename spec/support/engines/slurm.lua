-- A real Slurm of one node, for this user alone: munged, slurmctld and slurmd.
local kept = require "spec.support.engines.kept"

---@class spec.slurm
---@field env table<string, string> SLURM_CONF, for srun, scancel and squeue
---@field prefix string[] `srun` with its options
---@field partitions string[] jobs in the second one preempt jobs in the first one
local methods = {}
local metatable = { __index = methods, __name = "spec.slurm" }

-- Needs neither control groups nor a user or a port of its own. A node has more processors than the machine, so that
-- many programs can run.
local SETTINGS = [[
ClusterName=pintle
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$CONTROL_PORT
SlurmdPort=$NODE_PORT
AuthType=auth/munge
AuthInfo=socket=$FOLDER/munge.sock
CredType=cred/munge
SlurmUser=$USER
SlurmdUser=$USER
StateSaveLocation=$FOLDER/state
SlurmdSpoolDir=$FOLDER/spool
SlurmctldPidFile=$FOLDER/slurmctld.pid
SlurmdPidFile=$FOLDER/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
ReturnToService=2
KillWait=1
MinJobAge=2
SlurmdParameters=config_overrides
NodeName=node NodeHostname=$HOST NodeAddr=127.0.0.1 CPUs=128 State=UNKNOWN
PartitionName=main Nodes=node Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=node MaxTime=INFINITE State=UP PriorityTier=2
]]

-- slurmstepd erases its environment, and is no descendant of slurmd; the keeper finds it by its directory.
local DAEMONS = [[
cd "$1/spool" || exit
head -c 1024 /dev/urandom > ../munge.key
chmod 600 ../munge.key
munged -F --force --key-file="$1/munge.key" --socket="$1/munge.sock" --pid-file="$1/munged.pid" \
  --log-file="$1/munged.log" --seed-file="$1/munge.seed" &
SLURM_CONF=$1/slurm.conf
export SLURM_CONF
slurmctld -D -f "$SLURM_CONF" &
slurmd -D -N node -f "$SLURM_CONF" &
wait
]]

local function first_line(command)
  local ok, output = kept.run(command)
  return assert(ok and output:match "^[^\n]+", output)
end

local function configure(folder)
  local values = {
    HOST = first_line { "hostname", "-s" }, USER = first_line { "id", "-un" }, FOLDER = folder.path,
    CONTROL_PORT = kept.free_port(), NODE_PORT = kept.free_port(),
  }
  for _, name in ipairs { "state", "spool" } do assert(kept.run { "mkdir", folder.path .. "/" .. name }) end
  return folder:write("slurm.conf", (SETTINGS:gsub("%$([%u_]+)", values)))
end

local function new()
  local folder = kept.new()
  local env = { SLURM_CONF = configure(folder), PINTLE_ENGINE = folder.path }
  local prefix = { "srun", "--ntasks=1", "--unbuffered", "--quiet" } -- not quiet, it says when it has to wait
  local self = setmetatable({ kept = folder, env = env, prefix = prefix }, metatable)
  self.partitions = { "main", "urgent" }
  local started, reason = folder:start({ "sh", "-c", DAEMONS, "sh", folder.path }, function()
    return self:run { "sinfo", "-h", "-o", "%T" } == "idle\n"
  end)
  if started then return self end
  folder:close()
  return nil, reason
end

-- Runs one of Slurm's programs on this machine to its end. Returns its output, and whether it succeeded.
function methods:run(command)
  local ok, output = kept.run(command, { env = self.env })
  return output, ok
end

-- The command for this machine that runs a command at the far end.
function methods:command(words) return table.move(words, 1, #words, #self.prefix + 1, { table.unpack(self.prefix) }) end

-- The numbers of the jobs that run or wait.
function methods:jobs()
  local list = {}
  for job in self:run { "squeue", "-h", "-o", "%i" }:gmatch "%d+" do list[#list + 1] = job end
  return list
end

-- Cancels all jobs.
function methods:cancel()
  for _, job in ipairs(self:jobs()) do self:run { "scancel", job } end
end

function methods:close() self.kept:close() end

metatable.__close = methods.close

local slurm = {}

-- Starts it. Returns nil and the reason if that is not possible.
function slurm.new()
  local missing = kept.lack("munged", "slurmctld", "slurmd", "srun", "sinfo", "hostname")
  if missing then return nil, missing end
  return new()
end

return slurm
