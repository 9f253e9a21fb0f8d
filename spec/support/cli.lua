-- Runs the pintle command as a process.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"

local cli = {}

local methods = {}
local metatable = { __index = methods }

-- Starts `pintle` with these arguments; options are those of core.spawn.
function cli.start(words, options)
  local given = { command = { "bin/pintle", table.unpack(words) }, stderr = "pipe" }
  for name, value in pairs(options or {}) do given[name] = value end
  return setmetatable({ process = assert(core.spawn(given)) }, metatable)
end

-- Reads both outputs to their ends. Returns them and the status, or the signal that ended the process.
function methods:finish()
  local process, open, texts = self.process, {}, { stdout = "", stderr = "" }
  for name in pairs(texts) do
    if process[name] then open[#open + 1] = name end
  end
  while open[1] do
    local first, last = process[open[1]], process[open[#open]]
    local is_first_ready, is_last_ready = core.poll(children.patience, first, "r", last, "r")
    assert(is_first_ready or is_last_ready, "no message arrived in time")
    local at = is_first_ready and 1 or #open
    local name, data = open[at], process[open[at]]:read()
    if data == "" or data == nil then
      table.remove(open, at)
    elseif data then
      texts[name] = texts[name] .. data
    end
  end
  local code, signal = process:wait(children.patience)
  process:close()
  return texts.stdout, texts.stderr, code or signal
end

-- Writes all of the text; the other side has to read it.
function methods:say(text)
  local at, stdin = 1, self.process.stdin
  while at <= #text do
    local written, message = stdin:write(text:sub(at))
    assert(written ~= nil, message)
    at = at + (written or 0)
    if not written then
      assert(core.poll(children.patience, stdin, "w"), "the command does not read its input")
    end
  end
end

-- Reads stdout until it ends with this text.
function methods:read(ending) return children.read(self.process.stdout, ending) end

function metatable.__close(self) self.process:close() end

-- Runs the command without input; returns stdout, stderr and the status.
function cli.run(words, options)
  local given = { stdin = "null" }
  for name, value in pairs(options or {}) do given[name] = value end
  local started <close> = cli.start(words, given)
  return started:finish()
end

-- The same as one table, for comparisons.
function cli.outcome(words, options) return { cli.run(words, options) } end

-- The commands of the greeter and of a bad plugin.
cli.GREETER = { "lua5.4", "examples/greeter/plugin.lua" }

function cli.bad(...) return { "lua5.4", "spec/support/bad_plugin.lua", ... } end

-- Polls until the condition is true.
function cli.await(condition)
  local deadline = core.now() + children.patience
  while not condition() do
    assert(core.now() < deadline, "the condition did not become true in time")
    core.poll(0.01)
  end
end

function cli.is_running(pid)
  local file <close> = io.open(("/proc/%s/stat"):format(pid))
  return file ~= nil
end

-- Waits for the first child of a process that runs this program.
function cli.await_child(pid, name)
  local child
  cli.await(function()
    child = files.read(("/proc/%d/task/%d/children"):format(pid, pid)):match "%d+"
    return child and files.read(("/proc/%s/cmdline"):format(child)):find(name, 1, true)
  end)
  return child
end

-- Concatenates words and lists of words.
function cli.words(...)
  local all = {}
  for _, list in ipairs { ... } do
    local words = type(list) == "table" and cli.words(table.unpack(list)) or { list }
    table.move(words, 1, #words, #all + 1, all)
  end
  return all
end

return cli
