-- Starts the plugin of a subcommand, and recognises its dialect when the user does not name it. The dialects of one
-- framing are tried one after the other, the likely ones first. They are tried on the same process while it only
-- refuses, and on a new process after any other failure. The dialects of the other framing have a process of their own,
-- which is started when the first process is silent for a while. So at most two processes run, and usually one.

local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local loop = require "pintle.loop"
local options = require "pintle.cli.options"
local tasks = require "pintle.task"

local suggestions = require "pintle.lazy" "pintle.cli.suggestion"

-- The order in which dialects are tried when none is likely. Dialects that are not listed follow by name.
local ORDER = { "gevals", "mcp", "liquid", "lsp", "reginald", "editor" }

-- Seconds of silence before the other framing is tried; if the command makes a dialect likely, this fraction of the
-- start timeout instead.
local STAGGER, HINTED_STAGGER = 0.4, 0.3

-- Fraction of the start timeout for each further dialect, once a process has answered or was silent for the whole
-- start timeout; and how many times slower than an earlier process a new one may be.
local FURTHER, SLOWER = 0.2, 3

-- Seconds that the first framing has left once the other has succeeded: as long as that took, within these bounds.
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

local function matches_any(text, patterns)
  for _, pattern in ipairs(patterns or {}) do
    if text:find(pattern) then return true end
  end
  return false
end

-- The dialect that this text makes likely, by the hints of this kind.
local function hinted_dialect(text, kind)
  for _, name in ipairs(ordered_names()) do
    local hints = dialects.get(name).host.hints
    if hints and matches_any(text:lower(), hints[kind]) then return name end
  end
end

-- Words with spaces are code, not names. The scope of an npm package is part of its name.
local function dialect_hinted_by_command(command)
  for _, word in ipairs(command) do
    local name = not word:find "%s" and (word:match "@[^/]+/[^/]+" or word:match "([^/]+)/*$")
    local dialect = name and (hinted_dialect(name, "command") or hinted_dialect(name:match "[^/]+$", "command"))
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
---@field queue string[] dialects that are not tried yet
---@field errs table<string, pintle.error> errors of the dialects that failed
---@field doubtful string[] dialects that may have failed only because of the state of their process
---@field current string? the dialect that is tried, or was tried last
---@field attempt pintle.task? the handshake in progress
---@field plugin pintle.hosted? set when a handshake has succeeded
---@field err pintle.error? set when no process could be started
---@field entries? pintle.entry[] log entries of the process, until they are forwarded
---@field begun number? time of the start
---@field opened number? time of the first handshake
---@field is_done boolean whether the lane has finished
---@field is_over boolean whether its result is no longer needed
---@field is_used boolean whether the process has received another dialect before
---@field was_silent boolean? whether a process has timed out
---@field is_second_round boolean whether the doubtful dialects are tried again
---@field is_foreign boolean? whether the program uses the other framing
---@field answered_after number? seconds that a process took to answer

local function has_program_answered(session)
  local stats = session.peer.stream:stats()
  return stats.received + stats.invalid > 0
end

-- A program that has not answered yet may be slow to start. One that has answered is fast from then on, and a new
-- process of it takes about as long to start.
local function handshake_time_for(search, lane, session)
  local least = search.start_timeout * FURTHER
  if has_program_answered(session) then return least end
  if not lane.was_silent and not lane.is_second_round then return search.start_timeout end
  return math.min(math.max(least, (lane.answered_after or 0) * SLOWER), search.start_timeout)
end

-- A process can be used for another dialect if it refused the last one, or if the attempt was cancelled for a likelier
-- one.
local function may_try_next_dialect(lane, err)
  if lane.is_over or lane.is_second_round or not lane.queue[1] then return false end
  return err.kind == "remote" or err.kind == "cancelled"
end

-- A refusal is doubtful on a process that has received other dialects; silence is doubtful if it was still starting.
local function note_failed_dialect(lane, name, err)
  if lane.is_second_round or not lane.errs[name] then lane.errs[name] = err end
  if lane.is_used or err.kind == "timeout" or err.kind == "cancelled" then table.insert(lane.doubtful, name) end
