-- Pages of `pintle view` in a browser: drawn, clicked, searched, attacked. Pictures are left in build/interop/pictures.
local browsers = require "spec.interop.view_browser"
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local hosts = require "pintle.host"
local json = require("pintle.core").json
local lfs = require "lfs"

local PICTURES = "build/interop/pictures"

local browser, nothing_left, folder

setup(function()
  nothing_left = children.stock()
  browser = browsers.start()
  folder = os.tmpname()
  os.remove(folder)
  assert(lfs.mkdir(folder))
  assert(os.execute("mkdir -p " .. PICTURES))
end)

teardown(function()
  getmetatable(browser).__close(browser)
  os.execute("rm -r " .. folder)
  nothing_left()
end)

before_each(function()
  browser:resize(1280, 800)
  browser:prefer "light"
end)

-- {====== Helpers ======

local function open(recording, ...)
  local page = folder .. "/page.html"
  assert.same({ "", "", 0 }, cli.outcome(cli.words("view", { ... }, "-o", page, recording)))
  browser:visit(page)
  browser:settle()
end

local function open_lines(lines, ...)
  local path = folder .. "/lines.jsonl"
  cli.write(path, table.concat(lines, "\n") .. "\n")
  open(path, ...)
end

-- The real thing: a host that talks to the greeter, in this dialect.
local function record(dialect)
  local path = ("%s/%s.jsonl"):format(folder, dialect)
  local host <close> = hosts { dialect = dialect, log = function() end }
  local greeter = assert(host:start { command = cli.words("bin/pintle", "trace", "-o", path, "--", cli.GREETER) })
  for _, name in ipairs { "Ada", "Grace", "" } do greeter:execute("greet", { name = name }) end
  local _, err = greeter:call("sing", { song = "La Marseillaise" })
  assert.equal("remote", err.kind)
  greeter:stop()
  return path
end

local function value(expression) return browser:evaluate(expression) end
local function text(selector) return value(("document.querySelector(%s).innerText"):format(json.encode(selector))) end
local function count(selector) return value(("document.querySelectorAll(%s).length"):format(json.encode(selector))) end

local function is_shown(selector)
  return value(("document.querySelector(%s).checkVisibility()"):format(json.encode(selector)))
end

local function search(words)
  browser:press "/"
  browser:type(words)
end

-- Esc empties the field, and the next one leaves it.
local function stop_searching()
  browser:press "Escape"
  browser:press "Escape"
end

local function keep_picture(name)
  local file <close> = assert(io.open(("%s/%s.png"):format(PICTURES, name), "wb"))
  local picture = browser:picture()
  assert.equal("\x89PNG", picture:sub(1, 4))
  file:write(picture)
end

-- What the page had to complain of, asked to load, or popped up.
local function assert_quiet() assert.same({}, browser.complaints) end

-- }======

local METHODS = {
  gevals = { "initialize", "execute" },
  mcp = { "server/discover", "tools/call" },
}

