-- Runs every example in README.md and docs/, and follows every link; spec/support/pages.lua describes how.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"
local pages = require "spec.support.pages"

local function find_pages(folder, list)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if name:find "%.md$" then list[#list + 1] = path end
    if name:find "^[^.]" and lfs.attributes(path, "mode") == "directory" then find_pages(path, list) end
  end
  table.sort(list)
  return list
end

local PATIENCE = 4 * children.patience -- for a whole page

local PAGES = find_pages("docs", { "README.md" })

-- A folder with links to everything in the checkout; new files stay in it.
local function new_place()
  local place, here = files.folder(), lfs.currentdir()
  for name in lfs.dir(here) do
    if name:find "^[^.]" then assert(lfs.link(here .. "/" .. name, place.path .. "/" .. name, true)) end
  end
  return place
end

-- Reads to the end, or until the time is over: then the step that hangs is the first without a result.
local function read_in_time(fd)
  local pieces, late = {}, core.now() + PATIENCE
  while core.poll(math.max(late - core.now(), 0), fd, "r") do
    local piece = fd:read()
    if not piece or piece == "" then break end
    pieces[#pieces + 1] = piece
  end
  return table.concat(pieces)
end

local function follow(steps)
  local place <close> = new_place()
  local path = ("%s/bin:%s"):format(place.path, os.getenv "PATH")
  local process <close> = assert(core.spawn {
    command = { "sh", "-c", pages.script(steps) }, cwd = place.path, stdin = "null", stderr = "null",
    env = { PATH = path, PWD = place.path, LUA_INIT = 'io.stdout:setvbuf "line"' },
  })
  return pages.results(steps, read_in_time(process.stdout))
end

for _, page in ipairs(PAGES) do
  describe(page, function()
    local blocks = pages.blocks(files.read(page))
    local steps, results = pages.steps(blocks), nil

    for i, block in ipairs(blocks) do
      it(("has a valid code block at line %d"):format(block.line), function()
        assert.is_nil(pages.problem(block, blocks[i - 1]))
      end)
    end

    setup(function()
      local nothing_left = children.stock()
      if #steps > 0 then results = follow(steps) end
      nothing_left()
    end)

    for i, step in ipairs(steps) do
      it(("%s (line %d)"):format(step.what, step.line), function()
        local printed, status = results[i].printed, results[i].status
        if step.shown and not pages.fits(step.shown, printed) then assert.equal(step.shown, printed) end
        if step.must_succeed then assert.equal(0, status, printed) end
      end)
    end
  end)
end

-- {====== Finding the way ======

-- As GitHub makes them from headings.
local function anchors_of(text)
  local set = {}
  for heading in ("\n" .. text:gsub("\n```.-\n```", "")):gmatch "\n#+ ([^\n]*)" do
    set[heading:lower():gsub("[^%w _-]", ""):gsub(" ", "-")] = true
  end
  return set
end

local function links_of(text)
  local list = {}
  for target in text:gsub("\n```.-\n```", ""):gmatch "%]%(([^)%s]+)%)" do
    if not target:find "^%a+:" then list[#list + 1] = target end
  end
  return list
end

local function resolve(page, path)
  if path == "" then return page end
  return ((page:match "^(.*/)" or "") .. path)
end

describe("a link", function()
  for _, page in ipairs(PAGES) do
    it("in " .. page .. " has an existing target", function()
      for _, target in ipairs(links_of(files.read(page))) do
        local path, anchor = target:match "^([^#]*)#?(.*)$"
        local file = resolve(page, path)
        assert.truthy(lfs.attributes(file), target)
        if anchor ~= "" then assert.truthy(anchors_of(files.read(file))[anchor], target) end
      end
    end)
  end
end)

describe("the index of the pages", function()
  it("lists all of them", function()
    local listed = {}
    for _, target in ipairs(links_of(files.read "docs/README.md")) do listed["docs/" .. target] = true end
    for _, page in ipairs(PAGES) do
      local is_index = page == "README.md" or page == "docs/README.md"
      assert.truthy(is_index or listed[page], page .. " is not in docs/README.md")
    end
  end)
end)

describe("the README", function()
  it("keeps its plugin and its host short", function()
    local count = 0
    for code in files.read "README.md":gmatch "\n```lua\n(.-\n)```" do
      local _, lines = code:gsub("\n", "")
      assert.is_true(lines <= 17, code)
      count = count + 1
    end
    assert.is_true(count >= 2)
  end)
end)

-- }======

-- {====== The ways of a page ======

describe("a code block", function()
  local function problem_of(text)
    local blocks = pages.blocks(text)
    return pages.problem(blocks[#blocks], blocks[#blocks - 1])
  end

  it("has a language, unless it is the output of a program", function()
    assert.is_nil(problem_of "```lua\nprint(1)\n```\n```\n1\n```\n")
    assert.truthy(problem_of "```lua\nprint(1)\n```\n\n```\n1\n```\n")
    assert.truthy(problem_of "```\n$ true\n```\n")
    assert.truthy(problem_of "```cobol\nSTOP RUN\n```\n")
  end)

  it("is well-formed, and so is the comment above it", function()
    assert.truthy(problem_of "```lua\nfor\n```\n")
    assert.truthy(problem_of '```json\n{"a":1,}\n```\n')
    assert.truthy(problem_of '```text\n→ {"a":}\n```\n')
    assert.is_nil(problem_of '```json\n{"a":1}\n{"b":2}\n```\n')
    assert.is_nil(problem_of "<!-- not run: it takes a year -->\n```sh\nsleep 1y\n```\n")
    assert.truthy(problem_of "<!-- not run -->\n```sh\nsleep 1y\n```\n")
    assert.truthy(problem_of "<!-- norun: it takes a year -->\n```sh\nsleep 1y\n```\n")
  end)

  it("is run in order, in one folder", function()
    local steps = pages.steps(pages.blocks("```lua\n-- a/b.lua\nprint(...)\n```\n```\n\n```\n"
      .. "```console\n$ cd a\n$ lua5.4 b.lua 7 \\\n  && false\n7\n$ echo $?\n1\n$ cat\npintle> typed\ntyped\n```\n"))
    local results = follow(steps)
    assert.equal(6, #steps)
    for i, step in ipairs(steps) do
      if i ~= 4 then assert.equal(step.shown, results[i].printed) end
    end
    assert.same({ printed = "7\n", status = 1 }, results[4])
  end)

  it("has its output compared, except for times and omissions", function()
    assert.is_true(pages.fits("in 8 ms: a (b)\n…\nend\n", "in 1.5 ms: a (b)\none\ntwo\nend\n"))
    assert.is_true(pages.fits("pid …, ok\n", "pid 17, ok\n"))
    assert.is_false(pages.fits("pid …, ok\n", "pid 17\n, ok\n"))
    assert.is_false(pages.fits("a\n", "a\nb\n"))
    assert.is_false(pages.fits("8 items\n", "9 items\n"))
  end)
end)

-- }======
