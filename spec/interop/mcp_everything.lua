-- The server that @modelcontextprotocol/conformance expects: its scenarios fix the names, arguments and texts.
local core = require "pintle.core"
local pintle = require "pintle"

local json = core.json

local plugin = pintle.plugin {
  name = "everything", version = "1.0.0", description = "What the conformance suite asks for",
  dialects = { mcp = { title = "Everything" } },
}

local RED_PIXEL = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\8\2\0\0\0\x90wS\xde"
  .. "\0\0\0\x0cIDATx\x9cc\xf8\xcf\xc0\0\0\3\1\1\0"
  .. "\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82"
local SILENCE = "RIFF" .. string.pack("<I4", 36) .. "WAVEfmt "
  .. string.pack("<I4I2I2I4I4I2I2", 16, 1, 1, 8000, 16000, 2, 16)
  .. "data" .. string.pack("<I4", 0)

local function image() return pintle.bytes(RED_PIXEL, "image/png") end

local function object(properties, required)
  return { type = "object", properties = properties, required = required }
end

local NONE, STRING = object {}, { type = "string" }

local function tool(name, description, handler, params, task, task_after)
  plugin:operation(name, {
    description = description, params = params or NONE, dialects = { mcp = { task = task, task_after = task_after } },
  }, handler)
end