end

local function attempt_handshake(search, lane, session)
  local name = table.remove(lane.queue, 1)
  local dialect = dialects.get(name)
  local begun = loop.now()
  lane.current = name
  session:speak(dialect)
  session.handshake_timeout = handshake_time_for(search, lane, session)
  lane.attempt = tasks.start(dialect.host.open, session)
  local manifest, err, again = lane.attempt:await()
  lane.attempt = nil
  if has_program_answered(session) then lane.answered_after = lane.answered_after or loop.now() - begun end
  if manifest then return manifest end
  if not again then note_failed_dialect(lane, name, session:blame(err)) end
  lane.is_used = true
  lane.was_silent = lane.was_silent or err.kind == "timeout"
  return nil, err, again
end

-- Tries dialects on one process for as long as that is possible.
local function try_queued_dialects(search, lane, session)
  local manifest, err, again
  lane.is_used = false
  lane.opened = lane.opened or loop.now()
  search.notify()
  search.listen(lane, session)
  repeat
    manifest, err, again = attempt_handshake(search, lane, session)
  until manifest or again or not may_try_next_dialect(lane, err)
  return manifest, err, again
end

-- A placeholder dialect, used until the real one is known.
local function placeholder_dialect(search, lane)
  return {
    name = lane.framing, framing = lane.framing, plugin = {}, recognises = function() return false end,
    host = {
      handlers = {}, close = function() end, execute = function() end,
      open = function(session) return try_queued_dialects(search, lane, session) end,
    },
  }
end

-- Doubtful dialects are tried once more, each on a new process, unless the program never answers.
local function begin_second_round(lane)
  if lane.is_second_round or lane.is_foreign or not lane.answered_after then return end
  lane.is_second_round, lane.queue, lane.doubtful = true, lane.doubtful, {}
end

-- If no process can be started, all remaining dialects fail with that error.
local function note_end_of_process(lane, err)
  if lane.current then
    lane.errs[lane.current] = lane.errs[lane.current] or err
    return
  end
  lane.err = err
  for _, name in ipairs(lane.queue) do lane.errs[name] = err end
end

local function run_lane(search, lane)
  repeat
    local start = { dialect = placeholder_dialect(search, lane) }
    for name, value in pairs(search.start) do start[name] = value end
    lane.entries, lane.current = {}, nil
    local plugin, err = lane.host:start(start)
    if plugin and lane.is_over then return plugin:stop() end
    lane.plugin = plugin
    if not plugin then note_end_of_process(lane, err) end
    if not lane.queue[1] then begin_second_round(lane) end
  until plugin or lane.err or lane.is_over or not lane.queue[1]
  lane.is_done = true
  search.notify()
end

local function new_lane(framing)
  return { framing = framing, queue = {}, errs = {}, doubtful = {}, is_done = false, is_over = false }
end

-- Log entries are kept until it is known whether they are shown.
local function lane_log(lane, log)
  return function(entry)
    if lane.entries then table.insert(lane.entries, entry) else log(entry) end
  end
end

-- In gevals, a plugin accepts those of these capabilities for whose dialects it declares something.
local function declaration_capabilities(names)
  local list = {}
  for i, name in ipairs(names) do list[i] = "x-dialect-" .. name end
  return list
end

local function begin_lane(search, lane)
  if lane.begun then return end
  lane.begun = loop.now()
  lane.host = require "pintle.host" { log = lane_log(lane, search.log), verbosity = search.verbosity,
    extensions = declaration_capabilities(search.names), handshake_timeout = search.start_timeout }
  tasks.start(function()
    local ok, problem = pcall(run_lane, search, lane)
    if ok then return end
    search.problem = problem
    search.notify()
  end)
end

local function dismiss_lane(lane)
  lane.is_over = true
  if lane.host then tasks.start(lane.host.stop, lane.host) end
end

local function keep_lane(lane, log)
  local entries = lane.entries
  lane.entries = nil
  for _, entry in ipairs(entries) do log(entry) end
  lane.plugin.supervisor.dialect = dialects.get(lane.current) -- its handle has the methods of this dialect
  return lane.plugin, lane.current
