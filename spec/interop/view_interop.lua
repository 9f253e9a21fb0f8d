-- Pages of `pintle view` in a browser: drawn, clicked, searched, attacked. Pictures are left in build/interop/pictures.
local browsers = require "spec.interop.view_browser"
local cli = require "spec.support.cli"
local files = require "spec.support.files"
local hosts = require "pintle.host"
local json = require("pintle.core").json

local PICTURES = browsers.PICTURES

local browser, folder

browsers.share(function(...) browser, folder = ... end)

-- {====== Helpers ======

local function open(recording, ...)
  local page = folder .. "/page.html"
  assert.same({ "", "", 0 }, cli.outcome(cli.words("view", { ... }, "-o", page, recording)))
  browser:visit(page)
  browser:settle()
end

local function open_lines(lines, ...)
  local path = folder .. "/lines.jsonl"
  files.write(path, table.concat(lines, "\n") .. "\n")
  open(path, ...)
end

-- Records a host that talks to the greeter in this dialect.
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

-- The first Esc empties the field, the second one leaves it.
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

-- Errors of the page, its requests, and its dialogs.
local function assert_quiet() assert.same({}, browser.complaints) end

-- }======

local METHODS = {
  gevals = { "initialize", "execute", '{"success":false,"message":"nobody to greet","error":"nobody to greet"}' },
  mcp = { "server/discover", "tools/call", '"nobody to greet"' },
}

