-- Probes for servers of the editor's client-server protocol 0.1.

local jsonrpc = require "pintle.jsonrpc"
local processes = require "pintle.process"
local sessions = require "pintle.cli.check.session"

local function initialize_params(context, pid)
  return {
    process_id = pid, client_info = { name = "pintle check", version = "1" }, root_path = context.root or "/tmp",
    initialize_options = context.config,
  }
end

-- The document does not define the result.
local function greet_editor_server(session)
  return session:call_plugin("initialize", initialize_params(session.context))
end

-- {====== Parameters ======

local function initialize_without_params(session)
  session:call_plugin("initialize", { initialize_options = session.context.config })
end

local function wrong_process_id(session)
  session:expect_refusal("initialize", { process_id = 2147483648, initialize_options = session.context.config }, -32602)
end

local function nameless_client(session)
  local params = { client_info = { version = "1" }, initialize_options = session.context.config }
  session:expect_refusal("initialize", params, -32602)
end

local function execute_method(session) session:execute_in_plugin(session.context.run.name, session.context.run.args) end

-- The content of the result is up to the server.
local function list_in_manifest(manifest, name)
  local list = jsonrpc.is_object(manifest) and manifest[name]
  return type(list) == "table" and list or {}
end

local function execute_without_parameter(session)
  local manifest, wanted = session.context.manifest, session.context.run
  local name
  for _, method in ipairs(list_in_manifest(manifest, "methods")) do
    if jsonrpc.is_object(method) and method.name == wanted.name then name = sessions.first_required(method.params) end
  end
  if not name then session:skip_probe("%s has no required parameter that is known", wanted.name) end
  session:expect_refusal(wanted.name, {}, -32602)
end

-- }======

-- {====== The envelope ======

local function send_other_version(session)
  session.takes_unasked = true
  local text, key = session:new_probe_request(session.context.dialect.question.method)
  session:send_message((text:gsub('"version":"0.1"', '"version":"9.9"')))
  local message = session:await_error(key)
  local code = message and type(message.error) == "table" and message.error.code
  if code ~= -32600 then
    session:fail_probe("another version is refused with the code %s, not -32600", tostring(code))
  end
end

local function send_other_charset(session)
  session.takes_unasked = true
  local text, key = session:new_probe_request(session.context.dialect.question.method)
  session:write_bytes(("content-type: \"application/vscode-jsonrpc;charset=utf-16\"\r\ncontent-length: %d\r\n\r\n%s")
    :format(#text, text))
  local message = session:await_error(key)
  local code = message and type(message.error) == "table" and message.error.code
  if code == -32601 or not code then session:fail_probe "a charset other than utf-8 is not refused" end
end

local function send_plain_header(session)
  local text, key = session:new_probe_request(session.context.dialect.question.method)
  session:write_bytes(("content-length: %d\r\n\r\n%s"):format(#text, text))
  session:await_answer(key)
end

local function check_error_code_size(session)
  local err = session:expect_refusal("pintle-check")
  local code = math.type(err.code) == "integer" and err.code
  if not code or code < -2147483648 or code > 2147483647 then
    session:fail_probe "the code of an error is not an Int"
  end
end

-- }======

-- The client is a separate process here, which is killed.
local function orphan_editor_server(session)
  local client <close> = assert(processes.start { command = { "sleep", "600" }, stdin = "null", stdout = "null" })
  session:call_plugin("initialize", initialize_params(session.context, client.pid))
  client:close()
  session:await_exit()
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet_editor_server } },
  has_root = true,
  question = { method = "pintle-check-question" },
  levels = { ["integer-ids"] = "warn" },
  probes = {
    { name = "bare-initialize", rule = "all params of initialize are optional", is_raw = true,
      run = initialize_without_params },
    { name = "wrong-process-id", rule = "a process_id that is not an Int is refused with -32602", is_raw = true,
      run = wrong_process_id },
    { name = "nameless-client", rule = "a client_info without a name is refused with -32602", is_raw = true,
      run = nameless_client },
    { name = "other-version", rule = "a message of another version is refused with -32600", run = send_other_version },
    { name = "other-charset", rule = "a charset other than utf-8 is refused", level = "warn",
      run = send_other_charset },
    { name = "plain-header", rule = "the content-type header is optional", run = send_plain_header },
    { name = "error-code", rule = "error codes are Ints", run = check_error_code_size },
    { name = "outcome", rule = "a method is executed", needs_run = true, run = execute_method },
    { name = "missing-argument", rule = "a missing parameter is refused with -32602", needs_run = true,
      run = execute_without_parameter },
    { name = "orphan", rule = "it exits when its client process dies", level = "warn", is_raw = true,
      run = orphan_editor_server },
  },
}
