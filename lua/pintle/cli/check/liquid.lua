-- Probes for template engines of liquid-spec.

local json = require("pintle.core").json
local sessions = require "pintle.cli.check.session"

-- {====== Schemas ======

local TEXT = { type = "string" }

local MANIFEST = { type = "object", required = { "version", "implementation", "liquid_version", "features" },
  properties = { version = TEXT, implementation = TEXT, liquid_version = TEXT,
    features = { type = "array", items = TEXT } } }

local PROBLEM = { type = "object", required = { "type", "message" },
  properties = { type = TEXT, message = TEXT, line = { type = { "integer", "null" } } } }

local COMPILED = { type = "object", required = { "template_id" }, properties = { template_id = TEXT } }

local REFUSED = { type = "object", required = { "template_id", "error" },
  properties = { template_id = { type = "null" }, error = PROBLEM } }

local RENDERED = { type = "object", required = { "output", "errors" },
  properties = { output = TEXT, errors = { type = "array", items = PROBLEM } } }

-- }======

local function greet_engine(session)
  local manifest = session:call_plugin("initialize", { version = "1.0" })
  session:check_schema(manifest, MANIFEST, "the result")
  return manifest
end

-- {====== Compile and render ======

local function compile_broken_template(session)
  local result = session:call_plugin("compile", { template = "{% pintle_check_no_such_tag %}" })
  session:check_schema(result, REFUSED, "the result")
end

local function compile_no_template(session) session:expect_refusal("compile", { options = {} }, -32602) end

local function compile_wrong_template(session) session:expect_refusal("compile", { template = 5 }, -32602) end

local function compile_in_unknown_error_mode(session)
  session:expect_refusal("compile", { template = "x", options = { error_mode = "pintle" } }, -32602)
end

local function render_unknown_template(session)
  session:expect_refusal("render", { template_id = "pintle-check", environment = {} }, -32602)
end

local function render_without_template_id(session) session:expect_refusal("render", { environment = {} }, -32602) end

-- An engine that has only tags of its own cannot render this.
local function compile_template(session, template)
  local options = { error_mode = "strict", line_numbers = true }
  local result = session:call_plugin("compile", { template = template, options = options })
  if type(result) == "table" and result.template_id == json.null then
    session:check_schema(result, REFUSED, "the result of compile")
    session:skip_probe("it does not accept the template %s", template)
  end
  session:check_schema(result, COMPILED, "the result of compile")
  return result.template_id
end

local function compile_and_render(session)
  local id = compile_template(session, "Hello, {{ name }}!")
  local result = session:call_plugin("render", { template_id = id, environment = { name = "Ada" }, options = {} })
  session:check_schema(result, RENDERED, "the result")
  if result.output ~= "Hello, Ada!" then session:fail_probe("the output is %q", result.output) end
end

local function render_drop(session)
  local id = compile_template(session, "{{ user.name }}")
  session.handlers.drop_get = function(params)
    return { value = type(params) == "table" and params.property == "name" and "Ada" or json.null }
  end
  local user = { _rpc_drop = "drop_1", type = "UserDrop" }
  local result = session:call_plugin("render", { template_id = id, environment = { user = user }, options = {} })
  session:check_schema(result, RENDERED, "the result")
  if result.output ~= "Ada" then session:fail_probe("a drop whose name is Ada is rendered as %q", result.output) end
end

local function render_tag(session)
  local wanted = session.context.run
  local id = compile_template(session, ("{%% %s %%}"):format(wanted.name))
  local result = session:call_plugin("render", { template_id = id, environment = wanted.args, options = {} })
  session:check_schema(result, RENDERED, "the result")
end

-- }======

local function quit_engine(session)
  session:notify_plugin("quit", {})
  session:await_exit()
  if #session.unasked > 0 then session:fail_probe "quit is answered" end
end

local ASKED = {
  drop_get = { type = "object", required = { "drop_id", "property" }, properties = { drop_id = TEXT } },
  drop_iterate = { type = "object", required = { "drop_id" }, properties = { drop_id = TEXT } },
  drop_call = { type = "object", required = { "drop_id", "method" }, properties = { drop_id = TEXT, method = TEXT } },
}

-- The client treats every message as a request.
local function judge_engine_notification(method)
  return ("it sends the notification %s, but clients accept none"):format(method)
end

local function judge_drop_request(method, params)
  if not ASKED[method] then return ("it sends the request %s, which is not in the protocol"):format(method) end
  local problem = sessions.schema_problem(params, ASKED[method])
  return problem and ("%s: %s"):format(method, problem)
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet_engine } },
  question = { method = "compile", params = { template = "x" } },
  judge_notification = judge_engine_notification,
  judge_request = judge_drop_request,
  levels = { ["string-ids"] = "warn" },
  probes = {
    { name = "broken-template", rule = "an invalid template is reported in the result", run = compile_broken_template },
    { name = "no-template", rule = "compile without a template is refused with -32602", run = compile_no_template },
    { name = "wrong-template", rule = "a template that is not a string is refused with -32602",
      run = compile_wrong_template },
    { name = "wrong-mode", rule = "an unknown error_mode is refused with -32602", run = compile_in_unknown_error_mode },
    { name = "unknown-template", rule = "an unknown template_id is refused with -32602",
      run = render_unknown_template },
    { name = "no-template-id", rule = "render without a template_id is refused with -32602",
      run = render_without_template_id },
    { name = "render", rule = "a template is compiled and rendered", run = compile_and_render },
    { name = "drop", rule = "the properties of a drop are requested", run = render_drop },
    { name = "outcome", rule = "a tag is rendered", needs_run = true, run = render_tag },
    { name = "quit", rule = "it exits after quit, which is not answered", run = quit_engine },
  },
}
