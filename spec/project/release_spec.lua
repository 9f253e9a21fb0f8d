-- A release: version, changelog, pages, rockspec and tag agree, or the difference is reported. Runs in a repository of
-- its own.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"

local try = core.which "git" and it or pending

local ROOT = lfs.currentdir()

local function build()
  local told = os.getenv "PINTLE_BUILD" or "build"
  return told:sub(1, 1) == "/" and told or ROOT .. "/" .. told
end

local function sh(folder, code)
  return children.run {
    command = { "sh", "-c", "exec 2>&1\n" .. code }, cwd = folder.path, stdin = "null",
    env = {
      PINTLE_BUILD = build(), HOME = folder.path, GIT_CONFIG_NOSYSTEM = "1", GIT_AUTHOR_NAME = "a",
      GIT_AUTHOR_EMAIL = "a@b", GIT_COMMITTER_NAME = "a", GIT_COMMITTER_EMAIL = "a@b", GIT_DIR = false,
      GIT_WORK_TREE = false, GIT_INDEX_FILE = false,
    },
  }
end

-- The checkout in its current state, committed.
local function stage()
  local folder = files.folder()
  local text, code = sh(folder, ([[
    (cd '%s' && tar -cf - --exclude ./build --exclude ./.git .) | tar -xf - &&
    git init -q && git add -A && git commit -qm all
  ]]):format(ROOT))
  assert(code == 0, text)
  return folder
end

local function edit(folder, path, pattern, text)
  local before = files.read(folder.path .. "/" .. path)
  local after, count = before:gsub(pattern, text, 1)
  assert(count == 1, path .. " has no " .. pattern)
  files.write(folder.path .. "/" .. path, after)
end

-- Everything that a release of 7.8.9 needs, except for the commit and the tag.
local function prepare(folder)
  edit(folder, "lua/pintle/version.lua", 'return "[^"]*"', 'return "7.8.9"')
  edit(folder, "CHANGELOG.md", "\n## [^\n]*", "\n## 7.8.9")
  edit(folder, "share/man/man1/pintle.1", '"pintle [^"]*"', '"pintle 7.8.9"')
  sh(folder, "script/rockspec 7.8.9 > rockspecs/pintle-7.8.9-1.rockspec")
end

local COMMIT = "git add -A && git commit -qm release\n"

-- All files in the folder, by name and content.
local function fingerprint(folder)
  return (sh(folder, "find . -type f -not -path './.git/*' | LC_ALL=C sort | xargs cksum; git rev-parse HEAD; git tag"))
end

describe("script/release", function()
  try("says what is left where all agree", function()
    local folder <close> = stage()
    prepare(folder)
    local text, code = sh(folder, COMMIT .. "git tag v7.8.9; script/release 7.8.9")
    assert.equal(0, code, text)
    assert.truthy(text:find("git push origin v7.8.9", 1, true), text)
    local released, own = {}, {}
    assert(loadfile(folder.path .. "/rockspecs/pintle-7.8.9-1.rockspec", "t", released))()
    assert(loadfile("pintle-scm-1.rockspec", "t", own))()
    assert.same({ "7.8.9-1", "v7.8.9" }, { released.version, released.source.tag })
    released.version, released.source.tag = own.version, nil
    assert.same(own, released)
    assert.equal("", (sh(folder, "git status --porcelain")))
  end)

  try("says everything that does not agree, and changes nothing", function()
    local folder <close> = stage()
    edit(folder, "share/man/man1/pintle.1", "plugins", "plagues")
    edit(folder, "docs/api.md", "pintle", "nettle")
    local before = fingerprint(folder)
    local text, code = sh(folder, "script/release 7.8.9")
    assert.equal(1, code)
    for _, words in ipairs {
      'let it return "7.8.9"', "let its first heading be ## 7.8.9", "run script/share", "run script/api", "commit it",
      "script/rockspec 7.8.9 > rockspecs/pintle-7.8.9-1.rockspec", "git tag v7.8.9", "7.8.9 is not ready.",
    } do
      assert.truthy(text:find(words, 1, true), words .. " is not in:\n" .. text)
    end
    assert.equal(before, fingerprint(folder))
  end)

  try("minds each of them alone", function()
    local folder <close> = stage()
    prepare(folder)
    sh(folder, COMMIT)
    local function complaints(before, after)
      local text, code = sh(folder, before .. "\nscript/release 7.8.9; code=$?\n" .. (after or "") .. "\nexit $code")
      assert.equal(1, code, text)
      local _, count = text:gsub("\n?%- ", "")
      return text, count
    end
    local text, count = complaints ""
    assert.same({ 1, true }, { count, text:find("there is no tag", 1, true) ~= nil })
    text, count = complaints("git tag v7.8.9; git commit -q --allow-empty -m more", "git reset -q --hard HEAD^")
    assert.same({ 1, true }, { count, text:find("the tag v7.8.9 is at another commit", 1, true) ~= nil })
    text, count = complaints("touch new", "rm new")
    assert.same({ 1, true }, { count, text:find("not committed", 1, true) ~= nil })
    assert.is_nil(lfs.attributes(folder.path .. "/build"))
    assert.equal(0, (select(2, sh(folder, "script/release 7.8.9"))))
  end)

  it("refuses invalid versions", function()
    for _, version in ipairs { "", "1", "1.2", "v1.2.3", "1.2.3-rc.1", "01.2.3", "1.2.3; rm" } do
      local _, code = children.run { command = { "script/release", version }, stdin = "null", stderr = "null" }
      assert.equal(64, code, version)
    end
  end)
end)

describe("the version", function()
  it("is that of the newest release in the changelog, or scm between releases", function()
    local newest = files.read("CHANGELOG.md"):match "\n## (%S+)"
    assert.equal(newest == "Unreleased" and "scm" or newest, require "pintle.version")
  end)

  it("of the first release has a rockspec, which equals that of the checkout", function()
    local text = children.run { command = { "script/rockspec", "0.1.0" }, stdin = "null" }
    assert.equal(text, files.read "rockspecs/pintle-0.1.0-1.rockspec",
      "run script/rockspec 0.1.0 > rockspecs/pintle-0.1.0-1.rockspec")
    assert.truthy(text:find('\nversion = "0.1.0-1"\n', 1, true))
  end)
end)
