-- Chromium without a window, controlled over its pipe: JSON with a NUL behind each message, as its DevTools speak it.
local bytes = require "pintle.bytes"
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"

local json = core.json

local PATIENCE = 60 -- seconds: no answer takes that long
local START = [[
  browser=$(command -v chromium || command -v chromium-browser)
  exec "$browser" --headless --remote-debugging-pipe --disable-gpu --disable-dev-shm-usage --no-first-run "$@" \
    3<&0 4>&1 < /dev/null > /dev/null 2>&1
]]

local methods = {}
local metatable = { __index = methods }

local browsers = { PICTURES = "build/interop/pictures" }

-- {====== The pipe ======

local function write(self, text)
  local at, stdin = 1, self.process.stdin
  while at <= #text do
    local written, message = stdin:write(text:sub(at))
    assert(written ~= nil, message)
    at = at + (written or 0)
  end
end

local function next_message(self)
  while true do
    local text, rest = self.buffer:match "^([^\0]*)\0(.*)$"
    if text then
      self.buffer = rest
      return assert(json.decode(text))
    end
    local data, message = self.process.stdout:read()
    assert(data ~= nil, message)
    assert(data ~= "", "the browser has ended")
    if data then
      self.buffer = self.buffer .. data
    else
      assert(core.poll(PATIENCE, self.process.stdout, "r"), "the browser does not answer")
    end
  end
end

-- Errors and dialogs of the page, and whether it is loaded.
local NOTES = {
  ["Runtime.exceptionThrown"] = function(event) return event.exceptionDetails end,
  ["Runtime.consoleAPICalled"] = function(event) return event.args end,
  ["Log.entryAdded"] = function(event) return event.entry end,
  ["Page.javascriptDialogOpening"] = function(event) return event.message end,
  ["Network.requestWillBeSent"] = function(event, address)
    local url = event.request.url
    return not url:find "^data:" and url:sub(1, #address) ~= address and url or nil
  end,
}

local function note(self, message)
  local look = NOTES[message.method]
  local found = look and look(message.params, self.address)
  if found then table.insert(self.complaints, message.method .. " " .. json.encode(found)) end
  if message.method == "Page.loadEventFired" then self.is_loaded = true end
  local is_dialog = message.method == "Page.javascriptDialogOpening"
  if is_dialog then self:tell("Page.handleJavaScriptDialog", { accept = true }) end
end

function methods:tell(method, params)
  self.id = self.id + 1
  write(self, json.encode { id = self.id, method = method, params = params, sessionId = self.session } .. "\0")
  return self.id
end

function methods:ask(method, params)
  local id = self:tell(method, params)
  while true do
    local message = next_message(self)
    if message.id == id then
      assert(not message.error, method .. ": " .. json.encode(message.error or json.null))
      return message.result
    end
    note(self, message)
  end
end

-- }======

-- {====== Pages ======

-- A page loads only its own address, which is a path or begins with http.
function methods:visit(place)
  self.complaints, self.is_loaded = {}, false
  self.address = place:find "^http" and place or "file://" .. place
  self:ask("Page.navigate", { url = self.address })
  while not self.is_loaded do note(self, next_message(self)) end
end

-- The value of an expression, which may be a promise, in the page.
function methods:evaluate(expression)
  local answer = self:ask("Runtime.evaluate", { expression = expression, awaitPromise = true, returnByValue = true })
  assert(not answer.exceptionDetails, json.encode(answer.exceptionDetails or json.null))
  return answer.result.value
end

-- Waits until all searches have ended and the page is drawn.
function methods:settle()
  self:evaluate [[(async () => {
    while (!(globalThis.page?.search.isDone ?? true)) await new Promise((done) => setTimeout(done, 5));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))));
  })()]]
end

-- Waits until the expression is true in the page.
function methods:await(expression)
  self:evaluate(([[(async () => {
    while (!(%s)) await new Promise((done) => setTimeout(done, 10));
  })()]]):format(expression))
  self:settle()
