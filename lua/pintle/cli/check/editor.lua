-- What the editor's client-server protocol 0.1 asks of a server.

local breach = require "pintle.cli.check.breach"
local envelope = require "pintle.cli.check.envelope"
local processes = require "pintle.process"
local required = require "pintle.cli.check.required"

local function initialize_params(context, pid)
  return {
    process_id = pid, client_info = { name = "pintle check", version = "1" }, root_path = context.root or "/tmp",
    initialize_options = context.config,
  }
end

-- What the result is, the document does not say.
local function greet(life) return life:call("initialize", initialize_params(life.context)) end

-- {====== Parameters ======

local function bare_initialize(life) life:call("initialize", { initialize_options = life.context.config }) end

local function wrong_process_id(life)
  life:refused("initialize", { process_id = 2147483648, initialize_options = life.context.config }, -32602)
end

local function nameless_client(life)
  life:refused("initialize", { client_info = { version = "1" }, initialize_options = life.context.config }, -32602)
end

local function run(life) life:carry_out(life.context.run.name, life.context.run.args) end

-- Whatever a server tells of itself is its own affair.
local function list_in(told, name)
  local list = envelope.is_object(told) and told[name]
  return type(list) == "table" and list or {}
end

local function missing_argument(life)
  local told, wanted = life.context.told, life.context.run
  local name
  for _, method in ipairs(list_in(told, "methods")) do
    if envelope.is_object(method) and method.name == wanted.name then name = required(method.params) end
  end
  if not name then breach.skip("%s has no parameter known to be required", wanted.name) end
  life:refused(wanted.name, {}, -32602)
end

-- }======

-- {====== The envelope ======

local function other_version(life)
  life.takes_unasked = true
  local text, key = life:request(life.context.dialect.question.method)
  life:send((text:gsub('"version":"0.1"', '"version":"9.9"')))
  local message = life:complaint(key)
  local code = message and type(message.error) == "table" and message.error.code
  if code ~= -32600 then breach.raise("another version is answered with the code %s, not -32600", tostring(code)) end
end

local function other_charset(life)
  life.takes_unasked = true
  local text, key = life:request(life.context.dialect.question.method)
  life:write(("content-type: \"application/vscode-jsonrpc;charset=utf-16\"\r\ncontent-length: %d\r\n\r\n%s")
    :format(#text, text))
  local message = life:complaint(key)
  local code = message and type(message.error) == "table" and message.error.code
  if code == -32601 or not code then breach.raise "a charset that is not utf-8 is not refused" end
end

local function plain_header(life)
  local text, key = life:request(life.context.dialect.question.method)
  life:write(("content-length: %d\r\n\r\n%s"):format(#text, text))
  life:answer(key)
end

local function small_codes(life)
  local err = life:refused("pintle-check")
  local code = math.type(err.code) == "integer" and err.code
  if not code or code < -2147483648 or code > 2147483647 then breach.raise "the code of an error is no Int" end
end

-- }======

-- The client is a process of its own here, which is killed.
local function orphan(life)
  local client <close> = assert(processes.start { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
  life:call("initialize", initialize_params(life.context, client.pid))
  client:close()
  life:ended()
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet } },
  has_root = true,
  question = { method = "pintle-check-question" },
  levels = { ["integer-ids"] = "warn" },
  probes = {
    { name = "bare-initialize", rule = "all params of initialize may be left out", is_raw = true,
      run = bare_initialize },
    { name = "wrong-process-id", rule = "a process_id that is no Int is refused with -32602", is_raw = true,
      run = wrong_process_id },
    { name = "nameless-client", rule = "a client_info without name is refused with -32602", is_raw = true,
      run = nameless_client },
    { name = "other-version", rule = "a message of another version is refused with -32600", run = other_version },
    { name = "other-charset", rule = "a charset that is not utf-8 is refused", level = "warn", run = other_charset },
    { name = "plain-header", rule = "the content-type may be left out", run = plain_header },
    { name = "error-code", rule = "the codes of errors are Ints", run = small_codes },
    { name = "outcome", rule = "a method is carried out", needs_run = true, run = run },
    { name = "missing-argument", rule = "a missing parameter is refused with -32602", needs_run = true,
      run = missing_argument },
    { name = "orphan", rule = "it ends with the process that is its client", level = "warn", is_raw = true,
      run = orphan },
  },
}
