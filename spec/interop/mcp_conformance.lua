-- The conformance suite of MCP runs its scenarios for a server, over spec/interop/mcp_bridge.cjs.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"

local json = core.json

local SUITE = os.getenv "PINTLE_PEERS" .. "/node_modules/@modelcontextprotocol/conformance/dist/index.js"

-- Scenarios about HTTP itself: they would test the bridge, not pintle.
local ABOUT_HTTP = {
  ["dns-rebinding-protection"] = "the Host header",
  ["server-session-lifecycle"] = "the Mcp-Session-Id header, and DELETE",
  ["server-sse-polling"] = "reconnecting to an event stream",
  ["server-sse-multiple-streams"] = "event streams side by side",
  ["http-header-validation"] = "headers that repeat the message",
  ["http-custom-header-server-validation"] = "headers that repeat arguments",
  ["tasks-request-headers"] = "headers that repeat the message",
}

-- Scenarios that a version runs, at least: the suite must not lose them without notice.
local FEWEST = { ["2025-11-25"] = 30, ["2026-07-28"] = 45 }

local folder

children.leave_nothing()
files.give_each_a_folder(function(path) folder = path end)

-- The scenarios that ran, each with the checks that failed. A warning counts as a failure: without it, a server
-- that does not run passes three scenarios more.
local function read_results()
  local scenarios = {}
  for entry in lfs.dir(folder) do
    local name = entry:match "^server%-(.+)%-%d+%-%d+%-%d+T"
    if name then
      local failed = {}
      for _, check in ipairs(assert(json.decode(files.read(folder .. "/" .. entry .. "/checks.json")))) do
        if check.status == "FAILURE" or check.status == "WARNING" then
          failed[#failed + 1] = ("%s: %s"):format(check.id, check.errorMessage)
        end
      end
      scenarios[name] = failed
    end
  end
  return scenarios
end

local function run_suite(version)
  local bridge <close> = assert(core.spawn {
    command = { "node", "spec/interop/mcp_bridge.cjs", "lua5.4", "spec/interop/mcp_everything.lua" },
  })
  local url = children.read(bridge.stdout, "\n"):match "^%S+"
  local suite <close> = assert(core.spawn {
    command = { "node", "--import", "./spec/interop/mcp_fs_glob.mjs", SUITE, "server", "--url", url,
      "--requirements", version, "--output-dir", folder },
    stdin = "null",
  })
  local said = children.read(suite.stdout)
  assert.is_truthy(suite:wait(children.patience))
  bridge.stdin:close()
  assert.equal(0, bridge:wait(children.patience))
  return read_results(), said
end

for version, fewest in pairs(FEWEST) do
  it("the conformance suite passes a plugin for version " .. version, function()
    local scenarios, said = run_suite(version)
    local count, failures = 0, {}
    for name, failed in pairs(scenarios) do
      count = count + 1
      if not ABOUT_HTTP[name] then
        for _, problem in ipairs(failed) do failures[#failures + 1] = name .. ": " .. problem end
      end
    end
    table.sort(failures)
    assert.is_true(count >= fewest, ("only %d scenarios ran: %s"):format(count, said))
    assert.equal("", table.concat(failures, "\n"))
  end)
end
