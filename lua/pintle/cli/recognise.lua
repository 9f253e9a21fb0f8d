-- Which dialect a program speaks, where the user does not say. The dialects of one framing are tried one after the
-- other, the likely ones first: on the same process for as long as it only refuses, on a new one after anything else.
-- The dialects of the other framing have a process of their own, which is started when the first is silent for a while.
-- So two processes run at most, and usually one.

local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

-- The order in which dialects are tried where nothing makes one of them likely. What is not here comes behind.
local ORDER = { "gevals", "mcp", "liquid", "lsp", "reginald", "editor" }

-- Seconds of silence before the other framing is tried; or the part of the patience where the command makes a dialect
-- likely.
local STAGGER, HINTED_STAGGER = 0.4, 0.3

-- The part of the patience for a further dialect, once it is known how quick the program is, or that it was silent for
-- the whole patience; and how much slower than one that has answered a new process may be.
local FURTHER, SLOWER = 0.2, 3

-- Seconds for the first framing, once the other has come to terms: as long as that took, within bounds.
local LEAST_GRACE, MOST_GRACE = 0.3, 1

-- {====== Likely dialects ======

local function ordered_names()
  local rank, names = {}, dialects.names()
  for i, name in ipairs(ORDER) do rank[name] = i end
  table.sort(names, function(a, b)
    local one, other = rank[a] or math.huge, rank[b] or math.huge
    if one == other then return a < b end
    return one < other
  end)
  return names
end

local function matches(text, patterns)
  for _, pattern in ipairs(patterns or {}) do
    if text:find(pattern) then return true end
  end
  return false
end

-- The dialect that this text makes likely, by its hints of one kind.
local function hinted(text, kind)
  for _, name in ipairs(ordered_names()) do
    local hints = dialects.get(name).host.hints
    if hints and matches(text:lower(), hints[kind]) then return name end
  end
end

-- A word of code is no name. The scope of an npm package belongs to its name.
local function hinted_by_command(command)
  for _, word in ipairs(command) do
    local name = not word:find "%s" and (word:match "@[^/]+/[^/]+" or word:match "([^/]+)/*$")
    local dialect = name and (hinted(name, "command") or hinted(name:match "[^/]+$", "command"))
    if dialect then return dialect end
  end
end

local function move_to_front(list, wanted)
  for i, name in ipairs(list) do
    if name == wanted then
      table.insert(list, 1, table.remove(list, i))
      return true
    end
  end
  return false
end

-- }======

