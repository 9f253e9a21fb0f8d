-- Whole streams. The bytes of the input arrive in pieces; whatever asks is answered, at once, later, twice or
-- never; finalizers use the stream in the middle of it all. It must come to an end, hand every waiter back once, and
-- what it wrote must be frames that another stream reads.
--
-- Input: framing, flags, bounds of a message, of a header, of nesting and of the queue, calls made at first, what to
-- do with requests, how many sizes of pieces follow, those sizes, the bytes.
local core = core -- luacheck: globals core

local RAW, STRING_IDS, EXTRA, CODEC, SOCKET, FINALIZERS, OTHERS, SMALL_QUEUE = 1, 2, 4, 8, 16, 32, 64, 128
local PARAMS = core.json.order { "made", "list", "missing" }
local FRAMINGS = { [0] = "auto", "line", "header" }

local function choices(input)
  local at = 0
  local function byte()
    at = at + 1
    return input:byte(at) or 0
  end
  local c = {
    framing = FRAMINGS[byte() % 3], flags = byte(), message = byte() * 8 + 32, header = byte() + 1,
    nesting = byte() % 32 + 1, queue = byte() * 4 + 1, calls = byte() % 80, plan = byte(), sizes = {},
  }
  for i = 1, byte() % 8 do c.sizes[i] = math.max(byte(), 1) end
  c.bytes = input:sub(at + 1)
  c.sizes[1] = c.sizes[1] or #c.bytes
  return c
end

-- The stream and the other end of its two descriptors.
local function open(c)
  local has = function(flag) return c.flags & flag ~= 0 end
  local read, write, peer_read, peer_write
  if has(SOCKET) then
    read, peer_read = core.socketpair()
    write, peer_write = read, peer_read
  else
    read, peer_write = core.pipe()
    peer_read, write = core.pipe()
  end
  local stream = assert(core.stream {
    read = read, write = write, framing = c.framing, raw = has(RAW), ids = has(STRING_IDS) and "string" or nil,
    extra = has(EXTRA) and { version = "0.1" } or nil, json = has(CODEC) and core.json or nil,
    others = has(OTHERS),
    limits = { message = c.message, header = c.header, nesting = c.nesting, calls = 64, text = 20,
               queue = has(SMALL_QUEUE) and c.queue or nil },
  })
  return stream, peer_read, peer_write
end

-- Reads back what was written, by a stream without narrow bounds; how many messages there are.
local function read_back(text, framing, c)
  local read, write = core.pipe()
  local reader = assert(core.stream { read = read, write = 2, framing = framing,
                                      extra = c.flags & EXTRA ~= 0 and { version = "0.1" } or nil })
  local at, n = 1, 0
  while true do
    if at <= #text then at = at + (write:write(text:sub(at)) or 0) else write:close() end
    repeat
      local kind, id, what, payload = reader:receive()
      if kind == "noise" or kind == "invalid" then
        error(("%s written as %s: %s in %q"):format(kind, framing, payload.message, text))
      end
      if kind == nil then
        assert(what == "closed", id)
        reader:close()
        return n
      end
      n = n + (kind and 1 or 0)
    until not kind
  end
end