for dialect, methods in pairs(METHODS) do
  describe("a page of the greeter, which speaks " .. dialect .. ",", function()
    before_each(function() open(record(dialect)) end)
    after_each(assert_quiet)

    it("shows the conversation", function()
      assert.equal("lua5.4 examples/greeter/plugin.lua", text "#title")
      assert.matches(dialect .. "line framing%d+ messages", text "#facts")
      assert.equal(value "page.model.rows.length", count ".row")
      assert.equal(methods[1] .. "\n#1", text ".row.request.from-host .label")
      assert.matches("^[%d.]+ ", text ".row.result.from-plugin .latency")
      assert.equal(1, count ".row.error")
      assert.equal('{"code":-32601,"message":"Method not found: sing"}', text ".row.error .preview")
      assert.equal("ended with status 0", text ".row.exit .label")
      keep_picture(dialect)
    end)

    it("shows a payload at a click, and the other half of a call", function()
      assert.is_false(is_shown "#details")
      browser:click ".row.error .label"
      assert.equal("sing", text "#details h2")
      assert.matches('"error": {\n?%s*"code": %-32601,', text "#details .payload")
      assert.matches("latency\n[%d.]+ ", text "#details dl")
      browser:click "#details .pair"
      assert.equal("Answer ↓", text "#details .pair")
      assert.matches('"song": "La Marseillaise"', text "#details .payload")
      assert.equal(2, count ".open.chosen")
      browser:prefer "dark"
      keep_picture(dialect .. "-payload")
      browser:press "Escape"
      assert.is_false(is_shown "#details")
    end)

    it("finds methods, ids and texts", function()
      search "marseillaise"
      assert.equal(1, count ".row")
      stop_searching()
      search("method:" .. methods[2])
      assert.equal(6, count ".row")
      stop_searching()
      search "#1"
      assert.equal(2, count ".row")
      assert.equal("2 of " .. value "page.model.rows.length", text "#count")
      stop_searching()
      search "nothing like it"
      assert.is_true(is_shown "#nothing")
      stop_searching()
      assert.equal(value "page.model.rows.length", count ".row")
      browser:click "#kinds .trouble"
      assert.equal(1, count ".row")
    end)

    it("tells latencies by method, and shows the calls of one", function()
      browser:press "l"
      assert.is_true(is_shown "#latencies")
      local entry = value(([[(() => {
        const lines = [...document.querySelectorAll("#latencies tbody tr")];
        const line = lines.find((line) => line.cells[0].textContent === %s);
        line.cells[0].firstChild.click();
        return [...line.cells].slice(1, 4).map((cell) => cell.textContent);
      })()]]):format(json.encode(methods[2])))
      assert.same({ "plugin", "3", "0" }, entry)
      browser:settle()
      assert.equal(6, count ".row")
      keep_picture(dialect .. "-latencies")
    end)
  end)
end

