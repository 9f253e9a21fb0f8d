-- Plugins made by `pintle new` run, pass their own specs and luacheck, in every dialect.
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local dialects = require "pintle.dialect"
local new = require "pintle.cli.new"
local files = require "spec.support.files"
local hosts = require "pintle.host"
local lfs = require "lfs"

children.leave_nothing()

local ROOT = lfs.currentdir()

-- Runs the command of the checkout in a folder.
local function pintle(folder, ...)
  return cli.outcome({}, { command = { ROOT .. "/bin/pintle", ... }, cwd = folder.path })
end

local function shell(command, cwd)
  return children.run { command = { "sh", "-c", "exec 2>&1\n" .. command }, cwd = cwd, stdin = "null" }
end

-- The result that a host of this dialect gets from the operation of a new plugin.
local function greet(dialect, command)
  local host <close> = hosts { dialect = dialect, log = false }
  return assert(assert(host:start { command = command }):execute("greet", { name = "Ada" })).message
end

local BUSTED = [[exec lua5.4 -e 'require "busted.runner" { standalone = false }' /dev/null --output=TAP]]

for _, name in ipairs(dialects.names()) do
  describe("a new plugin that speaks " .. name, function()
    it("runs with the printed commands, and is discovered by hosts", function()
      local folder <close> = files.folder()
      local made = pintle(folder, "new", "tea", "--dialect", name)
      assert.same({ "", 0 }, { made[2], made[3] })
      local commands = made[1]:match "\nNext:\n(.-)README"
      local text, code = shell("set -e\n" .. commands, folder.path)
      assert.equal(0, code, text)
      assert.truthy(text:find "Hello, Ada\n", text)
      local found, skipped = hosts { dialect = name, log = false }:discover(folder.path)
      assert.same({}, skipped)
      assert.equal("tea", found[1].name)
    end)

    it("runs with the printed commands when neither the shell nor Lua finds pintle", function()
      local folder <close> = files.folder()
      local text, code = shell(([[
        set -e
        unset LUA_PATH_5_4 LUA_CPATH_5_4 LUA_PATH LUA_CPATH
        export PATH=/usr/local/bin:/usr/bin:/bin
        %s/bin/pintle new tea > made
        sed '1,/^Next:$/d; /^README/d' made > commands
        . ./commands
      ]]):format(ROOT), folder.path)
      assert.equal(0, code, text)
      assert.truthy(text:find "Hello, Ada\n", text)
    end)

    it("passes its spec, which fails when the plugin is broken", function()
      local folder <close> = files.folder()
      pintle(folder, "new", "-d", name, "tea")
      local path = folder.path .. "/tea"
      local text, code = shell(BUSTED, path)
      assert.equal(0, code, text)
      assert.truthy(text:find "ok 1", text)
      files.write(path .. "/plugin.lua", (files.read(path .. "/plugin.lua"):gsub("Hello, ", "Good bye, ")))
      text, code = shell(BUSTED, path)
      assert.equal(1, code, text)
    end);

    (core.which "luacheck" and it or pending)("has nothing that luacheck minds", function()
      local folder <close> = files.folder()
      pintle(folder, "new", "-d", name, "tea")
      local text, code = shell("luacheck --no-color .", folder.path .. "/tea")
      assert.equal(0, code, text)
      assert.truthy(text:find "0 warnings / 0 errors in 3 files", text)
    end)

    it("works with the configuration in its README, in an AI client and in an editor", function()
      local folder <close> = files.folder()
      pintle(folder, "new", "-d", name, "tea")
      assert.equal("rwxr-xr-x", lfs.attributes(folder.path .. "/tea/plugin.lua", "permissions"))
      assert.truthy(files.read(folder.path .. "/tea/plugin.lua"):find "^#!/usr/bin/env lua5.4\n")
      local readme = files.read(folder.path .. "/tea/README.md")
      local server = core.json.decode(readme:match "```json\n(.-)```").mcpServers.tea
      assert.equal("Hello, Ada", greet("mcp", { server.command, table.unpack(server.args) }))
      local client = load("return " .. readme:match "vim%.lsp%.start (%b{})", "README", "t",
        { vim = { fn = { getcwd = lfs.currentdir } } })()
      assert.equal("Hello, Ada", greet("lsp", client.cmd))
      for _, block in ipairs { readme:match "```toml\n(.-)```.*```toml\n(.-)```" } do
        assert.equal(server.command, block:match '\ncommand = "(.-)"\n')
        assert.equal(server.args[1], block:match '\nargs = %["(.-)"%]\n')
      end
    end)

    it("leaves no placeholder in a file, and explains how to test the plugin", function()
      local folder <close> = files.folder()
      pintle(folder, "new", "-d", name, "tea")
      for _, file in ipairs { "plugin.lua", "spec/plugin_spec.lua", "README.md", "manifest.json" } do
        assert.is_nil(files.read(folder.path .. "/tea/" .. file):find "@[%l_]+@")
      end
      local readme = files.read(folder.path .. "/tea/README.md")
      assert.truthy(readme:find(("\nbusted --lua=%s/script/lua\n"):format(ROOT), 1, true), readme)
      assert.truthy(readme:find("pintle call -d " .. name, 1, true))
    end)
  end)
end

describe("pintle new", function()
  it("creates the directory at a path", function()
    local folder <close> = files.folder()
    assert.equal(0, pintle(folder, "new", folder.path .. "/tea/")[3])
    assert.truthy(files.read(folder.path .. "/tea/plugin.lua"):find('name = "tea"', 1, true))
  end)

  it("overwrites nothing", function()
    local folder <close> = files.folder()
    files.write(folder.path .. "/file", "precious")
    assert(lfs.mkdir(folder.path .. "/empty"))
    assert(lfs.link("nowhere", folder.path .. "/link", true))
    for _, name in ipairs { "file", "empty", "link" } do
      assert.same({ "", ("pintle: %s: it exists already; nothing was created\n"):format(name), 64 },
        pintle(folder, "new", name))
    end
    assert.equal("precious", files.read(folder.path .. "/file"))
    assert.is_nil(lfs.attributes(folder.path .. "/empty/plugin.lua"))
  end)

  it("refuses invalid names and unknown dialects", function()
    local folder <close> = files.folder()
    for _, name in ipairs { "", "/", "..", "1st", "a b", "a.b", "-", "a\nb" } do
      local outcome = pintle(folder, "new", "--", name)
      assert.equal(64, outcome[3], name)
      assert.equal("", outcome[1])
    end
    local outcome = pintle(folder, "new", "tea", "-d", "latin")
    assert.equal(64, outcome[3])
    assert.truthy(outcome[2]:find('"latin" is none of editor, gevals, ', 1, true), outcome[2])
    assert.is_nil(lfs.attributes(folder.path .. "/tea"))
  end)

  it("leaves no file when it fails", function()
    local folder <close> = files.folder()
    local outcome = pintle(folder, "new", "no/tea")
    assert.same({ "", "pintle: no/tea: No such file or directory; nothing was created\n", 64 }, outcome)
    local path = folder.path .. "/tea"
    local list = { { path = "a", text = "" }, { path = "b/c", text = "" }, { path = "b/d", text = "" } }
    local ok, message = new.make_files(path, list)
    assert.is_nil(ok)
    assert.equal(path .. "/b: it exists already", message)
    assert.is_nil(lfs.attributes(path))
  end)
end)
