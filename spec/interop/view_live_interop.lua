-- Pages of `pintle view` in a browser: live ones, comparisons of two recordings, and long recordings, with their times.
local browsers = require "spec.interop.view_browser"
local cli = require "spec.support.cli"
local files = require "spec.support.files"
local json = require("pintle.core").json

local PICTURES = browsers.PICTURES
local START = '{"trace":1,"time":0,"command":["plugin"],"at":"2026-01-01T00:00:00Z"}'
local EXIT = '{"time":100,"exit":{"code":0}}'

local browser, folder

browsers.share(function(...) browser, folder = ... end)

after_each(function() assert.same({}, browser.complaints) end)

local function value(expression) return browser:evaluate(expression) end
local function text(selector) return value(("document.querySelector(%s).innerText"):format(json.encode(selector))) end
local function count(selector) return value(("document.querySelectorAll(%s).length"):format(json.encode(selector))) end

local function message(from, time, members)
  return ('{"time":%.6f,"from":"%s","message":{"jsonrpc":"2.0",%s}}'):format(time, from, members)
end

local function write(name, lines)
  local path = ("%s/%s.jsonl"):format(folder, name)
  files.write(path, table.concat(lines, "\n") .. "\n")
  return path
end

local function append(path, ...)
  local file <close> = assert(io.open(path, "a"))
  for _, line in ipairs { ... } do file:write(line, "\n") end
end

local function keep_picture(name)
  local file <close> = assert(io.open(("%s/%s.png"):format(PICTURES, name), "wb"))
  file:write(browser:picture())
end

describe("a live page", function()
  it("grows with the recording until the program exits", function()
    local path = write("live", { START, message("host", 1, '"id":1,"method":"tools/call","params":{"name":"add"}') })
    local started <close> = cli.start({ "view", "--follow", path }, { stdin = "null" })
    browser:visit((started:read("\n"):gsub("\n", "")))
    browser:await "page.model.rows.length === 2"
    assert.equal("waiting …", text ".row .waiting")
    assert.equal("live", text "#state")
    assert.equal("0", text "#kinds .trouble small")
    append(path, message("plugin", 2, '"id":1,"result":{"content":[{"type":"text","text":"done"}],"isError":true}'))
    browser:await "page.model.rows.length === 3"
    assert.equal('"done"', text ".row.failed .preview")
    assert.equal("1.000 s", text ".row.failed .latency")
    for i = 3, 90 do append(path, message("host", i, ('"method":"m%d"'):format(i))) end
    browser:await "page.model.rows.length === 91"
    assert.equal("m90", text ".row:last-child .method")
    keep_picture "live"
    append(path, EXIT)
    browser:await "page.model.isOver"
    assert.equal("ended", text "#state")
    started.process:kill "INT"
    assert.equal(130, (select(3, started:finish())))
  end)

  it("stays at the selected row, and shows when the server has ended", function()
    local lines = { START }
    for i = 1, 100 do lines[i + 1] = message("host", i, ('"method":"m%d"'):format(i)) end
    local path = write("live", lines)
    local started <close> = cli.start({ "view", "--follow", path }, { stdin = "null" })
    browser:visit((started:read("\n"):gsub("\n", "")))
    browser:await "page.model.rows.length === 101"
    browser:press "Home"
    append(path, message("host", 101, '"method":"more"'))
    browser:await "page.model.rows.length === 102"
    assert.equal(0, value "page.list.offset")
    browser:click "#follow"
    assert.equal("more", text ".row:last-child .method")
    started.process:kill "INT"
    started:finish()
    browser:await "document.querySelector('#state').className === 'lost'"
    assert.equal(102, value "page.found.length")
    browser.complaints = {} -- the browser logs that the connection was lost
  end)
end)

