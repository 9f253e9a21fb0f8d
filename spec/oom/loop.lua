-- The loop: tasks, timers, descriptors, the watchdog.
local core, scenarios, checks = ...
local loop = core.loop
local again, is, says, raises, fails = checks.again, checks.is, checks.says, checks.raises, checks.fails
local start, not_failed = checks.start, checks.not_failed

-- More tasks than the loop has room for at first.
function scenarios.loop_tasks()
  local event, got, objects = again(loop.event), {}, {}
  local function wait(i) got[i] = event:wait() end
  for i = 1, 70 do objects[i] = start(wait, i) end
  is(false, event:is_set())
  event:set "x"
  loop.step()
  for i = 1, 70 do
    not_failed(objects[i])
    is("x", got[i])
  end
  is("x", (event:wait()))
end

-- A hook of the main thread is copied to new threads, and to those that are used again.
function scenarios.loop_task_hooked()
  local function run()
    local hook
    not_failed(start(function() hook = debug.gethook() end))
    return hook
  end
  local function note() end
  run()
  again(debug.sethook, note, "l")
  local ok, hook = pcall(run)
  debug.sethook()
  if not ok then error(hook, 0) end
  is(note, hook)
  is(nil, run())
end

function scenarios.loop_task_fails()
  local closed
  local object = start(function()
    local _ <close> = setmetatable({}, { __close = function() closed = true end })
    coroutine.yield()
    error "so it is"
  end)
  is(nil, object.err)
  loop.step()
  says("so it is", object.err)
  is(true, closed)
end

function scenarios.loop_task_stopped()
  local event, was, current = again(loop.event), nil, nil
  local object = start(function()
    current = loop.current()
    was = select(2, event:wait(100, "late"))
    was = was .. select(2, event:wait())
  end)
  not_failed(object)
  is(object, current)
  again(loop.stop, object, "stopped")
  loop.step()
  not_failed(object)
  is("stoppedstopped", was)
  is(nil, (loop.timeout()))
end

-- Tasks inside of tasks, deeper than they may be.
function scenarios.loop_task_depth()
  local deepest, failure = 0, nil
  local function dive(n)
    deepest = math.max(deepest, n)
    local object = { failed = function(_, err) failure = failure or err end }
    if n < 60 then loop.start(object, dive, n + 1) end
  end
  local object = start(dive, 1)
  for _ = 1, 3 do loop.step() end
  not_failed(object)
  if failure then error(failure, 0) end
  is(60, deepest)
end

function scenarios.loop_soon()
  local n = 0
  local function add(k) n = n + k end
  for _ = 1, 70 do again(loop.soon, add, 1) end
  is(0, loop.timeout())
  loop.step()
  is(70, n)
end

function scenarios.loop_timers()
  local n, timers = 0, {}
  local function add(k) n = n + k end
  for i = 1, 20 do timers[i] = again(loop.after, i == 20 and 100 or 0, add, 1) end
  is(0, loop.timeout())
  loop.step()
  is(19, n)
  for i = 1, 20 do again(loop.cancel, timers[i]) end
  is(nil, (loop.timeout()))
end

function scenarios.loop_deadlines()
  local event, late, expired = again(loop.event), nil, nil
  local object = start(function() late = select(2, event:wait(0.001, "late")) end)
  object.expire = function(self) expired = self end
  again(loop.set_deadline, object, 0)
  is("late", select(2, event:wait(0.001, "late")))
  loop.step(0.001)
  not_failed(object)
  is("late", late)
  is(object, expired)
end

function scenarios.loop_action()
  local event, actor = again(loop.event), nil
  event:on_set(function(e) actor = e end)
  event:set()
  is(true, event:is_set())
  loop.step()
  if not actor then error("not enough memory", 0) end -- an action is not called then
  is(event, actor)
end

function scenarios.loop_watch()
  local ends, seen, watchers = {}, 0, {}
  local function see() seen = seen + 1 end
  local function watch_all()
    for i = 1, 40 do
      ends[2 * i - 1], ends[2 * i] = again(core.pipe)
      watchers[i] = { on_ready = see }
      is(true, again(loop.watch, ends[2 * i], "w", watchers[i]))
    end
    loop.step()
  end
  local ok, message = pcall(watch_all)
  for i, watcher in ipairs(watchers) do again(loop.unwatch, ends[2 * i], watcher) end
  if not ok then error(message, 0) end
  is(40, seen)
  fails("cannot watch descriptor 500", "closed", again(loop.watch, 500, "r", {}))
  is("number", type(loop.fileno()))
end

-- A turn inside of a turn, by what cannot yield.
function scenarios.loop_nested()
  local event, got = again(loop.event), nil
  again(loop.soon, function() event:set "in time" end)
  local object = start(function()
    ("x"):gsub("x", function() got = event:wait() end)
  end)
  if not got then
    not_failed(object)
    error "it did not wait"
  end
  is("in time", got)
end

function scenarios.watchdog()
  local was
  is(true, again(core.watchdog, function() error("interrupted", 0) end, function() return false end, 0.001))
  local object = start(function()
    local deadline = core.now() + 2
    while core.now() < deadline do was = true end
  end)
  is(true, again(core.watchdog))
  says("interrupted", object.err)
  is(true, was)
  raises("function expected", core.watchdog, 1)
  again(assert(again(load, "local protect = ... protect()", "=protected")), core.protect)
end
