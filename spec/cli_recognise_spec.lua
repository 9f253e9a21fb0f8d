-- How a host finds out what a plugin speaks, with dialects of the spec's own.
local children = require "spec.support.children"
local dialects = require "pintle.dialect"
local errors = require "pintle.error"
local recognise = require "pintle.cli.recognise"
local tasks = require "pintle.task"

local nothing_left

before_each(function() nothing_left = children.stock() end)
after_each(function() nothing_left() end)

-- Opens with `method`, and takes whatever answer it gets to it.
local function add(name, framing, method)
  dialects.add {
    name = name, framing = framing, recognises = function() return false end, plugin = {},
    host = {
      handlers = {},
      open = function(session)
        local told, err = session.peer:call(method, {}, { timeout = session.handshake_timeout })
        if err then return nil, err end
        session:log("info", "opened by " .. name)
        return { name = told.name, version = false, operations = {} }
      end,
      close = function() end,
      execute = function() return nil, errors.new("invalid", "nothing to do") end,
    },
  }
end

add("aa-lines", "line", "hello-lines")
add("bb-header", "header", "hello-header")
add("cc-lines", "line", "hello-lines")

-- A plugin that knows these methods; it says so on stderr when it begins.
local function plugin(framing, delay, ...)
  local code = [[
    local pintle = require "pintle"
    local peer = assert(pintle.connect { stdio = true, framing = arg[1] })
    io.stderr:write "begun\n"
    for i = 3, #arg do
      peer:on(arg[i], function() pintle.sleep(tonumber(arg[2])) return { name = arg[i] } end)
    end
    peer:join()
  ]]
  return children.lua(code, framing, tostring(delay), ...)
end

local function find(command, patience)
  local heard = {}
  local found, dialect = tasks.run(recognise, {
    start = { command = command, ladder = { request = 0.5, eof = 5 } }, patience = patience or 20, verbosity = "info",
    log = function(entry) heard[#heard + 1] = entry.message end,
  })
  if found then
    local name = found.manifest.name
    found:stop()
    tasks.run() -- those that were tried in vain are being stopped
    return dialect, name, heard
  end
  tasks.run()
  return nil, dialect
end

describe("a plugin of an unknown dialect", function()
  it("is spoken to in the one that it knows", function()
    local dialect, name, heard = find(plugin("header", 0, "hello-header"))
    assert.same({ "bb-header", "hello-header" }, { dialect, name })
    assert.same({ "begun", "opened by bb-header" }, heard)
  end)

  it("is spoken to in the first that fits, even if another fits earlier", function()
    assert.equal("aa-lines", (find(plugin("line", 0.1, "hello-lines"))))
  end)

  it("is told apart from all that do not fit", function()
    local dialect, err = find(plugin("line", 0, "nothing"), 0.5)
    assert.is_nil(dialect)
    assert.equal("protocol", err.kind)
    for _, name in ipairs { "gevals", "aa-lines", "cc-lines" } do
      assert.truthy(err.message:find(("\n  %s +[^\n]*Method not found"):format((name:gsub("-", "%%-")))), err.message)
    end
    assert.truthy(err.message:find "\n  bb%-header +[^\n]*no answer to \"hello%-header\" within 0%.5s", err.message)
  end)

  it("is not told apart from a program that cannot be run", function()
    local dialect, err = find({ "no-such-program" }, 0.5)
    assert.is_nil(dialect)
    assert.same({ "spawn", 'cannot run "no-such-program": No such file or directory' }, { err.kind, err.message })
  end)

  it("is left alone when the search is cancelled", function()
    local task = tasks.start(recognise, {
      start = { command = plugin("line", 0, "nothing"), ladder = { request = 0.5, eof = 0.5 } }, patience = 20,
      verbosity = "info", log = function() end,
    })
    task:cancel "enough"
    local found, err = task:await()
    assert.is_nil(found)
    assert.equal("cancelled", err.kind)
    tasks.run()
  end)
end)
