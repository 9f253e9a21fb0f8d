-- For specs of the loop: tasks, the places where code can run, and a check that nothing is left in the loop.
local children = require "spec.support.children"
local loop = require "pintle.loop"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

local stage = {}

-- Runs a function in a task of the loop.
function stage.start(fn, ...)
  local object = { failed = function(_, err) error(err, 0) end }
  loop.start(object, fn, ...)
  return object
end

-- All places where code can run.
stage.places = {
  ["the main program"] = function(fn) fn() end,
  ["a coroutine of the user's"] = function(fn) assert(coroutine.resume(coroutine.create(fn))) end,
  ["a task"] = function(fn) tasks.run(fn) end,
  ["a coroutine in a task"] = function(fn)
    tasks.run(function() assert(coroutine.resume(coroutine.create(fn))) end)
  end,
  ["a task in a coroutine"] = function(fn)
    assert(coroutine.resume(coroutine.create(function() tasks.run(fn) end)))
  end,
  ["a function that cannot yield, in a task"] = function(fn)
    tasks.run(function()
      local is_first = true
      table.sort({ 2, 1 }, function(a, b)
        if is_first then fn() end
        is_first = false
        return a < b
      end)
    end)
  end,
  ["a callback of the loop"] = function(fn)
    local done
    loop.after(0, function()
      fn()
      done = true
    end)
    turn_until(function() return done end)
  end,
}

-- Checks after each spec of a file or block that no task, timer, process or descriptor is left, and restores
-- loop.on_error. To be called outside of specs.
function stage.leave_idle()
  local busted, nothing_left, on_error = require "busted", nil, nil
  busted.before_each(function() nothing_left, on_error = children.stock(), loop.on_error end)
  busted.after_each(function()
    loop.on_error = on_error
    assert(not loop.current(), "a task still runs")
    assert(not loop.timeout(), "a timer is left")
    nothing_left()
  end)
end

return stage