-- {====== Content ======

tool("test_simple_text", "Returns text", function() return "This is a simple text response for testing." end)
tool("test_image_content", "Returns an image", function() return { content = { image() } } end)
tool("test_audio_content", "Returns audio", function()
  return { content = { pintle.bytes(SILENCE, "audio/wav") } }
end)

local function embedded(uri, mime_type, text)
  return { type = "resource", resource = { uri = uri, mimeType = mime_type, text = text } }
end

tool("test_embedded_resource", "Returns an embedded resource", function()
  return { content = { embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.") } }
end)

tool("test_multiple_content_types", "Returns text, an image and a resource", function()
  return { content = {
    "Multiple content types test:", image(),
    embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
  } }
end)

tool("test_error_handling", "Fails", function() return nil, "This tool intentionally returns an error for testing" end)

local SCHEMA_2020_12 = [[{
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
  "$defs": { "address": { "$anchor": "addressDef", "type": "object",
    "properties": { "street": { "type": "string" }, "city": { "type": "string" } } } },
  "properties": { "name": { "type": "string" }, "address": { "$ref": "#/$defs/address" },
    "contactMethod": { "type": "string", "enum": ["phone", "email"] },
    "phone": { "type": "string" }, "email": { "type": "string" } },
  "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
  "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
  "then": { "required": ["phone"] }, "else": { "required": ["email"] }, "additionalProperties": false }]]

tool("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", function() return "checked" end,
  assert(json.decode(SCHEMA_2020_12)))

-- }======

-- {====== Logs and progress ======

tool("test_tool_with_logging", "Logs three times", function(_, ctx)
  ctx:log("info", "Tool execution started")
  ctx:sleep(0.05)
  ctx:log("info", "Tool processing data")
  ctx:sleep(0.05)
  ctx:log("info", "Tool execution completed")
  return "logged"
end)

tool("test_logging_tool", "Logs once", function(_, ctx)
  ctx:log("info", "a log")
  return "logged"
end)

tool("test_tool_with_progress", "Reports progress three times", function(_, ctx)
  for i = 0, 2 do
    if i > 0 then ctx:sleep(0.05) end
    ctx:progress(i / 2)
  end
  return "done"
end)

-- }======

-- {====== Asking the client ======

local function text_form(name) return object({ [name] = STRING }, { name }) end

local function elicit(ctx, key, message, schema)
  return ctx:call("elicitation/create", { message = message, requestedSchema = schema }, { key = key })
end

local function sample(ctx, key, prompt, most)
  return ctx:call("sampling/createMessage", {
    messages = { { role = "user", content = { type = "text", text = prompt } } }, maxTokens = most,
  }, { key = key })
end

local function show(answer)
  return ("action=%s, content=%s"):format(answer.action, json.encode(answer.content or {}))
end

-- An operation that asks for one form, and returns what `say` makes of the answer.
local function asks(key, message, schema, say)
  return function(args, ctx)
    local answer, err = elicit(ctx, key, message or args.message, schema)
    if not answer then return nil, err end
    return say(answer)
  end
end

tool("test_sampling", "Asks the client's model", function(args, ctx)
  local answer, err = sample(ctx, "answer", args.prompt, 100)
  if not answer then return nil, err end
  return "LLM response: " .. answer.content.text
end, object({ prompt = STRING }, { "prompt" }))

tool("test_elicitation", "Asks the user", asks("user", nil, object({
  username = { type = "string", description = "User's response" },
  email = { type = "string", description = "User's email address" },
}, { "username", "email" }), function(answer) return "User response: " .. show(answer) end),
  object({ message = STRING }, { "message" }))

local function completed(answer) return "Elicitation completed: " .. show(answer) end

tool("test_elicitation_sep1034_defaults", "Asks with default values", asks("user", "Check the values", object {
  name = { type = "string", default = "John Doe" }, age = { type = "integer", default = 30 },
  score = { type = "number", default = 95.5 }, verified = { type = "boolean", default = true },
  status = { type = "string", enum = { "active", "inactive", "pending" }, default = "active" },
}, completed))

local OPTIONS = { "option1", "option2", "option3" }

local function titled(word)
  local list = {}
  for i, order in ipairs { "First", "Second", "Third" } do
    list[i] = { const = "value" .. i, title = order .. " " .. word }
  end
  return list
end

tool("test_elicitation_sep1330_enums", "Asks with all kinds of enums", asks("user", "Choose", object {
  untitledSingle = { type = "string", enum = OPTIONS },
  titledSingle = { type = "string", oneOf = titled "Option" },
  legacyEnum = {
    type = "string", enum = { "opt1", "opt2", "opt3" }, enumNames = { "Option One", "Option Two", "Option Three" },
  },
  untitledMulti = { type = "array", items = { type = "string", enum = OPTIONS } },
  titledMulti = { type = "array", items = { anyOf = titled "Choice" } },
}, completed))

local NAME = text_form "name"

local function greeting(answer) return ("Hello, %s!"):format(answer.content and answer.content.name or "stranger") end

tool("test_input_required_result_elicitation", "Asks for a name",
  asks("user_name", "What is your name?", NAME, greeting))
tool("test_streaming_elicitation", "Asks for a name", asks("user_name", "What is your name?", NAME, greeting))

tool("test_input_required_result_sampling", "Asks the client's model", function(_, ctx)
  local answer, err = sample(ctx, "capital_question", "What is the capital of France?", 100)
  return answer and answer.content.text, err
end)

tool("test_input_required_result_list_roots", "Asks for the roots", function(_, ctx)
  local answer, err = ctx:call("roots/list", {}, { key = "client_roots" })
  if not answer then return nil, err end
  local list = {}
  for i, root in ipairs(answer.roots) do list[i] = root.uri end
  return "roots: " .. table.concat(list, ", ")
end)

local CONFIRM = object({ ok = { type = "boolean" } }, { "ok" })

for _, name in ipairs { "request_state", "tampered_state" } do
  tool("test_input_required_result_" .. name, "Asks for a confirmation",
    asks("confirm", "Please confirm", CONFIRM, function() return "state-ok" end))
end

tool("test_input_required_result_multiple_inputs", "Asks for three things at once", function(_, ctx)
  local answers, err = pintle.all {
    function() return elicit(ctx, "user_name", "What is your name?", NAME) end,
    function() return sample(ctx, "greeting", "Generate a greeting", 50) end,
    function() return ctx:call("roots/list", {}, { key = "client_roots" }) end,
  }
  if not answers then return nil, err end
  return ("%s: %s (%d roots)"):format(answers[1].content.name, answers[2].content.text, #answers[3].roots)
end)

tool("test_input_required_result_multi_round", "Asks twice", function(_, ctx)
  local name, err = elicit(ctx, "step1", "Step 1: What is your name?", NAME)
  if not name then return nil, err end
  local color
  color, err = elicit(ctx, "step2", "Step 2: What is your favorite color?", text_form "color")
  if not color then return nil, err end
  return ("%s likes %s"):format(name.content.name, color.content.color)
end)

tool("test_input_required_result_capabilities", "Asks for what the client has", function(_, ctx)
  local capabilities = ctx.request.mcp.capabilities
  if capabilities.elicitation then
    local answer, err = elicit(ctx, "user_name", "What is your name?", NAME)
    return answer and greeting(answer), err
  end
  local answer, err = sample(ctx, "capital_question", "What is the capital of France?", 100)
  return answer and answer.content.text, err
end)

tool("test_missing_capability", "Needs sampling", function(_, ctx)
  local answer, err = sample(ctx, "answer", "Is sampling there?", 10)
  return answer and "sampling is there", err
end)

-- }======

-- {====== Lists that change ======

local changes, prompt_changes = 0, 0

tool("test_trigger_tool_change", "Declares a tool more", function()
  changes = changes + 1
  tool("test_added_" .. changes, "Was added", function() return "added" end)
  if changes > 1 then plugin:remove_operation("test_added_" .. changes - 1) end
  return "changed"
end)

tool("test_trigger_prompt_change", "Declares a prompt more", function()
  prompt_changes = prompt_changes + 1
  plugin:prompt("test_added_prompt_" .. prompt_changes, { description = "Was added" }, function() return "added" end)
  return "changed"
end)

-- }======

-- {====== Tasks ======

tool("greet", "Greets", function(args) return ("Hello, %s!"):format(args.name) end,
  object({ name = STRING }, { "name" }))

tool("slow_compute", "Takes its time", function(args, ctx)
  ctx:sleep(args.seconds)
  return "computed " .. (args.label or "it")
end, object({ seconds = { type = "number", minimum = 0 }, label = STRING }, { "seconds" }), "optional")

tool("failing_job", "Fails after a second", function(_, ctx)
  ctx:sleep(1)
  return nil, "the job failed"
end, NONE, "required")

tool("protocol_error_job", "Raises", function() error "the job broke" end, NONE, "optional")

local YES = object({ confirm = { type = "boolean" } }, { "confirm" })

tool("confirm_delete", "Asks before deleting", asks("confirm", "Delete it?", YES, function(answer)
  return answer.action == "accept" and "deleted" or "kept"
end), object({ filename = STRING }, { "filename" }), "optional")

tool("multi_input", "Asks for two things at once", function(_, ctx)
  local answers, err = pintle.all {
    function() return elicit(ctx, "first", "The first?", YES) end,
    function() return elicit(ctx, "second", "The second?", YES) end,
  }
  return answers and "both are there", err
end, NONE, "optional")

tool("test_tool_with_task", "Asks for a name, and then becomes a task", function(_, ctx)
  local answer, err = elicit(ctx, "user_name", "What is your name?", NAME)
  if not answer then return nil, err end
  ctx:sleep(1)
  return greeting(answer)
end, NONE, "required", 0.2)

-- }======

-- {====== Resources and prompts ======

plugin:resource("test://static-text", {
  name = "static-text", description = "A text", mimeType = "text/plain",
}, function() return "This is the content of the static text resource." end)

plugin:resource("test://static-binary", {
  name = "static-binary", description = "An image", mimeType = "image/png",
}, image)

plugin:resource("test://watched-resource", {
  name = "watched-resource", description = "Can be subscribed to", mimeType = "text/plain",
}, function() return "watched" end)

plugin:resource_template("test://template/{id}/data", {
  name = "template", description = "Data by its id", mimeType = "application/json",
}, function(vars) return json.encode { id = vars.id, templateTest = true, data = "Data for ID: " .. vars.id } end)

plugin:prompt("test_simple_prompt", { description = "A text" }, function()
  return "This is a simple prompt for testing."
end)

plugin:prompt("test_prompt_with_arguments", {
  description = "Has two arguments",
  arguments = { { name = "arg1", required = true }, { name = "arg2", required = true } },
  complete = { arg1 = { "paris", "park", "party" } },
}, function(args) return ("Prompt with arguments: arg1='%s', arg2='%s'"):format(args.arg1, args.arg2) end)

plugin:prompt("test_prompt_with_embedded_resource", {
  description = "Embeds a resource", arguments = { { name = "resourceUri", required = true } },
}, function(args)
  return { messages = {
    { role = "user", content = embedded(args.resourceUri, "text/plain", "Embedded resource content for testing.") },
    "Please process the embedded resource above.",
  } }
end)

plugin:prompt("test_prompt_with_image", { description = "Has an image" }, function()
  return { messages = { { role = "user", content = image() }, "Please analyze the image above." } }
end)

plugin:prompt("test_input_required_result_prompt", { description = "Asks for its context" }, function(_, ctx)
  local answer, err = elicit(ctx, "user_context", "What context should the prompt use?", text_form "context")
  return answer and "Use this context: " .. answer.content.context, err
end)

-- }======

plugin:serve()