describe("a page", function()
  local START = '{"trace":1,"time":0,"command":["plugin"],"at":"2026-01-01T00:00:00Z"}'

  local function message(from, time, members)
    return ('{"time":%.6f,"from":"%s","message":{"jsonrpc":"2.0",%s}}'):format(time, from, members)
  end

  after_each(assert_quiet)

  it("is used with keys alone", function()
    open_lines { START, message("host", 1, '"id":1,"method":"a"'), message("host", 2, '"id":2,"method":"b"'),
      message("plugin", 3, '"id":2,"result":2'), message("plugin", 4, '"id":1,"error":{"code":1,"message":"no"}') }
    local function chosen() return value "page.chosen ? page.chosen.index : -1" end
    assert.equal(-1, chosen())
    for i, key in ipairs { "j", "ArrowDown", "k", "ArrowDown" } do
      browser:press(key)
      assert.equal(({ 0, 1, 0, 1 })[i], chosen())
    end
    browser:press "p"
    assert.equal(4, chosen())
    browser:press "Home"
    browser:press "e"
    assert.equal(4, chosen())
    browser:press "Enter"
    assert.equal("a", text "#details h2")
    browser:press "k"
    assert.equal("b", text "#details h2")
    assert.equal("row-3", value "document.querySelector('#list').getAttribute('aria-activedescendant')")
    search "method:a"
    browser:press "Enter"
    assert.equal("list", value "document.activeElement.id")
    assert.equal(1, chosen())
    browser:press "Escape"
    browser:press "Escape"
    assert.equal(5, count ".row")
  end)

  it("shows what its recording has in it as text, whatever that is", function()
    local evil = json.encode([[</script><script>alert("1")</script><img src="x:y" onerror="alert(2)"><!--
      <svg onload=alert(3)>]] .. "\u{2028}\u{202E}\0" .. [[javascript:alert(4) {{data}} &lt; \u003cb>]])
    local lines = { ('{"trace":1,"time":0,"command":[%s],"at":%s}'):format(evil, evil) }
    for _, member in ipairs { "framing", "dialect" } do
      lines[#lines + 1] = ('{"time":0,%s:%s}'):format(json.encode(member), evil)
    end
    lines[#lines + 1] = message("host", 1, ('"id":%s,"method":%s,"params":{%s:%s}'):format(evil, evil, evil, evil))
    lines[#lines + 1] = message("plugin", 2, ('"id":%s,"error":{"code":%s,"message":%s}'):format(evil, evil, evil))
    for _, member in ipairs { "noise", "stderr", "closed", "signal", "problem", "encoding" } do
      lines[#lines + 1] = ('{"time":3,"from":"plugin","noise":"","%s":%s}'):format(member, evil)
    end
    for _, member in ipairs { "__proto__", "constructor" } do
      lines[#lines + 1] = message("host", 4, ('"id":"%s","method":"%s"'):format(member, member))
    end
    open_lines(lines, "--title", (json.decode(evil):gsub("\0", "")))
    local elements = count "*"
    for _ = 1, #lines do browser:press "j" end
    for i = 0, #lines - 1 do browser:click("#row-" .. i) end
    browser:press "l"
    search(json.decode(evil):gsub("%c", " "))
    stop_searching()
    assert.equal(0, count "img, svg, iframe, object, embed, link, a, form")
    assert.equal(0, count "script:not([type]) ~ script[type]")
    assert.is_true(count "*" < elements + 400)
    assert.is_true(value "Object.values(page.model.rows[3].text).join('') === page.model.rows[3].text")
    keep_picture "hostile"
  end)

  it("keeps out what would run, if something slipped through", function()
    open_lines { START }
    assert.is_true(value [[(() => { try { document.body.innerHTML = "<b>"; } catch { return true; } })()]])
    value [[void document.body.append(Object.assign(document.createElement("img"), { src: "https://example.org/" }))]]
    browser:settle()
    local complaints = table.concat(browser.complaints)
    browser.complaints = {}
    assert.matches("requires 'TrustedHTML' assignment. The action has been blocked", complaints, 1, true)
    assert.matches("Loading the image 'https://example.org/' violates", complaints, 1, true)
  end)

  it("shows numbers digit for digit, and copies what was said", function()
    local params = '{"n":12345678901234567890.10,"b":[],"s":"\\u003c\\"é","x":[1,{"y":null}]}'
    open_lines { START, message("host", 1, '"method":"m","params":' .. params) }
    browser:ask("Browser.grantPermissions", { permissions = { "clipboardReadWrite", "clipboardSanitizedWrite" } })
    browser:click "#row-1"
    local pretty = [[
{
  "jsonrpc": "2.0",
  "method": "m",
  "params": {
    "n": 12345678901234567890.10,
    "b": [],
    "s": "\u003c\"é",
    "x": [
      1,
      {
        "y": null
      }
    ]
  }
}]]
    browser:click "#details .copy"
    assert.equal(pretty, value "navigator.clipboard.readText()")
    browser:click "#details .raw"
    assert.equal('{"jsonrpc":"2.0","method":"m","params":' .. params .. "}", value "navigator.clipboard.readText()")
  end)

  it("draws of a giant payload what can be seen", function()
    local parts = {}
    for i = 1, 30000 do parts[i] = ('{"n":%d,"s":"漢字%s"}'):format(i, ("x"):rep(20)) end
    local giant = '"' .. ("y"):rep(3 << 20) .. '"'
    open_lines({ START, message("host", 1, '"method":"m","params":[' .. table.concat(parts, ",") .. "]"),
      message("host", 1, '"method":"m","params":' .. giant) }, "--payload", "2000000")
    browser:click "#row-1"
    assert.is_true(count "#details .line" < 100)
    value "void (document.querySelector('.payload').scrollTop = 1e9)"
    browser:settle()
    assert.matches('"n": 30000,', text "#details .payload")
    browser:click "#row-2"
    assert.is_true(count "#details .line" < 100)
    assert.matches("cut\nonly the beginning of 3,072 KiB is here", text "#details dl")
    assert.equal(0, value [=[
      [...document.querySelectorAll(".line")].filter((line) => line.scrollWidth > line.clientWidth).length
    ]=])
    keep_picture "giant"
  end)

  it("shows only a time that was drawn", function()
    local lines = { START }
    for i = 1, 100 do lines[i + 1] = message("host", i / 100, ('"method":"m%d"'):format(i)) end
    open_lines(lines)
    local width = value "document.querySelector('#overview').clientWidth"
    browser:drag(width * 0.25, 120, width * 0.5)
    local shown = value "page.found.length"
    assert.is_true(shown >= 23 and shown <= 27, tostring(shown))
    browser:press "Escape"
    assert.equal(101, value "page.found.length")
  end)

  it("fits small screens", function()
    open(record "mcp")
    for _, width in ipairs { 320, 420, 800 } do
      browser:resize(width, 700)
      browser:click "#row-4"
      assert.equal(width, value "document.documentElement.scrollWidth")
      assert.is_true(is_shown "#row-4 .label")
      keep_picture("small-" .. width)
      browser:press "Escape"
    end
  end)

  it("scrolls to the end of lists that are taller than browsers can have them", function()
    open_lines { START }
    local seen = value [[(async () => {
      const box = document.body.appendChild(make("div"));
      box.style.cssText = "position: fixed; inset: 0; height: 240px; overflow: auto";
      const list = new VirtualList(box, 24, (i) => Object.assign(make("p", "", String(i)), { style: "height: 24px" }));
      list.show(3000000);
      const places = [];
      for (const place of [2999999, 1500000, 0]) {
        list.reveal(place);
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const line = [...list.layer.children].find((line) => line.textContent === String(place));
        const top = line.getBoundingClientRect().top;
        places.push(top > -24 && top < 240);
      }
      const count = list.layer.children.length;
      box.remove();
      return [...places, count < 40];
    })()]]
    assert.same({ true, true, true, true }, seen)
  end)

  it("is quick with a hundred thousand messages", function()
    local lines, names = { START }, { "hover", "completion", "definition" }
    for i = 1, 50000 do
      local path = ("file:///home/ada/main%d.c"):format(i % 17)
      lines[2 * i] = message("host", i / 1000,
        ('"id":%d,"method":"textDocument/%s","params":{"uri":"%s","line":%d}'):format(i, names[i % 3 + 1], path, i))
      lines[2 * i + 1] = message("plugin", i / 1000 + 0.0007,
        ('"id":%d,"result":{"contents":{"kind":"markdown","value":"%s"}}'):format(i, ("Word "):rep(i % 40)))
    end
    lines[#lines + 1] = '{"time":60,"exit":{"code":0}}'
    open_lines(lines)
    assert.matches("100,000 messages", text "#facts")
    assert.is_true(count "*" < 4000)
    local slowest = value [[(async () => {
      let slowest = 0;
      for (const query of ["hover", "main7", "nowhere", "#777", "method:*completion", "over:1ms", "word word", ""]) {
        await new Promise((done) => requestAnimationFrame(done));
        const start = performance.now();
        page.want({ query });
        slowest = Math.max(slowest, performance.now() - start);
      }
      return slowest;
    })()]]
    print(("\nThe slowest search of 100,000 messages took %.0f ms."):format(slowest))
    assert.is_true(slowest < 1000, tostring(slowest)) -- about 60 on a machine that has nothing else to do
    browser:press "End"
    assert.equal("ended with status 0", text ".row.chosen .label")
    search "main3 completion"
    assert.is_true(value "page.found.length" > 900)
    assert.is_true(count "*" < 4000)
    keep_picture "many"
  end)
end)
