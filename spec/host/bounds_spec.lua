-- Reading a manifest is bounded by the handshake timeout, checking arguments by the timeout of the call.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local hosts = require "pintle.host"
local loop = require "pintle.loop"
local tasks = require "pintle.task"

-- A plugin whose manifest has this many operations, each with a schema.
local LONG = [[
  local id = io.read "l":match '"id":(%d+)'
  local parts = {}
  for i = 1, tonumber(arg[1]) do
    parts[i] = ('"op%d":{"params":{"type":"object","properties":{"a":{"type":"string"},"b":{"default":1}}}}'):format(i)
  end
  io.write('{"jsonrpc":"2.0","id":', id, ',"result":{"name":"long","version":"1.0.0","protocolVersion":"0.0.1",',
    '"operations":{', table.concat(parts, ","), "}}}\n")
  io.flush()
  io.read "a"
]]

-- d0 applies d1 twice, d1 applies d2 twice …: 2^30 steps.
local NESTED = [[
  local defs = { d30 = { type = "object", properties = { a = { type = "string" } } } }
  for i = 0, 29 do
    local ref = "#/$defs/d" .. i + 1
    defs["d" .. i] = { allOf = { { ["$ref"] = ref }, { ["$ref"] = ref } } }
  end
  local nested = { type = "object", ["$ref"] = "#/$defs/d0", ["$defs"] = defs }
]]

local function write_file(text)
  local path = os.tmpname()
  files.write(path, text)
  return path
end

describe("a host", function()
  local host, paths

  local function start(text, options, ...)
    paths[#paths + 1] = write_file(text)
    local given = { command = { "lua5.4", paths[#paths], ... }, handshake_timeout = children.patience }
    for name, value in pairs(options or {}) do given[name] = value end
    return host:start(given)
  end

  before_each(function()
    paths = {}
    host = hosts { log = false }
  end)

  after_each(function()
    host:stop()
    for _, path in ipairs(paths) do os.remove(path) end
  end)

  it("reads a manifest of 100,000 operations until the handshake timeout at most", function()
    local started = core.now()
    local plugin, err = start(LONG, { name = "vast", handshake_timeout = 1 }, "100000")
    assert.is_nil(plugin) -- it starts if its manifest is read to the end
    assert.equal("timeout", err.kind)
    assert.matches("^vast: ", err.message)
    assert.truthy(core.now() - started < children.patience)
  end)

  it("lets the loop turn while it reads a long manifest", function()
    local longest, last, is_over = 0, nil, false
    local ticking = tasks.start(function()
      while not is_over do
        local now = core.now()
        longest, last = math.max(longest, now - (last or now)), now
        loop.sleep(0.001)
      end
    end)
    local started = core.now()
    local plugin = assert(start(LONG, {}, "30000"))
    is_over = true
    ticking:await()
    assert.equal(30000, #plugin.manifest.names)
    assert.truthy(longest < (core.now() - started) / 2, ("nothing else had a turn for %g s"):format(longest))
  end)

  it("checks arguments against a nested schema until the timeout of the call at most", function()
    local plugin = assert(start(NESTED .. [[
      local plugin = require "pintle".plugin { name = "nested", version = "1.0.0" }
      plugin:operation("go", { params = nested }, function() return "done" end)
      plugin:serve()
    ]]))
    local started = core.now()
    local outcome, err = plugin:execute("go", { a = "b" }, { timeout = 0.2 })
    assert.is_nil(outcome)
    assert.equal("timeout", err.kind)
    assert.matches("no time left for \"go\"", err.message, 1, true)
    assert.truthy(core.now() - started < children.patience)
  end)

  it("gets an answer in time from a plugin that checks arguments against a nested schema", function()
    local plugin = assert(start(NESTED .. [[
      local plugin = require "pintle".plugin { name = "nested", version = "1.0.0" }
      plugin:operation("go", { params = nested }, function() return "done" end)
      plugin:serve()
    ]]))
    local started = core.now()
    local answer, err = plugin:call("execute", {
      operation = "go", args = { a = "b" }, context = { timeout = "200ms" },
    }, { timeout = children.patience })
    local message = err and err.message or answer.message or answer.error
    assert.matches("timed out", message, 1, true)
    assert.truthy(core.now() - started < children.patience)
  end)
end)