-- {====== One framing ======

---@class pintle.cli.lane
---@field framing string
---@field queue string[] dialects still to be tried
---@field errs table<string, pintle.error> what became of those that were
---@field doubtful string[] those that failed and may have failed only for the state of their process
---@field current string? the dialect being tried, or the last that was
---@field attempt pintle.task? its handshake
---@field plugin pintle.hosted? if one came to terms
---@field err pintle.error? why no process could be started
---@field entries? pintle.entry[] what the process said meanwhile; nil once that is forwarded
---@field begun number? when it began
---@field is_done boolean nothing more comes of it
---@field is_over boolean nobody waits for it any more
---@field is_used boolean the process has heard another dialect before
---@field was_silent boolean? a process has not answered in time
---@field is_second_round boolean the doubtful are tried again
---@field is_foreign boolean? the program speaks the other framing
---@field answered_after number? seconds that a process took to answer

local function has_answered(session)
  local stats = session.peer.stream:stats()
  return stats.received + stats.invalid > 0
end

-- A program that has said nothing yet may be slow to start. One that has answered is quick from then on, and a new
-- process of it starts about as fast as the one that has.
local function time_for(search, lane, session)
  local least = search.patience * FURTHER
  if has_answered(session) then return least end
  if not lane.was_silent and not lane.is_second_round then return search.patience end
  return math.min(math.max(least, (lane.answered_after or 0) * SLOWER), search.patience)
end

-- A process that has only refused can be asked in another dialect; and one that was asked something unlikely.
local function may_go_on(lane, err)
  if lane.is_over or lane.is_second_round or not lane.queue[1] then return false end
  return err.kind == "remote" or err.kind == "cancelled"
end

-- A refusal means less on a process that has heard other dialects, and silence of one that was still starting.
local function note_failure(lane, name, err)
  if lane.is_second_round or not lane.errs[name] then lane.errs[name] = err end
  if lane.is_used or err.kind == "timeout" or err.kind == "cancelled" then table.insert(lane.doubtful, name) end
end

local function attempt(search, lane, session)
  local name = table.remove(lane.queue, 1)
  local dialect = dialects.get(name)
  local begun = loop.now()
  lane.current = name
  session:speak(dialect)
  session.handshake_timeout = time_for(search, lane, session)
  lane.attempt = tasks.start(dialect.host.open, session)
  local told, err, again = lane.attempt:await()
  lane.attempt = nil
  if has_answered(session) then lane.answered_after = lane.answered_after or loop.now() - begun end
  if told then return told end
  if not again then note_failure(lane, name, session:blame(err)) end
  lane.is_used = true
  lane.was_silent = lane.was_silent or err.kind == "timeout"
  return nil, err, again
end

-- Tries on one process what can be tried on it.
local function try_each(search, lane, session)
  local told, err, again
  lane.is_used = false
  search.listen(lane, session)
  repeat
    told, err, again = attempt(search, lane, session)
  until told or again or not may_go_on(lane, err)
  return told, err, again
end

-- In place of a dialect, until it is known which it is.
local function unknown_dialect(search, lane)
  return {
    name = lane.framing, framing = lane.framing, plugin = {}, recognises = function() return false end,
    host = {
      handlers = {}, close = function() end, execute = function() end,
      open = function(session) return try_each(search, lane, session) end,
    },
  }
end

-- What may have failed only for the state of its process is tried again, once, each on a new one. A program that never
-- answers is not.
local function begin_second_round(lane)
  if lane.is_second_round or lane.is_foreign or not lane.answered_after then return end
  lane.is_second_round, lane.queue, lane.doubtful = true, lane.doubtful, {}
end

-- A process that could not be started is the end of all that would have been tried.
local function note_end(lane, err)
  if lane.current then
    lane.errs[lane.current] = lane.errs[lane.current] or err
    return
  end
  lane.err = err
  for _, name in ipairs(lane.queue) do lane.errs[name] = err end
end

local function run(search, lane)
  repeat
    local start = { dialect = unknown_dialect(search, lane) }
    for name, value in pairs(search.start) do start[name] = value end
    lane.entries, lane.current = {}, nil
    local plugin, err = lane.host:start(start)
    if plugin and lane.is_over then return plugin:stop() end
    lane.plugin = plugin
    if not plugin then note_end(lane, err) end
    if not lane.queue[1] then begin_second_round(lane) end
  until plugin or lane.err or lane.is_over or not lane.queue[1]
  lane.is_done = true
  search.ring()
end

local function new_lane(framing)
  return { framing = framing, queue = {}, errs = {}, doubtful = {}, is_done = false, is_over = false }
end

-- What is said is kept until it is known whether it is shown.
local function log_of(lane, log)
  return function(entry)
    if lane.entries then table.insert(lane.entries, entry) else log(entry) end
  end
end

local function begin(search, lane)
  if lane.begun then return end
  lane.begun = loop.now()
  lane.host = hosts { log = log_of(lane, search.log), verbosity = search.verbosity, extensions = true,
    handshake_timeout = search.patience }
  tasks.start(run, search, lane)
end

local function dismiss(lane)
  lane.is_over = true
  if lane.host then tasks.start(lane.host.stop, lane.host) end
end

local function keep(lane, log)
  local entries = lane.entries
  lane.entries = nil
  for _, entry in ipairs(entries) do log(entry) end
  return lane.plugin, lane.current
end

-- }======

-- {====== What the program says ======

local FOREIGN = { line = "^[Cc]ontent%-[Ll]ength%s*:", header = '^%s*{.*"jsonrpc"' }

local function give_up(lane)
  local err = errors.new("protocol", ("its messages are not in %s framing"):format(lane.framing))
  if lane.attempt then lane.errs[lane.current] = err end
  for _, name in ipairs(lane.queue) do lane.errs[name] = err end
  lane.queue, lane.is_foreign = {}, true
  if lane.attempt then lane.attempt:cancel() end
end

-- Each hint counts once, and none for what is being tried or has been.
local function follow_hint(search, name)
  if search.followed[name] then return end
  search.followed[name] = true
  for _, lane in ipairs(search.lanes) do
    if lane.current ~= name and move_to_front(lane.queue, name) then
      if lane.attempt then lane.attempt:cancel() else begin(search, lane) end
    end
  end
end

-- Bytes outside of any message that look like one in the other framing.
local function is_foreign(lane, session, text)
  local before, now = lane.noise or 0, session.peer.stream:stats().noise
  lane.noise = now
  return now > before and type(text) == "string" and text:find(FOREIGN[lane.framing])
end

local function hear(search, lane, session, source, message, text)
  if source == "stdout" and is_foreign(lane, session, text) then
    give_up(lane)
    for _, other in ipairs(search.lanes) do begin(search, other) end
  elseif source == "stderr" then
    local name = hinted(message, "output")
    if name then follow_hint(search, name) end
  end
end

local function listen(search, lane, session)
  local say = session.say
  lane.noise = 0
  function session:say(source, level, message, data)
    hear(search, lane, self, source, message, data)
    return say(self, source, level, message, data)
  end
end

-- }======

