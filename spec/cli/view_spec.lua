-- The page of `pintle view`, without a browser; spec/interop/view_interop.lua tests it in one.
local bytes = require "pintle.bytes"
local children = require "spec.support.children"
local cli = require "spec.support.cli"
local core = require "pintle.core"
local files = require "spec.support.files"
local lfs = require "lfs"

local null = core.json.null

local nothing_left, folder, path

before_each(function()
  nothing_left = children.stock()
  folder = os.tmpname()
  os.remove(folder)
  assert(lfs.mkdir(folder))
  path = folder .. "/talk.jsonl"
end)

after_each(function()
  os.execute("rm -r " .. folder)
  nothing_left()
end)

local START = '{"trace":1,"time":0.0,"command":["my","plugin"],"cwd":"/","pid":1,"at":"2026-01-01T00:00:00Z",'
  .. '"pintle":"scm"}'

local RECORDING = {
  START,
  '{"time":0.001,"framing":"line"}',
  '{"time":0.001,"from":"host","message":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":[2.50]}}}',
  '{"time":0.001,"dialect":"gevals"}',
  '{"time":0.002,"from":"plugin","stderr":"starting"}',
  '{"time":0.011,"from":"plugin","message":{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890.10}}}',
  '{"time":0.012,"from":"plugin","noise":"AP8=","encoding":"base64","problem":"header line 1"}',
  '{"time":0.02,"from":"host","message":[{"jsonrpc":"2.0","method":"log"},{"jsonrpc":"2.0","id":"a","method":"run"}]}',
  '{"time":0.03,"from":"plugin","message":{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no"}}}',
  '{"time":0.04,"from":"plugin","message":"text"}',
  '{"time":0.05,"from":"host","signal":"TERM"}',
  '{"time":0.05,"from":"host","closed":"stdin"}',
  '{"time":0.06,"exit":{"signal":"TERM"}}',
}

local ROWS = {
  { 0.0, "", "start", "started my plugin", null, null, null, null, null, null },
  { 0.001, "", "event", "line framing", null, null, null, null, null, null },
  { 0.001, "host", "request", '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":[2.50]}}', "initialize", "1",
    null, null, null, null },
  { 0.001, "", "event", "dialect: gevals", null, null, null, null, null, null },
  { 0.002, "plugin", "stderr", "starting", null, null, null, null, null, null },
  { 0.011, "plugin", "result", '{"jsonrpc":"2.0","id":1,"result":{"n":12345678901234567890.10}}', "initialize", "1",
    2, null, null, null },
  { 0.012, "plugin", "noise", "AP8=", null, null, null, null, "base64, header line 1", null },
  { 0.02, "host", "notification", '{"jsonrpc":"2.0","method":"log"}', "log", null, null, null, "1 of 2 in a batch",
    null },
  { 0.02, "host", "request", '{"jsonrpc":"2.0","id":"a","method":"run"}', "run", '"a"', null, null,
    "2 of 2 in a batch", null },
  { 0.03, "plugin", "error", '{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"no"}}', "run", '"a"', 8, null,
    null, null },
  { 0.04, "plugin", "other", '"text"', null, null, null, null, null, null },
  { 0.05, "host", "signal", "signal TERM", null, null, null, null, null, null },
  { 0.05, "host", "closed", "closed stdin", null, null, null, null, null, null },
  { 0.06, "", "failure", "ended with signal TERM", null, null, null, null, null, null },
}

local function write(lines) files.write(path, table.concat(lines, "\n") .. "\n") end

-- The page made of these lines, with the given options.
local function page_of(lines, ...)
  write(lines)
  local out, err, status = cli.run(cli.words("view", { ... }, "-o", "-", path))
  assert.same({ "", 0 }, { err, status })
  return out
end