local function run(input)
  local c = choices(input)
  local stream, peer_read, peer_write = open(c)
  local written = { line = {}, header = {} }
  local waiters, made = {}, 0      -- the calls that wait, and how many there ever were
  local tickets, late = 0, {}      -- requests whose answer belongs to a batch; those answered later
  local random, failure = c.plan, nil

  local function choose(n)
    random = (random * 1103515245 + 12345) % 2147483648
    return random // 65536 % n
  end

  -- Before the framing can change, for it says how to read this back.
  local function drain()
    local framing = stream:framing() == "header" and "header" or "line"
    if stream:fds() then assert(stream:flush() ~= nil or peer_read:closed()) end
    while not peer_read:closed() do
      local text = peer_read:read()
      if not text or text == "" then return end
      table.insert(written[framing], text)
    end
  end

  local function sent(ok, message, kind)
    assert(ok or kind == "invalid" or kind == "full" or kind == "closed", message)
    drain()
    return ok
  end

  local function call()
    local waiter = { made }
    local params = setmetatable({ list = {}, other = true, made = made }, PARAMS)
    local id, message, kind = stream:request(waiter, "call", params)
    if id then
      assert(not waiters[waiter])
      waiters[waiter], made = id, made + 1
    end
    sent(id, message, kind)
  end

  local function answered(waiter)
    assert(waiters[waiter], "a waiter that is not waiting")
    waiters[waiter] = nil
  end

  local function answer(id, value)
    if choose(3) == 0 then return sent(stream:fail(id, -32000, "no", value)) end
    return sent(stream:reply(id, value))
  end

  local function answer_twice(id, value)
    if answer(id, value) and type(id) == "userdata" and id ~= core.json.null then
      local ok, message = pcall(stream.reply, stream, id)
      assert(not ok and message:find "answered already", message)
    end
  end

  local function take(kind, id, what, payload)
    if kind == "request" or (kind == "invalid" and what == nil) then
      tickets = tickets + (type(id) == "userdata" and 1 or 0)
      if type(payload) == "table" and payload.bytes then payload = payload.message end
      local how = choose(5)
      if how == 0 then
        late[#late + 1] = id
      elseif how == 1 then
        answer_twice(id, payload)
      elseif how > 2 then
        answer(id, payload)
      end
    elseif kind == "result" or kind == "error" or kind == "invalid" then
      answered(what)
    else
      assert(kind == "notification" or kind == "stray" or kind == "noise", kind)
    end
  end

  local actions = {
    call, drain,
    function() sent(stream:notify("gc", {})) end,
    function() if #late > 0 then answer(table.remove(late), "late") end end,
    function()
      local kind, id, what, payload = stream:receive()
      if kind then take(kind, id, what, payload) end
    end,
    function()
      local id, waiter = stream:orphan()
      if id then answered(waiter) end
    end,
    function()
      local waiter, id = next(waiters)
      if id then answered(assert(stream:abandon(id) == waiter and waiter)) end
    end,
    function() if choose(8) == 0 then stream:close() end end,
  }
  local function plant_finalizer()
    if c.flags & FINALIZERS == 0 then return end
    local action = actions[choose(#actions) + 1]
    setmetatable({}, { __gc = function()
      local ok, message = pcall(action)
      if not ok then failure = failure or message end
    end })
  end

  local received, most = 0, #c.bytes * 2 + 16
  local function turn()
    while true do
      plant_finalizer()
      local kind, id, what, payload = stream:receive()
      if not kind then return kind, id, what end
      received = received + 1
      assert(received <= most, "more messages than bytes")
      take(kind, id, what, payload)
      drain()
    end
  end

  for _ = 1, c.calls do call() end
  local at, i = 1, 0
  while at <= #c.bytes do
    local size = c.sizes[i % #c.sizes + 1]
    i = i + 1
    peer_write:write(c.bytes:sub(at, at + size - 1))
    at = at + size
    turn()
  end
  while #late > 0 do answer(table.remove(late), { late = true }) end
  drain()
  local counted = stream:stats().sent
  peer_write:close()
  peer_read:close()
  local kind, message, why
  for _ = 1, 4 do
    kind, message, why = turn()
    if kind == nil then break end
  end
  assert(kind == nil and why == "closed", message)

  for id, waiter in stream.orphan, stream do
    assert(waiters[waiter] == id)
    answered(waiter)
  end
  assert(next(waiters) == nil, "a waiter is lost")
  assert(stream:waiting() == 0)
  stream:close()
  local n = read_back(table.concat(written.line), "line", c) + read_back(table.concat(written.header), "header", c)
  assert(n <= stream:stats().sent, "more was written than sent")
  assert(n == counted or tickets > 0 or c.flags & FINALIZERS ~= 0, "less was written than sent")
  collectgarbage()
  assert(not failure, failure)
end

return run