-- {====== The search ======

local function lanes_of(command)
  local names, lanes, by_framing = ordered_names(), {}, {}
  local likely = hinted_by_command(command)
  if likely then move_to_front(names, likely) end
  for _, name in ipairs(names) do
    local framing = dialects.get(name).framing
    if not by_framing[framing] then
      by_framing[framing] = new_lane(framing)
      table.insert(lanes, by_framing[framing])
    end
    table.insert(by_framing[framing].queue, name)
  end
  return lanes, names, likely
end

-- A bell that rings whenever something has changed.
local function new_bell()
  local event
  local function ring()
    if event then event:set(true) end
  end
  local function wait(seconds)
    if seconds and seconds <= 0 then return nil, errors.new("timeout", "late") end
    event = loop.event()
    local ok, err = event:wait(seconds, errors.new("timeout", "late"))
    event = nil
    return ok, err
  end
  return ring, wait
end

local function grace_after(seconds) return math.min(math.max(seconds, LEAST_GRACE), MOST_GRACE) end

-- When to look again if nothing changes: at the end of the grace for the first, or when the next is to begin.
local function next_look(search, best)
  if best then
    best.grace_end = best.grace_end or loop.now() + grace_after(loop.now() - best.begun)
    return best.grace_end - loop.now()
  end
  local stagger = search.is_hinted and HINTED_STAGGER * search.patience or STAGGER
  for i, lane in ipairs(search.lanes) do
    if not lane.begun then return search.lanes[i - 1].begun + stagger - loop.now() end
  end
end

-- The first that has come to terms, and whether one before it may still do so.
local function best_of(lanes)
  local is_open = false
  for _, lane in ipairs(lanes) do
    if lane.plugin then return lane, is_open end
    is_open = is_open or not lane.is_done
  end
  return nil, is_open
end

local function begin_next(search)
  for _, lane in ipairs(search.lanes) do
    if not lane.begun then return begin(search, lane) end
    if lane.err then return end
  end
end

local function choose(search, wait_for_change)
  begin_next(search)
  while true do
    local best, is_open = best_of(search.lanes)
    if not is_open or search.lanes[1].err or best and search.followed[best.current] then return best end
    local ok, err = wait_for_change(next_look(search, best))
    if not ok and err.kind ~= "timeout" then return nil, err end
    if not ok and best then return best end
    if not ok or search.lanes[1].is_done and not search.lanes[1].plugin then begin_next(search) end
  end
end

local function refusal(search, names)
  local lines = { ("%s speaks none of the dialects that were tried"):format(table.concat(search.start.command, " ")) }
  local stderr
  for _, name in ipairs(names) do
    for _, lane in ipairs(search.lanes) do
      local err = lane.errs[name]
      if err then lines[#lines + 1] = ("  %-9s %s"):format(name, tostring(err)) end
      stderr = stderr or err and err.stderr
    end
  end
  for _, line in ipairs(stderr or {}) do lines[#lines + 1] = "  stderr    " .. line end
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
  local lanes, names, likely = lanes_of(given.start.command)
  local search = {
    lanes = lanes, start = given.start, patience = given.patience, log = given.log, verbosity = given.verbosity,
    is_hinted = likely ~= nil, followed = {}, ring = ring,
  }
  function search.listen(lane, session) listen(search, lane, session) end
  if likely then search.followed[likely] = true end
  local best, err = choose(search, wait_for_change)
  for _, lane in ipairs(lanes) do
    if lane ~= best then dismiss(lane) end
  end
  if best then return keep(best, given.log) end
  return nil, err or lanes[1].err or refusal(search, names)
end
