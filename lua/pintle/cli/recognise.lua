-- Which dialect a plugin speaks that does not say: every dialect is tried on a process of its own, all at once, and the
-- one that comes to terms is kept running.

local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

-- Of two that fit the first is taken: those that look more closely at what they are answered come first. What is not
-- here comes behind.
local TELLING = { "gevals", "mcp", "reginald", "liquid", "editor", "lsp" }

-- Seconds for a better one, once one has come to terms: as long as that took, within bounds.
local LEAST_GRACE, MOST_GRACE = 0.3, 1

-- {====== One dialect ======

---@class pintle.cli.probe
---@field dialect string
---@field plugin? pintle.hosted if it came to terms
---@field err? pintle.error if it did not
---@field entries? pintle.entry[] what was said meanwhile; nil once it is told to whoever listens

-- What is said is kept until it is known whether anybody wants to hear it.
local function log_of(probe, log)
  return function(entry)
    if probe.entries then probe.entries[#probe.entries + 1] = entry else log(entry) end
  end
end

local function try(probe, given, changed)
  local start = { dialect = probe.dialect }
  for name, value in pairs(given.start) do start[name] = value end
  local plugin, err = probe.host:start(start)
  if probe.is_over then
    if plugin then plugin:stop() end
    return
  end
  probe.plugin, probe.err = plugin, err
  changed()
end

local function begin(dialect, given, changed)
  local probe = { dialect = dialect, entries = {} }
  probe.host = hosts { log = log_of(probe, given.log), verbosity = given.verbosity, extensions = true,
    handshake_timeout = given.patience }
  probe.task = tasks.start(try, probe, given, changed)
  return probe
end

local function dismiss(probe)
  probe.is_over = true
  tasks.start(probe.host.stop, probe.host)
end

local function keep(probe, log)
  local entries = probe.entries
  probe.entries = nil
  for _, entry in ipairs(entries) do log(entry) end
  return probe.plugin
end

-- }======

-- {====== The best of them ======

local function ranked_names()
  local rank, names = {}, dialects.names()
  for i, name in ipairs(TELLING) do rank[name] = i end
  table.sort(names, function(a, b)
    local one, other = rank[a] or math.huge, rank[b] or math.huge
    if one == other then return a < b end
    return one < other
  end)
  return names
end

-- The best that has come to terms, and whether a better one may follow.
local function best_of(probes)
  local is_open = false
  for _, probe in ipairs(probes) do
    if probe.plugin then return probe, is_open end
    is_open = is_open or not probe.err
  end
  return nil, is_open
end

local function grace_after(seconds) return math.min(math.max(seconds, LEAST_GRACE), MOST_GRACE) end

local function choose(probes, wait_for_change)
  local began, latest = loop.now(), nil
  while true do
    local best, is_open = best_of(probes)
    if not is_open then return best end
    if best and not latest then latest = loop.now() + grace_after(loop.now() - began) end
    local ok, err = wait_for_change(latest and latest - loop.now())
    if not ok and err.kind ~= "timeout" then return nil, err end
    if not ok then return best end
  end
end

-- A bell that rings whenever something has changed.
local function new_bell()
  local waiter
  local function ring()
    if waiter then loop.wake(waiter, true) end
  end
  local function wait(seconds)
    if seconds and seconds <= 0 then return nil, errors.new("timeout", "late") end
    waiter = loop.waiter()
    local ok, err = loop.wait_within(seconds, errors.new("timeout", "late"), waiter, function() waiter = nil end)
    waiter = nil
    return ok, err
  end
  return ring, wait
end

-- }======

-- {====== None of them ======

local function refusal(probes, command)
  if probes[1].err.kind == "spawn" then return probes[1].err end
  local lines = { ("%s speaks none of the dialects that were tried"):format(table.concat(command, " ")) }
  for _, probe in ipairs(probes) do
    lines[#lines + 1] = ("  %-9s %s"):format(probe.dialect, tostring(probe.err))
  end
  for _, line in ipairs(probes[1].err.stderr or {}) do lines[#lines + 1] = "  stderr    " .. line end
  lines[#lines + 1] = "If you know which it is, say so with --dialect NAME; --patience gives it more time."
  return errors.new("protocol", table.concat(lines, "\n"), { is_text = true })
end

-- }======

---@class pintle.cli.recognising
---@field start pintle.start.options
---@field patience number seconds for a handshake
---@field log fun(entry: pintle.entry) told of what the plugin says that is kept
---@field verbosity string

---@param given pintle.cli.recognising
---@return pintle.hosted?, string|pintle.error dialect_or_err
return function(given)
  local ring, wait_for_change = new_bell()
  local probes = {}
  for i, name in ipairs(ranked_names()) do probes[i] = begin(name, given, ring) end
  local best, err = choose(probes, wait_for_change)
  for _, probe in ipairs(probes) do
    if probe ~= best then dismiss(probe) end
  end
  if best then return keep(best, given.log), best.dialect end
  return nil, err or refusal(probes, given.start.command)
end