end

-- }======

-- {====== Output of the program ======

local FOREIGN = { line = "^[Cc]ontent%-[Ll]ength%s*:", header = '^%s*{.*"jsonrpc"' }

local function abandon_framing(lane)
  local err = errors.new("protocol", ("its messages do not use %s framing"):format(lane.framing))
  if lane.attempt then lane.errs[lane.current] = err end
  for _, name in ipairs(lane.queue) do lane.errs[name] = err end
  lane.queue, lane.is_foreign = {}, true
  if lane.attempt then lane.attempt:cancel() end
end

-- Each hint is followed once, and only for a dialect that was not tried yet.
local function follow_hint(search, name)
  if search.followed[name] then return end
  search.followed[name] = true
  for _, lane in ipairs(search.lanes) do
    if lane.current ~= name and move_to_front(lane.queue, name) then
      if lane.attempt then lane.attempt:cancel() else begin_lane(search, lane) end
    end
  end
end

-- Whether noise on stdout looks like a message in the other framing.
local function has_foreign_framing(lane, session, text)
  local before, now = lane.noise or 0, session.peer.stream:stats().noise
  lane.noise = now
  return now > before and type(text) == "string" and text:find(FOREIGN[lane.framing])
end

local function watch_output(search, lane, session, source, message, text)
  if source == "stdout" and has_foreign_framing(lane, session, text) then
    abandon_framing(lane)
    for _, other in ipairs(search.lanes) do begin_lane(search, other) end
  elseif source == "stderr" then
    local name = hinted_dialect(message, "output")
    if name then follow_hint(search, name) end
  end
end

local function listen_to_session(search, lane, session)
  local say = session.say
  lane.noise = 0
  function session:say(source, level, message, data)
    watch_output(search, lane, self, source, message, data)
    return say(self, source, level, message, data)
  end
end

-- }======