for dialect, methods in pairs(METHODS) do
  describe("a page of the greeter, which speaks " .. dialect .. ",", function()
    before_each(function() open(record(dialect)) end)
    after_each(assert_quiet)

    it("shows the messages of the conversation", function()
      assert.equal("lua5.4 examples/greeter/plugin.lua", text "#title")
      assert.matches(dialect .. "line framing%d+ messages", text "#facts")
      assert.equal(value "page.model.rows.length", count ".row")
      assert.equal(methods[1] .. "\n#1", text ".row.request.from-host .label")
      assert.matches("^[%d.]+ ", text ".row.result.from-plugin .latency")
      assert.equal(6, value "[...document.querySelectorAll('.method')].filter((e) => e.innerText === 'greet').length")
      assert.equal(6, value "page.model.rows.filter((row) => row.operation === 'greet').length")
      assert.equal(1, count ".row.failed")
      assert.equal(methods[3], text ".row.failed .preview")
      assert.equal(1, count ".row.error")
      assert.equal('{"code":-32601,"message":"Method not found: sing"}', text ".row.error .preview")
      assert.equal("ended with status 0", text ".row.exit .label")
      keep_picture(dialect)
    end)

    it("shows a payload and the matching message after a click", function()
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
      search "-method:greet"
      assert.equal(value "page.model.rows.length" - 6, count ".row")
      stop_searching()
      search '-greet -"name"'
      assert.equal(0, value "page.found.filter((i) => /greet|name/i.test(page.model.rows[i].text)).length")
      stop_searching()
      search "-32601" -- a number is searched for literally
      assert.equal(1, count ".row")
      stop_searching()
      browser:click "#kinds .trouble"
      assert.equal(2, count ".row")
    end)

    it("shows latencies by operation, and the calls of one", function()
      browser:press "l"
      assert.is_true(is_shown "#latencies")
      local entry = value [[(() => {
        const lines = [...document.querySelectorAll("#latencies tbody tr")];
        const line = lines.find((line) => line.cells[0].innerText.startsWith("greet"));
        line.cells[0].firstChild.click();
        return [...line.cells].slice(1, 4).map((cell) => cell.textContent);
      })()]]
      assert.same({ "plugin", "3", "1" }, entry)
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

  it("can be used with the keyboard only", function()
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

  it("shows all data of its recording as text, never as markup", function()
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

  it("blocks scripts that would be in its data", function()
    open_lines { START }
    assert.is_true(value [[(() => { try { document.body.innerHTML = "<b>"; } catch { return true; } })()]])
    value [[void document.body.append(Object.assign(document.createElement("img"), { src: "https://example.org/" }))]]
    browser:settle()
    local complaints = table.concat(browser.complaints)
    browser.complaints = {}
    assert.matches("requires 'TrustedHTML' assignment. The action has been blocked", complaints, 1, true)
    assert.matches("Loading the image 'https://example.org/' violates", complaints, 1, true)
  end)

  it("shows numbers digit for digit, and copies the recorded bytes", function()
    local params = '{"n":12345678901234567890.10,"b":[],"s":"\\u003c\\"é","x":[{"y":null},[],{"z":[[1]]}]}'
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
      {
        "y": null
      },
      [],
      {
        "z": [
          [
            1
          ]
        ]
      }
    ]
  }
}]]
    browser:click "#details .copy"
    assert.equal(pretty, value "navigator.clipboard.readText()")
    browser:click "#details .raw"
    assert.equal('{"jsonrpc":"2.0","method":"m","params":' .. params .. "}", value "navigator.clipboard.readText()")
  end)

  it("draws only the visible part of a giant payload", function()
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

  it("shows only the selected time range", function()
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

  it("scrolls to the end of lists that are taller than the limit of browsers", function()
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

  it("folds containers and long strings", function()
    open_lines { START, message("host", 1, ('"method":"m","params":{"list":[{"a":1},{"b":[2,3]}],"s":"%s"}')
      :format(("x "):rep(2500))) }
    browser:click "#row-1"
    assert.is_true(text("#details .payload"):find("4,762 more characters", 1, true) ~= nil)
    assert.is_nil(text("#details .payload"):find(("x"):rep(300), 1, true))
    browser:click "#details .more"
    assert.equal(0, count "#details .more")
    assert.is_true(text("#details .payload"):gsub("\n", ""):find(("x "):rep(500), 1, true) ~= nil)
    browser:click '#details .fold[data-line="4"]'
    assert.matches('"list": [2 items],', text "#details .payload", 1, true)
    assert.equal("false", value "document.activeElement.getAttribute('aria-expanded')")
    browser:press "Enter"
    assert.matches('"b": [', text "#details .payload", 1, true)
    browser:press "f"
    assert.matches('"params": {2 items}\n', text "#details .payload", 1, true)
    browser:press "f"
    assert.matches('"b": [', text "#details .payload", 1, true)
  end)

  it("shows the lines of a string", function()
    open_lines { START, message("host", 1, [["method":"m","params":{"s":"one\ntwo \"2\"","t":1}]]) }
    browser:click "#row-1"
    assert.matches([["s": "one\ntwo \"2\"",]], text "#details .payload", 1, true)
    browser:press "t"
    assert.matches('"s": \n%s*one\n%s*two "2"\n%s*,\n%s*"t": 1', text "#details .payload")
    assert.equal("true", value "document.querySelector('#details .text').getAttribute('aria-pressed')")
  end)

  it("shows images and sounds, but no other media types", function()
    local pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    open_lines { START, message("host", 1, '"id":1,"method":"tools/call","params":{"name":"draw"}'),
      message("plugin", 2, ([["id":1,"result":{"content":[{"type":"image","data":"%s","mimeType":"image/png"},
        {"type":"audio","data":"UklGRg==","mimeType":"audio/wav"},
        {"type":"image","data":"PHN2Zz4=","mimeType":"text/html"},
        {"type":"image","data":"\" onerror=alert(1)","mimeType":"image/png"}]}]]):format(pixel):gsub("\n *", "")) }
    assert.equal("media", text "#row-2 .chip")
    browser:click "#row-2"
    browser:await "document.querySelector('.media img')?.complete"
    assert.equal(1, value "document.querySelector('.media img').naturalWidth")
    assert.equal(1, count ".media img")
    assert.equal(1, count ".media audio")
    assert.matches("image/png · 70 B · 1 × 1", text ".media figcaption", 1, true)
    browser:click "#row-1"
    assert.is_false(is_shown ".media")
  end)

  it("has a legend", function()
    open_lines { START }
    browser:press "?"
    assert.is_true(is_shown "#legend")
    assert.matches("-method:log", text "#legend", 1, true)
    browser:prefer "dark"
    keep_picture "legend"
    browser:press "Escape"
    assert.is_false(is_shown "#legend")
  end)

  it("counts failed operations and unanswered requests as trouble", function()
    open_lines { START, message("host", 1, '"id":1,"method":"execute","params":{"operation":"a","args":{}}'),
      message("plugin", 2, '"id":1,"result":{"success":false,"error":"no"}'),
      message("host", 3, '"id":2,"method":"tools/call","params":{"name":"b"}'),
      message("plugin", 4, '"id":2,"result":{"content":[],"isError":true}'),
      message("host", 5, '"id":3,"method":"tools/call","params":{"name":"c"}'),
      message("plugin", 6, '"id":3,"result":{"content":[],"isError":false}'),
      message("host", 7, '"id":4,"method":"tools/call","params":{"name":"d"}') }
    assert.equal("3", text "#kinds .trouble small")
    browser:click "#kinds .trouble"
    assert.same({ "a", "b", "d" }, value "page.found.map((i) => page.model.rows[i].operation)")
    assert.equal("no answer", text ".row .never")
  end)

  it("expects no answer to a cancelled request or a subscription", function()
    open_lines { START, message("host", 1, '"id":1,"method":"a"'), message("host", 2, '"id":2,"method":"a"'),
      message("plugin", 2, '"id":2,"method":"b"'), message("host", 2, '"id":3,"method":"subscriptions/listen"'),
      message("host", 3, '"method":"notifications/cancelled","params":{"_meta":{},"requestId":2}') }
    assert.same({ 1, 3 }, value "page.model.rows.filter(isWrong).map((row) => row.index)")
    assert.equal("cancelled", text "#row-2 .latency")
  end)

  it("prints all rows", function()
    local lines = { START }
    for i = 1, 300 do lines[i + 1] = message("host", i / 100, ('"method":"m%d"'):format(i)) end
    open_lines(lines)
    value "void dispatchEvent(new Event('beforeprint'))"
    browser:ask("Emulation.setEmulatedMedia", { media = "print" })
    assert.equal(301, count ".row")
    assert.is_true(value "document.documentElement.scrollHeight > 300 * 24")
    browser:ask("Emulation.setEmulatedMedia", { media = "" })
    value "void dispatchEvent(new Event('afterprint'))"
    browser:settle()
    assert.is_true(count ".row" < 100)
  end)
end)
