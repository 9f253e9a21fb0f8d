-- What liquid-spec asks of a template engine.

local breach = require "pintle.cli.check.breach"
local json = require("pintle.core").json
local misfit = require "pintle.cli.check.misfit"

-- {====== Forms ======

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

local function greet(life)
  local told = life:call("initialize", { version = "1.0" })
  life:fits(told, MANIFEST, "the result")
  return told
end

-- {====== Compile and render ======

local function broken_template(life)
  local result = life:call("compile", { template = "{% pintle_check_no_such_tag %}" })
  life:fits(result, REFUSED, "the result")
end

local function no_template(life) life:refused("compile", { options = {} }, -32602) end

local function wrong_template(life) life:refused("compile", { template = 5 }, -32602) end

local function wrong_mode(life)
  life:refused("compile", { template = "x", options = { error_mode = "pintle" } }, -32602)
end

local function unknown_template(life)
  life:refused("render", { template_id = "pintle-check", environment = {} }, -32602)
end

local function no_template_id(life) life:refused("render", { environment = {} }, -32602) end

-- Whoever has tags of its own and nothing else cannot render this.
local function compile(life, template)
  local result = life:call("compile", { template = template, options = { error_mode = "strict", line_numbers = true } })
  if type(result) == "table" and result.template_id == json.null then
    life:fits(result, REFUSED, "the result of compile")
    breach.skip("it does not take the template %s", template)
  end
  life:fits(result, COMPILED, "the result of compile")
  return result.template_id
end

local function render(life)
  local id = compile(life, "Hello, {{ name }}!")
  local result = life:call("render", { template_id = id, environment = { name = "Ada" }, options = {} })
  life:fits(result, RENDERED, "the result")
  if result.output ~= "Hello, Ada!" then breach.raise("the output is %q", result.output) end
end

local function call_back(life)
  local id = compile(life, "{{ user.name }}")
  life.handlers.drop_get = function(params)
    return { value = type(params) == "table" and params.property == "name" and "Ada" or json.null }
  end
  local user = { _rpc_drop = "drop_1", type = "UserDrop" }
  local result = life:call("render", { template_id = id, environment = { user = user }, options = {} })
  life:fits(result, RENDERED, "the result")
  if result.output ~= "Ada" then breach.raise("a drop whose name is Ada is rendered as %q", result.output) end
end

local function run(life)
  local wanted = life.context.run
  local id = compile(life, ("{%% %s %%}"):format(wanted.name))
  local result = life:call("render", { template_id = id, environment = wanted.args, options = {} })
  life:fits(result, RENDERED, "the result")
end

-- }======

local function quit(life)
  life:tell("quit", {})
  life:ended()
  if #life.unasked > 0 then breach.raise "quit is answered" end
end

local ASKED = {
  drop_get = { type = "object", required = { "drop_id", "property" }, properties = { drop_id = TEXT } },
  drop_iterate = { type = "object", required = { "drop_id" }, properties = { drop_id = TEXT } },
  drop_call = { type = "object", required = { "drop_id", "method" }, properties = { drop_id = TEXT, method = TEXT } },
}

-- The client takes whatever it is told for a question.
local function judge_notification(method) return ("it sends %s, and clients take no notifications"):format(method) end

local function judge_request(method, params)
  if not ASKED[method] then return ("it asks for %s, which the protocol does not know"):format(method) end
  local problem = misfit(params, ASKED[method])
  return problem and ("%s: %s"):format(method, problem)
end

---@type pintle.cli.check.dialect
return {
  variants = { { greet = greet } },
  question = { method = "compile", params = { template = "x" } },
  judge_notification = judge_notification,
  judge_request = judge_request,
  levels = { ["string-ids"] = "warn" },
  probes = {
    { name = "broken-template", rule = "a template that is wrong has a result that says so", run = broken_template },
    { name = "no-template", rule = "a compile without template is refused with -32602", run = no_template },
    { name = "wrong-template", rule = "a template that is no text is refused with -32602", run = wrong_template },
    { name = "wrong-mode", rule = "an unknown error_mode is refused with -32602", run = wrong_mode },
    { name = "unknown-template", rule = "an unknown template_id is refused with -32602", run = unknown_template },
    { name = "no-template-id", rule = "a render without template_id is refused with -32602", run = no_template_id },
    { name = "render", rule = "a template is compiled and rendered", run = render },
    { name = "drop", rule = "a drop is asked for its properties", run = call_back },
    { name = "outcome", rule = "a tag is rendered", needs_run = true, run = run },
    { name = "quit", rule = "quit ends it, and is not answered", run = quit },
  },
}
