-- Pools over ways: two servers of ssh, the second one behind a link that can be cut.
local children = require "spec.support.children"
local engines = require "spec.support.engines"
local far_plugins = require "spec.support.far_plugins"
local files = require "spec.support.files"
local hosts = require "pintle.host"
local tasks = require "pintle.task"
local turn_until = require "spec.support.turning"

children.leave_nothing()

local QUICK = { max = 5, within = 60, backoff = 0.01, jitter = 0 }

describe("a pool over two servers of ssh", function()
  local get_near, get_other = engines.shared "sshd", engines.shared "sshd"
  local host, marker

  before_each(function()
    marker = far_plugins.marker()
    host = hosts { log = false, extensions = true }
  end)

  after_each(function()
    host:stop()
    far_plugins.await_end(marker)
  end)

  local function way_to(engine, name) return { ssh = { host = name or "node", config = engine.config } } end

  local function start(ways, size, more)
    local given = { command = far_plugins.plain(), name = "plain", env = marker, restart = QUICK,
      pool = { size = size, via = ways } }
    for name, value in pairs(more or {}) do given[name] = value end
    return host:start(given)
  end

  -- How many processes there are at each server, by its port. Calls that are made at once reach all processes.
  local function count_by_port(pool, size)
    local calls, counts = {}, {}
    for i = 1, size do
      calls[i] = function() return assert(pool:execute("where", { variable = "SSH_CONNECTION" })).message end
    end
    for _, connection in ipairs(assert(tasks.all(calls))) do
      local port = math.tointeger(tonumber(connection:match "%d+$"))
      counts[port] = (counts[port] or 0) + 1
    end
    return counts
  end

  it("has the same number of processes at both", function()
    local near, other = get_near(), get_other()
    local pool = assert(start({ way_to(near), way_to(other) }, 6))
    assert.equal(6, #pool:pids())
    assert.same({ [near.port] = 3, [other.port] = 3 }, count_by_port(pool, 6))
  end)

  it("has a process for each way by default, and any number on one way", function()
    local near, other = get_near(), get_other()
    assert.equal(2, #assert(start { way_to(near), way_to(other) }):pids())
    local pool = assert(start(way_to(near), 3, { name = "one way" }))
    assert.same({ [near.port] = 3 }, count_by_port(pool, 3))
  end)

  it("starts lost processes again where the fewest are", function()
    local near, other = get_near(), get_other()
    local link <close> = assert(other:link())
    local pool = assert(start({ way_to(near), way_to(other, link.host) }, 6))
    link:cut()
    turn_until(function() return #pool:pids() < 6 end)
    turn_until(function() return #pool:pids() == 6 end)
    assert.same({ [near.port] = 3, [other.port] = 3 }, count_by_port(pool, 6))
  end)

  it("starts lost processes again on the other way if one leads nowhere any more", function()
    local near, other = get_near(), get_other()
    local link <close> = assert(other:link())
    local pool = assert(start({ way_to(near), way_to(other, link.host) }, 6))
    link:close()
    turn_until(function() return #pool:pids() < 6 end)
    turn_until(function() return #pool:pids() == 6 end)
    assert.same({ [near.port] = 6 }, count_by_port(pool, 6))
  end)

  it("goes on with the processes that are left", function()
    local near, other = get_near(), get_other()
    local link <close> = assert(other:link())
    local pool = assert(start({ way_to(near), way_to(other, link.host) }, 4, { restart = false }))
    link:close()
    turn_until(function() return #pool:pids() == 2 end)
    assert.same({ [near.port] = 2 }, count_by_port(pool, 2))
  end)

  it("is not started if one way leads nowhere", function()
    local near = get_near()
    local pool, err = start({ way_to(near), way_to(near, "refused") }, 4)
    assert.is_nil(pool)
    assert.equal("spawn", err.kind)
    assert.matches("^plain cannot be started: ssh refused: .*Connection refused$", err.message)
  end)
end)

describe("a pool over ssh", function()
  -- Counts how many connections are being opened at once. The client is called ssh, and leads to this machine.
  local CLIENT = [[
    folder=$(dirname "$0")
    touch "$folder/$$.open"
    sleep 0.05
    set -- "$@" "$folder"/*.open
    echo $(($# - 1)) >> "$folder/counts"
    rm "$folder/$$.open"
    exec sh]]

  -- A folder with a program `ssh`.
  local function client(code)
    local folder = files.folder()
    files.write(folder.path .. "/ssh", "#!/bin/sh\n" .. code, "755")
    return folder
  end

  local function most_at_once(folder)
    local most, count = 0, 0
    for line in io.lines(folder.path .. "/counts") do most, count = math.max(most, tonumber(line)), count + 1 end
    return most, count
  end

  it("opens eight connections at once", function()
    local folder <close> = client(CLIENT)
    local host <close> = hosts { log = false }
    local way = { folder.path .. "/ssh" }
    local pool = assert(host:start { command = far_plugins.plain(), pool = { size = 20, via = way } })
    assert.equal(20, #pool:pids())
    local most, count = most_at_once(folder)
    assert.equal(20, count)
    assert.is_true(most > 1 and most <= 8, "at once: " .. most)
  end)

  it("opens no more connections after the first one has failed", function()
    local folder <close> = client 'echo 1 >> "$(dirname "$0")/counts"; exit 255'
    local host <close> = hosts { log = false }
    local way = { folder.path .. "/ssh" }
    local pool, err = host:start { command = far_plugins.plain(), name = "plain", pool = { size = 20, via = way } }
    assert.is_nil(pool)
    assert.matches("^plain cannot be started: .*/ssh: the connection has ended: .*/ssh ended with exit code 255$",
      err.message)
    assert.equal(8, select(2, most_at_once(folder)))
  end)
end)