local function blocks_of(page, class)
  local list = {}
  for text in page:gmatch(('<script type="application/json" class="%s">(.-)</script>'):format(class)) do
    list[#list + 1] = assert(core.json.decode(text))
  end
  return list
end

-- The rows of a page, and its facts. Rows are arrays, facts are objects.
local function entries_of(page, class)
  local rows, facts = {}, {}
  for _, block in ipairs(blocks_of(page, class or "data")) do
    for _, entry in ipairs(block) do
      if entry[1] ~= nil then rows[#rows + 1] = entry end
      for name, value in pairs(entry[1] == nil and entry or {}) do facts[name] = value end
    end
  end
  return rows, facts
end

local function rows_of(page) return (entries_of(page)) end

local function message(text)
  return ('{"time":1,"from":"plugin","message":{"jsonrpc":"2.0","method":"say","params":%s}}'):format(text)
end

describe("pintle view", function()
  it("writes every record to the page, unchanged, with answers linked to requests", function()
    local page = page_of(RECORDING)
    local rows, facts = entries_of(page)
    assert.same(ROWS, rows)
    assert.same({ command = "my plugin", cwd = "/", pid = 1, at = "2026-01-01T00:00:00Z", framing = "line",
      dialect = "gevals" }, facts)
  end)

  it("writes beside the recording by default", function()
    write(RECORDING)
    assert.same({ "", "", 0 }, cli.outcome { "view", path })
    local page = files.read(folder .. "/talk.html")
    assert.same(ROWS, rows_of(page))
    assert.same({ page, "", 0 }, cli.outcome { "view", path, "-o", "-" })
    assert.same({ "", "", 0 }, cli.outcome { "view", path, "-o", folder .. "/other" })
    assert.equal(page, files.read(folder .. "/other"))
    local started <close> = cli.start { "view", "-" }
    started:say(table.concat(RECORDING, "\n") .. "\n")
    started.process.stdin:close()
    assert.same({ page, "", 0 }, { started:finish() })
  end)

  it("uses the given title, or the command", function()
    assert.truthy(page_of(RECORDING):find("<title>my plugin</title>", 1, true))
    assert.truthy(page_of(RECORDING, "--title", [[</title>{{data}}&"']])
      :find("<title>&lt;/title&gt;{{data}}&amp;&quot;&#39;</title>", 1, true))
  end)
end)

describe("pintle view, of operations,", function()
  it("names messages by the operation, and marks results of failed ones", function()
    local function called(id, method, params, result)
      return ('{"time":1,"from":"host","message":{"id":%d,"method":"%s","params":%s}}'):format(id, method, params),
        ('{"time":2,"from":"plugin","message":{"id":%d,"result":%s}}'):format(id, result)
    end
    local lines = { START }
    for i, call in ipairs {
      { "execute", '{"operation":"greet"}', '{"success":true}' }, { "execute", '{"operation":1}', '{"success":false}' },
      { "tools/call", '{"name":"add"}', '{"isError":true}' }, { "tools/call", "[]", '{"isError":false}' },
      { "prompts/get", '{"name":"p"}', "{}" }, { "workspace/executeCommand", '{"command":"fix"}', "null" },
      { "runCommand", '{"cmd":"sleep"}', "{}" }, { "runTask", '{"taskType":"echo"}', "{}" },
      { "render", "{}", '{"output":"","errors":[{}]}' }, { "render", "{}", '{"output":"","errors":[]}' },
      { "drop_get", "{}", '{"error":"gone"}' }, { "name", '{"name":"no operation"}', "false" },
    } do
      lines[2 * i], lines[2 * i + 1] = called(i, table.unpack(call))
    end
    local seen = {}
    for i, row in ipairs(rows_of(page_of(lines))) do
      if i % 2 == 1 then seen[#seen + 1] = ("%s %s"):format(row[10] == null and "-" or row[10], row[3]) end
    end
    table.remove(seen, 1)
    assert.same({ "greet result", "- failed", "add failed", "- result", "p result", "fix result", "sleep result",
      "echo result", "- failed", "- result", "- failed", "- result" }, seen)
  end)
end)

describe("pintle view, of two recordings,", function()
  it("makes one page of both, named after both", function()
    write(RECORDING)
    local other = folder .. "/other.jsonl"
    files.write(other, START .. "\n" .. message '"b"' .. "\n")
    assert.same({ "", "", 0 }, cli.outcome { "view", path, other })
    local page = files.read(folder .. "/talk-other.html")
    assert.same(ROWS, rows_of(page))
    local rows, facts = entries_of(page, "data other")
    assert.same({ 2, "other.jsonl" }, { #rows, facts.name })
    assert.truthy(page:find("<title>talk.jsonl | other.jsonl</title>", 1, true))
    assert.truthy(page:find('data-mode="compare"', 1, true))
  end)

  it("reports which of them is wrong", function()
    write(RECORDING)
    local missing = folder .. "/missing.jsonl"
    assert.same({ "", ("pintle: %s: No such file or directory\n"):format(missing), 64 },
      cli.outcome { "view", path, missing })
    assert.same({ "", ("pintle: %s: this is the recording itself\n"):format(path), 64 },
      cli.outcome { "view", folder .. "/talk.jsonl", path, "-o", path })
    assert.same({ "", "pintle: stdin can be read only once\n", 64 }, cli.outcome { "view", "-", "-" })
  end)
end)

describe("pintle view --open", function()
  local function open(browser, ...)
    return cli.outcome(cli.words("view", "--open", { ... }), { env = { BROWSER = browser } })
  end

  it("opens the page in the browser of the environment, without waiting for it", function()
    write(RECORDING)
    local script, seen = folder .. "/browser", folder .. "/seen"
    files.write(script, ("#!/bin/sh\necho \"$@\" > '%s.new'; mv '%s.new' '%s'; sleep 1\n"):format(seen, seen, seen))
    assert(os.execute("chmod +x " .. script))
    local name = folder .. "/it's a page; touch x.html"
    assert.same({ "", "", 0 }, open(script .. " --new", path, "-o", name))
    cli.await(function() return lfs.attributes(seen) end)
    assert.equal("--new " .. name .. "\n", files.read(seen))
    assert.truthy(files.read(name):find "</html>\n$")
  end)

  it("reports that there is no browser, and keeps the page", function()
    write(RECORDING)
    local _, err, status = cli.run({}, { command = { "/bin/sh", "-c", ([[
      lua=$(command -v lua5.4); mkdir %s/bin; ln -s "$lua" %s/bin/lua5.4; PATH=%s/bin; unset BROWSER
      "$lua" bin/pintle view --open %s
    ]]):format(folder, folder, folder, path) } })
    assert.same({ ("pintle: no browser found to open %s/talk.html; set BROWSER to the command that opens it\n")
      :format(folder), 2 }, { err, status })
    assert.truthy(lfs.attributes(folder .. "/talk.html"))
  end)

  it("refuses a page on stdout", function()
    write(RECORDING)
    assert.equal(64, open("true", path, "-o", "-")[3])
  end)
end)

describe("pintle view --follow", function()
  local started, port, token

  local function follow(...)
    started = cli.start({ "view", "--follow", path, ... }, { stdin = "null" })
    port, token = started:read("\n"):match "^http://127%.0%.0%.1:(%d+)/(%x+)/\n$"
    assert.equal(32, #token)
    port = math.tointeger(port)
  end

  local function stop()
    started.process:kill "INT"
    assert.same({ "", "", 130 }, { started:finish() })
  end

  local function connect() return assert(core.connect { host = "127.0.0.1", port = port }) end

  local function send(socket, text)
    assert(core.poll(children.patience, socket, "w"))
    assert.equal(#text, socket:write(text))
  end

  -- What arrives until it ends with this text, or ends.
  local function receive(socket, ending)
    local text = ""
    while not (ending and text:sub(-#ending) == ending) do
      assert(core.poll(children.patience, socket, "r"), "no answer: " .. text)
      local data = socket:read()
      if data == "" or data == nil then return text end
      text = text .. (data or "")
    end
    return text
  end

  local function get(target, host, ...)
    local socket <close> = connect()
    send(socket, table.concat({ "GET " .. target .. " HTTP/1.1", "Host: " .. (host or "127.0.0.1:" .. port), ... },
      "\r\n") .. "\r\n\r\n")
    return receive(socket)
  end

  local function status_of(answer) return math.tointeger(answer:match "^HTTP/1%.1 (%d+) ") end

  before_each(function() write { table.unpack(RECORDING, 1, 3) } end)

  it("serves a page, and the rows as they are recorded", function()
    follow()
    local page = get(("/%s/"):format(token))
    assert.equal(200, status_of(page))
    assert.truthy(page:find("connect-src 'self'", 1, true))
    assert.truthy(page:find('data-mode="live"', 1, true))
    local socket <close> = connect()
    send(socket, ("GET /%s/rows HTTP/1.1\r\nHost: localhost:%d\r\n\r\n"):format(token, port))
    local text = receive(socket, ',"initialize","1",null,null,null,null]\n')
    assert.truthy(text:find('\r\n\r\n{"command":"my plugin"', 1, true), text)
    local file <close> = assert(io.open(path, "a"))
    file:write(RECORDING[6]:sub(1, 30)):flush()
    assert.is_false(core.poll(0.2, socket, "r")) -- half a line is not a record
    file:write(RECORDING[6]:sub(31), "\n"):flush()
    assert.truthy(receive(socket, "]\n"):find '"result"')
    file:write(RECORDING[13], "\n"):flush()
    assert.truthy(receive(socket):find '"failure","ended with signal TERM".*{"over":true}\n$')
    stop()
  end)

  it("answers only who knows the address, and names it", function()
    follow()
    assert.equal(404, status_of(get "/"))
    assert.equal(404, status_of(get("/" .. token)))
    assert.equal(404, status_of(get("/" .. ("0"):rep(32) .. "/rows")))
    assert.equal(403, status_of(get(("/%s/"):format(token), "evil.example:" .. port)))
    assert.equal(403, status_of(get(("/%s/rows"):format(token), "127.0.0.1")))
    assert.equal(403, status_of(get(("/%s/rows"):format(token), nil, "Sec-Fetch-Site: cross-site")))
    assert.equal(200, status_of(get(("/%s/"):format(token), nil, "Sec-Fetch-Site: none")))
    stop()
  end)

  it("survives requests that are malformed, too long or never end, and refuses too many", function()
    follow()
    local slow <close> = connect()
    send(slow, "GET / HT")
    local long <close> = connect()
    send(long, "GET /" .. ("x"):rep(9000))
    assert.equal("", receive(long))
    local bad <close> = connect()
    send(bad, "hello\r\n\r\n")
    assert.equal(400, status_of(receive(bad)))
    local post <close> = connect()
    send(post, ("POST /%s/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"):format(token, port))
    assert.equal(405, status_of(receive(post)))
    local open <close> = setmetatable({}, { __close = function(list)
      for _, socket in ipairs(list) do socket:close() end
    end })
    slow:close()
    local answer
    repeat
      local socket = connect()
      open[#open + 1] = socket
      send(socket, ("GET /%s/rows HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n"):format(token, port))
      answer = receive(socket, "]\n")
    until status_of(answer) ~= 200
    assert.equal(503, status_of(answer))
    assert.is_true(#open <= 17)
    open[1]:close()
    cli.await(function() return status_of(get(("/%s/"):format(token))) == 200 end)
    stop()
  end)

  it("says in the page that the recording is broken", function()
    write { RECORDING[1], "{}" }
    follow()
    local text = get(("/%s/rows"):format(token))
    assert.truthy(text:find 'the recording ends early: .*line 2: not a record.*{"over":true}\n$', text)
    stop()
  end)

  it("leaves no file", function()
    follow()
    stop()
    for name in lfs.dir(folder) do assert.truthy(name:find "^%.+$" or name == "talk.jsonl", name) end
  end)

  it("refuses what cannot be followed", function()
    for _, words in ipairs { { "-" }, { path, path }, { path, "-o", "x.html" }, { folder }, { folder .. "/none" } } do
      assert.equal(64, (select(3, cli.run(cli.words("view", "--follow", words)))))
    end
  end)
end)

describe("a page", function()
  local HOSTILE = {
    "</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>", "]]>{{data}}{{scripts}}",
    "\u{2028}\u{2029}\u{202E}", "\0\r\n\t\27[31m", "`${alert(1)}`", "\\", '"',
  }

  it("contains nothing of a recording as markup", function()
    local harmless, lines = page_of { START }, {}
    local text = core.json.encode(table.concat(HOSTILE))
    lines[1] = ('{"trace":1,"time":0,"command":[%s],"at":%s}'):format(text, text)
    lines[2] = ('{"time":0,"framing":%s}'):format(text)
    lines[3] = ('{"time":0,"dialect":%s}'):format(text)
    lines[4] = message(text)
    lines[5] = ('{"time":1,"from":"host","message":{"id":%s,"method":%s}}'):format(text, text)
    lines[6] = ('{"time":1,"from":"plugin","message":{"id":%s,"result":%s}}'):format(text, text)
    for i, member in ipairs { "noise", "stderr", "closed", "signal", "surprise" } do
      lines[6 + i] = ('{"time":1,"from":"plugin","%s":%s}'):format(member, text)
    end
    local page = page_of(lines)
    assert.equal(select(2, harmless:gsub("<", "")), select(2, page:gsub("<", "")))
    assert.equal(core.json.decode(text), rows_of(page)[8][4])
    assert.equal(('{"jsonrpc":"2.0","method":"say","params":%s}'):format(text), rows_of(page)[4][4])
    assert.is_nil(page:find "[\0\r\27]")
  end)

  it("runs only its own scripts, and fetches nothing", function()
    local page = page_of(RECORDING)
    local policy = page:match 'http%-equiv="Content%-Security%-Policy" content="([^"]*)"'
    assert.truthy(policy:find("default-src 'none'", 1, true))
    assert.is_nil(policy:find "unsafe")
    local count = 0
    for _, tag in ipairs { "script", "style" } do
      for text in page:gmatch(("<%s>(.-)</%s>"):format(tag, tag)) do
        files.write(path, text)
        local digest = core.sha256(path):gsub("%x%x", function(hex) return string.char(tonumber(hex, 16)) end)
        assert.truthy(policy:find(bytes.new(digest)["$bytes"], 1, true), text:sub(1, 200))
        count = count + 1
      end
    end
    assert.equal(16, count)
    assert.is_nil(page:find "https?://")
    assert.is_nil(page:find " src=")
    assert.is_nil(page:find "innerHTML")
  end)

  it("cuts long texts at whole characters, and keeps their length", function()
    local long = '"' .. ("ä"):rep(1000) .. '"'
    local whole = ('{"jsonrpc":"2.0","method":"say","params":%s}'):format(long)
    for _, limit in ipairs { 100, 101, #whole - 1 } do
      local row = rows_of(page_of({ START, message(long) }, "--payload", tostring(limit)))[2]
      assert.equal(whole:sub(1, #row[4]), row[4])
      assert.truthy(utf8.len(row[4]))
      assert.is_true(limit - #row[4] <= 1)
      assert.equal(#whole, row[8])
    end
    for _, limit in ipairs { 0, #whole } do
      local row = rows_of(page_of({ START, message(long) }, "--payload", tostring(limit)))[2]
      assert.same({ whole, null }, { row[4], row[8] })
    end
    local row = rows_of(page_of { START, message('"' .. ("x"):rep(2 << 20) .. '"') })[2]
    assert.equal(1 << 20, #row[4])
  end)

  it("is written while the recording is read", function()
    local lines = { START }
    for i = 2, 400 do lines[i] = message('"' .. ("x"):rep(100000) .. '"') end
    write(lines)
    local is_sanitized = (os.getenv "PINTLE_BUILD" or ""):find "sanitize" -- which takes more room by itself
    local limits = { memory = not is_sanitized and 24 << 20 or nil }
    assert.same({ "", "", 0 }, cli.outcome({ "view", path }, { limits = limits }))
    local page = files.read(folder .. "/talk.html")
    local blocks = blocks_of(page, "data")
    assert.is_true(#page > 38 << 20 and #blocks > 8)
    local count = 0
    for _, block in ipairs(blocks) do count = count + #block end
    assert.equal(400 + 1, count) -- with an object of facts
  end)
end)

describe("pintle view, on errors,", function()
  it("makes no page of a file that is not a recording", function()
    write { '{"time":1,"hello":2}' }
    assert.same({ "", ("pintle: %s: line 1: not a recording of `pintle trace`\n"):format(path), 64 },
      cli.outcome { "view", path })
    files.write(path, "")
    assert.same({ "", ("pintle: %s: the file is empty\n"):format(path), 64 }, cli.outcome { "view", path })
    assert.is_nil(lfs.attributes(folder .. "/talk.html"))
    assert.equal(64, (select(3, cli.run { "view", folder .. "/nothing" })))
  end)

  it("makes a page up to the point where the recording breaks off, and reports it", function()
    write { RECORDING[1], RECORDING[2], RECORDING[3], '{"time":0.5,"from":"plu' }
    local out, err, status = cli.run { "view", path }
    assert.same({ "", 64 }, { out, status })
    assert.truthy(err:find(path .. ": line 4: not JSON: ", 1, true), err)
    local page = files.read(folder .. "/talk.html")
    local rows = rows_of(page)
    assert.equal(4, #rows)
    assert.same({ 0.001, "", "failure" }, { table.unpack(rows[4], 1, 3) })
    assert.truthy(rows[4][4]:find "^the recording ends early: .*line 4: not JSON")
    assert.truthy(page:find "</html>\n$")
  end)

  it("does not overwrite the recording", function()
    write(RECORDING)
    assert.same({ "", ("pintle: %s: this is the recording itself\n"):format(path), 64 },
      cli.outcome { "view", path, "-o", path })
    assert.equal(table.concat(RECORDING, "\n") .. "\n", files.read(path))
  end)

  it("reports where it cannot write, and leaves no partial page", function()
    write(RECORDING)
    local place = folder .. "/no/such/folder.html"
    assert.same({ "", ("pintle: %s: No such file or directory\n"):format(place), 64 },
      cli.outcome { "view", path, "-o", place })
    assert.same({ "", "pintle: cannot write the page: No space left on device\n", 2 },
      cli.outcome { "view", path, "-o", "/dev/full" })
    assert.equal("char device", lfs.attributes("/dev/full", "mode"))
    local command = ('ulimit -f 1; trap "" XFSZ; exec bin/pintle view %s'):format(path)
    local _, err, status = cli.run({}, { command = { "sh", "-c", command } })
    assert.same({ "pintle: cannot write the page: File too large\n", 2 }, { err, status })
    assert.is_nil(lfs.attributes(folder .. "/talk.html"))
  end)

  it("stops in the middle on Ctrl-C, and leaves no partial page", function()
    local lines = { START }
    for i = 2, 200000 do lines[i] = RECORDING[3] end
    write(lines)
    local place = folder .. "/talk.html"
    local started <close> = cli.start({ "view", path }, { stdin = "null" })
    cli.await(function() return (lfs.attributes(place, "size") or 0) > 0 end)
    started.process:kill "INT"
    assert.same({ "", "", 130 }, { started:finish() })
    assert.is_nil(lfs.attributes(place))
  end)

  it("refuses an invalid number of bytes", function()
    write(RECORDING)
    for _, given in ipairs { "-1", "x", "1.5" } do
      assert.equal(64, (select(3, cli.run { "view", path, "--payload=" .. given })))
    end
    assert.is_nil(lfs.attributes(folder .. "/talk.html"))
  end)
end)