end

local function mouse(self, kind, x, y)
  self:ask("Input.dispatchMouseEvent", { type = kind, x = x, y = y, button = "left", buttons = 1, clickCount = 1 })
end

function methods:drag(x, y, to_x)
  mouse(self, "mousePressed", x, y)
  mouse(self, "mouseMoved", (x + to_x) / 2, y)
  mouse(self, "mouseMoved", to_x, y)
  mouse(self, "mouseReleased", to_x, y)
  self:settle()
end

-- Clicks in the middle of the element, which has to be visible.
function methods:click(selector)
  local box = self:evaluate(([[(() => {
    const box = document.querySelector(%s).getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
  })()]]):format(json.encode(selector)))
  mouse(self, "mousePressed", box[1], box[2])
  mouse(self, "mouseReleased", box[1], box[2])
  self:settle()
end

local CODES = { Enter = 13, Escape = 27, ArrowDown = 40, ArrowUp = 38, PageDown = 34, End = 35, Home = 36 }

function methods:press(key)
  local text = #key == 1 and key or key == "Enter" and "\r" or nil
  self:ask("Input.dispatchKeyEvent", { type = "keyDown", key = key, text = text, windowsVirtualKeyCode = CODES[key] })
  self:ask("Input.dispatchKeyEvent", { type = "keyUp", key = key, windowsVirtualKeyCode = CODES[key] })
  self:settle()
end

function methods:type(text)
  self:ask("Input.insertText", { text = text })
  self:settle()
end

function methods:resize(width, height, ratio)
  self:ask("Emulation.setDeviceMetricsOverride",
    { width = width, height = height, deviceScaleFactor = ratio or 1, mobile = false })
  self:settle()
end

function methods:prefer(scheme)
  self:ask("Emulation.setEmulatedMedia", { features = { { name = "prefers-color-scheme", value = scheme } } })
  self:settle()
end

-- A picture in PNG.
function methods:picture()
  local data = self:ask("Page.captureScreenshot", { format = "png" }).data
  return tostring(assert(bytes.from_object { ["$bytes"] = data }))
end

-- }======

local function attach(self)
  local target = self:ask("Target.createTarget", { url = "about:blank" }).targetId
  self.session = self:ask("Target.attachToTarget", { targetId = target, flatten = true }).sessionId
  for _, domain in ipairs { "Page", "Runtime", "Log", "Network" } do self:ask(domain .. ".enable") end
end

function metatable.__close(self)
  self.session = nil
  pcall(self.ask, self, "Browser.close")
  self.process:wait(PATIENCE)
  self.process:close()
  os.execute(("rm -rf '%s'"):format(self.folder))
end

local function is_root()
  local pipe <close> = assert(io.popen "id -u")
  return pipe:read "n" == 0
end

-- Starts a browser with one empty page. Its sandbox does not work for root.
function browsers.start()
  local folder = os.tmpname()
  os.remove(folder)
  local command = { "sh", "-c", START, "sh", "--user-data-dir=" .. folder }
  if is_root() then command[#command + 1] = "--no-sandbox" end
  local self = setmetatable({ folder = folder, buffer = "", id = 0, complaints = {} }, metatable)
  self.process = assert(core.spawn { command = command })
  attach(self)
  return self
end

-- Gives all specs of a file one browser and a folder for its pages: calls the function with both before the first. The
-- browser has the same size and colours before each. To be called outside of specs.
function browsers.share(take)
  local busted, browser, folder, nothing_left = require "busted", nil, nil, nil
  busted.setup(function()
    nothing_left = children.stock()
    browser, folder = browsers.start(), files.folder()
    assert(os.execute("mkdir -p " .. browsers.PICTURES))
    take(browser, folder.path)
  end)
  busted.teardown(function()
    metatable.__close(browser)
    getmetatable(folder).__close()
    nothing_left()
  end)
  busted.before_each(function()
    browser:resize(1280, 800)
    browser:prefer "light"
  end)
end

return browsers