describe("a page of two recordings", function()
  local function recording(answers)
    local lines = { START }
    for i, answer in ipairs(answers) do
      lines[#lines + 1] = message("host", 2 * i, ('"id":%d,"method":"tools/call","params":{"name":"%s"}')
        :format(i + 10 * #answers, answer[1]))
      lines[#lines + 1] = message("plugin", 2 * i + answer[3],
        ('"id":%d,"result":{"content":[{"type":"text","text":"%s"}]}'):format(i + 10 * #answers, answer[2]))
    end
    return lines
  end

  it("pairs messages, and shows their differences", function()
    local a = write("a", recording { { "add", "1", 0.1 }, { "list", "x", 0.1 }, { "stop", "y", 0.1 } })
    local b = write("b", recording {
      { "add", "1", 1.5 }, { "clear", "", 0.1 }, { "list", "z", 0.1 }, { "stop", "y", 0.1 },
    })
    local page = folder .. "/page.html"
    assert.same({ "", "", 0 }, cli.outcome { "view", a, b, "-o", page })
    browser:visit(page)
    browser:settle()
    assert.same({ "same", "same", "same", "right", "right", "same", "differs", "same", "same" },
      value "page.model.rows.map((row) => row.change)")
    assert.equal("A  a.jsonl", text "#sides-head .a")
    assert.equal("1.500 s", text ".took.slower")
    browser:click "#kinds .different"
    assert.equal(3, count ".row")
    browser:press "Escape"
    browser:press "Home"
    for _ = 1, 3 do browser:press "d" end
    browser:press "Enter"
    assert.matches('"text": "x"', text "#details .removed", 1, true)
    assert.matches('"text": "z"', text "#details .added", 1, true)
    assert.equal(1, count "#details .removed")
    browser:press "p"
    assert.equal(5, value "page.chosen.index")
    keep_picture "comparison"
    browser:press "l"
    assert.equal("× 15.00", value [[
      [...document.querySelectorAll("#latencies tbody tr")].find((line) => line.innerText.startsWith("add"))
        .cells[8].textContent
    ]])
    for _, width in ipairs { 320, 420 } do
      browser:resize(width, 700)
      assert.equal(width, value "document.documentElement.scrollWidth")
    end
  end)
end)

describe("a page of a hundred thousand messages", function()
  local page

  setup(function()
    local lines, names = { START }, { "hover", "completion", "definition" }
    for i = 1, 50000 do
      local place = ("file:///home/ada/main%d.c"):format(i % 17)
      lines[2 * i] = message("host", i / 1000,
        ('"id":%d,"method":"textDocument/%s","params":{"uri":"%s","line":%d}'):format(i, names[i % 3 + 1], place, i))
      lines[2 * i + 1] = message("plugin", i / 1000 + 0.0007,
        ('"id":%d,"result":{"contents":{"kind":"markdown","value":"%s"}}'):format(i, ("Word "):rep(i % 40)))
    end
    lines[#lines + 1] = EXIT
    page = folder .. "/many.html"
    assert.same({ "", "", 0 }, cli.outcome { "view", write("many", lines), "-o", page })
  end)

  local FRAME = [[new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }))]]

  -- Milliseconds of processor time that the page has used. That does not depend on what else the machine does.
  local function work_done()
    for _, metric in ipairs(browser:ask("Performance.getMetrics").metrics) do
      if metric.name == "TaskDuration" then return metric.value * 1000 end
    end
  end

  -- Processor time from an action to the next frame, which shows its effect; and the time by the clock.
  local function work_of(action)
    browser:settle()
    local before = work_done()
    local time = browser:evaluate(("{ const t = performance.now(); %s; %s.then(() => performance.now() - t) }")
      :format(action, FRAME))
    return work_done() - before, time
  end

  local function press(key)
    return ("document.querySelector('#list').dispatchEvent(new KeyboardEvent('keydown', { key: %q, bubbles: true }))")
      :format(key)
  end

  local function fill(words)
    return ("Object.assign(page.field, { value: %q }).dispatchEvent(new Event('input'))"):format(words)
  end

  it("is shown at once, and reacts quickly", function()
    browser:ask("Performance.enable", { timeDomain = "threadTicks" })
    browser:visit(page)
    local painted = value "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    local shown = value "performance.getEntriesByName('first-rows')[0].startTime"
    browser:settle()
    assert.matches("100,000 messages", text "#facts")
    assert.is_true(count "*" < 4000)
    local works, slowest, longest = {}, 0, 0
    local function measure(action)
      local work, time = work_of(action)
      works[#works + 1] = math.floor(work)
      slowest, longest = math.max(slowest, work), math.max(longest, time)
    end
    for _, key in ipairs { "j", "j", "PageDown", "End", "k", "Home", "Enter", "j", "e", "l", "j", "?", "Escape" } do
      measure(press(key))
    end
    for _, words in ipairs { "h", "hov", "main7", "nowhere", "#777", "method:*tion", "over:1ms", "-word", "" } do
      measure(fill(words))
    end
    print(("\n100,000 messages: first paint after %.0f ms, first rows after %.0f ms; a key takes at most %.0f ms of"
      .. " processor time, %.0f ms by the clock"):format(painted, shown, slowest, longest))
    -- Times of the clock, which are below 500 on a machine that has nothing else to do; then processor time.
    assert.is_true(painted < 2500 and shown < 2500, ("%f %f"):format(painted, shown))
    assert.is_true(slowest < 50, table.concat(works, " "))
    browser:settle()
    browser:press "End"
    assert.equal("ended with status 0", text ".row.chosen .label")
    browser:press "/"
    browser:type "main3 completion"
    assert.is_true(value "page.found.length" > 900)
    assert.is_true(count "*" < 4000)
    keep_picture "many"
  end)
end)
