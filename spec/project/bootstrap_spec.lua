-- What script/bootstrap says where nothing is installed. The package manager is a script that installs nothing.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"

local TOOLS = { "awk", "cat", "cut", "dirname", "env", "grep", "mkdir", "sed", "sh", "sort", "tr" }

-- Runs it with no other programs than the tools and these scripts.
local function bootstrap(scripts)
  local folder <close> = files.folder()
  for _, name in ipairs(TOOLS) do
    assert(os.execute(("ln -s '%s' '%s/%s'"):format(assert(core.which(name)), folder.path, name)))
  end
  for name, text in pairs(scripts) do
    local file = assert(io.open(folder.path .. "/" .. name, "w"))
    file:write("#!/bin/sh\n", text, "\n")
    file:close()
    assert(os.execute(("chmod +x '%s/%s'"):format(folder.path, name)))
  end
  return children.run {
    command = { "/bin/sh", "-c", "exec script/bootstrap 2>&1" }, env = { PATH = folder.path }, stdin = "null",
  }
end

local ORDINARY_USER, ROOT = "echo 1000", "echo 0"

describe("script/bootstrap", function()
  it("gives an ordinary user the command that root has to run", function()
    local output, status = bootstrap { id = ORDINARY_USER, ["apt-get"] = "echo noise" }
    assert.equal(1, status)
    assert.matches("^script/bootstrap: needs root. Have root run this, then try again:\n  apt%-get update %-qq && "
      .. "DEBIAN_FRONTEND=noninteractive apt%-get install [^\n]* gcc [^\n]*\n$", output)
  end)

  it("gives that command where sudo asks for a password and there is no terminal", function()
    local output, status = bootstrap { id = ORDINARY_USER, dnf = "echo noise", sudo = "exit 1" }
    assert.equal(1, status)
    assert.matches("\n  dnf install %-y [^\n]* && luarocks %-%-lua%-version 5.4 install [^\n]*\n$", output)
  end)

  it("runs it with sudo where that needs no password", function()
    local output, status = bootstrap {
      id = ORDINARY_USER, pacman = "echo noise", luarocks = "exit 0", sudo = '[ "$1" = -n ] || exec "$@"',
    }
    assert.equal(1, status)
    assert.matches("^script/bootstrap: installing [^\n]* with pacman\n"
      .. "script/bootstrap: installing [^\n]* with luarocks\nscript/bootstrap: still missing: [^\n]*\n$", output)
  end)

  it("shows what the package manager prints only if it fails", function()
    local output, status = bootstrap { id = ROOT, ["apt-get"] = "echo noise" }
    assert.equal(1, status)
    assert.is_nil(output:find("noise", 1, true))
    output, status = bootstrap { id = ROOT, ["apt-get"] = "echo no network; exit 100" }
    assert.equal(1, status)
    assert.matches("\nno network\nscript/bootstrap: failed: sh %-c apt%-get update [^\n]*\n$", output)
  end)
end)