-- {====== The search ======

local function lanes_for_command(command)
  local names, lanes, by_framing = ordered_names(), {}, {}
  local likely = dialect_hinted_by_command(command)
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

-- Returns a function that signals a change, and one that waits for the next change.
local function new_change_signal()
  local event
  local function notify_change()
    if event then event:set(true) end
  end
  local function wait_for_change(seconds)
    if seconds and seconds <= 0 then return nil, errors.new("timeout", "late") end
    event = loop.event()
    local ok, err = event:wait(seconds, errors.new("timeout", "late"))
    event = nil
    return ok, err
  end
  return notify_change, wait_for_change
end

local function grace_after(seconds) return math.min(math.max(seconds, LEAST_GRACE), MOST_GRACE) end

-- Seconds until the next decision if nothing changes: the end of the grace period, or the start of the next lane. A
-- program at the far end of a way may have to wait for its start; its silence begins later.
local function seconds_to_next_decision(search, best)
  if best then
    best.grace_end = best.grace_end or loop.now() + grace_after(loop.now() - best.opened)
    return best.grace_end - loop.now()
  end
  local stagger = search.is_hinted and HINTED_STAGGER * search.start_timeout or STAGGER
  for i, lane in ipairs(search.lanes) do
    local opened = not lane.begun and search.lanes[i - 1].opened
    if opened then return opened + stagger - loop.now() end
  end
end

-- The first lane that has succeeded, and whether an earlier one may still succeed.
local function find_best_lane(lanes)
  local is_open = false
  for _, lane in ipairs(lanes) do
    if lane.plugin then return lane, is_open end
    is_open = is_open or not lane.is_done
  end
  return nil, is_open
end

local function begin_next_lane(search)
  for _, lane in ipairs(search.lanes) do
    if not lane.begun then return begin_lane(search, lane) end
    if lane.err then return end
  end
end

local function choose_lane(search, wait_for_change)
  begin_next_lane(search)
  while true do
    if search.problem then error(search.problem, 0) end
    local best, is_open = find_best_lane(search.lanes)
    if not is_open or search.lanes[1].err or best and search.followed[best.current] then return best end
    local ok, err = wait_for_change(seconds_to_next_decision(search, best))
    if not ok and err.kind ~= "timeout" then return nil, err end
    if not ok and best then return best end
    if not ok or search.lanes[1].is_done and not search.lanes[1].plugin then begin_next_lane(search) end
  end
end

-- The dialect that a plugin declares something for, if it has said so. That is not for users to see.
local function take_declared_dialect(names, capabilities)
  local declared
  for i, capability in ipairs(declaration_capabilities(names)) do
    if capabilities[capability] then declared = declared or names[i] end
    capabilities[capability] = nil
  end
  return declared
end

local function start_again(search, name, wait_for_change)
  local lane = new_lane(dialects.get(name).framing)
  lane.queue[1] = name
  table.insert(search.lanes, lane)
  begin_lane(search, lane)
  while not lane.is_done do
    if search.problem then error(search.problem, 0) end
    local ok, err = wait_for_change()
    if not ok then return nil, err end
  end
  return lane
end

-- A plugin made with pintle speaks all dialects. It is started again if it declares something for another one. The
-- first process has ended then: it may be a `pintle trace`, and both would write the same file.
local function follow_declaration(search, best, wait_for_change)
  local name = take_declared_dialect(search.names, best.plugin.manifest.capabilities)
  if not name then return best end
  best.plugin:stop()
  local lane, err = start_again(search, name, wait_for_change)
  if lane and not lane.plugin then lane, err = start_again(search, best.current, wait_for_change) end
  if lane and not lane.plugin then return nil, lane.errs[lane.current] end
  return lane, err
end

-- The errors of the dialects, as they were tried: each message once, with the dialects that it is about.
local function collect_dialect_errors(search, names)
  local list, by_message, stderr = {}, {}, nil
  for _, name in ipairs(names) do
    for _, lane in ipairs(search.lanes) do
      local err = lane.errs[name]
      local message = err and err.kind ~= "cancelled" and tostring(err)
      if message and not by_message[message] then
        by_message[message] = { message = message, has_failed = err.exit and err.exit.code ~= 0 }
        list[#list + 1] = by_message[message]
      end
      if message then table.insert(by_message[message], name) end
      stderr = stderr or err and err.stderr
    end
  end
  return list, stderr
end

-- The stderr of a program, below a message, unless the message ends with all of it.
local function append_stderr_lines(message, stderr)
  if #stderr == 1 and message:sub(-#stderr[1]) == stderr[1] then return message end
  local lines = { message }
  for _, line in ipairs(stderr) do lines[#lines + 1] = "  stderr    " .. line end
  return table.concat(lines, "\n")
end

-- The error of a program that ended in the same way whatever it was asked, such as one with a mistake in its source.
local function program_end_error(found, stderr)
  return errors.new("closed", append_stderr_lines(found[1].message, stderr), { is_text = true })
end

local function recognition_error(search, names)
  local found, stderr = collect_dialect_errors(search, names)
  if #found == 1 and found[1].has_failed then return program_end_error(found, stderr or {}) end
  local lines = { ("%s speaks none of the dialects that were tried"):format(table.concat(search.start.command, " ")) }
  for _, item in ipairs(found) do
    lines[#lines + 1] = ("  %s: %s"):format(table.concat(item, ", "), item.message)
  end
  local message = append_stderr_lines(table.concat(lines, "\n"), stderr or {})
  message = message .. "\nTo skip recognition use --dialect NAME; to wait longer use --start-timeout TIME."
  return errors.new("protocol", message, { is_text = true })
end

-- }======

local recognition = {}

---@class pintle.cli.recognition.options
---@field start pintle.start.options
---@field start_timeout number seconds for a handshake
---@field log fun(entry: pintle.entry) called with the log entries of the plugin that is kept
---@field verbosity string

---Starts a program, and recognises its dialect.
---@param given pintle.cli.recognition.options
---@return pintle.hosted?, string|pintle.error dialect_or_err
function recognition.recognise(given)
  local notify_change, wait_for_change = new_change_signal()
  local lanes, names, likely = lanes_for_command(given.start.command)
  local search = {
    lanes = lanes, names = names, start = given.start, start_timeout = given.start_timeout, log = given.log,
    verbosity = given.verbosity, is_hinted = likely ~= nil, followed = {}, notify = notify_change,
  }
  function search.listen(lane, session) listen_to_session(search, lane, session) end
  if likely then search.followed[likely] = true end
  local best, err = choose_lane(search, wait_for_change)
  if best then best, err = follow_declaration(search, best, wait_for_change) end
  for _, lane in ipairs(lanes) do
    if lane ~= best then dismiss_lane(lane) end
  end
  if best then return keep_lane(best, given.log) end
  return nil, err or lanes[1].err or recognition_error(search, names)
end

-- {====== Starting the plugin of a command line ======

---Stages of stopping a plugin, in seconds: short, because a user is waiting.
recognition.STOP_TIMEOUTS = { request = 1, eof = 1, term = 1 }

-- Adds the plugin's stderr to the error, unless the log has shown it already.
local function add_stderr_lines(err, log_level)
  if log_level == "debug" or log_level == "info" then return err end
  err.message, err.is_text = append_stderr_lines(tostring(err), err.stderr or {}), true
  return err
end

local function start_with_dialect(args, start, on_entry)
  local known, problem = options.find_dialect(args.dialect)
  if not known then return nil, problem end
  local host = require "pintle.host" { dialect = args.dialect, log = on_entry, verbosity = args.log,
    extensions = true, handshake_timeout = args.start_timeout }
  local plugin, err = host:start(start)
  if not plugin then return nil, add_stderr_lines(err, args.log) end
  return plugin, args.dialect
end

-- The host names a plugin by its program, so that many are called "plugin". Messages have the name in its manifest.
local function with_manifest_name(plugin, message)
  local rest = message:sub(1, #plugin.name) == plugin.name and message:match("^[: ].*$", #plugin.name + 1)
  return rest and plugin.manifest.name .. rest or message
end

local SILENCE = 1 -- seconds until a terminal shows what it waits for

---@class pintle.cli.started
---@field plugin pintle.hosted
---@field dialect string
---@field is_recognised boolean
---@field terminal pintle.terminal
---@field label string the name in its manifest
---@field name_in fun(err: pintle.error): pintle.error puts this name into the message

---Starts the plugin that the command line names. The caller has to stop it.
---@param args table the parsed options, and `command`; `ordered`: received objects keep the order of their members
---@param console pintle.cli.console
---@param on_entry? fun(entry: pintle.entry) default: prints to the terminal
---@return pintle.cli.started?, pintle.error?
function recognition.start_plugin(args, console, on_entry)
  local terminal = require("pintle.host.log").new_terminal()
  local started = { is_recognised = not args.dialect, terminal = terminal } ---@type pintle.cli.started
  local show = on_entry or terminal.entry
  local function log(entry)
    console:clear_wait()
    if started.plugin and entry.plugin == started.plugin.name then entry.plugin = started.label end
    return show(entry)
  end
  local start = { command = args.command, config = args.config, env = console:plugin_environment(args.via),
    stop_timeouts = recognition.STOP_TIMEOUTS, sandbox = args.sandbox, ordered = args.ordered, via = args.via }
  local timer = terminal.has_bar and loop.after(SILENCE, function()
    console:show_wait(("waiting for an answer of %s …"):format(table.concat(args.command, " ")))
  end)
  local plugin, dialect
  if args.dialect then
    plugin, dialect = start_with_dialect(args, start, log)
  else
    plugin, dialect = recognition.recognise { start = start, start_timeout = args.start_timeout, log = log,
      verbosity = args.log }
  end
  if timer then loop.cancel(timer) end
  console:clear_wait()
  if not plugin then return nil, args.via and dialect or suggestions.explain_start_error(dialect, args.command) end
  started.plugin, started.dialect, started.label = plugin, dialect, plugin.manifest.name
  function started.name_in(err)
    err.message = with_manifest_name(plugin, err.message)
    return err
  end
  return started
end

-- }======

return recognition
